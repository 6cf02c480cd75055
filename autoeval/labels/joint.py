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

**More labels.** `Outlook` and `JointOutlook` forecast the half-width that further labels give. Who
stops as soon as an interval is narrow enough stops where the variance of the labels happens to
look small, so the coverage of those intervals is too low. `STRETCH` is the factor by which an
interval is made wider for that. It comes from a simulation of batches of ten labels from ten on
with normal and skewed influences (``tests/labels/test_sample_size.py``).
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from typing_extensions import Self

from autoeval.boxes import Boxes
from autoeval.labels.assistance import bias_scale
from autoeval.labels.values import (
    CONFLICT,
    DOF,
    FEWEST_HOLDING,
    NOTHING,
    Combined,
    ValueWithError,
    VariancePrior,
    combine,
    object_variance,
    objects_in_pool,
    quantile,
    satterthwaite,
)
from autoeval.model.calibration import FOUND

STD_OF_UNKNOWN = 0.25  # of an average precision for which there is no label-free estimate
STD_WITHIN = 0.16  # of the categories of a site about their mean (meta_sets/panel/scores.csv)
UNKNOWN_COMMON = 0.25  # share of an error's variance in common, without an estimate of the mean
SMALL_SAMPLE_BIAS_STD = 0.2  # of b, see `autoeval.labels.assistance`
FLAT = 100.0  # standard deviation of a common error of which nothing is known
MOST_SHARED = 0.7  # of a standard error
FEWEST_LABELS = 8  # under it no interval is made from labels alone
USUAL_SIZES = (10, 20, 30, 50, 100)
STRETCH = 1.08  # of an interval at which labelling stops, see above
BATCH = 10  # images that are labelled before the interval is looked at again
CATEGORIES_DRAWN = 200  # in all draws together: with many categories one draw is like another
LABELS_OF_SHARES = 10.0  # that the expected shares of images count as, added to those labelled
CERTAIN = 0.999  # the highest probability of a box
EACH_IMAGE = range(sys.maxsize)  # k images that are each a block of their own lie in k blocks


