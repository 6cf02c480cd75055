r"""Values with standard errors, the law of their variance, and how two are combined.

The combined estimator takes a label-free estimate as the prior of one from labels, as in small area
estimation. A variance of few numbers gets a prior, too, from other sites.

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
Frames of one block of time count as one image with their mean number of objects.

The last factor is the expectation over what a itself is not known by: with the label-free value as
five images, θ has a beta distribution of mean a and h + 5 observations, of which
:math:`E[\theta (1 - \theta)] = a (1 - a) (h + 5) / (h + 6)`. Without it a law that is right for
few images is too small for many.

Few objects cannot show their own variance: those of three images may be equal, and those of images
without a true positive all are 0. The law is the prior of the sample variance, and knows how many
objects could have been true positives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, stdtr, stdtrit

PER_OBJECT: Mapping[str, float] = MappingProxyType({"mAP": 0.6, "mAP50": 1.0, "mAP75": 1.0})
WITHIN_IMAGE = 0.2  # correlation of objects of one image (Kish 1965)
DOF = 6.0
"""Observations that the law counts as. How these were chosen: docs/results/many_categories.md."""
IMAGES_OF_PRIOR = 5.0  # that the label-free estimate counts as
INSIDE = 0.02  # an average precision of 0 or 1 has a variance, too
UNKNOWN_VALUE = 0.5  # without a label-free estimate
OBJECTS_OF_EXPECTED = 3.0  # that an expected number counts as, added to labelled objects
LEVELS = {"mAP": slice(None), "mAP50": slice(0, 1), "mAP75": slice(5, 6)}
FEWEST_HOLDING = 3  # labelled images with an object, for a category to count as measured
CONFLICT = 2.0  # standard deviations apart
LEAST_INFLUENCE = 1e-9  # of an image; less is rounding
SMALLEST = 1e-3  # of an error's standard deviation: a tenth of a point


@dataclass(frozen=True)
class ValueWithError:
    """A value, its standard error, and the degrees of freedom behind that error.

    All estimates in `autoeval.labels` and `autoeval.comparison` are of this kind; values and
    errors of accuracies are in [0, 1], not in points of 100.

    Parameters
    ----------
    value : float
        NaN where nothing was measured.
    error : float
        Standard error; 0 of a value that is known exactly, NaN where it is not known.
    dof : float
        Degrees of freedom of Student's distribution, by which intervals are made; infinite
        (normal distribution) where the standard error itself is known.

    Examples
    --------
    >>> measured = ValueWithError(.5, .1, math.inf)
    >>> [round(end, 3) for end in measured.interval(.9)]
    [0.336, 0.664]
    >>> few = ValueWithError(.5, .1, 4)  # an error of five numbers: a longer interval
    >>> [round(end, 3) for end in few.interval(.9)]
    [0.287, 0.713]
    """

    value: float
    error: float
    dof: float = math.inf

    @property
    def known(self) -> bool:
        """Whether there is a value with a standard error."""
        return math.isfinite(self.value) and math.isfinite(self.error)

    def mixed(self, share: float, other: ValueWithError) -> ValueWithError:
        r"""Average with another value, which has the rest of the share.

        .. math:: \theta = w \theta_1 + (1 - w) \theta_2, \qquad SE = w SE_1 + (1 - w) SE_2

        Errors are averaged as those of correlation 1 are, so that the result is never more precise
        than both. Degrees of freedom are those of this value.

        Parameters
        ----------
        share : float
            Weight w of this value, in [0, 1].
        other : ValueWithError
            Value of weight 1 - w.
        """
        value = share * self.value + (1 - share) * other.value
        error = share * self.error + (1 - share) * other.error
        return ValueWithError(value, error, self.dof)

    def half_width(self, level: float = 0.9) -> float:
        """Return half the width of the interval, by Student's distribution; NaN where not known.

        Parameters
        ----------
        level : float
            Nominal coverage of the interval, in (0, 1).
        """
        return quantile(level, self.dof) * self.error if self.known else math.nan

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """Return value less and plus `half_width`, not clipped to possible values.

        Parameters
        ----------
        level : float
            Nominal coverage of the interval, in (0, 1).

        Returns
        -------
        tuple of (float, float)
            Lower and upper end; NaN where there is no value or no standard error.
        """
        half = self.half_width(level)
        return self.value - half, self.value + half

    def inside(self, level: float = 0.9, lowest: float = 0.0) -> dict[str, float]:
        """Return ``value``, ``lower`` and ``upper``, clipped to possible values.

        Parameters
        ----------
        level : float
            Nominal coverage of the interval, in (0, 1).
        lowest : float
            Least possible value: 0 of an accuracy, -1 of a difference of two. The largest is 1.

        Returns
        -------
        dict of str to float
            Ends are NaN where there is no standard error, all three where there is no value.

        Examples
        --------
        >>> ValueWithError(.02, .1, math.inf).inside(.9)["lower"]
        0.0
        """
        half = self.half_width(level)
        ends = np.clip([self.value, self.value - half, self.value + half], lowest, 1)
        return {"value": float(ends[0]), "lower": float(ends[1]), "upper": float(ends[2])}

    @property
    def probability_positive(self) -> float:
        """Probability of a value over 0, by Student's distribution.

        Without a standard error, or with one of 0, it is 0, 1/2 or 1 by the sign of the value; NaN
        where there is no value.
        """
        if not self.known or self.error == 0:
            return 0.5 * (1 + float(np.sign(self.value)))
        z = self.value / self.error
        return float(stdtr(self.dof, z) if self.dof < math.inf else ndtr(z))


NOTHING = ValueWithError(math.nan, math.nan, 0.0)


def quantile(level: float, dof: float) -> float:
    """Return how many standard errors an interval reaches to either side.

    It is the (1 + level) / 2 quantile of Student's distribution, of the normal one where its
    degrees of freedom are infinite.

    Parameters
    ----------
    level : float
        Nominal coverage of the interval, in (0, 1).
    dof : float
        Degrees of freedom, over 0; with 0 the result is NaN.

    Examples
    --------
    >>> round(quantile(.9, math.inf), 3), round(quantile(.9, 4), 3)
    (1.645, 2.132)
    """
    return float(stdtrit(dof, (1 + level) / 2) if dof < math.inf else ndtri((1 + level) / 2))


@dataclass(frozen=True)
class VariancePrior:
    """Scaled inverse chi-squared prior of a variance.

    Parameters
    ----------
    variance : float
        Prior value of the variance.
    dof : float
        Observations that it counts as; 0: it counts as nothing.
    """

    variance: float
    dof: float

    def scaled(self, factor: float) -> VariancePrior:
        """Return the prior of another variance, in proportion to this one.

        Parameters
        ----------
        factor : float
            The other variance over this one, 0 or more. It counts as as many observations.
        """
        return VariancePrior(self.variance * factor, self.dof)

    @classmethod
    def of_mean(cls, priors: Sequence[VariancePrior]) -> VariancePrior:
        r"""Return the prior of the variance of the mean of K independent values.

        .. math:: V = \frac{1}{K^2} \sum_k V_k, \qquad
                  \frac{1}{\sqrt{d}} = \sum_k \frac{V_k}{\sum_l V_l} \frac{1}{\sqrt{d_k}}

        A variance with d degrees of freedom has the relative error :math:`\sqrt{2 / d}`. Errors of
        the K variances are taken to have correlation 1, so that their shares of the sum add.

        Parameters
        ----------
        priors : sequence of K VariancePrior
            Of each value; variances and degrees of freedom over 0.

        Examples
        --------
        >>> VariancePrior.of_mean([VariancePrior(0.3, 1.0), VariancePrior(0.1, 9.0)])
        VariancePrior(variance=0.1, dof=1.44)
        """
        variances = np.array([prior.variance for prior in priors])
        relative = np.array([prior.dof for prior in priors]) ** -0.5
        dof = float(np.average(relative, weights=variances)) ** -2
        return cls(float(variances.sum()) / len(priors) ** 2, round(dof, 9))


@dataclass(frozen=True)
class ErrorOfPrior:
    r"""Standard deviation τ of a label-free estimate's error at a new site.

    .. math:: \tau(g) = \tau s \quad \text{or} \quad \tau(g) = \tau s \sqrt{g (1 - g)}

    where g is the estimate and s the error that it states. Errors near 0 and near 1 are smaller;
    the likelihood of left-out sites decides between the two forms; see `fit_error_of_prior`.

    Parameters
    ----------
    scale : float
        τ, of the first or the second form.
    by_level : bool
        Whether the second form holds.
    dof : float
        Degrees of freedom of τ: number of groups less one, at least 1.
    """

    scale: float
    by_level: bool
    dof: float

    def at(self, estimate: float, stated: float = 1.0) -> ValueWithError:
        """Return a label-free estimate with its error.

        Parameters
        ----------
        estimate : float
            Label-free estimate g, in [0, 1].
        stated : float
            Error s that the estimate states; 1 where τ was fitted without stated errors.

        Returns
        -------
        ValueWithError
            Its error is at least `SMALLEST`.
        """
        shape = _shape(np.array([estimate]))[0] if self.by_level else 1.0
        return ValueWithError(estimate, max(self.scale * shape * stated, SMALLEST), self.dof)


OF_ONE_SET = ErrorOfPrior(scale=1.2, by_level=False, dof=6.0)
"""Error of a label-free estimate fitted on one labelled set, from which it cannot be measured.

