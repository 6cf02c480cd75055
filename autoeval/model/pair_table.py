"""The table of pairs of site and category, the observations of the regression, and their scores.

`autoeval.estimation.category_scores` makes such tables of sites, and `autoeval.model.regression` is
fitted on them and predicts their rows.

A table is a mapping of column name to array, (N,), of numbers, or of texts as objects; a DataFrame
may be read as one. Columns: ``source`` (the site; the word of the papers, and of score tables),
``group`` (sites of one origin), ``category``, ``n_images``, one column a score, and ``mAP``,
``mAP50``, ``mAP75`` in [0, 1], here of the category alone. ``counts``, ``expected_counts`` and
``reference_counts`` hold a `count_curve` each, from which precision, recall and F1 at any threshold
follow. ``trained_here`` is true of a site that the detector was trained on other images of; it may
be missing. Rows of a new site have ``counted``, ``likely_boxes`` and ``expected_objects``; see
`autoeval.sites.site`.

The scores of a pair are features of its boxes: what their true-positive probabilities predict
(`CalibratedFeatures`), and what a reference detector says (`ReferenceFeatures`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autoeval.accuracy.coco_evaluation import AT_HALF, coco_summary, match_weighted, top_detections
from autoeval.accuracy.measures import (
    OperatingPoint,
    RankedDetections,
    count_curve,
    counts_at,
    denominators,
    image_counts,
    influence_function,
    value_of,
)
from autoeval.boxes import over_threshold
from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.model.calibration import FOUND, LIKELY, ScoreCalibration
from autoeval.model.mixed_model import PredictionInterval

Table = Mapping[str, Any]
CONFIDENCE = "expected_ap"  # known wherever a category is found
REFERENCE_TRUE = "reference_true_ap"  # of the reference, on labelled images
COUNTS = "counts"
EXPECTED_COUNTS = "expected_counts"
REFERENCE_COUNTS = "reference_counts"
HIGHEST = "highest_score"  # of the boxes of a category, over all images of a site
N_FOUND = "n_found"  # images that a category is found on, be they of one block of time or not
COUNTED = "counted"
LIKELY_BOXES = "likely_boxes"
EXPECTED_OBJECTS = "expected_objects"
TRAINED_HERE = "trained_here"
SITE = "known_site"  # column of the rows of new images: name of their site in the fit
GROUP = "known_group"  # column of the rows of a new site: its group, one of the fit
UNSEEN = "unseen"  # column of the rows of a new site: share of confidence that its file lacks
WORD = "detector_word"  # column of named categories: the one word of a category, or its own name
SEED = "seed"  # kind: a site's images as they come
SAMPLE = "sample"  # kind: transformed images of a site
CATEGORY = "category"  # kind of a row that a labelled set has of one category
PRECISION = "precision@"  # before a threshold; has no value where no box is over it
ONLY = "all"  # category of a table that has no column for it
EXPECTED = "expected_"  # before the name of a target at a threshold: its feature
WEIGHT = "weight_"  # before it: its denominator, by which categories are weighted
MOST_IMAGES = 20_000  # evenly taken from the first to the last
SMALLEST = 1e-6  # box, as a share of the image
REFERENCE_AP = "reference_ap"
BY_REFERENCE = "reference_"  # before the name of a target at a threshold
REFERENCE_FEATURES = (REFERENCE_AP, "reference_ap50", "reference_ap75")
"""For mAP, mAP50 and mAP75."""

FEATURES = ("expected_ap", "likely_share", "box_size")
NOTHING_FOUND = {"box_size": -1.8}
"""What a score counts as where a category is not found; others as 0."""


def table_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Turn rows into columns; where a row lacks one: NaN among numbers, None among objects.

    Parameters
    ----------
    rows : sequence of mapping
        Column name to value.

    Returns
    -------
    dict of str to ndarray of shape (N,)
        Columns in the order of their first appearance; dtype object where a value is no number.

    Examples
    --------
    >>> table_of([{"a": 1, "b": "x"}, {"a": 2}])
    {'a': array([1, 2]), 'b': array(['x', None], dtype=object)}
    """
    table = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        present_values = [row[name] for row in rows if name in row]
        numbers = all(
            isinstance(value, int | float | np.number | np.bool_) for value in present_values
        )
        values = [row.get(name, math.nan if numbers else None) for row in rows]
        table[name] = np.array(values) if numbers else np.empty(len(values), object)
        if not numbers:
            table[name][:] = values
    return table