@dataclass(frozen=True, eq=False)
class JointPrior:
    """Label-free estimates of C categories and of their mean, with the covariance of their errors.

    The covariance is ``common @ common.T + diag(specific**2)``, the K of the module.

    Parameters
    ----------
    values : ndarray of shape (C,)
        Label-free estimates m, in [0, 1].
    common : ndarray of shape (C, 2)
        Loadings B of the errors that categories share: level, rarity.
    specific : ndarray of shape (C,)
        Standard deviations ω of the errors that each has alone.
    dof : ndarray of shape (C,)
        Degrees of freedom of the error of each; infinite without an estimate.
    mean_dof : float
        Those of the error of the mean.
    informative : bool
        Whether there is any label-free estimate. Otherwise the level is free (`FLAT`), and the
        labels alone decide on it.
    """

    values: np.ndarray
    common: np.ndarray
    specific: np.ndarray
    dof: np.ndarray
    mean_dof: float
    informative: bool = True

    @classmethod
    def of(
        cls,
        estimates: Sequence[ValueWithError],
        whole: ValueWithError = NOTHING,
        n_objects: np.ndarray | None = None,
        small_sample_bias: float = 0.0,
    ) -> Self:
        r"""Divide the errors of C estimates by the error of their mean.

        The level τ is the same in all categories but those whose own error s is smaller; with the
        stated error S of the mean, :math:`S^2 = \tau^2 + (\overline{s^2} - \tau^2) / C`. A category
        without an estimate gets what the mean leaves for it, or the mean of the others, with the
        standard deviation `STD_OF_UNKNOWN`, or more where the mean itself is hardly known: it
        differs from the mean by `STD_WITHIN` besides. Where S exceeds the mean of s, every s is
        multiplied by their ratio.

        Parameters
        ----------
        estimates : sequence of ValueWithError
            Label-free estimates; those that are not known count as missing.
        whole : ValueWithError
            Label-free estimate of their mean; without one the share of an error's variance in
            common is `UNKNOWN_COMMON`.
        n_objects : ndarray of shape (C,), optional
            Objects that the pool is expected to hold of each; by default many. A pool is a sample,
            too: of a category that it holds only a few times, its average precision exceeds the
            label-free estimate by the same bias.
        small_sample_bias : float
            b of `autoeval.labels.assistance`.

        Examples
        --------
        >>> two = [ValueWithError(0.4, 0.1), ValueWithError(0.6, 0.1)]
        >>> prior = JointPrior.of(two, ValueWithError(0.5, 0.08))
        >>> prior.covariance(np.arange(2)).round(4)  # their mean has the variance .08 ** 2
        array([[0.01  , 0.0028],
               [0.0028, 0.01  ]])
        """
        c = len(estimates)
        has_estimate = np.array([estimate.known for estimate in estimates])
        values = np.array([estimate.value for estimate in estimates])
        errors = np.array([estimate.error for estimate in estimates])
        dof = np.array(
            [estimate.dof if estimate.known else math.inf for estimate in estimates], float
        )
        if not has_estimate.all():
            estimated_values, n = values[has_estimate], int((~has_estimate).sum())
            left_over = estimated_values.mean() if len(estimated_values) else 0.5
            if whole.known:
                left_over = np.clip((c * whole.value - estimated_values.sum()) / n, 0, 1)
            values[~has_estimate] = left_over
            of_mean = whole.error if whole.known else 0.0
            errors[~has_estimate] = max(STD_OF_UNKNOWN, math.hypot(of_mean, STD_WITHIN))
        mean_dof = whole.dof if whole.known else float(dof.min(initial=math.inf))
        rarity = np.zeros(c) if n_objects is None else 1 / (n_objects + 1)
        rarity = rarity - rarity.mean()
        if not has_estimate.any() and not whole.known:
            specific = np.full(c, STD_OF_UNKNOWN)
            common = np.column_stack([np.full(c, FLAT), np.zeros(c)])
            return cls(values, common, specific, dof, mean_dof, informative=False)
        if whole.known and whole.error > errors.mean() > 0:  # a mean errs no more than its parts
            errors = errors * (whole.error / errors.mean())
        square = float(np.mean(errors**2))
        if c == 1:
            shared = float(errors[0])
        elif whole.known:
            shared = math.sqrt(max((whole.error**2 - square / c) * c / (c - 1), 0.0))
        else:
            shared = math.sqrt(UNKNOWN_COMMON * square)
        level = np.minimum(shared, errors)
        rarity = rarity * (errors > 0)  # the value of a category without a box is known
        left = np.sqrt(errors**2 - level**2)
        excess = np.clip(SMALL_SAMPLE_BIAS_STD * rarity, -left, left)
        specific = np.sqrt(np.maximum(left**2 - excess**2, 0.0))
        common = np.column_stack([level, excess])
        return cls(values + small_sample_bias * rarity, common, specific, dof, mean_dof)

    def covariance(self, at: np.ndarray) -> np.ndarray:
        """Return the covariance of the errors of some categories, (M, M).

        Parameters
        ----------
        at : ndarray of shape (M,), int
            Places of these categories among all.
        """
        return np.asarray(self.common[at] @ self.common[at].T + np.diag(self.specific[at] ** 2))

    def without_level(self) -> Self:
        """Forget what is known of the level that all categories share."""
        scale = float(np.abs(self.common[:, 0]).max(initial=0.0))
        if not scale > 0:
            return self
        return replace(self, common=self.common * np.array([FLAT / scale, 1.0]))


@dataclass(frozen=True, eq=False)
class MeasuredCategories:
    """What labels alone say of the M categories that labelled images hold.

    Parameters
    ----------
    at : ndarray of shape (M,), int
        Their places among all C categories.
    values : ndarray of shape (M,)
        Difference estimates d, in [0, 1] or a little outside.
    covariance : ndarray of shape (M, M)
        Σ, that of their errors.
    dof : ndarray of shape (M,)
        Degrees of freedom of the variances.
    correlations : ndarray of shape (M, M)
        Those that labelled images show, without the bias that categories share.
    """

    at: np.ndarray
    values: np.ndarray
    covariance: np.ndarray
    dof: np.ndarray
    correlations: np.ndarray

    @property
    def mean(self) -> ValueWithError:
        """The mean over these categories, from labels alone; `NOTHING` where there is none."""
        if not len(self.at):
            return NOTHING
        m, variances = len(self.at), np.diag(self.covariance)
        error = math.sqrt(max(float(self.covariance.sum()), 0.0)) / m
        dof = float(satterthwaite(variances, self.dof))
        return ValueWithError(float(self.values.mean()), error, dof)


