r"""Sample and difference estimate of one category from a few labelled images; several: `joint`.

**Variance by objects.** The variance of an average precision follows from the labelled objects
behind it:

.. math:: Var = \varphi\, \frac{a (1 - a)}{n}\, \frac{h + 5}{h + 6}, \qquad
          n = \frac{G}{1 + r (G / h - 1)}, \qquad
          a = \frac{h\, \theta_S + 5 g}{h + 5}

of G labelled objects in h images, with intra-image correlation r (Kish 1965, section 5.4), an
average precision between that of the sample and the label-free one g (in the manner of Agresti &
Coull 1998: with that of the sample alone, values that happen to be low would have small variances,
and weigh too much), and a factor by target. A proportion of n objects has
:math:`\varphi = 1`; the mean over ten IoU thresholds varies less than one of them.

The last factor is the expectation over what a itself is not known by: with the label-free value as
five images, θ has a beta distribution of mean a and h + 5 observations, of which
:math:`E[\theta (1 - \theta)] = a (1 - a) (h + 5) / (h + 6)`. Without it a law that is right for
few images is too small for many.

Few objects cannot show their own variance: those of three images may be equal, and those of images
without a true positive all are 0. The law is the prior of the sample variance, and knows how many
objects could have been true positives.

**Small-sample bias.** The mAP of a few images is too high on average. Precision is interpolated
upward, and a quotient of sums over few images is biased. Both fall with the number of labelled
boxes, so the bias is modelled as

.. math:: E[\theta_S] - \theta \approx b \, \Big( \frac{1}{g + 1} - \frac{1}{G + 1} \Big)

with g labelled boxes in the sample, G in the whole pool, and one b for all sites, fitted on
labelled ones; the 1 was chosen on categories with one or two objects in a sample. The pool is
itself a sample: of a category that it holds only a few times, its average precision is too high,
too, and a sample exceeds it by less. A jackknife needs no other sites, but doubles the standard
deviation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from autoeval.accuracy.measures import (
    RankedDetections,
    denominators,
    image_counts,
    influence_function,
    influence_on,
    value_of,
)
from autoeval.labels.values import (
    NOTHING,
    Combined,
    ValueWithError,
    VariancePrior,
    moderated,
)
from autoeval.targets import OperatingPoint

PER_OBJECT: Mapping[str, float] = MappingProxyType({"mAP": 0.6, "mAP50": 1.0, "mAP75": 1.0})
WITHIN_IMAGE = 0.2
DOF = 6.0
"""Observations that the law counts as. How these were chosen: docs/results/many_categories.md."""
IMAGES_OF_PRIOR = 5.0
INSIDE = 0.02  # an average precision of 0 or 1 has a variance, too
UNKNOWN_VALUE = 0.5  # without a label-free estimate
OFFSET = 1.0  # objects
OBJECTS_OF_EXPECTED = 3.0  # that an expected number counts as, beside labelled objects
LARGEST_SHARE = 0.5  # of the value that may be subtracted
SAMPLE_SIZES = (10, 20)
USUAL = 0.35  # b over 37 pairs of site and category, with YOLO26-nano
USUAL_WEIGHT = 0.05**2  # of `USUAL`: a site with twenty labelled boxes in a sample
MANY = 30  # labels from which on the slope is fitted to them
FOLDS = 5
LEVELS = {"mAP": slice(None), "mAP50": slice(0, 1), "mAP75": slice(5, 6)}
FEWEST_HOLDING = 3  # labelled images with an object, for a category to count as measured


def effective_objects(
    n_true: np.ndarray | float, n_holding: np.ndarray | float
) -> np.ndarray | float:
    """Return the number of independent objects that `n_true` in `n_holding` images stand for.

    Examples
    --------
    >>> float(effective_objects(12, 12)), float(effective_objects(12, 4))
    (12.0, 8.571428571428571)
    """
    held = np.maximum(n_holding, 1)
    each = np.maximum(n_true / held, 1)
    return np.asarray(held * each / (1 + WITHIN_IMAGE * (each - 1)))


def object_variance(
    per_object: float,
    value: np.ndarray | float,
    expected: np.ndarray | float,
    n_true: np.ndarray | float,
    n_holding: np.ndarray | float,
) -> np.ndarray:
    """Return the variance of the average precision of a sample; see the module.

    `value` is that of the sample, `expected` the label-free one.

    Examples
    --------
    >>> round(float(object_variance(1.0, 0.5, 0.5, 1, 1)), 3)  # 1/4 of 6/7
    0.214
    """
    both = np.asarray(n_holding * np.asarray(value) + IMAGES_OF_PRIOR * np.asarray(expected))
    counts = np.asarray(n_holding + IMAGES_OF_PRIOR)
    mixed = np.clip(both / counts, INSIDE, 1 - INSIDE)
    of_one = mixed * (1 - mixed) * counts / (counts + 1)
    return np.asarray(per_object * of_one / effective_objects(n_true, n_holding))


def measure_small_sample_bias(
    ranking: RankedDetections, *, draws: int = 40, seed: int = 0
) -> tuple[float, float]:
    """Measure by how much the mAP of a few images exceeds that of all N, on average.

    By `draws` simple random samples of each size k in `SAMPLE_SIZES`. Returns the mean difference,
    and the mean of `bias_scale`.
    """
    rng, n = np.random.default_rng(seed), len(ranking)
    whole = ranking.average_precision().mean()
    measured = []
    for k in (k for k in SAMPLE_SIZES if k < n for _ in range(draws)):
        few = ranking.take(rng.choice(n, k, replace=False))
        if few.n_true.any():
            excess = few.average_precision().mean() - whole
            scale_of_few = float(bias_scale(few.n_true.sum(), ranking.n_true.sum()))
            measured.append((excess, scale_of_few))
    excess, scale = np.mean(measured, axis=0) if measured else (0.0, 0.0)
    return float(excess), float(scale)


def fit_small_sample_bias(measured: Sequence[tuple[float, float]], groups: Sequence[str]) -> float:
    """Fit b to the excess measured at several sites; each group has the same weight.

    With a single group it is shrunk to `USUAL`: where images hold many objects, the excess is
    small, is mostly not in proportion to 1 / G, and a b from there is wrong elsewhere.

    Examples
    --------
    >>> fit_small_sample_bias([(.02, .1), (.04, .2)], ["a", "b"])
    0.2
    >>> round(fit_small_sample_bias([(.02, .05)], ["a"]), 3)  # between .4 and .35
    0.375
    """
    _, at, counts = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    excess, scale = np.array(measured).T
    weights = 1 / counts[at]
    if len(counts) == 1:
        usual = np.sqrt(USUAL_WEIGHT)
        excess, scale = np.append(excess, USUAL * usual), np.append(scale, usual)
        weights = np.ones(len(scale))
    below = float(weights @ scale**2)
    return round(float(weights @ (excess * scale)) / below, 12) if below > 0 else 0.0


def without_small_sample_bias(value: float, b: float, *, n_true: float, n_in_pool: float) -> float:
    """Subtract the expected excess from an average precision of a few images.

    Examples
    --------
    >>> without_small_sample_bias(.5, .4, n_true=19, n_in_pool=99)
    0.484
    """
    excess = b * float(bias_scale(n_true, n_in_pool))
    return value - min(excess, LARGEST_SHARE * max(value, 0.0))


def bias_scale(n_true: np.ndarray | float, n_in_pool: np.ndarray | float) -> np.ndarray:
    """Return how the bias falls with the number of labelled boxes; 0 where all are labelled."""
    few, all_of_them = np.asarray(n_true, float), np.asarray(n_in_pool, float)
    return np.maximum(1 / (few + OFFSET) - 1 / (all_of_them + OFFSET), 0.0)


def objects_in_pool(
    n_true: np.ndarray, n_labelled: int, n_pool: int, expected: np.ndarray | None = None
) -> np.ndarray:
    r"""Estimate how many objects of C categories a pool of N images holds from k labelled ones.

    .. math:: G = g + (N - k) \frac{a + g}{a N / (s e) + k}, \qquad
              s = \frac{N \sum g}{k \sum e}

    with g labelled objects, (C,), and e `expected` ones before there are labels, which are too few
    by about one factor s, as objects without a box are not expected. The posterior mean of a
    Poisson rate with a gamma prior, which counts as `OBJECTS_OF_EXPECTED` objects.

    Examples
    --------
    >>> objects_in_pool(np.array([3]), 10, 100)
    array([30.])
    >>> objects_in_pool(np.array([3, 0]), 10, 100, np.array([10, 5])).round(1)
    array([24.6,  6.8])
    """
    seen = np.asarray(n_true, float)
    each = seen / n_labelled
    if expected is not None and seen.sum() > 0 and expected.sum() > 0:
        rate = expected * (each.sum() / expected.sum())
        a = OBJECTS_OF_EXPECTED
        each = rate * (a + seen) / (a + n_labelled * rate)
    return np.asarray(seen + (n_pool - n_labelled) * each)


def difference_estimate(
    value: float,
    influence: np.ndarray,
    predicted: np.ndarray | None = None,
    *,
    sample: LabelledSample,
    variance_prior: VariancePrior | None = None,
    n_holding: int | None = None,
) -> ValueWithError:
    r"""Estimate a statistic of N images from k labelled ones and a prediction of their influence.

    .. math:: \theta = \theta_S - \bar\lambda \sum_i a_i IF^p_i, \qquad
              SE^2 = \Big(1 - \frac{k}{N}\Big) \frac{K}{K-1}
              \sum_c \Big( \sum_{i \in c} a_i (r_i - \bar r) \Big)^2

    with :math:`r_i = IF_i - \lambda_i IF^p_i` and normalised weights :math:`a_i` (1/k, or the
    inverse inclusion probabilities over their sum: Hájek). The sum runs over K clusters; each image
    is its own where none are given, and the formula is then :math:`(1 - k/N)\, s^2(r) / k`.
    :math:`\lambda` is 1 for fewer than `MANY` labels; above, cov(IF, IFᵖ) / var(IFᵖ), clipped to
    [0, 1], each image by the slope of the others (cross-fitted); one mean slope in the value, so
    that all labels give the statistic itself. Without a prediction this is the estimate from
    labels alone. It holds for any asymptotically linear statistic. Sources:
    Angelopoulos et al. 2023 (PPI), 2311.01453 (PPI++); Särndal et al. 1992, section 6.3.

    `value` is the statistic of the labelled images of `sample`, by their weights; `influence` (k,)
    is theirs on it, `predicted` (k,) has mean 0 over the pool. `variance_prior` is of r. The result
    has K - 1 degrees of freedom, fewer where only `n_holding` images hold an object, more with a
    `variance_prior`; without one there is no standard error for one cluster. With the labels of all
    images it is `value`, without error.

    Examples
    --------
    >>> sample = LabelledSample(np.arange(3), n_pool=12)
    >>> found = difference_estimate(.5, np.array([.2, -.1, -.1]), sample=sample)
    >>> round(found.value, 3), round(found.error, 4), found.dof
    (0.5, 0.0866, 2.0)
    """
    if len(influence) >= sample.n_pool:
        return ValueWithError(float(value), 0.0)
    terms, correction = difference_terms(
        influence,
        predicted,
        weights=sample.weights,
        clusters=sample.clusters,
        n_holding=n_holding,
    )
    variance, dof = variance_of_sum(terms, n_holding)
    if variance_prior is not None:
        of_mean = VariancePrior(variance_prior.variance / len(influence), variance_prior.dof)
        variance, dof = moderated(variance, dof, of_mean)
    finite = 1 - len(influence) / sample.n_pool
    return ValueWithError(float(value) - correction, math.sqrt(finite * variance), dof)


def difference_terms(
    influence: np.ndarray,
    predicted: np.ndarray | None = None,
    *,
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
    n_holding: int | None = None,
) -> tuple[np.ndarray, float]:
    """Return the terms of K clusters whose sum is the error of the estimate, and its correction.

    The correction, the mean slope times the mean of `predicted`, is to be subtracted from the
    value; see `difference_estimate`.
    """
    k = len(influence)
    shares = np.full(k, 1 / k) if weights is None else weights / weights.sum()
    predicted = np.zeros(k) if predicted is None else predicted
    slope = slopes(influence, predicted)
    if n_holding is not None:
        # an average precision exists in samples that hold an object alone: among these the mean of
        # the predicted influence is not 0, and the correction by it would be a bias
        slope = slope * (1 - 1 / max(n_holding, 1))
    rest = influence - slope * predicted
    terms = shares * (rest - shares @ rest)
    if clusters is not None:
        _, at = np.unique(clusters, return_inverse=True)
        terms = np.bincount(at, terms)
    return terms, float(slope.mean() * (shares @ predicted))


def variance_of_sum(terms: np.ndarray, n_holding: int | None = None) -> tuple[float, float]:
    """Return the variance of the sum of the terms, and its degrees of freedom.

    Images without an object all have about the same influence: only the `n_holding` others show a
    variance, and their terms sum to 0 among themselves, so that Bessel's correction counts them
    alone.
    """
    n = len(terms)
    if n < 2:
        return math.nan, 0.0
    shown = n if n_holding is None else min(n, n_holding)
    if shown < 2:
        return math.nan, 0.0
    return float(shown / (shown - 1) * np.sum(terms**2)), float(shown - 1)


def slopes(influence: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return λ for each labelled image, (k,); see `difference_estimate`."""
    k = len(influence)
    if k < MANY:
        return np.ones(k)
    # each image by a slope that has not seen it: one fitted on the same images follows their noise,
    # and the variance that it leaves is too small (cross-fitting: Chernozhukov et al. 2018)
    fold = np.arange(k) % FOLDS
    fitted = np.array([_slope(influence[fold != f], predicted[fold != f]) for f in range(FOLDS)])
    return fitted[fold]


