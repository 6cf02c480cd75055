"""The combined estimator: a label-free estimate as the prior, as in small area estimation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from autoeval.labels.value_with_error import ValueWithError

CONFLICT = 2.0  # standard deviations apart
SMALLEST = 1e-3  # of an error's standard deviation: a tenth of a point


@dataclass(frozen=True)
class ErrorOfPrior:
    r"""Standard deviation τ of a label-free estimate's error at a new site.

    .. math:: \tau(g) = \tau s \quad \text{or} \quad \tau(g) = \tau s \sqrt{g (1 - g)}

    where s is the error that the estimate itself states. Errors near 0 and near 1 are smaller; the
    likelihood of left-out sources decides between the two forms; see `fit_error_of_prior`.
    """

    scale: float  # τ, of the first or the second form
    by_level: bool  # whether it is the second
    dof: float  # number of groups less one

    def at(self, estimate: float, stated: float = 1.0) -> ValueWithError:
        """Return a label-free estimate with its error."""
        shape = _shape(np.array([estimate]))[0] if self.by_level else 1.0
        return ValueWithError(estimate, max(self.scale * shape * stated, SMALLEST), self.dof)


OF_ONE_SET = ErrorOfPrior(scale=1.2, by_level=False, dof=6.0)
"""Error of a label-free estimate fitted on one labelled set, from which it cannot be measured.

Root mean square of error over stated error at other sites, over three detectors: .9 with
YOLO26-nano, 1.3 with FastestDet, 1.35 with NanoDet-Plus (`benchmarks/labels.py` prints
it). Because it differs by detector, the degrees of freedom are few.
"""


@dataclass(frozen=True)
class Combined:
    """The combined estimate."""

    estimate: ValueWithError
    share: float  # weight of the labels, in [0, 1]
    conflict: bool  # the two contradicted each other, and the label-free estimate was dropped

    def moved_to(self, value: float) -> Combined:
        """Return the same with another value, and the interval moved along."""
        return replace(self, estimate=replace(self.estimate, value=value))

    @property
    def possible(self) -> Combined:
        """The same at the nearest possible accuracy: a difference estimate may lie outside."""
        return self.moved_to(float(np.clip(self.estimate.value, 0, 1)))


def combine(
    labels: ValueWithError, prior: ValueWithError, *, conflict: float = CONFLICT
) -> Combined:
    r"""Weigh an estimate from labels and a label-free one by their variances.

    .. math:: \theta' = \frac{\tau^2 \theta + SE^2 g}{\tau^2 + SE^2}, \qquad
              Var' = \frac{\tau^2 SE^2}{\tau^2 + SE^2}
              + \frac{4 \tau^4 SE^4}{\nu (\tau^2 + SE^2)^3}

    The second term is the variance of the weights, which depend on an SE with ν degrees of freedom:
    without it the intervals are too short for few labels. The prior g is dropped where the two are
    further apart than `conflict` times :math:`\sqrt{\tau^2 + SE^2}`. Where θ or g is unknown, the
    result is the other. Degrees of freedom are those of the sum of both variances' shares
    (Satterthwaite 1946). Sources: Fay & Herriot 1979, section 2; Rivest & Vandal 2003 for the
    second term.

    Examples
    --------
    >>> both = combine(ValueWithError(.4, .06, 9), ValueWithError(.5, .08))
    >>> round(both.estimate.value, 3), round(both.estimate.error, 3), round(both.share, 2)
    (0.436, 0.05, 0.64)
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
    dof = satterthwaite(parts, (labels.dof, prior.dof))
    value = share * labels.value + (1 - share) * prior.value
    of_weights = 4 * (between * within) ** 2 / (labels.dof * (between + within) ** 3)
    return Combined(ValueWithError(value, math.sqrt(sum(parts) + of_weights), dof), share, False)


def fit_error_of_prior(
    estimates: np.ndarray,
    truths: np.ndarray,
    groups: Sequence[str],
    *,
    stated: np.ndarray | None = None,
    errors: np.ndarray | None = None,
) -> ErrorOfPrior:
    """Fit τ to S left-out sources, constant or by level, whichever their likelihood prefers.

    The likelihood of each group is by the τ of the others; each group has the same weight.
    `estimates` (S,) in [0, 1] are by a regression that has not seen the source's group. `stated`
    (S,) is the error that each states, by default equal; `errors` (S,) is the standard error of
    each truth, where it stands for more than its own images.
    """
    group_numbers = np.unique(np.asarray(groups), return_inverse=True)[1]
    residuals = truths - estimates
    flat = np.ones(len(estimates)) if stated is None else stated
    errors = np.zeros(len(estimates)) if errors is None else errors
    curved = flat * _shape(estimates)
    losses = [_held_out_loss(residuals, errors, shape, group_numbers) for shape in (flat, curved)]
    by_level = losses[1] < losses[0]
    scale = _scale(residuals, errors, curved if by_level else flat, group_numbers)
    return ErrorOfPrior(scale, by_level, float(max(group_numbers.max(), 1)))


def _shape(estimates: np.ndarray) -> np.ndarray:
    inside = np.clip(estimates, 0.02, 0.98)
    return np.sqrt(inside * (1 - inside))


def _scale(
    residuals: np.ndarray, errors: np.ndarray, shape: np.ndarray, groups: np.ndarray
) -> float:
    sizes = np.bincount(groups)
    weights = 1 / sizes[groups]
    pieces = (np.square(residuals) - np.square(errors)) / shape**2
    return math.sqrt(max(float(weights @ pieces / weights.sum()), SMALLEST**2))


def _held_out_loss(
    residuals: np.ndarray, errors: np.ndarray, shape: np.ndarray, groups: np.ndarray
) -> float:
    """Return the negative normal log-likelihood of each group by the others, groups alike."""
    total = 0.0
    for group in range(groups.max() + 1):
        left_out = groups == group
        if left_out.all():
            continue
        scale = _scale(residuals[~left_out], errors[~left_out], shape[~left_out], groups[~left_out])
        variance = (scale * shape[left_out]) ** 2 + errors[left_out] ** 2
        total += float(np.mean(np.log(variance) + residuals[left_out] ** 2 / variance))
    return total


def satterthwaite(parts: Sequence[float] | np.ndarray, dofs: Sequence[float] | np.ndarray) -> float:
    """Return the degrees of freedom of a sum of independent variances (Satterthwaite 1946)."""
    pieces, freedom = np.asarray(parts, float), np.asarray(dofs, float)
    below = float(np.sum(pieces**2 / freedom))
    return float(pieces.sum()) ** 2 / below if below > 0 else math.inf
