"""Sample, difference and combined estimates of one category; of several, see `joint_sample`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoeval.accuracy.average_precision import RankedDetections, influence_function
from autoeval.accuracy.operating_point import denominators, image_counts, influence_on, value_of
from autoeval.labels.assistance import MixingWeights
from autoeval.labels.difference import difference_estimate
from autoeval.labels.object_variance import DOF, PER_OBJECT, UNKNOWN_VALUE, object_variance
from autoeval.labels.prior import Combined, combine
from autoeval.labels.small_sample_bias import without_small_sample_bias
from autoeval.labels.value_with_error import NOTHING, ValueWithError
from autoeval.labels.variance_prior import VariancePrior
from autoeval.targets import OperatingPoint

LEVELS = {"mAP": slice(None), "mAP50": slice(0, 1), "mAP75": slice(5, 6)}
FEWEST_HOLDING = 3  # labelled images with an object, for a category to count as measured


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

    @property
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
    ranking: RankedDetections, target: str = "mAP", weights: np.ndarray | None = None
) -> SampleAccuracy:
    """Measure one category on the k labelled images, with weights (k,).

    The target is ``mAP``, ``mAP50``, ``mAP75``, or one at a threshold such as ``recall@0.3``.
    """
    point = OperatingPoint.of(target)
    if point is not None:
        counts = image_counts(ranking, point.score_thr, point.level)
        return measure_counts(point.measure, counts, weights)
    levels = LEVELS[target]
    value = float(ranking.average_precision(weights)[levels].mean())
    influence = influence_function(ranking, weights)[levels].mean(axis=0)
    n_true, n_holding = int(ranking.n_true.sum()), int((ranking.n_true > 0).sum())
    n_right = len(np.unique(ranking.image[(ranking.hits[levels] > 0).any(axis=0)]))
    return SampleAccuracy(
        value, influence, n_true, n_holding, per_object=PER_OBJECT[target], n_right=n_right
    )


def measure_counts(
    measure: str, counts: np.ndarray, weights: np.ndarray | None = None
) -> SampleAccuracy:
    """Measure precision, recall or F1 on the labelled images."""
    value, influence = value_of(measure, counts, weights), influence_on(measure, counts, weights)
    n_holding = int(np.sum(denominators(measure, counts) > 0))
    return SampleAccuracy(value, influence, int(counts[2].sum()), n_holding)


def estimate_category(
    accuracy: SampleAccuracy,
    sample: LabelledSample,
    predicted: np.ndarray,
    mixing: MixingWeights,
    *,
    small_sample_bias: float,
    prior: ValueWithError = NOTHING,
) -> LabelEstimates:
    """Estimate from labelled images, with a predicted influence and a label-free estimate.

    `predicted` (M,) is that of all images of the pool, made with `mixing`.
    """
    alone, difference = NOTHING, NOTHING
    if accuracy.usable:
        residual = None
        if len(sample) > 1 and mixing.residual.dof > 0:
            residual = mixing.residual.scaled(float(predicted.var(ddof=1)))
        alone = sample_estimate(accuracy, sample, prior)
        difference = difference_of_category(
            accuracy, sample, predicted, small_sample_bias, prior, residual
        )
    both = combine(difference, prior).possible
    n_true, n_holding = accuracy.n_true, accuracy.n_holding
    return LabelEstimates(alone, difference, prior, both, n_true, n_holding, accuracy.measured)


def sample_estimate(
    accuracy: SampleAccuracy, sample: LabelledSample, prior: ValueWithError = NOTHING
) -> ValueWithError:
    """Estimate from the labelled images alone; the label-free estimate is in the variance alone."""
    return _estimate(accuracy.value, accuracy, sample, prior)


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
    at_labelled = predicted[sample.images]
    return _estimate(unbiased, accuracy, sample, prior, predicted=at_labelled, residual=residual)


def _estimate(
    value: float,
    accuracy: SampleAccuracy,
    sample: LabelledSample,
    prior: ValueWithError,
    *,
    predicted: np.ndarray | None = None,
    residual: VariancePrior | None = None,
) -> ValueWithError:
    by_objects = accuracy.per_object is not None
    if by_objects:
        residual = accuracy.variance_prior(prior, sample.n_clusters).scaled(len(sample))
    return difference_estimate(
        value,
        accuracy.influence,
        predicted,
        n_pool=sample.n_pool,
        weights=sample.weights,
        clusters=sample.clusters,
        variance_prior=residual,
        n_holding=accuracy.n_showing if by_objects else None,
    )