def _slope(influence: np.ndarray, predicted: np.ndarray) -> float:
    (_, covariance), (_, variance) = np.cov(influence, predicted)
    return float(np.clip(covariance / variance, 0.0, 1.0)) if variance > 0 else 1.0


@dataclass(frozen=True, eq=False)
class LabelledSample:
    """Labelled images of a pool."""

    images: np.ndarray  # index into the pool, (k,), each once
    n_pool: int  # images of the pool, these included
    weights: np.ndarray | None = None  # inverse inclusion probabilities, (k,), where they differ
    clusters: np.ndarray | None = None  # (k,), int: images of equal number are dependent

    def __len__(self) -> int:
        return len(self.images)

    @property
    def finite(self) -> float:
        """Share of the pool that is not labelled."""
        return max(1 - len(self) / self.n_pool, 0.0)

    @cached_property
    def n_clusters(self) -> int:
        """Number of independent clusters of labelled images."""
        return len(self) if self.clusters is None else len(np.unique(self.clusters))

    @property
    def complete(self) -> bool:
        """Whether every image of the pool is labelled."""
        return len(self.images) == self.n_pool


@dataclass(frozen=True, eq=False)
class SampleAccuracy:
    """Accuracy of one category on k labelled images."""

    value: float  # average precision, or precision, recall or F1; NaN where it is not defined
    influence: np.ndarray  # (k,)
    n_true: int  # objects
    n_holding: int  # images that hold one; for precision images that have a box
    complete: bool = False  # these are all images of the pool: nothing is left to estimate
    per_object: float | None = None  # variance by object, see `PER_OBJECT`; None: not by objects
    n_right: int = 0  # images that hold a true positive

    @property
    def measured(self) -> bool:
        """Whether enough images hold the category for the labels to say much."""
        return self.n_holding >= (1 if self.complete else FEWEST_HOLDING)

    @property
    def usable(self) -> bool:
        """Whether the labels say anything: by few objects where their variance is known."""
        return self.n_holding > 0 if self.per_object is not None else self.measured

    @property
    def n_showing(self) -> int:
        """Images that show how the objects vary: where none is found, equal zeros show nothing."""
        return min(self.n_holding, self.n_right + 1)

    def variance_prior(self, expected: ValueWithError, n_units: int) -> VariancePrior:
        """Return the prior of the variance of this value, by its objects; see `object_variance`.

        `expected` is the label-free estimate, `n_units` the number of independent clusters of
        images.
        """
        assert self.per_object is not None
        free = expected.value if expected.known else UNKNOWN_VALUE
        held = min(self.n_holding, n_units)
        law = object_variance(self.per_object, self.value, free, self.n_true, held)
        return VariancePrior(float(law), DOF)


