"""Prediction intervals: by source, not by sample set, and wider where images are few."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from autoeval.errors import InputError

MIN_SOURCES = 3
FINEST = 0.005


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


def check_level(level: float) -> None:
    """Make sure that a nominal coverage is one.

    Raises
    ------
    InputError
        If it is no number over 0 and under 1.
    """
    if not isinstance(level, int | float) or isinstance(level, bool) or not 0 < level < 1:
        raise InputError(
            f"Expected the `level` of intervals as a number over 0 and under 1, such as 0.9, but "
            f"got {level!r}."
        )


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


def inside(interval: Interval, estimate: float, *, most: float = 1.0) -> Interval:
    r"""Bring an interval into [0, most] without losing it at the edge.

    An estimate outside is off by at least its distance d to the edge. With v the nearest possible
    value, g the estimate and r the least difference that counts (`FINEST`),

    .. math:: lower' = \max(v - \max(g - lower, r) - d, 0)

    and likewise above, so that the interval holds v, has a width, and is not upside down.

    Parameters
    ----------
    interval : Interval
    estimate : float
        Not clipped.
    most : float
        The greatest possible value, maybe infinite.

    Examples
    --------
    >>> inside(Interval(-.3, -.1, "jackknife+"), -.2)
    Interval(lower=0.0, upper=0.30000000000000004, method='jackknife+')
    """
    if not math.isfinite(interval.lower) or not math.isfinite(estimate):
        return interval
    value = min(max(estimate, 0.0), most)
    off = abs(value - estimate)
    below, above = (max(d, FINEST) for d in (estimate - interval.lower, interval.upper - estimate))
    lower, upper = max(value - below - off, 0.0), min(value + above + off, most)
    return replace(interval, lower=lower, upper=upper)


def widened(
    interval: Interval, estimate: float, sampling_std: float, *, n_images: int, level: float = 0.9
) -> Interval:
    r"""Widen an interval by source by the sampling error of a small set of images.

    .. math:: lower' = g - \sqrt{(g - lower)^2 + (t s)^2}

    and likewise above, where g is the estimate, s the standard deviation of it over draws of its N
    images, and t the quantile of Student's distribution with N - 1 degrees of freedom. How far a
    place departs from the regression and which of its images were taken are independent, so their
    variances add; for normal errors this is exact, and with many images the interval is that by
    source.

    The residuals of the sources hold the sampling error of the sources' own images too. Nothing is
    taken off for it: the rest would be a difference of two variances, known from a handful of
    sources, and too small as often as too large. The interval therefore errs to the wide side: by
    a factor of about √2 at most, which is where the residuals are sampling error and nothing else
    and the new images are as many as those of a source.

    Parameters
    ----------
    interval : Interval
        By source; see `source_interval`.
    estimate : float
    sampling_std : float
        In the unit of `estimate`; NaN, where it is not known, changes nothing.
    n_images : int
        Images, or blocks of neighbouring frames, that count as independent.
    level : float
        Nominal coverage, as that of `interval`.

    Returns
    -------
    Interval
        Not clipped.

    Examples
    --------
    >>> wide = widened(Interval(.2, .8, "jackknife+"), .5, .1, n_images=10)
    >>> round(wide.lower, 4), round(wide.upper, 4)
    (0.1484, 0.8516)
    """
    if not math.isfinite(sampling_std) or not math.isfinite(interval.lower):
        return interval
    reach = float(stdtrit(n_images - 1, (1 + level) / 2)) * sampling_std
    below, above = (max(d, 0.0) for d in (estimate - interval.lower, interval.upper - estimate))
    return replace(
        interval,
        lower=interval.lower + below - math.hypot(below, reach),
        upper=interval.upper - above + math.hypot(above, reach),
    )


def _student(estimate: float, residuals: np.ndarray, level: float) -> Interval:
    m = len(residuals)
    spread = math.sqrt(np.mean(np.square(residuals)))
    reach = float(stdtrit(m - 1, (1 + level) / 2)) * spread
    return Interval(estimate - reach, estimate + reach, "student-t")