Root mean square of error over stated error at other sites, over three detectors: .9 with
YOLO26-nano, 1.3 with FastestDet, 1.35 with NanoDet-Plus (`benchmarks/labels.py` prints
it). Because it differs by detector, the degrees of freedom are few.
"""


def object_variance(
    per_object: float,
    value: np.ndarray | float,
    expected: np.ndarray | float,
    n_true: np.ndarray | float,
    n_holding: np.ndarray | float,
) -> np.ndarray:
    """Return the variance of the average precision of a sample, by its objects; see the module.

    Parameters
    ----------
    per_object : float
        Factor φ of the target, see `PER_OBJECT`.
    value : array_like
        Average precision of the sample, θ_S, in [0, 1].
    expected : array_like
        Label-free estimate g, in [0, 1].
    n_true : array_like
        Labelled objects G of the sample.
    n_holding : array_like
        Images h of the sample that hold an object.

    Returns
    -------
    ndarray
        The variance, of the broadcast shape of all four.

    Examples
    --------
    >>> round(float(object_variance(1.0, 0.5, 0.5, 1, 1)), 3)  # 1/4 of 6/7
    0.214
    >>> round(float(object_variance(1.0, 0.5, 0.5, 10, 10)), 4)  # of 10 images: 1/40 of 15/16
    0.0234
    >>> round(float(object_variance(1.0, 0.5, 0.5, 20, 10)), 4)  # 20 objects count as 16.7
    0.0141
    """
    sums = np.asarray(n_holding * np.asarray(value) + IMAGES_OF_PRIOR * np.asarray(expected))
    counts = np.asarray(n_holding + IMAGES_OF_PRIOR)
    mixed = np.clip(sums / counts, INSIDE, 1 - INSIDE)
    of_one = mixed * (1 - mixed) * counts / (counts + 1)
    # objects of one image are correlated: so many independent ones (Kish 1965)
    held = np.maximum(n_holding, 1)
    objects_per_image = np.maximum(n_true / held, 1)
    independent = held * objects_per_image / (1 + WITHIN_IMAGE * (objects_per_image - 1))
    return np.asarray(per_object * of_one / independent)


def objects_in_pool(
    n_true: np.ndarray, n_labelled: int, n_pool: int, expected: np.ndarray | None = None
) -> np.ndarray:
    r"""Estimate how many objects of C categories a pool of N images holds from k labelled ones.

    .. math:: G = g + (N - k) \frac{a + g}{a N / (s e) + k}, \qquad
              s = \frac{N \sum g}{k \sum e}

    with g labelled objects, and e `expected` ones before there are labels, which are too few by
    about one factor s, as objects without a box are not expected. The posterior mean of a
    Poisson rate with a gamma prior, which counts as a = `OBJECTS_OF_EXPECTED` objects.

    Parameters
    ----------
    n_true : ndarray of shape (..., C)
        Labelled objects g of each category.
    n_labelled, n_pool : int
        Labelled images k, and all images N.
    expected : ndarray of shape (C,), optional
        Objects e that the pool was expected to hold. Without them, and where no object is labelled
        or expected, each category is in proportion to its labelled objects: g N / k.

    Returns
    -------
    ndarray of shape (..., C)
        Expected objects in the whole pool, those that are labelled included.

    Examples
    --------
    >>> objects_in_pool(np.array([3]), 10, 100)
    array([30.])
    >>> objects_in_pool(np.array([3, 0]), 10, 100, np.array([10, 5])).round(1)
    array([24.6,  6.8])
    """
    seen = np.asarray(n_true, float)
    per_image = seen / n_labelled
    if expected is not None and seen.sum() > 0 and expected.sum() > 0:
        rate = expected * (per_image.sum(axis=-1, keepdims=True) / expected.sum())
        a = OBJECTS_OF_EXPECTED
        per_image = rate * (a + seen) / (a + n_labelled * rate)
    return np.asarray(seen + (n_pool - n_labelled) * per_image)


@dataclass(frozen=True)
class Combined:
    """An estimate from labels and a label-free one together.

    Parameters
    ----------
    estimate : ValueWithError
        The combined estimate.
    share : float
        Weight of the labels, in [0, 1]: the share of the label-free estimate's variance that they
        remove. 0 where there are none, 1 where they alone count.
    conflict : bool
        Whether the two contradict each other. The label-free estimate is then left out (`combine`),
        or of several categories the level of these estimates (`autoeval.labels.joint`).
    """

    estimate: ValueWithError
    share: float
    conflict: bool

    def moved_to(self, value: float) -> Combined:
        """Return the same at another value, with its interval moved along.

        Parameters
        ----------
        value : float
            Clipped to [0, 1], the values that an accuracy can have.
        """
        possible = float(np.clip(value, 0, 1))
        return replace(self, estimate=replace(self.estimate, value=possible))


def combine(
    labels: ValueWithError, prior: ValueWithError, *, conflict: float = CONFLICT
) -> Combined:
    r"""Weigh an estimate from labels and a label-free one by their variances.

    .. math:: \theta' = \frac{\tau^2 \theta + SE^2 g}{\tau^2 + SE^2}, \qquad
              Var' = \frac{\tau^2 SE^2}{\tau^2 + SE^2}
              + \frac{4 \tau^4 SE^4}{\nu (\tau^2 + SE^2)^3}

    The second term is the variance of the weights, which depend on an SE with ν degrees of freedom:
    without it the intervals are too short for few labels. Degrees of freedom are those of the sum
    of both variances' shares (Satterthwaite 1946). Sources: Fay & Herriot 1979, section 2; Rivest &
    Vandal 2003 for the second term.

    Parameters
    ----------
    labels : ValueWithError
        Estimate θ from labels, with standard error SE and ν degrees of freedom. An SE of 0, of a
        pool that is labelled completely, leaves nothing to weigh: the result is θ.
    prior : ValueWithError
        Label-free estimate g, with standard deviation τ of its error.
    conflict : float
        Where the two differ by more than this many :math:`\sqrt{\tau^2 + SE^2}` the prior is
        dropped.

    Returns
    -------
    Combined
        Where one of them is not known, the other.

    Examples
    --------
    >>> both = combine(ValueWithError(.4, .06, 9), ValueWithError(.5, .08))
    >>> round(both.estimate.value, 3), round(both.estimate.error, 3), round(both.share, 2)
    (0.436, 0.05, 0.64)
    >>> both = combine(ValueWithError(.2, .06, 9), ValueWithError(.5, .08))  # three errors apart
    >>> both.estimate.value, both.share, both.conflict
    (0.2, 1.0, True)
    """
    if not labels.known:
        return Combined(prior, 0.0, False)
    if not prior.known:
        return Combined(labels, 1.0, False)
    between, within = prior.error**2, labels.error**2
    if not within:  # all images are labelled: nothing is left to weigh
        return Combined(labels, 1.0, abs(labels.value - prior.value) > conflict * prior.error)
    if abs(labels.value - prior.value) > conflict * math.sqrt(between + within):
        return Combined(labels, 1.0, True)
    share = between / (between + within)
    parts = (share**2 * within, (1 - share) ** 2 * between)
    dof = float(satterthwaite(parts, (labels.dof, prior.dof)))
    value = share * labels.value + (1 - share) * prior.value
    of_weights = 4 * (between * within) ** 2 / (labels.dof * (between + within) ** 3)
    return Combined(ValueWithError(value, math.sqrt(sum(parts) + of_weights), dof), share, False)


def fit_error_of_prior(
    estimates: np.ndarray,
    truths: np.ndarray,
    groups: Sequence[str],
    *,
    stated: np.ndarray | None = None,
) -> ErrorOfPrior:
    r"""Fit τ to S left-out sites, constant or by level, whichever their likelihood prefers.

    Each group has the same weight: τ² is the weighted mean of
    :math:`(\theta - g)^2 / (s\, f(g))^2`, with f = 1 or :math:`\sqrt{g (1 - g)}`. The
    likelihood that decides between the two is of each group by the τ of the others.

    Parameters
    ----------
    estimates : ndarray of shape (S,)
        Label-free estimates g in [0, 1], by a regression that has not seen the group of the site.
    truths : ndarray of shape (S,)
        Accuracies θ on all labels of each site.
    groups : sequence of str
        Group of each site.
    stated : ndarray of shape (S,), optional
        Error s that each estimate states; by default 1.

    Examples
    --------
    >>> error = fit_error_of_prior(np.array([.4, .5]), np.array([.5, .4]), ["a", "b"])
    >>> round(error.scale, 3), error.by_level, error.dof
    (0.1, False, 1.0)
    """
    group_numbers = np.unique(np.asarray(groups), return_inverse=True)[1]
    residuals = truths - estimates
    flat = np.ones(len(estimates)) if stated is None else stated
    curved = flat * _shape(estimates)
    loss = _held_out_loss(residuals, flat, group_numbers)
    by_level = _held_out_loss(residuals, curved, group_numbers) < loss
    scale = _scale(residuals, curved if by_level else flat, group_numbers)
    return ErrorOfPrior(scale, by_level, float(max(group_numbers.max(), 1)))


def _shape(estimates: np.ndarray) -> np.ndarray:
    r"""Return :math:`\sqrt{g (1 - g)}` of estimates g, (S,), which are kept .02 from 0 and 1."""
    inside = np.clip(estimates, 0.02, 0.98)
    return np.sqrt(inside * (1 - inside))


def _scale(residuals: np.ndarray, shape: np.ndarray, groups: np.ndarray) -> float:
    """Return τ by moments, groups of equal weight, at least `SMALLEST`; see `fit_error_of_prior`.

    All parameters are (S,): truth less estimate, s f(g), and the number of the group, from 0.
    """
    sizes = np.bincount(groups)
    weights = 1 / sizes[groups]
    pieces = np.square(residuals) / shape**2
    return math.sqrt(max(float(weights @ pieces / weights.sum()), SMALLEST**2))


def _held_out_loss(residuals: np.ndarray, shape: np.ndarray, groups: np.ndarray) -> float:
    """Return the loss of each group by the τ of the others: of two forms, the less the better.

    Twice the negative normal log-likelihood up to a constant, its mean over the sites of a group,
    summed over groups; 0 with a single group. Parameters as in `_scale`.
    """
    total = 0.0
    for group in range(groups.max() + 1):
        left_out = groups == group
        if left_out.all():
            continue
        scale = _scale(residuals[~left_out], shape[~left_out], groups[~left_out])
        variance = (scale * shape[left_out]) ** 2
        total += float(np.mean(np.log(variance) + residuals[left_out] ** 2 / variance))
    return total


def satterthwaite(parts: ArrayLike, dofs: ArrayLike) -> np.ndarray:
    r"""Return the degrees of freedom of sums of independent variances (Satterthwaite 1946).

    .. math:: \nu = \Big( \sum_i v_i \Big)^2 \Big/ \sum_i \frac{v_i^2}{\nu_i}

    Parameters
    ----------
    parts : array_like of shape (..., K)
        The K variances v of each sum.
    dofs : array_like of shape (..., K)
        Degrees of freedom ν of each.

    Returns
    -------
    ndarray of shape (...)
        Infinite where all parts of a sum are known exactly.

    Examples
    --------
    >>> float(satterthwaite([1.0, 1.0], [4, 4]))
    8.0
    """
    parts = np.asarray(parts, float)
    below, total = np.sum(parts**2 / np.asarray(dofs, float), axis=-1), parts.sum(axis=-1)
    return np.divide(total**2, below, out=np.full_like(total, math.inf), where=below > 0)