def rows_where(table: Table, chosen: np.ndarray) -> dict[str, np.ndarray]:
    """Keep some rows of a table.

    Parameters
    ----------
    table : Table
        N rows.
    chosen : ndarray of shape (N,), bool, or of int
        A mask, or the positions of the rows.
    """
    return {name: column[chosen] for name, column in table.items()}


def with_target(rows: Table, target: str) -> dict[str, np.ndarray]:
    """Add a target at a threshold, and its score, from the counts of pairs.

    Other targets have columns of their own; the target itself is added where objects are labelled.

    Parameters
    ----------
    rows : Table
        A table of pairs; it stays as it is.
    target : str
        Such as ``recall@0.3``; another name adds nothing.

    Returns
    -------
    dict of str to ndarray
        The columns, and ``recall@0.3``, ``expected_recall@0.3`` and ``reference_recall@0.3`` where
        they follow from counts; NaN in rows without counts.

    Raises
    ------
    InputError
        If the rows have neither the score nor the counts that it is computed from.
    """
    table, point = {str(name): np.asarray(rows[name]) for name in rows}, OperatingPoint.of(target)
    if point is None:
        return table
    if EXPECTED_COUNTS not in table and f"{EXPECTED}{target}" not in table:
        raise InputError(
            f"The table has no counts of boxes by score, which {target} needs: fit again with "
            "this version."
        )
    of_counts = {target: COUNTS, f"{EXPECTED}{target}": EXPECTED_COUNTS}
    of_counts[f"{BY_REFERENCE}{target}"] = REFERENCE_COUNTS
    for name, counts in of_counts.items():
        if name not in table and counts in table:
            table[name] = np.array(
                [
                    value_of(point.measure, counts_at(curve, point))
                    if isinstance(curve, bytes)
                    else math.nan
                    for curve in table[counts]
                ],
                np.float64,
            )
    return table


def category_weights(rows: Table, target: str) -> np.ndarray:
    """Return the weight of each category in the value of all together.

    Average precision is the mean over categories. At a threshold counts are summed first, so the
    weights are the denominators: boxes for precision, expected objects for recall.

    Parameters
    ----------
    rows : Table
        One row a category. One that does not count at the site, by `COUNTED`, has no weight;
        without this column all count.
    target : str
        What is estimated.

    Returns
    -------
    ndarray of shape (N,)
        Sum 1; where all denominators are 0, equal weights of the categories that count.

    Examples
    --------
    >>> category_weights({"n_images": [9, 9, 9], COUNTED: [True, False, True]}, "mAP")
    array([0.5, 0. , 0.5])
    """
    point, weights = OperatingPoint.of(target), np.ones(len(rows["n_images"]))
    if point is not None and f"{WEIGHT}{target}" in rows:
        weights = np.nan_to_num(rows[f"{WEIGHT}{target}"])
    elif point is not None and EXPECTED_COUNTS in rows:
        weights = np.array(
            [
                denominators(point.measure, counts_at(curve, point))[0]
                if isinstance(curve, bytes)
                else 0.0
                for curve in rows[EXPECTED_COUNTS]
            ]
        )
    counted = np.asarray(rows[COUNTED] if COUNTED in rows else np.ones(len(weights)), bool)
    weights = weights * counted
    return weights / weights.sum() if weights.sum() > 0 else counted / counted.sum()


def nothing_over(rows: Table, target: str) -> np.ndarray:
    """Return which pairs have no box over the threshold of a target, or for an average precision.

    Without any box that is 0, as recall is: of a category that is said to be there (``present``).
    Where no pair has a box nothing was found, and nobody knows whether there are objects.

    Parameters
    ----------
    rows : Table
        One row a pair, with the column `HIGHEST`.
    target : str
        Such as ``recall@0.3``.

    Returns
    -------
    ndarray of shape (N,), bool
        False where the rows have no column `HIGHEST`, and for an average precision where no pair
        has a box.

    Examples
    --------
    >>> nothing_over({"n_images": [9, 9], HIGHEST: [.2, .9]}, "recall@0.5")
    array([ True, False])
    >>> nothing_over({"n_images": [9, 9], HIGHEST: [.2, 0.]}, "mAP")
    array([False,  True])
    """
    point = OperatingPoint.of(target)
    if HIGHEST not in rows:
        return np.zeros(len(rows["n_images"]), bool)
    highest = np.nan_to_num(rows[HIGHEST])
    if point is not None:
        return ~over_threshold(highest, point.score_thr)
    return (highest == 0) & (highest > 0).any()


