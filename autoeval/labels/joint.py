r"""One joint estimate of all categories of a site, from labels and label-free estimates.

The average precisions of C categories are :math:`\theta = m + B u + v`: the label-free estimates m,
errors u ~ N(0, I) that the categories of the site share, with loadings B, and an error v_c of each,
so that the prior covariance is :math:`K = B B^T + diag(\omega^2)`. One shared error is the level,
the other the excess of rare categories: labels show frequent ones first, which are no random draw
of all. Labels give difference estimates d of the categories M that labelled images
hold, with covariance Σ. A linear functional
:math:`a^T \theta`, such as the mean over categories or one of them, is then estimated by

.. math:: a^T m + w^T (d - m_M), \qquad w = (K_{MM} + \Sigma)^{-1} K_{M \cdot} a, \qquad
          Var = a^T K a - a^T K_{\cdot M} w + \sum_{c \in M}
          \frac{4 \Sigma_{cc}^2}{\nu_c} w_c^2 \big[ (K_{MM} + \Sigma)^{-1} \big]_{cc}

The last term is the variance of the weights, which depend on variances with ν degrees of freedom
(as in `combine`, which this is for one category). Labels of frequent categories show the error that
all share, and so correct the others. Sources: Fay & Herriot 1979; Rao & Molina 2015, section 8.1.

**One more value.** With the covariance V that the labels leave of the C average precisions, one
more independent value of category c, of variance s, reduces the variance of their mean by

.. math:: \frac{\big(\tfrac1C \sum_j V_{cj}\big)^2}{V_{cc} + s}

the update of a normal distribution by one observation; it says which categories more labels would
help most (`variance_with_one_more`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from typing_extensions import Self

from autoeval.labels.category_estimate import (
    LabelEstimates,
    LabelledSample,
    SampleAccuracy,
    bias_scale,
    difference_of_category,
    difference_terms,
    objects_in_pool,
    sample_estimate,
)
from autoeval.labels.values import (
    CONFLICT,
    NOTHING,
    Combined,
    ValueWithError,
    combine,
    satterthwaite,
)

STD_OF_UNKNOWN = 0.25  # of an average precision for which there is no label-free estimate
UNKNOWN_COMMON = 0.25  # share of an error's variance in common, without an estimate of the mean
SMALL_SAMPLE_BIAS_STD = 0.2  # of b, see `autoeval.labels.category_estimate`
FLAT = 100.0  # standard deviation of a common error of which nothing is known
LABELS_OF_CORRELATIONS = 30.0
"""Labels from which on sample correlations of categories count for more than none."""
MOST_SHARED = 0.7  # of a standard error


@dataclass(frozen=True, eq=False)
class JointPrior:
    """Label-free estimates of C categories and of their mean, with the covariance of their errors.

    The covariance is ``common @ common.T + diag(specific**2)``.
    """

    values: np.ndarray  # (C,), as `specific` and `dof`
    common: np.ndarray  # loadings of the errors that categories share: level and rarity, (C, 2)
    specific: np.ndarray  # standard deviations of the errors that each has alone
    dof: np.ndarray
    mean_dof: float  # of the error of the mean
    known: bool = True  # whether there is any label-free estimate

    @classmethod
    def of(
        cls,
        each: Sequence[ValueWithError],
        whole: ValueWithError = NOTHING,
        n_objects: np.ndarray | None = None,
        small_sample_bias: float = 0.0,
    ) -> Self:
        r"""Divide the errors of C estimates by the error of their mean, `whole`.

        `n_objects` (C,) is the number that the pool is expected to hold of each; by default many.
        A pool is a sample, too: of a category that it holds only a few times, its average precision
        exceeds the label-free estimate by the same `small_sample_bias`.

        The level τ is alike in all categories but those whose own error s is smaller; with the
        stated error S of the mean, :math:`S^2 = \tau^2 + (\overline{s^2} - \tau^2) / C`. A
        category without an estimate gets what the mean leaves for it, or the mean of the others,
        with the standard deviation `STD_OF_UNKNOWN`.
        """
        c = len(each)
        has_estimate = np.array([estimate.known for estimate in each])
        values = np.array([estimate.value for estimate in each])
        errors = np.array([estimate.error for estimate in each])
        dof = np.array([estimate.dof if estimate.known else math.inf for estimate in each], float)
        if not has_estimate.all():
            values[~has_estimate] = _value_of_unknown(
                values[has_estimate], whole, int((~has_estimate).sum())
            )
            errors[~has_estimate] = STD_OF_UNKNOWN
        mean_dof = whole.dof if whole.known else float(dof.min(initial=math.inf))
        rarity = np.zeros(c) if n_objects is None else 1 / (n_objects + 1)
        rarity = rarity - rarity.mean()
        if not has_estimate.any() and not whole.known:
            specific = np.full(c, STD_OF_UNKNOWN)
            common = np.column_stack([np.full(c, FLAT), np.zeros(c)])
            return cls(values, common, specific, dof, mean_dof, known=False)
        if whole.known and whole.error > errors.mean() > 0:  # a mean errs no more than its parts
            errors = errors * (whole.error / errors.mean())
        level = np.minimum(_level(errors, whole), errors)
        rarity = rarity * (errors > 0)  # the value of a category without a box is known
        left = np.sqrt(errors**2 - level**2)
        excess = np.clip(SMALL_SAMPLE_BIAS_STD * rarity, -left, left)
        specific = np.sqrt(np.maximum(left**2 - excess**2, 0.0))
        common = np.column_stack([level, excess])
        return cls(values + small_sample_bias * rarity, common, specific, dof, mean_dof)

    def covariance(self, at: np.ndarray) -> np.ndarray:
        """Covariance of the errors of some categories, (M, M)."""
        return np.asarray(self.common[at] @ self.common[at].T + np.diag(self.specific[at] ** 2))

    def without_level(self) -> Self:
        """Forget what is known of the level that all categories share."""
        scale = float(np.abs(self.common[:, 0]).max(initial=0.0))
        if not scale > 0:
            return self
        return replace(self, common=self.common * np.array([FLAT / scale, 1.0]))


@dataclass(frozen=True, eq=False)
class MeasuredCategories:
    """What labels alone say of the categories that labelled images hold."""

    at: np.ndarray  # their index among all, (M,), int
    values: np.ndarray  # difference estimates, (M,)
    covariance: np.ndarray  # (M, M)
    dof: np.ndarray  # of the variances, (M,)
    correlations: np.ndarray  # that labelled images show, (M, M), beside a bias that is shared

    def one(self, k: int) -> ValueWithError:
        """Return the estimate of the k-th of them."""
        error = math.sqrt(float(self.covariance[k, k]))
        return ValueWithError(float(self.values[k]), error, float(self.dof[k]))

    @property
    def mean(self) -> ValueWithError:
        """The mean over these categories, from labels alone."""
        if not len(self.at):
            return NOTHING
        m, variances = len(self.at), np.diag(self.covariance)
        error = math.sqrt(max(float(self.covariance.sum()), 0.0)) / m
        return ValueWithError(float(self.values.mean()), error, satterthwaite(variances, self.dof))


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """The mean over categories, and each of them."""

    mean: Combined
    each: tuple[Combined, ...]
    prior: JointPrior  # that was used: without its level where the labels contradict that


def estimate_jointly(prior: JointPrior, measured: MeasuredCategories) -> JointEstimate:
    """Estimate the mean over C categories and each of them; see the module.

    Where the labels contradict the level of the label-free estimates, what is known of it is left
    out, and the labels alone decide on it. Values are brought into [0, 1], that of the mean is the
    mean of these, and errors stay as they are, so that intervals move along.
    """
    conflict = contradicted(prior, measured)
    prior = prior.without_level() if conflict else prior
    c = len(prior.values)
    functionals = np.vstack([np.full(c, 1 / c), np.eye(c)])
    errors_dof = np.append(prior.mean_dof, prior.dof)
    mean, *each = _posterior(prior, measured, functionals, errors_dof, conflict)
    values = np.array([combined.estimate.value for combined in each])
    moved = mean.moved_to(float(functionals[0] @ np.clip(values, 0, 1)))
    return JointEstimate(moved, tuple(combined.possible for combined in each), prior)


def estimate_mean(prior: JointPrior, measured: MeasuredCategories) -> ValueWithError:
    """Estimate the mean over categories alone, without a look at contradictions."""
    c = len(prior.values)
    dof = np.array([prior.mean_dof])
    return _posterior(prior, measured, np.full((1, c), 1 / c), dof, False)[0].estimate


def contradicted(prior: JointPrior, measured: MeasuredCategories) -> bool:
    """Whether labels show an error of the level of more than `CONFLICT` standard deviations."""
    at = measured.at
    b = prior.common[at, 0]
    if not len(at) or not prior.known or not b.any():
        return False
    # generalised least squares of d - m on the loadings b: the level u that the labels show, with
    # the variance 1 of its prior beside that of the estimate
    of_each = prior.covariance(at) - np.outer(b, b) + measured.covariance
    solved = cho_solve(cho_factor(of_each, lower=True), b)
    precision = float(b @ solved)
    shown = float(solved @ (measured.values - prior.values[at])) / precision
    return abs(shown) > CONFLICT * math.sqrt(1 + 1 / precision)


def _posterior(
    prior: JointPrior,
    measured: MeasuredCategories,
    functionals: np.ndarray,
    prior_dof: np.ndarray,
    conflict: bool,
) -> list[Combined]:
    """Estimate A linear functionals (A, C), whose label-free errors have `prior_dof` (A,)."""
    at, sampling = measured.at, np.diag(measured.covariance)
    before = functionals @ prior.values
    # a'Ka without the matrix K, which is large for many categories
    loading = functionals @ prior.common
    total = (loading**2).sum(axis=1) + functionals**2 @ prior.specific**2
    if not len(at):
        stated = zip(before, np.sqrt(total), prior_dof, strict=True)
        none = ValueWithError if prior.known else lambda *_: NOTHING
        return [Combined(none(*map(float, numbers)), 0.0, False) for numbers in stated]
    reach = prior.common[at] @ loading.T  # K_M a for each functional, (M, A)
    reach += (functionals[:, at] * prior.specific[at] ** 2).T
    factor = cho_factor(prior.covariance(at) + measured.covariance, lower=True)
    weights = cho_solve(factor, reach)
    inverse = np.diag(cho_solve(factor, np.eye(len(at))))
    values = before + weights.T @ (measured.values - prior.values[at])
    explained = (reach * weights).sum(axis=0)
    # what is left divides into the errors of labels and prior, which have degrees of freedom each
    of_labels = (weights * (measured.covariance @ weights)).sum(axis=0)
    left = np.maximum(total - explained, 0.0)
    of_prior = np.maximum(left - of_labels, 0.0)
    # variances of few labels are estimates, and so are the weights (Rivest & Vandal 2003)
    of_weights = (4 * sampling**2 / measured.dof * inverse) @ weights**2
    estimates = []
    for k, value in enumerate(values):
        dof_of_labels = satterthwaite(weights[:, k] ** 2 * sampling, measured.dof)
        dof = satterthwaite([of_labels[k], of_prior[k]], [dof_of_labels, prior_dof[k]])
        error = math.sqrt(left[k] + of_weights[k])
        share = float(explained[k] / total[k]) if total[k] > 0 else 0.0
        estimates.append(Combined(ValueWithError(float(value), error, dof), share, conflict))
    return estimates


def _value_of_unknown(values: np.ndarray, whole: ValueWithError, n: int) -> float:
    if whole.known:
        return float(np.clip(((len(values) + n) * whole.value - values.sum()) / n, 0, 1))
    return float(values.mean()) if len(values) else 0.5


def _level(errors: np.ndarray, whole: ValueWithError) -> float:
    """Return the standard deviation of the error that all C categories share; see `JointPrior`."""
    c, square = len(errors), float(np.mean(errors**2))
    if c == 1:
        return float(errors[0])
    if not whole.known:
        return math.sqrt(UNKNOWN_COMMON * square)
    return math.sqrt(max((whole.error**2 - square / c) * c / (c - 1), 0.0))


def variance_with_one_more(
    prior: JointPrior, measured: MeasuredCategories, sampling: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the variance of the mean, and with one more value of each category, (C,).

    `sampling` (C,) is the variance of that value.
    """
    at, c = measured.at, len(prior.values)
    with_mean = prior.common @ prior.common.mean(axis=0) + prior.specific**2 / c
    of_each = (prior.common**2).sum(axis=1) + prior.specific**2
    if len(at):
        reach = prior.common[at] @ prior.common.T  # covariance of measured and all, (M, C)
        reach[np.arange(len(at)), at] += prior.specific[at] ** 2
        factor = cho_factor(prior.covariance(at) + measured.covariance, lower=True)
        solved = cho_solve(factor, reach)
        with_mean = with_mean - solved.T @ with_mean[at]
        of_each = of_each - (reach * solved).sum(axis=0)
    now = max(float(with_mean.mean()), 0.0)
    gain = with_mean**2 / np.maximum(of_each + sampling, np.finfo(float).tiny)
    return now, np.maximum(now - gain, 0.0)


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
        # With the labels of all images there is no error that could correlate.
        terms = [
            difference_terms(
                self.accuracies[k].influence,
                self.predicted[k][sample.images],
                weights=sample.weights,
                clusters=sample.clusters,
                n_holding=self.accuracies[k].n_showing,
            )[0]
            for k in ([] if sample.complete else at)
        ]
        values, errors, dof = (
            np.array([getattr(estimate, name) for estimate in estimates])
            for name in ("value", "error", "dof")
        )
        bias = SMALL_SAMPLE_BIAS_STD * bias_scale(self.n_true[at], self.n_in_pool[at])
        correlations = shrunk_correlations(np.array(terms)) if terms else np.eye(len(at))
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
        for k in ([] if sample.complete else used)
    ]
    values, errors, dof = (
        np.array([getattr(estimate, name) for estimate in estimates])
        for name in ("value", "error", "dof")
    )
    correlations = shrunk_correlations(np.array(terms)) if terms else np.eye(len(used))
    covariance = np.outer(errors, errors) * correlations
    return MeasuredCategories(np.array(used, int), values, covariance, dof, correlations).mean


def _exact(categories: CategorySample) -> JointEstimate:
    """Return the values of all labels, which leave nothing to estimate."""
    values = [accuracy.value if accuracy.usable else np.nan for accuracy in categories.accuracies]
    pairs = zip(values, categories.priors, strict=True)
    each = tuple(combine(ValueWithError(value, 0.0), prior) for value, prior in pairs)
    mean = ValueWithError(float(np.nanmean(values)), 0.0)
    return JointEstimate(combine(mean, categories.whole), each, categories.prior)