@dataclass(frozen=True)
class LabelEstimates:
    """All estimates of one category, or of the mean over categories."""

    sample: ValueWithError  # from the labelled images alone
    difference: ValueWithError  # with the predicted influence of all images
    prior: ValueWithError  # label-free
    combined: Combined  # of the last two; the recommended one
    n_true: int  # objects in the labelled images
    n_holding: int  # images that hold one
    measured: bool  # enough of them; otherwise the combined one rests on the label-free estimates

    def inside(self, level: float) -> dict[str, float]:
        """Return ``value``, ``lower`` and ``upper`` of the combined estimate, inside [0, 1]."""
        estimate = self.combined.estimate
        ends = np.clip([estimate.value, *estimate.interval(level)], 0, 1).tolist()
        return dict(zip(("value", "lower", "upper"), ends, strict=True))


def measure_sample(
    ranking: RankedDetections,
    target: str = "mAP",
    weights: np.ndarray | None = None,
    *,
    complete: bool = False,
) -> SampleAccuracy:
    """Measure one category on the k labelled images, with weights (k,).

    The target is ``mAP``, ``mAP50``, ``mAP75``, or one at a threshold such as ``recall@0.3``. Where
    these are all images of the pool (`complete`) the value has no error, and no image an influence
    on it.
    """
    point = OperatingPoint.of(target)
    if point is not None:
        counts = image_counts(ranking, point.score_thr, point.level)
        return replace(measure_counts(point.measure, counts, weights), complete=complete)
    levels = LEVELS[target]
    value = float(ranking.average_precision(weights)[levels].mean())
    influence = np.zeros(len(ranking))
    if not complete:
        influence = influence_function(ranking, weights)[levels].mean(axis=0)
    n_true, n_holding = int(ranking.n_true.sum()), int((ranking.n_true > 0).sum())
    n_right = len(np.unique(ranking.image[(ranking.hits[levels] > 0).any(axis=0)]))
    per_object = PER_OBJECT[target]
    return SampleAccuracy(
        value, influence, n_true, n_holding, complete, per_object=per_object, n_right=n_right
    )