def without_boxes(target: str) -> PredictionInterval:
    """Return the accuracy of images without a box over the threshold.

    Recall, F1 and average precision are 0 by their definition, which takes no regression: the
    interval has width 0. Precision is not defined.

    Parameters
    ----------
    target : str
        One at a threshold, such as ``recall@0.5``, or an average precision.

    Returns
    -------
    PredictionInterval
        All of its values are 0, of precision NaN; its reach is 0.

    Examples
    --------
    >>> without_boxes("recall@0.5").upper
    0.0
    """
    value = math.nan if target.startswith(PRECISION) else 0.0
    return PredictionInterval(value, value, value, value, 0.0)


def values_of(rows: Table, features: Sequence[str]) -> np.ndarray:
    """Return scores of pairs as the regression reads them, also where they are undefined.

    Parameters
    ----------
    rows : Table
        N pairs.
    features : sequence of str
        Names of P scores.

    Returns
    -------
    ndarray of shape (N, P), float64
        Finite: a score that is not counts as in `NOTHING_FOUND`, or as 0.
    """
    values = np.stack([np.asarray(rows[name], np.float64) for name in features], axis=1)
    least = np.array([NOTHING_FOUND.get(name, 0.0) for name in features])
    return np.where(np.isfinite(values), values, least)


