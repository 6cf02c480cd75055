"""The scores of each category of a site, which the regression reads, and tables of scores.

From a calibrated `Site`: `site_scores` makes the rows of a new site for
`autoeval.estimation.estimate`, `labelled_pairs` those of a labelled set, with their accuracies, for
`autoeval.estimation.calibrating`. Features themselves are in `autoeval.model.pair_table`.

A score table of a published method has one row for each sample set and dropout repeat. Columns:
``source`` (the site, in the word of the papers), ``group`` (optional: sites of one origin),
``sample_set`` (recipe id), ``kind`` (``"seed"`` for a site's own images, ``"sample"`` for a
transformed subset), ``repeat``, ``n_images``, one column a feature, and ``mAP``, ``mAP50``,
``mAP75`` in [0, 1]. With several categories columns are called ``name/category``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from autoeval.accuracy.coco_evaluation import AT_HALF, coco_summary, image_ranks
from autoeval.accuracy.measures import (
    AP_TARGETS,
    TARGETS,
    OperatingPoint,
    count_curve,
    influence_function,
)
from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.model.calibration import FOUND, ScoreCalibration
from autoeval.model.pair_table import (
    BY_REFERENCE,
    CATEGORY,
    COUNTED,
    COUNTS,
    EXPECTED,
    EXPECTED_COUNTS,
    EXPECTED_OBJECTS,
    FEATURES,
    HIGHEST,
    LIKELY_BOXES,
    N_FOUND,
    ONLY,
    REFERENCE_AP,
    REFERENCE_COUNTS,
    REFERENCE_FEATURES,
    REFERENCE_TRUE,
    SAMPLE,
    SEED,
    TRAINED_HERE,
    UNSEEN,
    WEIGHT,
    WORD,
    CalibratedFeatures,
    ReferenceFeatures,
    table_of,
)
from autoeval.sites.site import Site

if TYPE_CHECKING:
    import pandas as pd

LABELLED_FEATURES = (*FEATURES, *REFERENCE_FEATURES)
REQUIRED = ("source", "sample_set", "kind", "repeat", "n_images")  # columns of a score table
_COUNTS = ("n_boxes", "n_unreadable")


class CategoryScores:
    """The features of one category of a calibrated site.

    Parameters
    ----------
    site : Site
        With a calibration, N boxes, M images.
    category : int
        Index into the categories of its boxes.
    features : sequence of str
        Columns to fill; those that need a reference are left out where the site has none.
    probabilities : ndarray of shape (10, N), optional
        Of all boxes, by a calibration that has not seen these labels; by default by that of the
        site.
    counts : bool
        Whether the row has expected counts at every threshold, of which any target at one follows.

    Attributes
    ----------
    row : dict
        The category, the number of images that are independent (at least 1; those of one block of
        time count as one) and `N_FOUND`, that of all, the features and, with `counts`, expected
        counts by name, and the highest score of its boxes on all images of the site; see
        `nothing_over`.
    images : ndarray of shape (m,), int64
        Images on which the category is found, by this detector or by the reference: a box is right
        with a probability over .05 at IoU .5. Equal scores rank in their order.
    found : bool
        Whether there is such an image; the features are NaN otherwise.
    parts : list of CalibratedFeatures or ReferenceFeatures
        What the features are of: its boxes, and those of the reference where they are read.
    """

    def __init__(
        self,
        site: Site,
        category: int,
        features: Sequence[str],
        *,
        probabilities: np.ndarray | None = None,
        counts: bool = True,
    ) -> None:
        boxes, reference = site.boxes, site.reference
        q = None if reference is None else site.reference_right
        rows = boxes.rows_of[category]
        at_half = site.right_at_half if probabilities is None else probabilities[AT_HALF]
        images = boxes.image[rows[at_half[rows] > FOUND]]
        if reference is not None and q is not None:
            reference_rows = reference.rows_of[category]
            images = np.append(images, reference.image[reference_rows[q[reference_rows] > FOUND]])
        images = np.unique(images)
        # Of boxes of equal score folds and a reference say different things: they rank by the
        # ids of their images, as in evaluation, not in the order of a list.
        if reference is not None or probabilities is not None:
            ids = [boxes.images[k].image_id for k in images.tolist()]
            images = images[np.argsort(image_ranks(ids))]
        self.images = images
        self.found = len(images) > 0  # whether any image has a box that may be right
        highest = float(boxes.scores[rows].max(initial=0.0))
        if reference is None:
            features = [name for name in features if name not in REFERENCE_FEATURES]
        at_points = [name for name in features if "@" in name]
        points = [name.removeprefix(EXPECTED) for name in at_points if name.startswith(EXPECTED)]
        agreed = [
            name.removeprefix(BY_REFERENCE) for name in at_points if name.startswith(BY_REFERENCE)
        ]
        # of each image of the site its number among those evaluated, -1 for the others
        place = np.full(len(site), -1)
        place[images] = np.arange(len(images))
        rows = rows[place[boxes.image[rows]] >= 0]
        if probabilities is None:
            p = site.calibration.probabilities(boxes.scores[rows], boxes.boxes[rows])
        else:
            p = probabilities[:, rows]
        at = place[boxes.image[rows]]
        of_boxes = CalibratedFeatures(
            site.calibration,
            boxes.boxes[rows],
            boxes.scores[rows],
            at,
            boxes.sizes[images].prod(axis=1),
            probabilities=p,
            at_thresholds=points,
        )
        by_reference: ReferenceFeatures | None = None
        read = agreed or {*features} & {*REFERENCE_FEATURES}
        if reference is not None and q is not None and read:
            reference_rows = reference.rows_of[category]
            reference_rows = reference_rows[place[reference.image[reference_rows]] >= 0]
            by_reference = ReferenceFeatures(
                Detections(boxes.boxes[rows], boxes.scores[rows], boxes.label[rows]),
                at,
                Detections(
                    reference.boxes[reference_rows],
                    reference.scores[reference_rows],
                    reference.label[reference_rows],
                ),
                place[reference.image[reference_rows]],
                len(images),
                q[reference_rows],
                at_thresholds=agreed,
            )
        self.parts = [of_boxes, by_reference] if by_reference else [of_boxes]
        unknown = [*REFERENCE_FEATURES, *(f"{BY_REFERENCE}{name}" for name in agreed)]
        computed = dict.fromkeys(unknown, np.nan)
        for part in self.parts:
            computed |= part.values
        weights = [name for name in of_boxes.values if name.startswith(WEIGHT)]
        name = boxes.categories[category]
        words = [word for word, named in site.detector_words.items() if named == name]
        of_word = {WORD: words[0] if len(words) == 1 else name} if site.detector_words else {}
        independent = images if site.blocks is None else np.unique(site.blocks[images])
        self.row: dict[str, Any] = {
            "category": name,
            **of_word,
            "n_images": max(len(independent), 1),
            N_FOUND: max(len(images), 1),
            HIGHEST: highest,
            **{name: computed[name] for name in (*features, *weights)},
        }
        if counts:
            self.row[EXPECTED_COUNTS] = count_curve(of_boxes.ranking) if of_boxes.found else None
            self.row |= {REFERENCE_COUNTS: by_reference.curve} if by_reference else {}


def site_scores(
    site: Site, features: Sequence[str], *, counts: bool = True
) -> tuple[list[CategoryScores], dict[str, np.ndarray]]:
    """Score the categories that count or are found, each on the images where it is.

    At a new site nobody knows which images hold a category, so those that show none of its boxes
    say nothing of it: absence is not taken for blindness.

    Parameters
    ----------
    site : Site
        Calibrated.
    features : sequence of str
        Scores that regressions read.
    counts : bool
        See `CategoryScores`.

    Returns
    -------
    scores : list of CategoryScores
        In the order of `Presence.candidates`; empty where nothing is found and none is said to be
        there.
    rows : dict of str to ndarray
        The same as one row a category, see `autoeval.model.pair_table`; with the columns `COUNTED`,
        `LIKELY_BOXES`, `EXPECTED_OBJECTS` and `UNSEEN`.

    Raises
    ------
    InputError
        If a feature is none of boxes, such as one of perturbed passes.
    """
    unknown = [name for name in features if name not in LABELLED_FEATURES]
    for start in (EXPECTED, BY_REFERENCE):  # of a target at a threshold
        unknown = [name for name in unknown if not OperatingPoint.of(name.removeprefix(start))]
    if unknown:
        raise InputError(
            f"Expected features among {', '.join(LABELLED_FEATURES)}, or {EXPECTED}TARGET or "
            f"{BY_REFERENCE}TARGET of a target at a threshold, but got {', '.join(unknown)}."
        )
    presence, at = site.presence, site.presence.candidates
    scores = [CategoryScores(site, k, features, counts=counts) for k in at.tolist()]
    rows = {
        **table_of([category.row for category in scores]),
        COUNTED: presence.counts[at],
        LIKELY_BOXES: presence.likely[at],
        EXPECTED_OBJECTS: presence.expected[at],
        UNSEEN: np.full(len(at), site.unseen),
    }
    return scores, rows


def labelled_pairs(
    labelled: Site,
    calibration: ScoreCalibration,
    *,
    probabilities: np.ndarray | None = None,
) -> list[dict[str, Any]]:
    """Score and evaluate the categories of a labelled set that have labels enough.

    Accuracy is that on all images of a site of a task, else on those that hold the category.

    Parameters
    ----------
    labelled : Site
        With truth.
    calibration : ScoreCalibration
        Of the detector.
    probabilities : ndarray of shape (10, N), optional
        See `CategoryScores`.

    Returns
    -------
    list of dict
        Rows of a pair table, see `autoeval.model.pair_table`, without what is not known of a
        pair; with ``n_boxes`` (labelled ones) and the standard error of each accuracy, ``mAP_std``
        and the like. In ``n_images`` and in these frames of one block of time, which are dependent,
        count as one image.
    """
    rows, labelled = [], replace(labelled, calibration=calibration)
    same = {
        **{"source": labelled.name, "group": labelled.group, "sample_set": labelled.name},
        "kind": SEED if labelled.everywhere else CATEGORY,
        **({TRAINED_HERE: True} if labelled.trained_here else {}),
        "repeat": 0,
    }
    for k in np.flatnonzero(labelled.evaluation.enough).tolist():
        ranking = labelled.evaluation.rankings[k]
        scores = CategoryScores(labelled, k, LABELLED_FEATURES, probabilities=probabilities)
        evaluated, images = ranking, np.arange(len(labelled))
        if not labelled.everywhere:
            images = np.flatnonzero(ranking.n_true)
            evaluated = ranking.take(images)
        n_boxes = int(ranking.n_true.sum())
        row = {n: value for n, value in scores.row.items() if n not in (HIGHEST, N_FOUND)}
        at = np.arange(len(images))
        if labelled.blocks is not None:
            at = np.unique(labelled.blocks[images], return_inverse=True)[1]
        # The standard error of each average precision is by the influence of its images; NaN
        # without labelled boxes or with a single image.
        precision, n = coco_summary(evaluated.average_precision()), int(at.max()) + 1
        bessel = n / (n - 1) if n > 1 else np.nan
        for name, of_ap in coco_summary(influence_function(evaluated)).items():
            parts = np.bincount(at, (of_ap - of_ap.mean()) / len(images))
            precision[f"{name}_std"] = np.sqrt(bessel * (parts @ parts))
        counts = {COUNTS: count_curve(evaluated)}
        if REFERENCE_AP in row:
            of_reference = labelled.of_reference.rankings[k]
            if not labelled.everywhere:
                of_reference = of_reference.take(np.flatnonzero(of_reference.n_true))
            row[REFERENCE_TRUE] = float(of_reference.average_precision().mean())
        row |= {"n_boxes": n_boxes, **precision, **counts, **same}
        unknown = [
            name
            for name, value in row.items()
            if value is None or (isinstance(value, float) and math.isnan(value))
        ]
        rows.append({name: value for name, value in row.items() if name not in unknown})
    return rows


def labelled_rows(
    labelled: Site, calibration: ScoreCalibration, *, probabilities: np.ndarray | None = None
) -> pd.DataFrame:
    """Return `labelled_pairs` as a DataFrame.

    Parameters
    ----------
    labelled, calibration, probabilities
        See `labelled_pairs`.
    """
    import pandas as pd

    pairs = labelled_pairs(labelled, calibration, probabilities=probabilities)
    return pd.DataFrame(table_of(pairs))


def sources(table: pd.DataFrame) -> list[str]:
    """Return the names of the sites of a score table, in order of appearance.

    Parameters
    ----------
    table : DataFrame
        With a column ``source``.
    """
    return list(table["source"].unique())


def feature_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns that hold scores, not names, counts, seconds, accuracies or their errors.

    Parameters
    ----------
    table : DataFrame
        A score table.

    Returns
    -------
    list of str
        In the order of the table.
    """
    not_features = {*REQUIRED, *_COUNTS}
    return [
        name
        for name in table.select_dtypes("number")
        if name not in not_features
        and not name.endswith("_s")
        and name.split("/")[0].removesuffix("_std") not in TARGETS
    ]


