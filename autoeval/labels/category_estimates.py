r"""What labelled images say: of one category, and of all of them together with what was expected.

A category is measured (`measure_sample`), and its value in the pool is estimated from the labelled
images alone and with the predicted influence of all (`difference_estimate`); `estimate_categories`
puts all of them together with the label-free estimates, see `autoeval.labels.joint`. The law of the
variance is that of `autoeval.labels.values`, that of the bias of `autoeval.labels.assistance`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autoeval.accuracy.measures import (
    OperatingPoint,
    RankedDetections,
    denominators,
    image_counts,
    influence_function,
    influence_on,
    value_of,
)
from autoeval.labels.assistance import bias_scale
from autoeval.labels.joint import (
    SMALL_SAMPLE_BIAS_STD,
    JointEstimate,
    JointPrior,
    MeasuredCategories,
    estimate_jointly,
    with_shared_bias,
)
from autoeval.labels.values import (
    DOF,
    FEWEST_HOLDING,
    LEAST_INFLUENCE,
    LEVELS,
    NOTHING,
    PER_OBJECT,
    UNKNOWN_VALUE,
    Combined,
    ValueWithError,
    VariancePrior,
    combine,
    object_variance,
    objects_in_pool,
)

LARGEST_SHARE = 0.5  # of the value that may be subtracted as small-sample bias
MANY = 30  # labels from which on the slope is fitted to them
FOLDS = 5
LABELS_OF_CORRELATIONS = 30.0
"""Labels from which on sample correlations of categories count for more than none."""


@dataclass(frozen=True, eq=False)
class LabelledSample:
    """Labelled images of a pool, and how they were drawn.

    Parameters
    ----------
    images : ndarray of shape (k,), int
        Places of the labelled images in the pool, each once.
    n_pool : int
        Images of the pool, these included.
    weights : ndarray of shape (k,), optional
        Inverse inclusion probabilities, where they differ.
    clusters : ndarray of shape (k,), int, optional
        Images of equal number are dependent, as frames of one block of time are.

    Examples
    --------
    >>> sample = LabelledSample(np.array([0, 1, 7]), n_pool=9, clusters=np.array([4, 4, 5]))
    >>> sample.n_clusters, sample.complete
    (2, False)
    """

    images: np.ndarray
    n_pool: int
    weights: np.ndarray | None = None
    clusters: np.ndarray | None = None

    @cached_property
    def cluster_of(self) -> np.ndarray:
        """Number of the cluster of each labelled image, from 0; by default each is one, (k,)."""
        if self.clusters is None:
            return np.arange(len(self.images))
        return np.unique(self.clusters, return_inverse=True)[1]

    @cached_property
    def n_clusters(self) -> int:
        """Number of independent clusters of labelled images."""
        return len(np.unique(self.cluster_of))

    @property
    def complete(self) -> bool:
        """Whether every image of the pool is labelled."""
        return len(self.images) == self.n_pool


@dataclass(frozen=True)
class InformativeImages:
    r"""How many labelled images show a variance that some images have and others have not.

    An image of expected variance :math:`z_i`, drawn with probability :math:`\pi_i` of N, adds
    :math:`e_i = (1 - \pi_i)\, z_i / (N \pi_i)^2` to the expected variance of a weighted mean.
    Each counts in proportion to it:

    .. math:: E = \sum_{i = 1}^N \pi_i e_i, \qquad
              \bar n = E^2 \Big/ \sum_{i = 1}^N \pi_i e_i^2, \qquad
              n = \frac{\bar n}{E} \sum_{i \in S} e_i

    Of images with equal probabilities, a part of which have one variance and the others none, n is
    the number of the former in the sample, and :math:`\bar n` their expected number.

    Parameters
    ----------
    n : float
        Effective number of labelled images that show the variance.
    expected : float
        The same, as expected of such a draw.
    factor : float
        E over that of a simple random sample of as many images.

    Examples
    --------
    >>> sample = LabelledSample(np.array([0, 1, 7]), n_pool=10)
    >>> sizes = np.array([1.0, 0, 1, 1, 0, 1, 0, 0, 1, 1])
    >>> images = InformativeImages.of(sizes, sample, np.full(10, 0.3))
    >>> round(images.n, 3), round(images.expected, 3), round(images.factor, 3)
    (1.0, 1.8, 1.0)
    """

    n: float
    expected: float
    factor: float

    @classmethod
    def of(
        cls, sizes: np.ndarray, sample: LabelledSample, probabilities: np.ndarray
    ) -> InformativeImages:
        """Count them in a sample of N images with variances in proportion to `sizes`.

        Parameters
        ----------
        sizes : ndarray of shape (N,)
            z of each image, 0 or more.
        sample : LabelledSample
            Labelled images, not all of the pool.
        probabilities : ndarray of shape (N,)
            π of each image.
        """
        k, n_pool = len(sample.images), sample.n_pool
        each = (1 - probabilities) * sizes / (n_pool * probabilities) ** 2
        total = float(probabilities @ each)
        if not total > 0:  # all images that may vary are labelled
            return cls(k, k, 0.0)
        expected = total**2 / float(probabilities @ each**2)
        simple = (1 - k / n_pool) * float(sizes.mean()) / k
        n = expected * float(each[sample.images].sum()) / total
        return cls(n, expected, total / simple)


@dataclass(frozen=True, eq=False)
class SampleAccuracy:
    """Accuracy of one category on k labelled images.

    Parameters
    ----------
    value : float
        Average precision, or precision, recall or F1, in [0, 1]; NaN where it is not defined.
    influence : ndarray of shape (k,)
        Influence function of each image on the value; not read where `complete`.
    n_true : int
        Objects in these images.
    n_holding : int
        Images that hold one. For precision images that have a box over the threshold, for F1 those
        with either.
    independent : tuple of (float, int)
        Objects and clusters that hold one, for the variance by objects: frames of a cluster show
        the same objects, so that their mean number counts. At a threshold the boxes or objects of
        its denominator.
    complete : bool
        Whether these are all images of the pool, so that nothing is left to estimate.
    per_object : float, optional
        Factor φ of the variance by objects, see `PER_OBJECT`; None of a value whose variance does
        not follow from its objects.
    n_showing : int, optional
        Clusters that show how the objects vary: where no object is detected, equal zeros show
        nothing. None: all of them.
    n_equal : float
        Boxes or objects behind a measure at a threshold, its denominator, where all images show the
        same ratio, as where all boxes are right: these show no variance, which is not none. 0 where
        they differ.
    """

    value: float
    influence: np.ndarray
    n_true: int
    n_holding: int
    independent: tuple[float, int]
    complete: bool = False
    per_object: float | None = None
    n_showing: int | None = None
    n_equal: float = 0.0

    @property
    def measured(self) -> bool:
        """Whether enough images hold the category for the labels to say much.

        `FEWEST_HOLDING`, of which those of one cluster count once; with the labels of all images
        one suffices.
        """
        return self.independent[1] >= (1 if self.complete else FEWEST_HOLDING)

    @property
    def usable(self) -> bool:
        """Whether the labels say anything.

        One image that holds the category suffices where the variance follows from its objects, else
        as `measured`.
        """
        return self.n_holding > 0 if self.per_object is not None else self.measured


@dataclass(frozen=True)
class LabelEstimates:
    """All estimates of one category, or of all categories together.

    Parameters
    ----------
    sample : ValueWithError
        From the labelled images alone, without a correction of the small-sample bias.
    difference : ValueWithError
        With the predicted influence of all images and the bias corrected; see
        `difference_estimate`.
    prior : ValueWithError
        Label-free.
    combined : Combined
        Of the last two; the recommended one.
    n_true : int
        Objects in the labelled images. Of the mean over categories their sum.
    n_holding : int
        Images that hold one. Of the mean over categories that of the most frequent one.
    measured : bool
        Whether these are enough. Otherwise the combined estimate rests on the label-free ones, and
        on what the labels show of the other categories.
    """

    sample: ValueWithError
    difference: ValueWithError
    prior: ValueWithError
    combined: Combined
    n_true: int
    n_holding: int
    measured: bool


def measure_levels(ranking: RankedDetections, sample: LabelledSample) -> dict[str, SampleAccuracy]:
    """Measure mAP, mAP50 and mAP75 of one category on the k labelled images.

    Parameters
    ----------
    ranking : RankedDetections
        The boxes of the category on these images, at the ten IoU thresholds .50 to .95.
    sample : LabelledSample
        The images. Where they are all of the pool, the values have no error, and no image has an
        influence on them.

    Returns
    -------
    dict of str to SampleAccuracy
        By the names of `LEVELS`.
    """
    values = ranking.average_precision(sample.weights)
    influence = np.zeros((len(values), len(ranking.n_true)))
    if not sample.complete:
        influence = influence_function(ranking, sample.weights)
    n_true, n_holding = int(ranking.n_true.sum()), int((ranking.n_true > 0).sum())
    at = sample.cluster_of
    objects = np.bincount(at, ranking.n_true) / np.bincount(at)
    n_held = int((objects > 0).sum())
    measured = {}
    for target, levels in LEVELS.items():
        n_right = len(np.unique(at[ranking.image[(ranking.hits[levels] > 0).any(axis=0)]]))
        measured[target] = SampleAccuracy(
            float(values[levels].mean()),
            influence[levels].mean(axis=0),
            n_true,
            n_holding,
            (float(objects.sum()), n_held),
            sample.complete,
            per_object=PER_OBJECT[target],
            n_showing=min(n_held, n_right + 1),
        )
    return measured


def measure_sample(
    ranking: RankedDetections, sample: LabelledSample, target: str = "mAP"
) -> SampleAccuracy:
    """Measure one category as `measure_levels`, or at a threshold such as ``recall@0.3``.

    Parameters
    ----------
    ranking : RankedDetections
        The boxes of the category on the labelled images.
    sample : LabelledSample
        These images.
    target : str
        ``mAP``, ``mAP50``, ``mAP75``, or a measure at a score threshold.
    """
    point = OperatingPoint.of(target)
    if point is None:
        return measure_levels(ranking, sample)[target]
    counts = image_counts(ranking, point.score_thr, point.level)
    return measure_counts(point.measure, counts, sample)


def measure_counts(measure: str, counts: np.ndarray, sample: LabelledSample) -> SampleAccuracy:
    """Measure precision, recall or F1 on the k labelled images.

    Parameters
    ----------
    measure : str
        ``precision``, ``recall`` or ``f1``.
    counts : ndarray of shape (3, k)
        True positives, boxes and objects of each image, see `image_counts`.
    sample : LabelledSample
        These images.

    Examples
    --------
    >>> sample = LabelledSample(np.array([0, 1, 7]), n_pool=9)
    >>> recall = measure_counts("recall", np.array([[1.0, 0, 1], [1, 1, 1], [1, 1, 2]]), sample)
    >>> recall.value, recall.n_true, recall.n_holding  # 2 of 4 objects
    (0.5, 4, 3)
    """
    value = value_of(measure, counts, sample.weights)
    influence = influence_on(measure, counts, sample.weights)
    below = denominators(measure, counts)
    n_equal = 0.0 if (np.abs(influence) > LEAST_INFLUENCE).any() else float(below.sum())
    n_true, n_holding, n_behind = int(counts[2].sum()), int(np.sum(below > 0)), float(below.sum())
    independent = n_behind, len(np.unique(sample.cluster_of[below > 0]))
    return SampleAccuracy(
        value, influence, n_true, n_holding, independent, sample.complete, n_equal=n_equal
    )


def difference_estimate(
    value: float,
    influence: np.ndarray,
    predicted: np.ndarray | None = None,
    *,
    sample: LabelledSample,
    variance_prior: VariancePrior | None = None,
    n_holding: int | None = None,
    informative: InformativeImages | None = None,
) -> ValueWithError:
    r"""Estimate a statistic of N images from k labelled ones and a prediction of their influence.

    .. math:: \theta = \theta_S - \bar\lambda \sum_i a_i IF^p_i, \qquad
              SE^2 = \frac{K}{K-1}
              \sum_c \Big( \sum_{i \in c} \sqrt{1 - \pi_i}\, a_i (r_i - \bar r) \Big)^2

    with :math:`r_i = IF_i - \lambda_i IF^p_i`, inclusion probabilities :math:`\pi_i` (k / N where
    all are equal) and normalised weights :math:`a_i` (1/k, or the inverse inclusion probabilities
    over their sum: Hájek). An image that was certain to be drawn adds no error. The sum runs over K
    clusters; each image is its own where none are given, and the formula with equal probabilities
    is then :math:`(1 - k/N)\, s^2(r) / k`.
    :math:`\lambda` is 1 for fewer than `MANY` labels; above, cov(IF, IFᵖ) / var(IFᵖ), clipped to
    [0, 1], each image by the slope of other clusters (cross-fitted); their mean in the value, so
    that all labels give the statistic itself. Without a prediction this is the estimate from
    labels alone. It holds for any asymptotically linear statistic. Sources:
    Angelopoulos et al. 2023 (PPI), 2311.01453 (PPI++); Särndal et al. 1992, section 6.3; of unequal
    probabilities Hájek 1964 (as of Poisson sampling with a fixed size, :math:`1 - \pi_i` of each).

    Where only h images hold an object (`n_holding`), K is at most h in the factor K / (K - 1), and
    λ is multiplied by 1 - 1 / h, see `difference_terms`.

    The sample variance :math:`s^2` with d degrees of freedom is shrunk towards its prior, which
    counts as :math:`d_0` (Smyth 2004, section 3; the posterior of a normal sample's variance), with
    :math:`d_0 + d` degrees of freedom:

    .. math:: \tilde s^2 = \frac{d_0 s_0^2 + d s^2}{d_0 + d}

    Where it is known which images may vary, and by how much (`informative`), the sample variance is
    in proportion to how many of these the sample holds (a ratio estimate: Särndal et al. 1992,
    section 5.6), and its degrees of freedom are their number:

    .. math:: \tilde s^2 = \frac{d_0 s_0^2 + \bar n s^2}{d_0 + n}, \qquad d = n

    with n of them in the sample and :math:`\bar n` expected, both multiplied by (K - 1) / k. A
    sample without any shows no variance, which is not 0: the prior counts alone.

    Parameters
    ----------
    value : float
        Statistic of the labelled images, by their weights.
    influence : ndarray of shape (k,)
        Influence of each labelled image on it.
    predicted : ndarray of shape (k,), optional
        Prediction of the same, with mean 0 over the pool.
    sample : LabelledSample
        The labelled images.
    variance_prior : VariancePrior, optional
        Of r, for one image; by default, and where it counts as no observation, the labels alone
        show the variance.
    n_holding : int, optional
        Clusters that show a variance; by default all.
    informative : InformativeImages, optional
        How many of the images that may vary are labelled; by default all images are alike.

    Returns
    -------
    ValueWithError
        With K - 1 degrees of freedom, fewer where only `n_holding` images hold an object, more with
        a `variance_prior`; without one there is no standard error (NaN) for one cluster, and 0
        degrees of freedom. With the labels of all images it is `value`, without error.

    Examples
    --------
    >>> sample = LabelledSample(np.arange(3), n_pool=12)
    >>> influence = np.array([.2, -.1, -.1])
    >>> found = difference_estimate(.5, influence, sample=sample)
    >>> round(found.value, 3), round(found.error, 4), found.dof
    (0.5, 0.0866, 2.0)
    >>> predicted = np.array([.1, -.05, .01])  # of which the mean is .02: better images than most
    >>> found = difference_estimate(.5, influence, predicted, sample=sample)
    >>> round(found.value, 3), round(found.error, 4)
    (0.48, 0.0541)
    >>> prior = VariancePrior(.09, 2)  # the variance .03 of two numbers, and .09 that counts as two
    >>> found = difference_estimate(.5, influence, sample=sample, variance_prior=prior)
    >>> round(found.error**2 / (9 / 12) * 3, 4), found.dof
    (0.06, 4.0)
    """
    if sample.complete:
        return ValueWithError(float(value), 0.0)
    k = len(influence)
    terms, correction = difference_terms(influence, predicted, sample=sample, n_holding=n_holding)
    # Images without an object all have about the same influence: only the `n_holding` others show a
    # variance, and their terms sum to 0 among themselves, so that Bessel's correction counts them
    # alone.
    shown = len(terms) if n_holding is None else min(len(terms), n_holding)
    squares, dof, factor = 0.0, 0.0, 1.0  # of the sample variance, the sum of d squares
    if shown > 1:
        squares, dof = float(shown * np.sum(terms**2)), float(shown - 1)
    if informative is not None:
        factor = informative.factor
        squares *= informative.expected / k
        dof *= informative.n / k
    if variance_prior is not None and variance_prior.dof > 0:
        left = factor * (1 - k / sample.n_pool)
        squares += variance_prior.dof * left * variance_prior.variance / k
        dof += variance_prior.dof
    variance = squares / dof if dof > 0 else math.nan
    return ValueWithError(float(value) - correction, math.sqrt(variance), dof)


def difference_terms(
    influence: np.ndarray,
    predicted: np.ndarray | None = None,
    *,
    sample: LabelledSample,
    n_holding: int | None = None,
) -> tuple[np.ndarray, float]:
    r"""Return the parts of the error of `difference_estimate`, and its correction.

    Parameters
    ----------
    influence : ndarray of shape (k,)
        Influence of each labelled image on the statistic.
    predicted : ndarray of shape (k,), optional
        Prediction of the same, with mean 0 over the pool.
    sample : LabelledSample
        The labelled images.
    n_holding : int, optional
        Clusters h that hold an object; by default the slope is not changed by it. An average
        precision exists only in samples that hold an object; among these the mean of the predicted
        influence is not 0, so that the slope is multiplied by 1 - 1 / h.

    Returns
    -------
    terms : ndarray of shape (K,)
        Of each cluster the sum of :math:`\sqrt{1 - \pi_i}\, a_i (r_i - \bar r)`; the sum of their
        squares is the variance before Bessel's correction.
    correction : float
        The mean slope times the weighted mean of `predicted`, to be subtracted from the value; 0
        without a prediction.
    """
    k, weights = len(influence), sample.weights
    shares = np.full(k, 1 / k) if weights is None else weights / weights.sum()
    rest, correction = influence, 0.0
    if predicted is not None:
        slope = slopes(influence, predicted, sample.cluster_of)
        if n_holding is not None:
            # an average precision exists in samples that hold an object alone: among these the mean
            # of the predicted influence is not 0, and the correction by it would be a bias
            slope = slope * (1 - 1 / max(n_holding, 1))
        rest = influence - slope * predicted
        correction = float(slope.mean() * (shares @ predicted))
    drawn = k / sample.n_pool if weights is None else 1 / weights
    terms = np.sqrt(1 - drawn) * shares * (rest - shares @ rest)
    return np.bincount(sample.cluster_of, terms), correction


def slopes(influence: np.ndarray, predicted: np.ndarray, cluster_of: np.ndarray) -> np.ndarray:
    """Return λ for each labelled image, (k,); see `difference_estimate`.

    Parameters
    ----------
    influence, predicted : ndarray of shape (k,)
        Influence of the labelled images, and its prediction. A slope is 1 where the prediction does
        not vary.
    cluster_of : ndarray of shape (k,), int
        Of a `LabelledSample`.
    """
    k = len(influence)
    if k < MANY:
        return np.ones(k)
    # each image by a slope that has seen neither it nor its cluster: one fitted on the same images
    # follows their noise, and the variance that it leaves is too small (cross-fitting:
    # Chernozhukov et al. 2018)
    # clusters are numbered as they appear: the order of a pool changes nothing
    _, first = np.unique(cluster_of, return_index=True)
    fold, fitted = np.argsort(np.argsort(first))[cluster_of] % FOLDS, np.ones(FOLDS)
    for f in range(FOLDS):
        others = fold != f
        if others.sum() < 2:
            continue
        (_, covariance), (_, variance) = np.cov(influence[others], predicted[others])
        if variance > 0:
            fitted[f] = np.clip(covariance / variance, 0.0, 1.0)
    return fitted[fold]


def sample_estimate(
    accuracy: SampleAccuracy,
    sample: LabelledSample,
    prior: ValueWithError = NOTHING,
    *,
    predicted: np.ndarray | None = None,
    small_sample_bias: float = 0.0,
    n_in_pool: float | None = None,
    residual: VariancePrior | None = None,
) -> ValueWithError:
    """Estimate one category from its labels; the label-free estimate is in the variance alone.

    From the labelled images alone, or with predicted influence.

    Parameters
    ----------
    accuracy : SampleAccuracy
        What the labelled images say.
    sample : LabelledSample
        The labelled images.
    prior : ValueWithError
        Label-free estimate, which the variance by objects needs; `UNKNOWN_VALUE` without one.
    predicted : ndarray of shape (M,), optional
        Predicted influence of all images of the pool.
    small_sample_bias : float
        b of `autoeval.labels.assistance`; the expected bias is subtracted, but at most
        `LARGEST_SHARE` of the value.
    n_in_pool : float, optional
        Estimated number of objects of the pool; by default in proportion to the labelled images.
    residual : VariancePrior, optional
        Prior of the variance of one image, where that does not follow from the number of objects.

    Examples
    --------
    >>> few = SampleAccuracy(.5, np.array([.2, -.1, -.1]), 19, 3, independent=(19, 3))
    >>> sample = LabelledSample(np.arange(3), 12)
    >>> round(sample_estimate(few, sample, small_sample_bias=.4, n_in_pool=99).value, 3)
    0.484
    """
    k, n_true, value = len(sample.images), accuracy.n_true, accuracy.value
    per_object, n_showing = accuracy.per_object, accuracy.n_showing
    n_behind, held = accuracy.independent
    if n_in_pool is None:
        n_in_pool = n_true * sample.n_pool / k
    excess = small_sample_bias * float(bias_scale(n_true, n_in_pool))
    if residual is not None and not residual.variance > LEAST_INFLUENCE**2:
        residual = None  # the prediction does not vary, and says nothing of what it leaves
    if accuracy.n_equal:  # a share of so many: its variance is not 0, whatever a prediction leaves
        n_behind, per_object, n_showing = accuracy.n_equal * sample.n_clusters / k, 1.0, 1
    if per_object is not None:
        free = prior.value if prior.known else UNKNOWN_VALUE
        law = object_variance(per_object, value, free, n_behind, held)
        residual = VariancePrior(float(law), DOF).scaled(k)
    elif residual is not None:  # images of a cluster count once
        residual = residual.scaled(k / sample.n_clusters)
    return difference_estimate(
        value - min(excess, LARGEST_SHARE * max(value, 0.0)),
        accuracy.influence,
        None if predicted is None else predicted[sample.images],
        sample=sample,
        variance_prior=residual,
        n_holding=n_showing,
    )


@dataclass(frozen=True, eq=False)
class CategoryEstimates:
    """Estimates of the mean over categories and of each, and what forecasts need.

    Parameters
    ----------
    whole : LabelEstimates
        Of the mean over categories.
    categories : list of LabelEstimates
        Of each category, in the order of the plan.
    prior : JointPrior
        The label-free estimates as they were used: without their level where labels contradict it.
    measured : MeasuredCategories
        What the labels alone say.
    independent : ndarray of shape (2, C)
        Objects of each category and clusters that hold it, see `SampleAccuracy`.
    """

    whole: LabelEstimates
    categories: list[LabelEstimates]
    prior: JointPrior
    measured: MeasuredCategories
    independent: np.ndarray


def estimate_categories(
    sample: LabelledSample,
    accuracies: Sequence[SampleAccuracy],
    predicted: Sequence[np.ndarray],
    priors: Sequence[ValueWithError],
    whole: ValueWithError = NOTHING,
    *,
    small_sample_bias: float = 0.0,
    n_objects: np.ndarray | None = None,
) -> CategoryEstimates:
    """Estimate the mean over C categories and each of them, jointly; see `autoeval.labels.joint`.

    Parameters
    ----------
    sample : LabelledSample
        The labelled images.
    accuracies : sequence of SampleAccuracy
        Average precision of each category on the labelled images.
    predicted : sequence of ndarray of shape (M,)
        Influence of all images of the pool on each category.
    priors : sequence of ValueWithError
        Label-free estimates of each.
    whole : ValueWithError
        Label-free estimate of their mean.
    small_sample_bias : float
        b of `autoeval.labels.assistance`.
    n_objects : ndarray of shape (C,), optional
        Objects that were expected in the pool without labels.
    """
    n_true = np.array([accuracy.n_true for accuracy in accuracies], float)
    n_in_pool = objects_in_pool(n_true, len(sample.images), sample.n_pool, n_objects)
    used = np.array([k for k, accuracy in enumerate(accuracies) if accuracy.usable], int)
    alone: dict[int, ValueWithError] = {}
    differences: dict[int, ValueWithError] = {}
    terms_alone, terms = [], []
    for k in used.tolist():
        accuracy, prior = accuracies[k], priors[k]
        alone[k] = sample_estimate(accuracy, sample, prior)
        differences[k] = sample_estimate(
            accuracy,
            sample,
            prior,
            predicted=predicted[k],
            small_sample_bias=small_sample_bias,
            n_in_pool=float(n_in_pool[k]),
        )
        if not sample.complete:  # else there is no error that could correlate
            terms_alone.append(difference_terms(accuracy.influence, sample=sample)[0])
            of_category, _ = difference_terms(
                accuracy.influence,
                predicted[k][sample.images],
                sample=sample,
                n_holding=accuracy.n_showing,
            )
            terms.append(of_category)
    bias = SMALL_SAMPLE_BIAS_STD * bias_scale(n_true[used], n_in_pool[used])
    measured = _together(used, list(differences.values()), terms, bias)
    # The mean from labels alone is by the variances of the categories, which know how few objects
    # are behind them: the influence of a category that one image holds is 0, and that of many such
    # adds up to no error.
    mean_alone = _together(used, list(alone.values()), terms_alone, np.zeros(len(used))).mean
    prior_of_all = JointPrior.of(priors, whole, n_in_pool, small_sample_bias)
    if sample.complete:
        joint = _exact(accuracies, priors, whole, prior_of_all)
    else:
        joint = estimate_jointly(prior_of_all, measured)
    categories = [
        LabelEstimates(
            alone.get(k, NOTHING),
            differences.get(k, NOTHING),
            priors[k],
            joint.categories[k],
            accuracy.n_true,
            accuracy.n_holding,
            accuracy.measured,
        )
        for k, accuracy in enumerate(accuracies)
    ]
    of_all = LabelEstimates(
        mean_alone,
        measured.mean,
        whole,
        joint.mean,
        sum(accuracy.n_true for accuracy in accuracies),
        max(accuracy.n_holding for accuracy in accuracies),
        any(accuracy.measured for accuracy in accuracies),
    )
    behind = [accuracy.independent for accuracy in accuracies]
    return CategoryEstimates(of_all, categories, joint.prior, measured, np.array(behind).T)


def _together(
    at: np.ndarray, estimates: Sequence[ValueWithError], terms: list[np.ndarray], bias: np.ndarray
) -> MeasuredCategories:
    """Put the estimates of M categories together, with the covariance of their errors.

    Errors correlate as their terms do, shrunk to none by the weight
    :math:`(K - 1) / (K - 1 + 30)` of the sample correlations (`LABELS_OF_CORRELATIONS`): sums over
    many categories hold many correlations, each of them noisy. A weighted mean of two correlation
    matrices is one.

    Parameters
    ----------
    at : ndarray of shape (M,), int
        Places of these categories among all.
    estimates : sequence of ValueWithError
        Of each.
    terms : list of ndarray of shape (K,)
        Of each, see `difference_terms`; empty where all images are labelled.
    bias : ndarray of shape (M,)
        Standard deviation of the small-sample bias, which they share.
    """
    errors = np.array([estimate.error for estimate in estimates])
    correlations = np.eye(len(at))
    if len(terms) > 1:
        norms = np.linalg.norm(terms, axis=1, keepdims=True)
        standard = np.array(terms) / np.where(norms > 0, norms, 1)
        n_clusters = standard.shape[1]
        weight = (n_clusters - 1) / (n_clusters - 1 + LABELS_OF_CORRELATIONS)
        correlations = weight * (standard @ standard.T)
        np.fill_diagonal(correlations, 1.0)
    return MeasuredCategories(
        at,
        np.array([estimate.value for estimate in estimates]),
        with_shared_bias(errors, bias, correlations),
        np.array([estimate.dof for estimate in estimates]),
        correlations,
    )


def _exact(
    accuracies: Sequence[SampleAccuracy],
    priors: Sequence[ValueWithError],
    whole: ValueWithError,
    prior_of_all: JointPrior,
) -> JointEstimate:
    """Return the values of all labels, which leave nothing to estimate.

    The mean is over the categories that hold an object; each of the others gets its label-free
    estimate.
    """
    values = [accuracy.value if accuracy.usable else np.nan for accuracy in accuracies]
    categories = tuple(
        combine(ValueWithError(value, 0.0), prior)
        for value, prior in zip(values, priors, strict=True)
    )
    mean = ValueWithError(float(np.nanmean(values)), 0.0)
    return JointEstimate(combine(mean, whole), categories, prior_of_all)
