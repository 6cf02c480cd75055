"""The label-assistance model: what labelled sites contribute to estimates from a few labels.

The influence of each image on an average precision is predicted by a box model, and by the boxes of
a reference detector where there is one. These control variates are added up with weights that
labelled sites have shown (`fit_assistance`), on images whose labels the box model has not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from typing_extensions import Self

from autoeval.accuracy.coco_evaluation import AT_HALF, image_ranks, match_weighted, top_detections
from autoeval.accuracy.measures import (
    RankedDetections,
    image_counts,
    influence_function,
    influence_on,
)
from autoeval.boxes import Boxes
from autoeval.detections import SCORE_THR
from autoeval.errors import InputError
from autoeval.labels.box_model import (
    BoxModel,
    expected_rankings,
    fit_false_negatives,
    fit_true_positive,
    image_features,
    probability,
)
from autoeval.labels.category_estimate import fit_small_sample_bias, measure_small_sample_bias
from autoeval.labels.values import VariancePrior, fit_variance_prior
from autoeval.sites.site import Pool, Site
from autoeval.targets import MEASURES

MODEL, REFERENCE = "model", "reference"
FEWEST_IMAGES, FEWEST_BOXES = 20, 10  # of a category at a site
MOST_BOXES, LEAST_SHARE = 10_000, 1_000  # of all sites and of one, drawn by a seed
RIDGE = 0.02  # relative to the variance that control variates explain
LEAST_SLOPE = 0.05  # of the first, so that the residual variance has a unit
MOST_IMAGES = 300  # of a labelled set
FOLDS = 4
MEAN_AP = "mAP"
FEWEST_FOUND = FOLDS + 1  # images, so that some are left whichever fold is left out
THRESHOLDS = (0.2, 0.3, 0.5)  # at which the influence on precision, recall and F1 is learned


@dataclass(frozen=True, eq=False)
class ProbableLabels:
    """Boxes of another detector on the images of a pool, in its categories, as labels.

    probabilities (N,): that each is an object.
    """

    boxes: Boxes
    probabilities: np.ndarray

    @classmethod
    def of_reference(cls, site: Site) -> Self | None:
        """Take the calibrated boxes of a reference detector, as evaluation takes them, if any."""
        reference, probabilities = site.reference, site.reference_right
        if reference is None or probabilities is None:
            return None
        best = top_detections(reference.image, reference.label, reference.scores)
        return cls(reference.where(best), probabilities[best])

    def rankings(self, boxes: Boxes) -> list[RankedDetections]:
        """Rank the boxes of a detector in each category, with these as labels."""
        labels, n_images, numbers = self.boxes, len(boxes.images), np.arange(len(boxes.categories))
        order, hits = self._matched(boxes)
        image, scores = boxes.image[order], boxes.scores[order]
        # Sorted by category, so that each is a slice: a mask for each of hundreds of categories
        # would go over all boxes as often.
        sorted_labels = boxes.label[order]
        starts, ends = (np.searchsorted(sorted_labels, numbers, side) for side in ("left", "right"))
        by_label = np.argsort(labels.label, kind="stable")
        label_starts, label_ends = (
            np.searchsorted(labels.label[by_label], numbers, side) for side in ("left", "right")
        )
        ranked = []
        for k in numbers:
            rows, mine = slice(starts[k], ends[k]), by_label[label_starts[k] : label_ends[k]]
            # the expected number of objects of each image: the sum of their probabilities
            n_true = np.bincount(labels.image[mine], self.probabilities[mine], minlength=n_images)
            ranked.append(RankedDetections.of(scores[rows], image[rows], hits[:, rows], n_true))
        return ranked

    def disagreement(self, boxes: Boxes, right: np.ndarray) -> np.ndarray:
        """Return the expected number of boxes of each image on which the detectors disagree, (M,).

        right (N,): probability that each of the detector's `boxes` is right at IoU .5. A box
        counts by how much this differs from what the other detector gives it, 0 where that has no
        box there; an unmatched box of the other by its probability.
        """
        labels, n_images = self.boxes, len(boxes.images)
        order, hits = self._matched(boxes)
        image, matched = boxes.image[order], hits[AT_HALF]
        differing = np.bincount(image, np.abs(right[order] - matched), minlength=n_images)
        there = np.bincount(labels.image, self.probabilities, minlength=n_images)
        unmatched = there - np.bincount(image, matched, minlength=n_images)
        return np.asarray(differing + np.maximum(unmatched, 0))

    def _matched(self, boxes: Boxes) -> tuple[np.ndarray, np.ndarray]:
        """Match the N boxes of a detector to these, those with the highest score first.

        Returned: the order, (N,), by category and score; in it the probability of the label that
            each box takes at each IoU threshold, 0 without one, (10, N).
        """
        labels, n_categories = self.boxes, len(boxes.categories)
        order = np.lexsort((boxes.image, -boxes.scores, boxes.label))
        # one number for each image and category: only boxes of the same one are matched
        hits = match_weighted(
            boxes.boxes[order],
            n_categories * boxes.image[order] + boxes.label[order],
            labels.boxes,
            n_categories * labels.image + labels.label,
            self.probabilities,
        )
        return order, hits


def control_variates(
    expected: RankedDetections, second: RankedDetections | None = None
) -> dict[str, np.ndarray]:
    """Predict the influence of M images on the average precision of a category, (10, M) each.

    `expected` ranks the boxes with probabilities in place of labels, see `BoxModel.rankings`, the
    second with the boxes of another detector, see `ProbableLabels`; that prediction gets the
    standard deviation of the first: where that detector finds little, each of its boxes would count
    for too much. Returns `MODEL`, and `REFERENCE` where there is a second; 0 where no object is
    expected.
    """
    first = np.nan_to_num(influence_function(expected))
    if second is None:
        return {MODEL: first}
    other = np.nan_to_num(influence_function(second))
    # the spread that decides is that of the mean over thresholds, the influence on mAP
    std = other.mean(axis=0).std()
    return {MODEL: first, REFERENCE: other * (first.mean(axis=0).std() / std if std > 0 else 0.0)}


def true_influence(ranking: RankedDetections) -> np.ndarray:
    """Influence of each image on mAP, (N,)."""
    return influence_function(ranking).mean(axis=0)


@dataclass(frozen=True)
class MixingWeights:
    """How control variates are added up, and what variance their sum leaves."""

    slopes: dict[str, float]  # of each control variate: `MODEL`, and `REFERENCE`
    residual: VariancePrior  # of the true influence less the sum, relative to that of the sum
    correlation: float  # mean cross-validated one of the sum with the true influence

    def add_up(self, variates: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the weighted sum of control variates."""
        return np.sum([slope * variates[name] for name, slope in self.slopes.items()], axis=0)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `dataclasses.asdict` gave."""
        residual = VariancePrior(**values["residual"])
        return cls(dict(values["slopes"]), residual, values["correlation"])


@dataclass(frozen=True, eq=False)
class LabelAssistance:
    """What labelled sites contribute to estimates elsewhere; see `fit_assistance`."""

    box_model: BoxModel
    mixing: dict[str, MixingWeights]  # of `MODEL` alone, and with `REFERENCE`
    small_sample_bias: float
    sites: tuple[str, ...]  # names of those that it was fitted on
    points: dict[str, MixingWeights] = field(default_factory=dict)  # of precision, recall and f1

    def mixing_weights(self, others: ProbableLabels | None) -> MixingWeights:
        """Return those with boxes of another detector, or without where none were fitted so."""
        return self.mixing[REFERENCE if others and REFERENCE in self.mixing else MODEL]

    def predict(
        self,
        pool: Pool,
        others: ProbableLabels | None = None,
        expected: Sequence[RankedDetections] | None = None,
    ) -> Iterator[np.ndarray]:
        """Predict the influence of each image on each category, (10, M) by IoU threshold.

        `expected` are the rankings of `BoxModel.rankings`, where they are at hand. One category at
        a time: all together are a large array.
        """
        expected = self.box_model.rankings(pool) if expected is None else expected
        if others is None or REFERENCE not in self.mixing:
            for ranking in expected:
                yield self.mixing[MODEL].add_up(control_variates(ranking))
            return
        for pair in zip(expected, others.rankings(pool.found), strict=True):
            yield self.mixing[REFERENCE].add_up(control_variates(*pair))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return {
            "box_model": self.box_model.to_dict(),
            "mixing": {name: asdict(weights) for name, weights in self.mixing.items()},
            "small_sample_bias": self.small_sample_bias,
            "sites": list(self.sites),
            "points": {name: asdict(weights) for name, weights in self.points.items()},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote; InputError if it is something else."""
        try:
            return cls(
                BoxModel.from_dict(values["box_model"]),
                {
                    name: MixingWeights.from_dict(weights)
                    for name, weights in values["mixing"].items()
                },
                float(values["small_sample_bias"]),
                tuple(values["sites"]),
                {n: MixingWeights.from_dict(weights) for n, weights in values["points"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"The label-assistance model cannot be read ({type(error).__name__}: {error}). "
                "Fit again."
            ) from error


@dataclass(frozen=True, eq=False)
class Pair:
    """One category of one site, on the images (N,) that it is learned from."""

    site: Site
    category: int
    images: np.ndarray

    @property
    def ranking(self) -> RankedDetections:
        """Its ranked boxes, with labels."""
        return self.site.evaluation.rankings[self.category].take(self.images)


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """True influence of N images, and predictions by models that have not seen their labels.

    The target is ``mAP``, or a measure at some threshold: ``precision``, ``recall``, ``f1``.
    """

    target: str
    true: np.ndarray
    predicted: dict[str, np.ndarray]

    @property
    def varies(self) -> bool:
        """Whether there is something to learn from."""
        return bool(self.true.var() > 0 and self.predicted[MODEL].var() > 0)


def fit_assistance(sets: Sequence[Site]) -> LabelAssistance:
    """Fit the box model on labelled sets, and its use on images whose labels it has not seen.

    Of a set with more than `MOST_IMAGES` images as many are drawn by a fixed seed.

    The second is by cross-validation in `FOLDS` folds: of groups, or, with a single group, of
    the images of each site at random. Raises InputError if no category has labels enough.
    """
    sites = [site.at_most(MOST_IMAGES) for site in sets]
    several = len({site.group for site in sites}) > 1
    pairs = [pair for site in sites for pair in pairs_of(site, everywhere=several)]
    sites = [site for site in sites if any(pair.site is site for pair in pairs)]
    folds = image_folds(sites)
    every = [site.pool.names for site in sites]
    names = tuple(
        name for name in (every or [()])[0] if all(name in features for features in every)
    )
    fitted = _fit(sites, pairs, folds, names)
    if fitted is None:
        raise InputError(
            f"Expected labelled images from which a category can be learned: {FEWEST_IMAGES} that "
            f"hold it or show a box of it, with {FEWEST_BOXES} labelled boxes, some of them found "
            f"in {FEWEST_FOUND} images and not all, but got none. Label more images."
        )
    return fitted


def image_folds(sites: Sequence[Site]) -> list[np.ndarray]:
    """Return the fold, 0 to `FOLDS` - 1, of each image of each labelled set.

    Folds are of whole groups; with a single group of the images of each set at random, drawn by
    the order of their ids. They do not depend on the names or on the order of the sets, which are
    numbered by their content, nor on the order in which a file lists images.
    """
    first_key: dict[str, str] = {}
    for site in sites:
        first_key[site.group] = min(
            site.evaluation.content_key, first_key.get(site.group, site.evaluation.content_key)
        )
    different = sorted(first_key, key=lambda group: first_key[group])
    if len(different) > 1:
        return [np.full(len(site), different.index(site.group) % FOLDS) for site in sites]
    keys = sorted(site.evaluation.content_key for site in sites)
    folds = []
    for site in sites:
        rng = np.random.default_rng(keys.index(site.evaluation.content_key))
        ids = [image.image_id for image in site.boxes.images]
        folds.append((rng.permutation(len(site)) % FOLDS)[image_ranks(ids)])
    return folds


def pairs_of(site: Site, *, everywhere: bool) -> Iterator[Pair]:
    """Yield the categories of a site that enough images and boxes are labelled of.

    Learned is from all images (`everywhere`), or from those that hold the category or show a box of
    it: in a labelled set of many categories most images do neither, at a site whose accuracy is
    wanted most do.
    """
    boxes = site.pool.found
    for k, ranking in enumerate(site.evaluation.rankings):
        chosen = (ranking.n_true > 0) | everywhere
        chosen[boxes.image[(boxes.label == k) & (boxes.scores > SCORE_THR)]] = True
        images = np.flatnonzero(chosen)
        if len(images) >= FEWEST_IMAGES and ranking.n_true.sum() >= FEWEST_BOXES:
            yield Pair(site, k, images)


def _fit(
    sites: Sequence[Site],
    pairs: Sequence[Pair],
    folds: Sequence[np.ndarray],
    names: tuple[str, ...],
) -> LabelAssistance | None:
    """Fit on the features with these names; None where there is too little."""
    n_found = sum(
        len(np.unique(pair.ranking.image[pair.ranking.hits[AT_HALF] > 0])) for pair in pairs
    )
    if n_found < FEWEST_FOUND:
        return None
    cross_fitted = [
        influence for influence in _cross_fit(sites, pairs, folds, names) if influence.varies
    ]
    of_ap = [influence for influence in cross_fitted if influence.target == MEAN_AP]
    if not of_ap:
        return None
    of_points = {
        name: [influence for influence in cross_fitted if influence.target == name]
        for name in MEASURES
    }
    mixing = {MODEL: _mixing_weights(of_ap, (MODEL,))}
    if all(REFERENCE in influence.predicted for influence in of_ap):
        mixing[REFERENCE] = _mixing_weights(of_ap, (MODEL, REFERENCE))
    return LabelAssistance(
        fit_box_model(
            sites, pairs, [np.ones(len(fold_of_image), bool) for fold_of_image in folds], names
        ),
        mixing,
        fit_small_sample_bias(
            [measure_small_sample_bias(pair.ranking) for pair in pairs],
            [pair.site.group for pair in pairs],
        ),
        tuple(site.name for site in sites),
        points={
            name: _mixing_weights(influences, (MODEL,))
            for name, influences in of_points.items()
            if influences
        },
    )


def _cross_fit(
    sites: Sequence[Site],
    pairs: Sequence[Pair],
    folds: Sequence[np.ndarray],
    names: tuple[str, ...],
) -> list[CrossFitted]:
    """Predict the influence of each image by a box model that was fitted on the other folds."""
    probabilities = [np.zeros((10, len(site.pool.found))) for site in sites]
    n_missed = [np.zeros((len(s.boxes.categories), len(s.pool))) for s in sites]
    for fold in range(FOLDS):
        held_out = [fold_of_image == fold for fold_of_image in folds]
        if not any(mask.any() for mask in held_out):
            continue
        model = fit_box_model(sites, pairs, [~mask for mask in held_out], names)
        for site, mine, p, missed in zip(sites, held_out, probabilities, n_missed, strict=True):
            if mine.any():
                boxes = mine[site.pool.found.image]
                everywhere = model.probabilities(site.pool)
                p[:, boxes] = everywhere[:, boxes]
                missed[:, mine] = model.n_missed(site.pool.found, everywhere)[:, mine]
    predicted = []
    for site, p, missed in zip(sites, probabilities, n_missed, strict=True):
        expected = expected_rankings(site.pool.found, p, missed)
        others = ProbableLabels.of_reference(site)
        second = others.rankings(site.pool.found) if others else None
        for pair in (pair for pair in pairs if pair.site is site):
            ranking = expected[pair.category].take(pair.images)
            by_others = second[pair.category].take(pair.images) if second else None
            variates = control_variates(ranking, by_others)
            means = {name: values.mean(axis=0) for name, values in variates.items()}
            predicted.append(CrossFitted(MEAN_AP, true_influence(pair.ranking), means))
            predicted += _at_thresholds(pair.ranking, ranking)
    return predicted


def _at_thresholds(true: RankedDetections, expected: RankedDetections) -> Iterator[CrossFitted]:
    """Yield the influence on precision, recall and F1, where these are defined."""
    for threshold in THRESHOLDS:
        counts = [image_counts(ranking, threshold) for ranking in (true, expected)]
        for name in MEASURES:
            actual, predicted = (influence_on(name, image_count) for image_count in counts)
            if np.isfinite(actual).all() and np.isfinite(predicted).all():
                yield CrossFitted(name, actual, {MODEL: predicted})


def fit_box_model(
    sites: Sequence[Site],
    pairs: Sequence[Pair],
    images: Sequence[np.ndarray],
    names: tuple[str, ...],
) -> BoxModel:
    """Fit the box model on some images, (M,) bool for each site, from some features."""
    most = max(MOST_BOXES // len(sites), LEAST_SHARE)
    of_boxes, of_matches = [], []
    for site, mask in zip(sites, images, strict=True):
        hits, ignored = site.pool_matches
        usable = np.flatnonzero(~ignored[AT_HALF] & mask[site.pool.found.image])
        usable = drawn_boxes(site.pool.found, usable, most)
        of_boxes.append(site.pool.columns(names)[usable])
        of_matches.append(hits[:, usable])
    features, matched = np.concatenate(of_boxes), np.concatenate(of_matches, axis=1)
    sizes = np.array([len(part) for part in of_boxes])
    weights = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), sizes)
    true_positive = fit_true_positive(features, matched, weights / weights.mean())
    rows = []
    for site, mask in zip(sites, images, strict=True):
        if mask.any():
            p = probability(true_positive, site.pool.columns(names))
            rows += [_missed(pair, p, mask) for pair in pairs if pair.site is site]
    described, missed, weights = (np.concatenate(part) for part in zip(*rows, strict=True))
    fit = fit_false_negatives(described, missed, weights / weights.mean())
    return BoxModel(names, true_positive, fit)


def drawn_boxes(found: Boxes, usable: np.ndarray, most: int) -> np.ndarray:
    """Draw so many boxes by a fixed seed, where there are more, as positions (n,), int64.

    Drawn by images, categories and what boxes are: the order of a file changes nothing.
    """
    if len(usable) <= most:
        return usable
    boxes, scores = found.boxes[usable], found.scores[usable]
    images = image_ranks([image.image_id for image in found.images])[found.image[usable]]
    words = np.argsort(np.argsort(found.categories))[found.label[usable]]
    in_order = usable[np.lexsort((*boxes.T, scores, words, images))]
    return in_order[np.random.default_rng(0).choice(len(usable), most, replace=False)]


def _missed(
    pair: Pair, probabilities: np.ndarray, images: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, false negatives and weights of the images of a pair."""
    boxes, ranking = pair.site.pool.found, pair.site.evaluation.rankings[pair.category]
    mine, n_images = boxes.label == pair.category, len(ranking)
    columns = probabilities[AT_HALF, mine], boxes.scores[mine], boxes.image[mine], n_images
    hits = np.bincount(ranking.image, ranking.hits[AT_HALF], minlength=n_images)
    chosen = pair.images[images[pair.images]]
    missed = np.maximum(ranking.n_true - hits, 0)[chosen]
    weights = np.full(len(chosen), 1 / (1 + missed.mean())) if len(chosen) else missed
    return image_features(*columns)[chosen], missed, weights


def _mixing_weights(cross_fitted: Sequence[CrossFitted], names: tuple[str, ...]) -> MixingWeights:
    """Fit slopes by a non-negative ridge regression, each pair with the same weight."""
    from scipy.optimize import nnls  # a quarter of a second that most commands save

    x = np.concatenate(
        [
            _scaled(np.stack([influence.predicted[n] for n in names], 1), influence)
            for influence in cross_fitted
        ]
    )
    y = np.concatenate([_scaled(influence.true, influence) for influence in cross_fitted])
    # The ridge penalty is further rows whose values are 0. No slope is negative: both predict the
    # same influence, and one that counted against the other would follow noise.
    penalty = np.sqrt(RIDGE * np.mean(np.sum(x**2, axis=0))) * np.eye(len(names))
    slopes, _ = nnls(np.vstack([x, penalty]), np.append(y, np.zeros(len(names))))
    slopes[0] = max(slopes[0], LEAST_SLOPE) if not slopes.any() else slopes[0]
    mixed = [
        slopes @ np.stack([influence.predicted[name] for name in names])
        for influence in cross_fitted
    ]
    correlations, ratios, noises = [], [], []
    for influence, sum_of in zip(cross_fitted, mixed, strict=True):
        left = influence.true - sum_of
        centred = left - left.mean()
        correlations.append(np.corrcoef(influence.true, sum_of)[0, 1])
        ratios.append(left.var(ddof=1) / sum_of.var(ddof=1))
        # variance of the logarithm of a sample variance, by the fourth moment (delta method)
        kurtosis = np.mean(centred**4) / np.mean(centred**2) ** 2
        noises.append(float((kurtosis - 1) / len(left)))
    return MixingWeights(
        dict(zip(names, map(float, slopes), strict=True)),
        fit_variance_prior(ratios, float(np.mean(noises))),
        float(np.mean(correlations)),
    )


def _scaled(values: np.ndarray, influence: CrossFitted) -> np.ndarray:
    """Give each pair the same weight, whether its influence or what was predicted is large."""
    size = influence.true.var() + influence.predicted[MODEL].var()
    return values / np.sqrt(size * len(influence.true))
