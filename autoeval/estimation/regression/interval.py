"""From a predictive distribution to an interval that stays inside what is possible, and says so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoeval.estimation.regression.mixture import Mixture

WIDEST = 0.42


@dataclass(frozen=True)
class Told:
    """What a predictive distribution tells of one accuracy.

    Parameters
    ----------
    raw : float
        Mean of the distribution, which may lie outside [0, 1].
    value : float
        The nearest possible accuracy; NaN where nothing can be told.
    lower, upper : float
        Interval in [0, 1], ``lower < upper``; NaN where nothing can be told.
    reach : float
        Half the width of the interval before anything is cut off, and the distance of `raw` to
        the nearest possible accuracy.
    """

    raw: float
    value: float
    lower: float
    upper: float
    reach: float

    @property
    def outside(self) -> str:
        """``"below"`` or ``"above"`` what the sources can tell, else empty."""
        return "below" if self.raw < 0 else "above" if self.raw > 1 else ""

    @property
    def refused(self) -> bool:
        """Whether nothing can be told."""
        return self.value != self.value


def tell(predicted: Mixture, level: float = 0.9) -> list[Told]:
    """Turn each quantity of a predictive distribution into a value and an interval.

    The interval reaches from the value as far as the distribution reaches from its mean, and is cut
    at 0 and 1. A mean outside shows that the line is off by at least its distance to the edge, so
    the interval from the edge inwards reaches that much further; no interval has width 0. Where it
    would reach further than `WIDEST` to each side, which is nearly everything, nothing is told.

    Parameters
    ----------
    predicted : Mixture
    level : float
        Nominal coverage, in (0, 1).

    Examples
    --------
    >>> at = Mixture(np.ones(1), np.array([[.5, -.1, .5]]), np.array([[.1, .05, .4]]))
    >>> [(round(t.lower, 3), round(t.upper, 3), t.outside, t.refused) for t in tell(at)][:2]
    [(0.336, 0.664, '', False), (0.0, 0.182, 'below', False)]
    >>> tell(at)[2].refused
    True
    """
    low, high = predicted.quantile((1 - level) / 2), predicted.quantile((1 + level) / 2)
    return [_told(*of) for of in zip(predicted.mean, low, high, strict=True)]


def _told(raw: float, low: float, high: float) -> Told:
    value = float(np.clip(raw, 0, 1))
    off = abs(value - float(raw))
    reach = float(high - low) / 2 + off
    if not reach <= WIDEST:
        return Told(float(raw), np.nan, np.nan, np.nan, reach)
    lower = max(value - float(raw - low) - off, 0.0)
    upper = min(value + float(high - raw) + off, 1.0)
    return Told(float(raw), value, lower, upper, reach)