def leave_one_group_out(groups: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Split rows by their group, as scikit-learn's ``LeaveOneGroupOut`` does.

    Parameters
    ----------
    groups : array_like of shape (N,)
        Of each row; those of equal value are one.

    Yields
    ------
    tuple of ndarray
        For each group, in sorted order, the indices of the other rows and of its own.

    Examples
    --------
    >>> [(rest.tolist(), own.tolist()) for rest, own in leave_one_group_out(["b", "a", "b"])]
    [([0, 2], [1]), ([1], [0, 2])]
    """
    names, index = np.unique(np.asarray(groups), return_inverse=True)
    for k in range(len(names)):
        yield np.flatnonzero(index != k), np.flatnonzero(index == k)


class CalibratedFeatures:
    r"""Three features of one category, on the images where it is found.

    Probabilities are those of a `ScoreCalibration`; an image in which a box has one over .05
    counts, all others do not, so that no feature depends on how often the category occurs.

    - ``expected_ap``: the average precision of the boxes, mean over ten IoU thresholds, with
      probabilities in place of labels and the expected false negatives.
    - ``likely_share``: share of an image's boxes over .05 that are over .3, mean over images.
    - ``box_size``: mean logarithm of the side of the boxes over .05, :math:`\sqrt{wh}` relative to
      that of the image, weighted by probability; of the boxes on images of known size, and NaN
      without any.

    Those of targets at a threshold, such as ``expected_recall@0.3``, are the same ratios of
    expected counts. Of more than `MOST_IMAGES` such images so many are taken, at equal distances.
    Source: this project (docs/explanation/calibration.md), after Kull et al. 2017.

    Parameters
    ----------
    calibration : ScoreCalibration
        Of which the false negatives are.
    boxes, scores : ndarray of shape (N, 4) and (N,)
        Of the category, xyxy in pixels.
    image : ndarray of shape (N,), int64
        Image of each box, an index into M images.
    area : ndarray of shape (M,)
        Of each image, in pixels; NaN where it is unknown, and so are the sides of its boxes.
    probabilities : ndarray of shape (10, N)
        Of the boxes; by another calibration where this one has seen labels of theirs.
    at_thresholds : sequence of str
        Targets, such as ``recall@0.3``.

    Attributes
    ----------
    values : dict of str to float
        The features, NaN where the category is not found.
    images : ndarray of shape (n,), int64
        Those in which it is found, rising.
    found : bool
        Whether there is one.
    ranking : RankedDetections
        The boxes of these images, with probabilities in place of hits.
    """

    def __init__(
        self,
        calibration: ScoreCalibration,
        boxes: np.ndarray,
        scores: np.ndarray,
        image: np.ndarray,
        area: np.ndarray,
        *,
        probabilities: np.ndarray,
        at_thresholds: Sequence[str] = (),
    ) -> None:
        named = {f"{EXPECTED}{name}": OperatingPoint.of(name) for name in at_thresholds}
        self.points = {name: point for name, point in named.items() if point}
        p = probabilities
        shown = p[AT_HALF] > FOUND
        images = np.unique(image[shown])
        if len(images) > MOST_IMAGES:  # a mean over so many hardly varies, and memory is finite
            images = images[np.linspace(0, len(images) - 1, MOST_IMAGES).astype(np.int64)]
        place = np.full(len(area), -1)
        place[images] = np.arange(len(images))
        # All boxes of an image that counts rank, also those under .05, since precision falls with
        # them; shares and sizes are of those over .05.
        kept = place[image] >= 0
        at, p, shown = place[image[kept]], p[:, kept], shown[kept]

        n = len(images)
        self.images = images
        self.found = n > 0  # on any image
        at_half = p[AT_HALF]
        n_true = np.bincount(at, at_half, minlength=n) + calibration.n_missed(at_half, at, n)
        self.ranking = RankedDetections.of(scores[kept], at, p, n_true)
        self._expected_ap = float(self.ranking.average_precision().mean())
        n_likely = np.bincount(at[at_half > LIKELY], minlength=n)
        n_shown = np.bincount(at[shown], minlength=n)
        sides = np.maximum(boxes[kept, 2:] - boxes[kept, :2], 0).astype(np.float64)
        shares = np.clip(sides.prod(axis=1) / area[image[kept]], SMALLEST, 1)
        sized = np.isfinite(shares)
        weights = at_half * (shown & sized)
        sizes = weights * np.where(sized, 0.5 * np.log(shares), 0)
        self._likely_share = n_likely / np.maximum(n_shown, 1)  # (n,), as are the two that follow
        self._size_sum = np.bincount(at, sizes, minlength=n)
        self._weight_sum = np.bincount(at, weights, minlength=n)

        if not self.found:
            self.values = dict.fromkeys((*FEATURES, *self.points), math.nan)
            self.values |= {f"{WEIGHT}{point}": 0.0 for point in self.points.values()}
            return
        weight = self._weight_sum.sum()
        self.values = {
            "expected_ap": self._expected_ap,
            "likely_share": float(self._likely_share.mean()),
            "box_size": float(self._size_sum.sum() / weight) if weight else math.nan,
        }
        for name, point in self.points.items():
            counts = image_counts(self.ranking, point.score_thr, point.level)
            self.values[name] = value_of(point.measure, counts)
            self.values[f"{WEIGHT}{point}"] = float(denominators(point.measure, counts).sum())

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the features of draws of the images with replacement.

        The expected AP is that to first order: its influence function is summed over the images.

        Parameters
        ----------
        counts : ndarray of shape (B, M)
            How often each image is drawn.

        Returns
        -------
        dict of str to ndarray of shape (B,)
            NaN where no image with the category is drawn.
        """
        if not self.found:
            every = (*FEATURES, *self.points)
            return {name: np.full(len(counts), np.nan) for name in every}
        # all images most often, of which no copy is taken: counts are of 200 draws
        drawn = counts if len(self.images) == counts.shape[1] else counts[:, self.images]
        drawn = drawn.astype(np.float64)
        influence = influence_function(self.ranking).mean(axis=0)
        by_image = [np.ones(len(influence)), influence, self._likely_share]
        total, moved, likely, size, weight = (
            drawn @ np.stack([*by_image, self._size_sum, self._weight_sum], axis=1)
        ).T
        total = np.where(total > 0, total, np.nan)  # NaN: none was drawn
        weight = np.where(np.isnan(total) | (weight == 0), np.nan, weight)
        return {
            "expected_ap": self._expected_ap + moved / total,
            "likely_share": likely / total,
            "box_size": size / weight,
            **{
                name: _of_drawn_images(self.ranking, point, drawn)
                for name, point in self.points.items()
            },
        }


def _of_drawn_images(
    ranking: RankedDetections, point: OperatingPoint, drawn: np.ndarray
) -> np.ndarray:
    """Return precision, recall or F1 of draws of the images.

    ranking: on M images
    point: measure and threshold
    drawn (B, M): how often each image is drawn
    Returned (B,): NaN where the denominator is 0
    """
    counts = image_counts(ranking, point.score_thr, point.level)
    below = drawn @ denominators(point.measure, counts)
    return np.divide(drawn @ counts[0], below, out=np.full(len(drawn), np.nan), where=below > 0)


class ReferenceFeatures:
    r"""Average precision of one category, the boxes of a reference detector being probable labels.

    Box j of the reference is a labelled object with the probability :math:`q_j` that it is a true
    positive at IoU .5, by a calibration of the reference on labelled images. At each of ten IoU
    thresholds a box of the detector, in order of score, takes the free reference box with the
    highest :math:`q_j` that it overlaps enough, and counts as :math:`q_j` true positives, without
    one as 0. There are :math:`\sum_j q_j` objects. The feature is the average precision of these
    expectations, ``reference_ap50`` and ``reference_ap75`` at one threshold, ``reference_ap`` the
    mean over all; with certain probabilities it is COCO's AP with the reference's boxes as labels.
    It is 0 where the detector has no box, and NaN where the reference has none. Source: this
    project (docs/how-to/reference.md).

    Parameters
    ----------
    clean, reference : Detections
        N boxes of the detector, M boxes of the reference, of one category.
    image, reference_image : ndarray of shape (N,) and (M,), int64
        Image of each box, an index into `n_images`.
    n_images : int
        Images that are evaluated.
    probabilities : ndarray of shape (M,)
        That each box of the reference is a true positive at IoU .5.
    at_thresholds : sequence of str, optional
        Targets such as ``precision@0.3``, by the boxes of the reference; each is a feature of its
        own, ``reference_precision@0.3``.

    Attributes
    ----------
    values : dict of str to float
        The features.
    known : bool
        Whether the reference has a box of this category.
    curve : bytes, optional
        Counts by the boxes of the reference at every threshold, see `count_curve`; None without a
        box.
    """

    def __init__(
        self,
        clean: Detections,
        image: np.ndarray,
        reference: Detections,
        reference_image: np.ndarray,
        n_images: int,
        probabilities: np.ndarray,
        *,
        at_thresholds: Sequence[str] = (),
    ) -> None:
        named = {f"{BY_REFERENCE}{name}": OperatingPoint.of(name) for name in at_thresholds}
        self.points = {name: point for name, point in named.items() if point}
        # As COCO evaluates: the best hundred boxes of each image, on both sides.
        ref = top_detections(reference_image, np.zeros_like(reference_image), reference.scores)
        best = top_detections(image, np.zeros_like(image), clean.scores)
        q, at, true_at = probabilities[ref], image[best], reference_image[ref]
        hits = match_weighted(clean.boxes[best], at, reference.boxes[ref], true_at, q)
        n_true = np.bincount(true_at, q, minlength=n_images)
        self.ranking = RankedDetections.of(clean.scores[best], at, hits, n_true)
        self.known = bool(n_true.any())  # whether the reference has a box
        # counts by the boxes of the reference at every threshold; None where it has no box
        self.curve = count_curve(self.ranking) if self.known else None
        self.values = dict.fromkeys((*REFERENCE_FEATURES, *self.points), math.nan)
        if self.known:
            levels = coco_summary(self.ranking.average_precision()).values()
            self.values |= dict(zip(REFERENCE_FEATURES, map(float, levels), strict=True))
            for name, point in self.points.items():
                counts = image_counts(self.ranking, point.score_thr, point.level)
                self.values[name] = value_of(point.measure, counts)

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the features of draws of the images with replacement, to first order.

        Parameters
        ----------
        counts : ndarray of shape (B, n_images)
            How often each image is drawn.

        Returns
        -------
        dict of str to ndarray of shape (B,)
            NaN where the reference has no box.
        """
        if not self.known:
            return {name: np.full(len(counts), np.nan) for name in self.values}
        counts = counts.astype(np.float64)
        total = counts.sum(axis=1)
        total = np.where(total > 0, total, np.nan)
        influence = coco_summary(influence_function(self.ranking)).values()
        drawn = {
            name: self.values[name] + counts @ moved / total
            for name, moved in zip(REFERENCE_FEATURES, influence, strict=True)
        }
        for name, point in self.points.items():
            drawn[name] = _of_drawn_images(self.ranking, point, counts)
        return drawn