NOT_MEASURED = MeasuredCategories(np.zeros(0, int), np.zeros(0), np.eye(0), np.zeros(0), np.eye(0))
"""What no label says."""


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """The mean over categories, and each of them.

    Parameters
    ----------
    mean : Combined
        Of all C categories.
    categories : tuple of Combined
        Of each category.
    prior : JointPrior
        That was used: without its level where the labels contradict that.
    """

    mean: Combined
    categories: tuple[Combined, ...]
    prior: JointPrior


def estimate_jointly(prior: JointPrior, measured: MeasuredCategories) -> JointEstimate:
    """Estimate the mean over C categories and each of them; see the module.

    Where the labels contradict the level of the label-free estimates, what is known of it is left
    out, and the labels alone decide on it. Values are brought into [0, 1], that of the mean is the
    mean of these, and errors stay as they are, so that intervals move along.

    Parameters
    ----------
    prior : JointPrior
        Label-free estimates of all categories.
    measured : MeasuredCategories
        What labels say of some.

    Examples
    --------
    Labels that show one of two categories .1 lower than expected correct the other, too:

    >>> two = [ValueWithError(0.4, 0.1), ValueWithError(0.6, 0.1)]
    >>> prior = JointPrior.of(two, ValueWithError(0.5, 0.08))
    >>> one = MeasuredCategories(
    ...     np.array([0]), np.array([0.3]), np.array([[0.01]]), np.array([9.0]), np.eye(1)
    ... )
    >>> [round(category.estimate.value, 3) for category in estimate_jointly(prior, one).categories]
    [0.35, 0.586]
    """
    conflict = _contradicted(prior, measured)
    prior = prior.without_level() if conflict else prior
    c = len(prior.values)
    functionals = np.vstack([np.full(c, 1 / c), np.eye(c)])
    errors_dof = np.append(prior.mean_dof, prior.dof)
    mean, *categories = _posterior(prior, measured, functionals, errors_dof, conflict)
    values = np.array([combined.estimate.value for combined in categories])
    moved = mean.moved_to(float(functionals[0] @ np.clip(values, 0, 1)))
    possible = tuple(
        combined.moved_to(value) for combined, value in zip(categories, values, strict=True)
    )
    return JointEstimate(moved, possible, prior)


def _contradicted(prior: JointPrior, measured: MeasuredCategories) -> bool:
    """Whether labels show an error of the level of more than `CONFLICT` standard deviations.

    The level u that the labels show is the generalised least squares fit of d - m to the first
    loadings b; its variance is that of the fit and 1, that of u by the prior. Without a label-free
    estimate nothing is contradicted.
    """
    at = measured.at
    b = prior.common[at, 0]
    if not len(at) or not prior.informative or not b.any():
        return False
    # generalised least squares of d - m on the loadings b: the level u that the labels show, with
    # the variance 1 of its prior and that of the estimate
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
    """Estimate A linear functionals of the average precisions of C categories; see the module.

    Parameters
    ----------
    prior, measured
        Label-free estimates, and what labels say.
    functionals : ndarray of shape (A, C)
        Weights a of the categories in each.
    prior_dof : ndarray of shape (A,)
        Degrees of freedom of the label-free error of each.
    conflict : bool
        What the results say of a conflict.

    Returns
    -------
    list of Combined
        Of each functional, not clipped. `NOTHING` without labels and label-free estimates.
    """
    at = measured.at
    before = functionals @ prior.values
    if not len(at) and not prior.informative:
        return [Combined(NOTHING, 0.0, False) for _ in before]
    of_one = measured.covariance[None], measured.dof[None]
    weights, errors, dof, shares = (
        of_first[0] for of_first in _weigh(prior, at, *of_one, functionals, prior_dof)
    )
    values = before + weights.T @ (measured.values - prior.values[at])
    numbers = zip(*(column.tolist() for column in (values, errors, dof, shares)), strict=True)
    return [Combined(ValueWithError(*of_each), share, conflict) for *of_each, share in numbers]


