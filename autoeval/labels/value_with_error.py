"""A value with a standard error, and the interval that goes with it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit


@dataclass(frozen=True)
class ValueWithError:
    """A value, how exactly it is known, and how exactly that is known.

    Examples
    --------
    >>> measured = ValueWithError(.5, .1, math.inf)
    >>> [round(end, 3) for end in measured.interval(.9)]
    [0.336, 0.664]
    """

    value: float  # NaN where nothing was measured
    error: float  # standard error
    dof: float = math.inf  # degrees of freedom behind it; infinite where it is known

    @property
    def known(self) -> bool:
        """Whether there is a value with a standard error."""
        return math.isfinite(self.value) and math.isfinite(self.error)

    def mixed(self, share: float, other: ValueWithError) -> ValueWithError:
        """Average with another that has the rest of the share; errors are added, as if alike."""
        value = share * self.value + (1 - share) * other.value
        error = share * self.error + (1 - share) * other.error
        return ValueWithError(value, error, self.dof)

    def half_width(self, level: float = 0.9) -> float:
        """Half the width of the interval by Student's distribution; NaN where it is not known."""
        return quantile(level, self.dof) * self.error if self.known else math.nan

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """Value less and plus `half_width`, not clipped."""
        half = self.half_width(level)
        return self.value - half, self.value + half

    @property
    def probability_positive(self) -> float:
        """Probability of a value over 0; without a standard error 0, 1/2 or 1."""
        if not self.known or self.error == 0:
            return 0.5 * (1 + float(np.sign(self.value)))
        z = self.value / self.error
        return float(stdtr(self.dof, z) if self.dof < math.inf else ndtr(z))


def quantile(level: float, dof: float) -> float:
    """Return how many standard errors the interval reaches to either side."""
    return float(stdtrit(dof, (1 + level) / 2) if dof < math.inf else ndtri((1 + level) / 2))


NOTHING = ValueWithError(math.nan, math.nan, 0.0)
