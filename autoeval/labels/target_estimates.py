"""Estimates of one target, of all categories together and of each, from labelled images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from autoeval.accuracy.average_precision import RankedDetections
from autoeval.accuracy.operating_point import image_counts
from autoeval.labels.estimators import (
    LabelEstimates,
    LabelledSample,
    estimate_category,
    measure_counts,
    measure_sample,
)
from autoeval.labels.joint_sample import CategoryEstimates, CategorySample, estimate_categories
from autoeval.labels.plan import LabelPlan
from autoeval.labels.value_with_error import NOTHING
from autoeval.targets import OperatingPoint


@dataclass(frozen=True, eq=False)
class TargetEstimates:
    """Estimates of one target: of all categories together and of each."""

    whole: LabelEstimates
    each: dict[str, LabelEstimates]
    joint: CategoryEstimates | None = None  # of an average precision


def estimate_target(
    plan: LabelPlan, images: np.ndarray, rankings: Sequence[RankedDetections], target: str
) -> TargetEstimates:
    """Estimate a target of all categories and of each from labelled images, (k,), and rankings."""
    weights = plan.weights(images)
    sample = LabelledSample(images, plan.n_pool, weights, plan.blocks[images])
    accuracies = [
        replace(measure_sample(ranking, target, weights), complete=sample.complete)
        for ranking in rankings
    ]
    names, whole = plan.found.categories, plan.priors.get(target, NOTHING)
    priors = [plan.label_free(target, name) for name in names]
    *predicted, together = plan.predicted(target)
    point, mixing = OperatingPoint.of(target), plan.mixing_of(target)
    if point is None:
        bias = plan.small_sample_bias
        joint = estimate_categories(
            CategorySample(
                sample,
                accuracies,
                predicted,
                bias,
                priors,
                whole,
                plan.expected_holding.in_pool(plan.n_pool),
            )
        )
        each = dict(zip(names, joint.each, strict=True))
        return TargetEstimates(joint.whole if len(names) > 1 else joint.each[0], each, joint)
    parts = zip(accuracies, predicted, priors, strict=True)
    estimates = [
        estimate_category(one, sample, influence, mixing, small_sample_bias=0, prior=prior)
        for one, influence, prior in parts
    ]
    each = dict(zip(names, estimates, strict=True))
    if len(each) == 1:
        return TargetEstimates(estimates[0], each)
    counts = [image_counts(ranking, point.score_thr, point.level) for ranking in rankings]
    accuracy = measure_counts(point.measure, np.sum(counts, axis=0), weights)
    accuracy = replace(accuracy, complete=sample.complete)
    pooled = estimate_category(accuracy, sample, together, mixing, small_sample_bias=0, prior=whole)
    return TargetEstimates(pooled, each)