def _weigh(
    prior: JointPrior,
    at: np.ndarray,
    covariance: np.ndarray,
    dof: np.ndarray,
    functionals: np.ndarray,
    prior_dof: np.ndarray,
    held: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Weigh what D samples of labels say of M categories; see the module.

    Parameters
    ----------
    prior : JointPrior
        Label-free estimates of C categories.
    at : ndarray of shape (M,), int
        Places of the M categories among all.
    covariance : ndarray of shape (D, M, M)
        Of the errors of the labels.
    dof : ndarray of shape (D, M)
        Degrees of freedom of their variances.
    functionals : ndarray of shape (A, C)
        Weights a of the categories in each functional.
    prior_dof : ndarray of shape (A,)
        Degrees of freedom of the label-free error of each functional.
    held : ndarray of shape (D, M), bool, optional
        Which of the categories a sample measures; by default all. The others have no weight.

    Returns
    -------
    weights : ndarray of shape (D, M, A)
        Of the differences between labels and label-free estimates.
    errors : ndarray of shape (D, A)
        Standard errors of the functionals.
    dof : ndarray of shape (D, A)
        Degrees of freedom of these.
    shares : ndarray of shape (D, A)
        Of the label-free variance that the labels remove.
    """
    # a'Ka without the matrix K, which is large for many categories
    loading = functionals @ prior.common
    total = (loading**2).sum(axis=1) + functionals**2 @ prior.specific**2
    reach = prior.common[at] @ loading.T  # K_M a for each functional, (M, A)
    reach += (functionals[:, at] * prior.specific[at] ** 2).T
    both = prior.covariance(at) + covariance
    if held is not None:
        of_held = held[:, :, None] & held[:, None, :]
        both, covariance = (
            np.where(of_held, both, np.eye(len(at))),
            np.where(of_held, covariance, 0),
        )
        reach = reach * held[:, :, None]
    root = np.linalg.inv(np.linalg.cholesky(both))  # of the inverse
    weights = root.swapaxes(1, 2) @ (root @ reach)
    inverse = (root**2).sum(axis=1)
    sampling = np.diagonal(covariance, axis1=1, axis2=2)
    explained = (reach * weights).sum(axis=1)
    # what is left divides into the errors of labels and prior, which have degrees of freedom each
    of_labels = (weights * (covariance @ weights)).sum(axis=1)
    left = np.maximum(total - explained, 0.0)
    of_prior = np.maximum(left - of_labels, 0.0)
    # variances of few labels are estimates, and so are the weights (Rivest & Vandal 2003)
    of_weights = (4 * sampling**2 / dof * inverse)[:, :, None] * weights**2
    parts = weights**2 * sampling[:, :, None]
    dof_of_labels = satterthwaite(parts.swapaxes(1, 2), dof[:, None, :])
    dofs = np.stack(np.broadcast_arrays(dof_of_labels, prior_dof), axis=-1)
    dof_of_all = satterthwaite(np.stack([of_labels, of_prior], axis=-1), dofs)
    errors = np.sqrt(left + of_weights.sum(axis=1))
    shares = np.divide(explained, total, out=np.zeros_like(explained), where=total > 0)
    return weights, errors, dof_of_all, shares


def variance_with_one_more(
    prior: JointPrior, measured: MeasuredCategories, sampling: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the variance of the mean, and what one more value of a category would make of it.

    Parameters
    ----------
    prior, measured
        Label-free estimates of C categories, and what labels say so far.
    sampling : ndarray of shape (C,)
        Variance s of the additional value of each category.

    Returns
    -------
    now : float
        Variance of the mean over categories.
    after : ndarray of shape (C,)
        The same with one more value of each category; see the module, **One more value**.
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


def with_shared_bias(errors: np.ndarray, bias: np.ndarray, correlations: np.ndarray) -> np.ndarray:
    r"""Return the covariance of values whose errors have a part in common.

    .. math:: \Sigma_{ij} = \beta_i \beta_j
              + \rho_{ij} \sqrt{(SE_i^2 - \beta_i^2) (SE_j^2 - \beta_j^2)}

    The small-sample bias is subtracted with one coefficient for all categories, which may be wrong:
    what it leaves has the same sign in all that have few objects. It is a part of the errors, not
    added to them.

    Parameters
    ----------
    errors : ndarray of shape (..., M)
        Standard errors SE.
    bias : ndarray of shape (..., M)
        Standard deviation β of the common part, cut at `MOST_SHARED` of each error.
    correlations : ndarray of shape (M, M)
        ρ of the rest.

    Examples
    --------
    >>> with_shared_bias(np.array([0.5, 0.5]), np.array([0.3, 0.3]), np.eye(2)).round(3)
    array([[0.25, 0.09],
           [0.09, 0.25]])
    """
    shared = np.minimum(bias, MOST_SHARED * errors)
    rest = np.sqrt(errors**2 - shared**2)
    of_shared = shared[..., :, None] * shared[..., None, :]
    return np.asarray(of_shared + rest[..., :, None] * rest[..., None, :] * correlations)


class WidthForecast:
    """Forecast of the half-width of the combined interval with further labels of a pool.

    `Outlook` is that of one value, `JointOutlook` that of a mean over categories.

    Attributes
    ----------
    n_pool : int
        Images of the pool.
    k : int
        Labels so far.
    n_blocks : ndarray of shape (N + 1,), int, or range
        At place k in how many blocks of time the first k labelled images lie: images of one block
        count once. By default each image is a block.
    """

    n_pool: int
    k = 0  # labels so far
    n_blocks: np.ndarray | range = EACH_IMAGE

    def half_width(self, k: int) -> float:
        """Return the expected half-width of the combined interval, in [0, 1].

        Parameters
        ----------
        k : int
            Number of labels in all, 2 or more; with those of all images the half-width is 0.
        """
        raise NotImplementedError

    def needed(self, wanted: float) -> int:
        """Return the smallest number of labels whose half-width is at most `wanted`.

        Parameters
        ----------
        wanted : float
            Half-width in [0, 1].

        Returns
        -------
        int
            Labels in all, those so far included; all images of the pool where fewer do not suffice.
        """
        sizes = range(max(self.k, 2), self.n_pool)
        at = bisect_left(sizes, True, key=lambda k: self.half_width(k) <= wanted)
        return sizes[at] if at < len(sizes) else self.n_pool


@dataclass(frozen=True)
class Outlook(WidthForecast):
    """Forecast of one value: a category, a difference, or all categories at a threshold.

    Parameters
    ----------
    per_image : VariancePrior
        Residual variance of one labelled image, with the observations that it counts as.
    n_pool : int
        Images of the pool, N.
    prior : ValueWithError
        Label-free estimate.
    level : float
        Nominal coverage of the interval.
    n_blocks : ndarray of shape (N + 1,), int, or range
        See `WidthForecast`.

    Examples
    --------
    >>> outlook = Outlook(VariancePrior(0.09, 6), n_pool=1000)
    >>> [round(outlook.half_width(k), 3) for k in (10, 40, 1000)]
    [0.165, 0.078, 0.0]
    >>> outlook.needed(0.1)
    26
    """

    per_image: VariancePrior
    n_pool: int  # type: ignore[bad-override]  # it is frozen
    prior: ValueWithError = NOTHING
    level: float = 0.9
    n_blocks: np.ndarray | range = field(  # type: ignore[bad-override]  # it is frozen
        default=EACH_IMAGE, compare=False
    )

    def half_width(self, k: int) -> float:
        r"""Return what `combine` will give of k labels with the expected variance.

        The standard error of the labels is :math:`\sqrt{(1 - k/N)\, v / K}`, with v of `per_image`
        and K blocks; their value is taken as the label-free one. Of fewer than `FEWEST_HOLDING`
        blocks labels of more images say nothing.

        Parameters
        ----------
        k : int
            Number of labels in all, 2 or more; from N on the half-width is 0.

        Returns
        -------
        float
            In the unit of the value, an accuracy in [0, 1].
        """
        finite = max(1 - k / self.n_pool, 0.0)
        if finite * self.per_image.variance == 0:
            return 0.0
        n = int(self.n_blocks[k])
        error = math.sqrt(finite * self.per_image.variance / n)
        dof = self.per_image.dof + n - 1
        labels = ValueWithError(self.prior.value if self.prior.known else 0.5, error, dof)
        if n < min(k, FEWEST_HOLDING):
            labels = NOTHING
        return combine(labels, self.prior).estimate.half_width(self.level)


def outlook_after(
    measured: ValueWithError,
    k: int,
    n_pool: int,
    *,
    prior: ValueWithError = NOTHING,
    level: float = 0.9,
    n_blocks: np.ndarray | range = EACH_IMAGE,
) -> Outlook:
    """Return the forecast after k labels, from the error of the difference estimator.

    Parameters
    ----------
    measured : ValueWithError
        Difference estimate of the k labels.
    k, n_pool : int
        Labels so far, and images of the pool.
    prior : ValueWithError
        Label-free estimate; `NOTHING` where it was dropped.
    level : float
        Nominal coverage of the interval.
    n_blocks : ndarray of shape (N + 1,), int, or range
        See `WidthForecast`.
    """
    finite, n = 1 - k / n_pool, int(n_blocks[k])
    variance = measured.error**2 * n / finite if finite > 0 else 0.0
    per_image = VariancePrior(variance, max(measured.dof - n + 1, 0.0))
    return Outlook(per_image, n_pool, prior, level, n_blocks)


@dataclass(frozen=True)
class Stop:
    """Whether a wanted half-width is reached.

    Parameters
    ----------
    reached : bool
        Whether it is.
    half_width : float
        Of the interval so far, widened by `STRETCH`; in [0, 1].
    more : int
        Images that the next batch should add; 0 where it is reached.
    """

    reached: bool
    half_width: float
    more: int


def next_batch(
    measured: ValueWithError, wanted: float, *, n_labelled: int, needed: int, level: float = 0.9
) -> Stop:
    """Decide whether to stop at a half-width, and how many images to label next.

    As `needed` is a forecast, half of the missing labels are made at once, rounded up to whole
    batches of `BATCH`; at least one batch is missing where the half-width is not reached.

    Parameters
    ----------
    measured : ValueWithError
        The combined estimate so far.
    wanted : float
        Wanted half-width, in the unit of the estimate.
    n_labelled : int
        Labels so far.
    needed : int
        Labels in all that are expected to suffice; see `WidthForecast.needed`.
    level : float
        Nominal coverage of the interval.

    Examples
    --------
    >>> next_batch(ValueWithError(0.4, 0.06), 0.05, n_labelled=10, needed=52).more  # 21, rounded up
    30
    """
    half = STRETCH * measured.half_width(level)
    if half <= wanted:
        return Stop(True, half, 0)
    missing = max(needed - n_labelled, BATCH)
    return Stop(False, half, min(missing, BATCH * max(1, math.ceil(missing / 2 / BATCH))))


def expected_holding(
    boxes: Boxes, probabilities: np.ndarray, objects: Sequence[np.ndarray] | None = None
) -> np.ndarray:
    """Expect objects in the M images of a pool, where its N boxes are.

    Parameters
    ----------
    boxes : Boxes
        Detected boxes, in C categories.
    probabilities : ndarray of shape (N,)
        Of being true positives.
    objects : sequence of C ndarrays of shape (M,), optional
        Expected objects of each image, found or missed; by default those that boxes find. Missed
        ones count where a box shows the category (its probability is over `FOUND`): how many there
        are was learned on such images and on those that hold it, and most of the others hold
        nothing.

    Returns
    -------
    ndarray of shape (2, C)
        The share of images that hold each category, in [0, 1], and the number of objects in an
        image that does, 1 or more.

    Examples
    --------
    >>> from autoeval.boxes import LabelledImage
    >>> images = tuple(LabelledImage(name, f"{name}.jpg", None) for name in "ab")
    >>> corners, scores = np.array([[0.0, 0, 9, 9], [20, 0, 29, 9]]), np.array([0.9, 0.8])
    >>> boxes = Boxes(images, ("car",), np.zeros(2, int), np.zeros(2, int), corners, scores)
    >>> shares, in_one = expected_holding(boxes, np.array([0.5, 0.5]))
    >>> shares, in_one.round(3)  # 1 - .5 * .5 of image a, none of b; one object in .75 images
    (array([0.375]), array([1.333]))
    """
    shares, in_one = [], []
    n = max(len(boxes.images), 1)
    for k in range(len(boxes.categories)):
        mine = boxes.label == k
        p, image = np.clip(probabilities[mine], 0, CERTAIN).astype(np.float64), boxes.image[mine]
        n_expected = np.bincount(image, p, minlength=n)
        none = np.exp(np.bincount(image, np.log1p(-p), minlength=n))
        if objects is not None:
            shown = np.bincount(image, p > FOUND, minlength=n) > 0
            missed = np.where(shown, np.maximum(objects[k] - n_expected, 0), 0)
            n_expected = n_expected + missed
            none = none * np.exp(-missed)  # missed ones are Poisson
        held = float((1 - none).sum())
        shares.append(held / n)
        in_one.append(max(float(n_expected.sum()) / held, 1.0) if held > 0 else 1.0)
    return np.array([shares, in_one])


@dataclass(frozen=True, eq=False)
class JointOutlook(WidthForecast):
    """Forecast of the mean over C categories with more labels of a pool.

    It is drawn how many labelled images will hold each category: each of them does with a
    probability that the box model gives before there are labels, and the labels themselves
    afterwards. The half-width is that of the same estimate as with labels, of the categories that
    are held in that draw.

    Parameters
    ----------
    prior : JointPrior
        Label-free estimates.
    holding : ndarray of shape (2, C)
        Expected without labels, see `expected_holding`.
    per_object : float
        Factor φ of the target, see `PER_OBJECT`.
    per_image : ndarray of shape (C,)
        Expected residual variance of the influence, for each category over all images.
    n_pool : int
        Images of the pool.
    level : float
        Nominal coverage of the interval.
    k : int
        Labels so far; the further fields are what they have shown.
    n_holding : ndarray of shape (C,)
        Blocks of labelled images that hold each category.
    n_true : ndarray of shape (C,)
        Objects in these, of each block the mean number of its images.
    by_labels : MeasuredCategories
        Estimates from these labels.
    n_blocks : ndarray of shape (N + 1,), int, or range
        See `WidthForecast`.
    """

    prior: JointPrior
    holding: np.ndarray
    per_object: float
    per_image: np.ndarray
    n_pool: int  # type: ignore[bad-override]  # it is frozen
    level: float = 0.9
    k: int = 0  # type: ignore[bad-override]  # it is frozen
    n_holding: np.ndarray | float = 0.0
    n_true: np.ndarray | float = 0.0
    by_labels: MeasuredCategories = NOT_MEASURED
    n_blocks: np.ndarray | range = EACH_IMAGE  # type: ignore[bad-override]  # it is frozen
    _half_widths: dict[int, float] = field(default_factory=dict, init=False)

    @property
    def shares(self) -> np.ndarray:
        """Probability that a block holds each category, (C,), by what the k labels have shown."""
        weight, n = LABELS_OF_SHARES, self.n_blocks[self.k]
        return np.asarray((self.n_holding + weight * self.holding[0]) / (n + weight))

    def half_width(self, k: int) -> float:
        """Return the mean half-width over draws of the images that will hold the categories.

        Parameters
        ----------
        k : int
            Number of labels in all; not fewer than there are.
        """
        if k >= self.n_pool:
            return 0.0
        if k not in self._half_widths:
            # Few categories are held in few different numbers of images: each number once.
            draws, times = np.unique(self._held(k), axis=0, return_counts=True)
            c = len(self.prior.values)
            mean, prior_dof = np.full((1, c), 1 / c), np.array([self.prior.mean_dof])
            covariance, dof = self._measured(draws, k)
            _, errors, freedom, _ = _weigh(
                self.prior, np.arange(c), covariance, dof, mean, prior_dof, draws > 0
            )
            widths = errors[:, 0] * [quantile(self.level, of_one) for of_one in freedom[:, 0]]
            if not self.prior.informative:
                widths[~draws.any(axis=1)] = math.nan
            self._half_widths[k] = float(np.average(widths, weights=times))
        return self._half_widths[k]

    def measured(self, k: int) -> float:
        """Return how many categories `FEWEST_HOLDING` blocks of k images are expected to hold.

        Parameters
        ----------
        k : int
            Number of labels in all; not fewer than there are.

        Returns
        -------
        float
            Mean over draws, from 0 to C.
        """
        return float(np.mean([(held >= FEWEST_HOLDING).sum() for held in self._held(k)]))

    def narrowed_by(self, images: int) -> np.ndarray:
        """Return the share of the half-width left by more labelled images of a category, (C,).

        Parameters
        ----------
        images : int
            Further labelled images that hold the category.

        Returns
        -------
        ndarray of shape (C,)
            In [0, 1], of the mean over categories. 1 of a category that the pool is not expected to
            hold in so many further images.
        """
        free = self.prior.values
        if self.k >= self.n_pool:
            return np.ones(len(free))
        law = object_variance(self.per_object, free, free, images * self.holding[1], images)
        now, after = variance_with_one_more(self.prior, self.by_labels, law)
        blocks_left = self.n_blocks[self.n_pool] - self.n_blocks[self.k]
        enough = self.shares * blocks_left >= images
        left = np.sqrt(after / now) if now > 0 else np.ones(len(free))
        return np.where(enough, left, 1.0)

    def _held(self, k: int) -> np.ndarray:
        """Draw how many blocks of k labelled images hold each category, (draws, C), int.

        Binomial numbers of the blocks to come, added to those that hold it so far.
        """
        from scipy.stats import binom  # half a second that most commands save

        # the same random numbers in [0, 1] for all numbers of labels, by draw and category
        c = len(self.prior.values)
        uniform = np.random.default_rng(0).random((max(CATEGORIES_DRAWN // c, 1), c))
        further = max(self.n_blocks[k] - self.n_blocks[self.k], 0)
        added = binom.ppf(uniform, further, np.clip(self.shares, 0, 1))
        return np.asarray(np.maximum(self.n_holding + added, 0)).astype(int)

    def _measured(self, held: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what k labels will probably say where `held` (D, C) blocks hold each category.

        Returns
        -------
        covariance : ndarray of shape (D, C, C)
            Of the errors of D samples of labels; without meaning where no block holds a category.
        dof : ndarray of shape (D, C)
            Degrees of freedom of the variances.
        """
        free, objects, rows = self.prior.values, self.holding[1], self.by_labels.at
        n_true = self.n_true + (held - self.n_holding) * objects
        law = object_variance(self.per_object, free, free, n_true, held)
        correlations, dof = np.eye(len(free)), DOF + held - 1.0
        showing = np.maximum(held - 1, 0)  # as the law and the sample variance will be mixed
        n = self.n_blocks[k]
        variances = (DOF * law + showing * self.per_image / n) / (DOF + showing)
        if len(rows):
            # Of categories that labels have shown, their own variance, in proportion to the blocks
            # that hold them; the share of the pool without labels is taken into account below.
            n_holding = np.asarray(self.n_holding)[rows]
            variances[:, rows] = np.diag(self.by_labels.covariance) / (1 - self.k / self.n_pool)
            variances[:, rows] *= n_holding / np.maximum(held[:, rows], 1)
            dof[:, rows] = self.by_labels.dof + held[:, rows] - n_holding
            correlations[np.ix_(rows, rows)] = self.by_labels.correlations
        errors = np.sqrt((1 - k / self.n_pool) * variances)
        expected = self.n_pool * self.holding.prod(axis=0)
        n_true = n_true * (k / n)  # the bias is by those of all images
        n_in_pool = objects_in_pool(n_true, k, self.n_pool, expected)
        bias = SMALL_SAMPLE_BIAS_STD * bias_scale(n_true, n_in_pool)
        return with_shared_bias(errors, bias, correlations), np.where(held > 0, dof, 1.0)
