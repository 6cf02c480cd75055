"""How wide the interval will be with so many labels, and how many a wanted width takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from autoeval.estimation.labels.prior import combine
from autoeval.estimation.labels.spread import Spread
from autoeval.estimation.labels.value_with_error import NOTHING, ValueWithError

FEWEST_LABELS = 8  # under it no interval is made from labels alone
USUAL_SIZES = (10, 20, 30, 50, 100)


@dataclass(frozen=True)
class Outlook:
    """What is known of a pool before more of it is labelled.

    Parameters
    ----------
    per_image : Spread
        Variance of what one labelled image leaves open, with the degrees of freedom behind it.
    n_pool : int
    prior : ValueWithError
        The label-free estimate with its error.
    level : float
        Nominal coverage.
    """

    per_image: Spread
    n_pool: int
    prior: ValueWithError = NOTHING
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
        return combine(labels, self.prior).measured.half_width(self.level)

    def needed(self, wanted: float) -> int:
        """Return the smallest number of labels whose half-width is at most `wanted`."""
        low, high = 2, self.n_pool
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.half_width(middle) <= wanted else (middle + 1, high)
        return high


def outlook_after(
    measured: ValueWithError,
    k: int,
    n_pool: int,
    *,
    prior: ValueWithError = NOTHING,
    level: float = 0.9,
) -> Outlook:
    """Return the outlook after k labels, from the error of the difference estimator.

    Parameters
    ----------
    measured : ValueWithError
        With k labels.
    k, n_pool : int
    prior, level
        See `Outlook`; no prior where it was dropped.
    """
    finite = 1 - k / n_pool
    variance = measured.error**2 * k / finite if finite > 0 else 0.0
    return Outlook(Spread(variance, max(measured.dof - k + 1, 0.0)), n_pool, prior, level)
