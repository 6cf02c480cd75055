"""Sample, difference and combined estimates of one category, or of the mean over several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autoeval.labels.assistance import MixingWeights
from autoeval.labels.difference import difference_estimate
from autoeval.labels.prior import Combined, combine
from autoeval.labels.small_sample_bias import without_small_sample_bias
from autoeval.labels.value_with_error import NOTHING, ValueWithError
from autoeval.metrics.average_precision import RankedDetections, influence_function
from autoeval.metrics.operating_point import denominators, image_counts, influence_on, value_of
from autoeval.targets import OperatingPoint

LEVELS = {"mAP": slice(None), "mAP50": slice(0, 1), "mAP75": slice(5, 6)}
FEWEST_HOLDING = 3  # labelled images with an object, for a category to be measured
STD_OF_UNKNOWN = 0.25  # of an average precision for which there is no estimate


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

    @property
    def measured(self) -> bool:
        """Whether enough images hold the category."""
        return self.n_holding >= (1 if self.complete else FEWEST_HOLDING)


@dataclass(frozen=True)
class LabelEstimates:
    """All estimates of one category, or of the mean over categories."""

    sample: ValueWithError  # from the labelled images alone
    difference: ValueWithError  # with the predicted influence of all images
    prior: ValueWithError  # label-free
    combined: Combined  # of the last two; the recommended one
    n_true: int  # objects in the labelled images
    n_holding: int  # images that hold one
    measured: bool  # enough of them; otherwise the combined estimate is the label-free one


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
    return SampleAccuracy(value, influence, n_true, n_holding)


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
    if accuracy.measured:
        alone = _estimate(accuracy.value, accuracy, sample)
        variance_prior = None
        if len(predicted) > 1 and mixing.residual.dof > 0:
            variance_prior = mixing.residual.scaled(float(predicted.var(ddof=1)))
        difference = _estimate(
            _unbiased(accuracy, sample, small_sample_bias),
            accuracy,
            sample,
            predicted=predicted[sample.images],
            variance_prior=variance_prior,
        )
    both = combine(difference, prior)
    n_true, n_holding = accuracy.n_true, accuracy.n_holding
    return LabelEstimates(alone, difference, prior, both, n_true, n_holding, accuracy.measured)


def estimate_mean(
    measured: Sequence[tuple[SampleAccuracy, np.ndarray, ValueWithError]],
    sample: LabelledSample,
    mixing: MixingWeights,
    *,
    small_sample_bias: float,
    others: Sequence[ValueWithError] = (),
    prior: ValueWithError = NOTHING,
) -> LabelEstimates:
    """Estimate the mean over categories.

    `measured` has of each measured category its accuracy by labels, the predicted influence, (M,),
    and the label-free estimate; `others` are the label-free estimates of the categories that the
    labels do not measure, `prior` is that of the mean. Errors of label-free estimates are added,
    not averaged out, since they are alike in all categories. Where some of `others` have no
    estimate, the label-free estimate of the mean is moved by what the labels change in the measured
    categories; without one such a category gets the mean of the measured ones, with the standard
    deviation `STD_OF_UNKNOWN`.
    """
    accuracies = [accuracy for accuracy, _, _ in measured]
    whole = SampleAccuracy(
        float(np.mean([of.value for of in accuracies])),
        np.mean([of.influence for of in accuracies], axis=0),
        sum(of.n_true for of in accuracies),
        max(of.n_holding for of in accuracies),
        sample.complete,
    )
    unbiased = float(np.mean([_unbiased(of, sample, small_sample_bias) for of in accuracies]))
    free = _mean([free for _, _, free in measured])
    found = estimate_category(
        replace(whole, value=unbiased),
        sample,
        np.mean([predicted for _, predicted, _ in measured], axis=0),
        mixing,
        small_sample_bias=0.0,
        prior=free,
    )
    alone = replace(found.sample, value=found.sample.value + whole.value - unbiased)
    share = len(measured) / (len(measured) + len(others))
    combined = found.combined.estimate
    if prior.known and not all(other.known for other in others):
        before = free if free.known else prior
        moved = combined.mixed(share, prior)
        value = prior.value + share * (combined.value - before.value)
        combined = replace(moved, value=value)
    elif others:
        stand_in = ValueWithError(combined.value, STD_OF_UNKNOWN)
        combined = combined.mixed(share, _mean([of if of.known else stand_in for of in others]))
    both = replace(found.combined, estimate=combined)
    return replace(found, sample=alone, prior=prior, combined=both)


def _estimate(
    value: float, accuracy: SampleAccuracy, sample: LabelledSample, **assistance: Any
) -> ValueWithError:
    return difference_estimate(
        value,
        accuracy.influence,
        n_pool=sample.n_pool,
        weights=sample.weights,
        clusters=sample.clusters,
        **assistance,
    )


def _unbiased(accuracy: SampleAccuracy, sample: LabelledSample, b: float) -> float:
    return without_small_sample_bias(
        accuracy.value, b, n_true=accuracy.n_true, n_labelled=len(sample), n_pool=sample.n_pool
    )


def _mean(estimates: Sequence[ValueWithError]) -> ValueWithError:
    if not estimates or not all(estimate.known for estimate in estimates):
        return NOTHING
    values, errors, dofs = zip(*((e.value, e.error, e.dof) for e in estimates), strict=True)
    return ValueWithError(float(np.mean(values)), float(np.mean(errors)), min(dofs))