def pair_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Take the pairs out of a score table: all but its transformed sample sets.

    Repeats differ in scores of perturbed passes alone, so the first stands for all. A site
    without a group is its own; a table of several categories, with columns ``score/category``, is
    stacked.

    Parameters
    ----------
    table : DataFrame
        A score table, or one of pairs already, which stays as it is.

    Returns
    -------
    DataFrame
        With the columns ``category`` (`ONLY` where the table knows none) and ``group``.
    """
    rows = table[table["kind"] != SAMPLE] if "kind" in table else table
    rows = rows[rows["repeat"] == rows["repeat"].min()] if "repeat" in rows else rows
    if "category" not in rows:
        categories = dict.fromkeys(str(n).partition("/")[2] for n in rows if "/" in str(n))
        rows = stack_categories(rows, categories) if categories else rows.assign(category=ONLY)
    if "group" not in rows:
        rows = rows.assign(group=rows.get("source", ""))
    rows = rows.assign(group=rows["group"].fillna(rows.get("source", "")))
    return rows.reset_index(drop=True)


def with_pairs(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Add the scores of calibrated boxes to the own images of the sites of a score table.

    Parameters
    ----------
    table : DataFrame
        A score table.
    rows : DataFrame
        A pair table of the same sites, see `pair_rows`.

    Returns
    -------
    DataFrame
        The score table with more columns, without a value for transformed sample sets; with several
        categories the added columns are named ``score/category``.
    """
    import pandas as pd

    names = [*FEATURES, EXPECTED_COUNTS, COUNTS, *(f"{target}_std" for target in AP_TARGETS)]
    names = [name for name in names if name in rows]
    if rows["category"].nunique() > 1:
        tables = [rows.pivot(index="source", columns="category", values=name) for name in names]
        rows = pd.concat(
            [scores.add_prefix(f"{name}/") for name, scores in zip(names, tables, strict=True)],
            axis=1,
        )
    else:
        rows = rows.set_index("source")[names]
    joined = table.join(rows, on="source")
    seed_rows = joined["kind"] == SEED
    nothing = {name: None if rows[name].dtype == object else np.nan for name in rows}
    return joined.assign(
        **{name: joined[name].where(seed_rows, no) for name, no in nothing.items()}
    )


def stack_categories(rows: pd.DataFrame, categories: Iterable[str]) -> pd.DataFrame:
    """Turn the columns ``name/category`` of each category into rows, with a column ``category``.

    Parameters
    ----------
    rows : DataFrame
        Of a score table.
    categories : iterable of str
        Those that are stacked; one table after the other.
    """
    import pandas as pd

    of_categories = {str(n).partition("/")[0] for n in rows if "/" in str(n)}
    shared = [n for n in rows if "/" not in str(n) and n not in {"category", *of_categories}]
    parts = []
    for category in categories:
        columns = {n: n.partition("/")[0] for n in rows if str(n).partition("/")[2] == category}
        parts.append(rows[[*shared, *columns]].rename(columns=columns).assign(category=category))
    return pd.concat(parts, ignore_index=True)
