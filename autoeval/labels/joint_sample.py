"""Joint estimates of several categories from labelled images and their influence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autoeval.labels.difference import difference_terms
from autoeval.labels.estimators import (
    LabelEstimates,
    LabelledSample,
    SampleAccuracy,
    difference_of_category,
    sample_estimate,
)
from autoeval.labels.joint import (
    SMALL_SAMPLE_BIAS_STD,
    JointEstimate,
    JointPrior,
    MeasuredCategories,
    estimate_jointly,
)
from autoeval.labels.prior import combine
from autoeval.labels.small_sample_bias import bias_scale, objects_in_pool
from autoeval.labels.value_with_error import NOTHING, ValueWithError

LABELS_OF_CORRELATIONS = 30.0
"""Labels from which on sample correlations of categories count for more than none."""
MOST_SHARED = 0.7  # of a standard error


@dataclass(frozen=True, eq=False)
class CategorySample:
    """Accuracies of C categories on labelled images, with what is known without these."""

    sample: LabelledSample
    accuracies: Sequence[SampleAccuracy]  # average precisions
    predicted: Sequence[np.ndarray]  # influence of all images of the pool, (M,) each
    small_sample_bias: float
    priors: Sequence[ValueWithError]  # label-free estimates
    whole: ValueWithError = NOTHING  # that of the mean over the categories
    n_objects: np.ndarray | None = None  # expected in the pool without labels, (C,)

    @property
    def prior(self) -> JointPrior:
        """The label-free estimates together."""
        return JointPrior.of(self.priors, self.whole, self.n_in_pool, self.small_sample_bias)

    @property
    def n_true(self) -> np.ndarray:
        """Objects of each category on the labelled images, (C,)."""
        return np.array([accuracy.n_true for accuracy in self.accuracies], float)

    @cached_property
    def n_in_pool(self) -> np.ndarray:
        """Objects of each category in the pool, by the labels and what was expected, (C,)."""
        sample = self.sample
        return objects_in_pool(self.n_true, len(sample), sample.n_pool, self.n_objects)

    @property
    def used(self) -> list[int]:
        """Categories that labelled images hold."""
        return [k for k, accuracy in enumerate(self.accuracies) if accuracy.usable]

    def measured(self) -> MeasuredCategories:
        """Return the difference estimates of these, with their covariance."""
        sample, at = self.sample, self.used
        estimates = [
            difference_of_category(
                self.accuracies[k],
                sample,
                self.predicted[k],
                self.small_sample_bias,
                self.priors[k],
                n_in_pool=float(self.n_in_pool[k]),
            )
            for k in at
        ]
        terms = [
            difference_terms(
                self.accuracies[k].influence,
                self.predicted[k][sample.images],
                weights=sample.weights,
                clusters=sample.clusters,
                n_holding=self.accuracies[k].n_showing,
            )[0]
            for k in at
        ]
        values, errors, dof = (
            np.array([getattr(estimate, name) for estimate in estimates])
            for name in ("value", "error", "dof")
        )
        bias = SMALL_SAMPLE_BIAS_STD * bias_scale(self.n_true[at], self.n_in_pool[at])
        correlations = shrunk_correlations(np.array(terms))
        covariance = with_shared_bias(errors, bias, correlations)
        return MeasuredCategories(np.array(at, int), values, covariance, dof, correlations)


@dataclass(frozen=True, eq=False)
class CategoryEstimates:
    """Estimates of the mean over categories and of each, and what forecasts need."""

    whole: LabelEstimates
    each: list[LabelEstimates]
    prior: JointPrior
    measured: MeasuredCategories


def estimate_categories(categories: CategorySample) -> CategoryEstimates:
    """Estimate the mean over categories and each of them, jointly; see `autoeval.labels.joint`."""
    measured = categories.measured()
    complete = categories.sample.complete
    joint = _exact(categories) if complete else estimate_jointly(categories.prior, measured)
    place = {int(k): i for i, k in enumerate(measured.at)}
    each = []
    for k, (accuracy, prior) in enumerate(
        zip(categories.accuracies, categories.priors, strict=True)
    ):
        alone = sample_estimate(accuracy, categories.sample, prior) if k in place else NOTHING
        difference = measured.one(place[k]) if k in place else NOTHING
        counts = accuracy.n_true, accuracy.n_holding, accuracy.measured
        each.append(LabelEstimates(alone, difference, prior, joint.each[k], *counts))
    whole = LabelEstimates(
        _sample_mean(categories),
        measured.mean,
        categories.whole,
        joint.mean,
        sum(accuracy.n_true for accuracy in categories.accuracies),
        max(accuracy.n_holding for accuracy in categories.accuracies),
        any(accuracy.measured for accuracy in categories.accuracies),
    )
    return CategoryEstimates(whole, each, joint.prior, measured)


def with_shared_bias(errors: np.ndarray, bias: np.ndarray, correlations: np.ndarray) -> np.ndarray:
    """Return the covariance (M, M) of values with standard errors (M,) and a shared part, `bias`.

    The small-sample bias is subtracted by one number for all categories, which may be wrong: what
    it leaves is alike in all that have few objects. It is a part of the errors, not added to them.
    """
    shared = np.minimum(bias, MOST_SHARED * errors)
    rest = np.sqrt(errors**2 - shared**2)
    return np.asarray(np.outer(shared, shared) + np.outer(rest, rest) * correlations)


def shrunk_correlations(terms: np.ndarray) -> np.ndarray:
    """Correlate the errors of M categories by their terms in K clusters, (M, K), shrunk to none.

    Sums over many categories hold many correlations, each of them noisy. A weighted mean of two
    correlation matrices is one.
    """
    m, k = len(terms), terms.shape[-1]
    if m < 2:
        return np.eye(m)
    norms = np.linalg.norm(terms, axis=1, keepdims=True)
    standard = terms / np.where(norms > 0, norms, 1)
    weight = (k - 1) / (k - 1 + LABELS_OF_CORRELATIONS)
    shrunk = weight * (standard @ standard.T)
    np.fill_diagonal(shrunk, 1.0)
    return np.asarray(shrunk)


def _sample_mean(categories: CategorySample) -> ValueWithError:
    """Return the mean over the categories that labelled images hold, from those images alone.

    By the variances of the categories, which know how few objects are behind them: the influence of
    a category that one image holds is 0, and that of many such adds up to no error.
    """
    used, sample = categories.used, categories.sample
    if not used:
        return NOTHING
    estimates = [
        sample_estimate(categories.accuracies[k], sample, categories.priors[k]) for k in used
    ]
    terms = [
        difference_terms(
            categories.accuracies[k].influence, weights=sample.weights, clusters=sample.clusters
        )[0]
        for k in used
    ]
    values, errors, dof = (
        np.array([getattr(estimate, name) for estimate in estimates])
        for name in ("value", "error", "dof")
    )
    correlations = shrunk_correlations(np.array(terms))
    covariance = np.outer(errors, errors) * correlations
    return MeasuredCategories(np.array(used, int), values, covariance, dof, correlations).mean


def _exact(categories: CategorySample) -> JointEstimate:
    """Return the values of all labels, which leave nothing to estimate."""
    values = [accuracy.value if accuracy.usable else np.nan for accuracy in categories.accuracies]
    pairs = zip(values, categories.priors, strict=True)
    each = tuple(combine(ValueWithError(value, 0.0), prior) for value, prior in pairs)
    mean = ValueWithError(float(np.nanmean(values)), 0.0)
    return JointEstimate(combine(mean, categories.whole), each, categories.prior)
