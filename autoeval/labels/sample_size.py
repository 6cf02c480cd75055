"""Expected half-width with k labels, labels that a half-width takes, and when to stop labelling.

Who stops as soon as an interval is narrow enough stops where the variance of the labels happens to
look small, so the coverage of those intervals is too low. `STRETCH` is the factor by which an
interval is made wider for that. It comes from a simulation of batches of ten labels from ten on
with normal and skewed influences (``tests/labels/test_sample_size.py``), and
``autoeval study labels`` measures it on real sites.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from autoeval.labels.prior import combine
from autoeval.labels.value_with_error import NOTHING, ValueWithError
from autoeval.labels.variance_prior import VariancePrior

FEWEST_LABELS = 8  # under it no interval is made from labels alone
USUAL_SIZES = (10, 20, 30, 50, 100)
STRETCH = 1.08
BATCH = 10


class WidthForecast(Protocol):
    """Forecast of the precision that labels of a pool give."""

    def half_width(self, k: int) -> float:
        """Return the expected half-width of the combined interval with k labels."""

    def needed(self, wanted: float) -> int:
        """Return the smallest number of labels whose half-width is at most `wanted`."""


def first_that_suffices(
    half_width: Callable[[int], float], wanted: float, first: int, n_pool: int
) -> int:
    """Return the smallest number of labels, `first` or more, whose half-width is `wanted`."""
    sizes = range(first, n_pool)
    at = bisect_left(sizes, True, key=lambda k: half_width(k) <= wanted)
    return min(first + at, n_pool)


@dataclass(frozen=True)
class Outlook:
    """Forecast of one value: a category, a difference, or all categories at a threshold."""

    per_image: VariancePrior  # residual variance of one labelled image
    n_pool: int
    prior: ValueWithError = NOTHING  # label-free
    level: float = 0.9

    def half_width(self, k: int) -> float:
        """Return the expected half-width of the combined interval with k labels.

        0 where all images are labelled.
        """
        finite = max(1 - k / self.n_pool, 0.0)
        error = math.sqrt(finite * self.per_image.variance / k)
        dof = self.per_image.dof + k - 1
        labels = ValueWithError(self.prior.value if self.prior.known else 0.5, error, dof)
        if error == 0:
            return 0.0
        return combine(labels, self.prior).estimate.half_width(self.level)

    def needed(self, wanted: float) -> int:
        """Return the smallest number of labels whose half-width is at most `wanted`."""
        return first_that_suffices(self.half_width, wanted, 2, self.n_pool)


def outlook_after(
    measured: ValueWithError,
    k: int,
    n_pool: int,
    *,
    prior: ValueWithError = NOTHING,
    level: float = 0.9,
) -> Outlook:
    """Return the forecast after k labels, from the error of the difference estimator.

    No prior where it was dropped.
    """
    finite = 1 - k / n_pool
    variance = measured.error**2 * k / finite if finite > 0 else 0.0
    return Outlook(VariancePrior(variance, max(measured.dof - k + 1, 0.0)), n_pool, prior, level)


@dataclass(frozen=True)
class Stop:
    """Whether a wanted half-width is reached."""

    reached: bool
    half_width: float  # widened by `STRETCH`
    more: int  # images that the next batch should add; 0 where it is reached


def stretched(measured: ValueWithError) -> ValueWithError:
    """Widen the interval of an estimate that is evaluated after every batch."""
    return replace(measured, error=STRETCH * measured.error)


def next_batch(
    measured: ValueWithError, wanted: float, *, n_labelled: int, needed: int, level: float = 0.9
) -> Stop:
    """Decide whether to stop at a half-width in the unit of the estimate, and what to label next.

    `measured` is the combined estimate so far, `needed` the labels that are expected to suffice;
    see `Outlook.needed`. At most half of the missing ones are labelled at once, in batches of
    `BATCH`, since that is a forecast.
    """
    half = stretched(measured).half_width(level)
    if half <= wanted:
        return Stop(True, half, 0)
    missing = max(needed - n_labelled, BATCH)
    return Stop(False, half, min(missing, BATCH * max(1, math.ceil(missing / 2 / BATCH))))
