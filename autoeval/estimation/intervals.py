"""Prediction intervals whose unit of resampling is the source, not the sample set."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

MIN_SOURCES = 3


@dataclass(frozen=True)
class Interval:
    """A prediction interval, or the reason why there is none.

    Parameters
    ----------
    lower, upper : float
        NaN where no interval can be formed.
    method : str
        ``"jackknife+"``, ``"student-t"``, or the reason for having none.
    """

    lower: float
    upper: float
    method: str


def source_interval(
    estimate: float, left_out: np.ndarray, residuals: np.ndarray, *, level: float = 0.9
) -> Interval:
    """Interval for the mAP of a new source, from how far each training source was missed.

    With enough sources for the level this is the jackknife+ (Barber et al. 2021, equation 1.6),
    which assumes nothing of the errors but that the new source is exchangeable with the old ones.
    With fewer, the errors are taken to be normal: estimate ± t(m - 1) · rms(residuals).

    Parameters
    ----------
    estimate : float
        Of the regressor fitted on all m sources.
    left_out : ndarray of shape (m,)
        Estimate for the new source by the regressor fitted without source i.
    residuals : ndarray of shape (m,)
        Absolute error on source i by the regressor fitted without it.
    level : float
        Nominal coverage.

    Returns
    -------
    Interval
        Not clipped.

    Examples
    --------
    >>> source_interval(.5, np.full(9, .5), np.arange(9) / 100)
    Interval(lower=0.42, upper=0.58, method='jackknife+')
    """
    m = len(residuals)
    if m < MIN_SOURCES or not math.isfinite(estimate):
        few = f"none: fewer than {MIN_SOURCES} sources"
        reason = few if m < MIN_SOURCES else "none: no estimate"
        return Interval(math.nan, math.nan, reason)
    rank = math.ceil(round(level * (m + 1), 9))
    if rank > m:
        return _student(estimate, residuals, level)
    lower = -np.sort(-(left_out - residuals))[rank - 1]
    upper = np.sort(left_out + residuals)[rank - 1]
    return Interval(float(lower), float(upper), "jackknife+")


def _student(estimate: float, residuals: np.ndarray, level: float) -> Interval:
    m = len(residuals)
    spread = math.sqrt(np.mean(np.square(residuals)))
    reach = float(stats.t.ppf((1 + level) / 2, m - 1)) * spread
    return Interval(estimate - reach, estimate + reach, "student-t")