def measure_counts(
    measure: str, counts: np.ndarray, weights: np.ndarray | None = None
) -> SampleAccuracy:
    """Measure precision, recall or F1 on the labelled images."""
    value, influence = value_of(measure, counts, weights), influence_on(measure, counts, weights)
    n_holding = int(np.sum(denominators(measure, counts) > 0))
    return SampleAccuracy(value, influence, int(counts[2].sum()), n_holding)


def sample_estimate(
    accuracy: SampleAccuracy,
    sample: LabelledSample,
    prior: ValueWithError = NOTHING,
    *,
    value: float | None = None,
    predicted: np.ndarray | None = None,
    residual: VariancePrior | None = None,
) -> ValueWithError:
    """Estimate from labelled images; the label-free estimate `prior` is in the variance alone.

    By default from these alone. `value` is without the small-sample bias, `predicted` (k,) the
    influence that was predicted of these images, and `residual` the prior of the variance that it
    leaves, where that does not follow from the number of objects.
    """
    by_objects = accuracy.per_object is not None
    if by_objects:
        residual = accuracy.variance_prior(prior, sample.n_clusters).scaled(len(sample))
    return difference_estimate(
        accuracy.value if value is None else value,
        accuracy.influence,
        predicted,
        sample=sample,
        variance_prior=residual,
        n_holding=accuracy.n_showing if by_objects else None,
    )


def difference_of_category(
    accuracy: SampleAccuracy,
    sample: LabelledSample,
    predicted: np.ndarray,
    small_sample_bias: float,
    prior: ValueWithError = NOTHING,
    residual: VariancePrior | None = None,
    n_in_pool: float | None = None,
) -> ValueWithError:
    """Estimate by the predicted influence of all images, (M,), without the small-sample bias.

    `residual` is the prior of the variance that the prediction leaves, where that does not follow
    from the number of objects. `n_in_pool` is the estimated number of objects of the pool, by
    default in proportion to that of the labelled images.
    """
    n_true = accuracy.n_true
    if n_in_pool is None:
        n_in_pool = n_true * sample.n_pool / len(sample)
    unbiased = without_small_sample_bias(
        accuracy.value, small_sample_bias, n_true=n_true, n_in_pool=n_in_pool
    )
    return sample_estimate(
        accuracy,
        sample,
        prior,
        value=unbiased,
        predicted=predicted[sample.images],
        residual=residual,
    )
