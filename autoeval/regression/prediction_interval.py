"""From a predictive distribution to an interval that stays inside what is possible, and says so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoeval.regression.mixture import Mixture

WIDEST = 0.42


@dataclass(frozen=True)
class PredictionInterval:
    """The prediction interval of one accuracy.

    Parameters
    ----------
    raw : float
        Mean of the distribution, which may lie outside [0, 1].
    value : float
        The nearest possible accuracy; NaN where the interval would be too wide.
    lower, upper : float
        Interval in [0, 1], ``lower < upper``; NaN where the interval would be too wide.
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
        """``"below"`` or ``"above"`` the possible range, else empty."""
        return "below" if self.raw < 0 else "above" if self.raw > 1 else ""

    @property
    def refused(self) -> bool:
        """Whether the interval would be too wide to give one."""
        return self.value != self.value


def predict_intervals(predicted: Mixture, level: float = 0.9) -> list[PredictionInterval]:
    """Turn each quantity of a predictive distribution into a value and an interval.

    The interval reaches from the value as far as the distribution reaches from its mean, and is cut
    at 0 and 1. A mean outside shows that the line is off by at least its distance to the edge, so
    the interval from the edge inwards reaches that much further; no interval has width 0. Where it
    would reach further than `WIDEST` to each side, which is nearly everything, no value is given.

    Parameters
    ----------
    predicted : Mixture
    level : float
        Nominal coverage, in (0, 1).

    Examples
    --------
    >>> at = Mixture(np.ones(1), np.array([[.5, -.1, .5]]), np.array([[.1, .05, .4]]))
    >>> inside, below, wide = predict_intervals(at)
    >>> [(round(t.lower, 3), round(t.upper, 3), t.outside) for t in (inside, below)]
    [(0.336, 0.664, ''), (0.0, 0.182, 'below')]
    >>> wide.refused
    True
    """
    low, high = predicted.quantile((1 - level) / 2), predicted.quantile((1 + level) / 2)
    return [_interval(*of) for of in zip(predicted.mean, low, high, strict=True)]


def _interval(raw: float, low: float, high: float) -> PredictionInterval:
    value = float(np.clip(raw, 0, 1))
    off = abs(value - float(raw))
    reach = float(high - low) / 2 + off
    if not reach <= WIDEST:
        return PredictionInterval(float(raw), np.nan, np.nan, np.nan, reach)
    lower = max(value - float(raw - low) - off, 0.0)
    upper = min(value + float(high - raw) + off, 1.0)
    return PredictionInterval(float(raw), value, lower, upper, reach)
