"""Prediction intervals of the published methods: errors on left-out sources, and sampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from autoeval.accuracy.resampling import bootstrap_std
from autoeval.estimation.checks import few_blocks
from autoeval.model.regression import MIN_SOURCES
from autoeval.notices import Notice
from autoeval.stability.methods.score_rows import Rows
from autoeval.stability.passes.tally import N_BLOCKS, RESAMPLED

MANY_UNDEFINED = 0.05
FINEST = 0.005


@dataclass(frozen=True)
class SamplingError:
    """Sampling error of an estimate: its standard deviation over draws of the images, if known.

    warnings: what it leaves out.
    n_units: images, or blocks of neighbouring frames, that were drawn as independent.
    """

    std: float = math.nan
    warnings: tuple[str, ...] = ()
    n_units: int = 0


@dataclass(frozen=True)
class Interval:
    """A prediction interval; NaN where `method` is the reason for having none."""

    lower: float
    upper: float
    method: str


def sampling_error(
    rows: pd.DataFrame, features: Sequence[str], predict: Callable[[Rows], np.ndarray]
) -> SamplingError:
    """Find the sampling error of the estimate that a regressor makes from a pass.

    rows (R rows): one a repeat, with the column `RESAMPLED`; without it nothing is known.
    features: what the regressor reads. Those without a bootstrap keep their value of all images.
    predict: from rows to an array of shape (R * B,): B estimates for each repeat in turn.
    """
    if RESAMPLED not in rows:
        return SamplingError()
    fixed = [name for name in features if name not in rows[RESAMPLED].iloc[0]]
    n_images = int(rows["n_images"].iloc[0])
    n_units = int(rows[N_BLOCKS].iloc[0]) if N_BLOCKS in rows else n_images
    if fixed and len(fixed) == len(features):
        return SamplingError(math.nan, tuple(_warnings(fixed, n_images, n_units, 0)), n_units)
    parts = []
    for row in rows.sort_values("repeat").to_dict("records"):
        drawn = row[RESAMPLED]
        columns = {name: (row | drawn)[name] for name in ("repeat", *features)}
        parts.append(pd.DataFrame(columns, index=range(len(next(iter(drawn.values()))))))
    drawn_again = Rows.of(pd.concat(parts), features)
    draws = predict(drawn_again).reshape(len(rows), -1).mean(axis=0)
    undefined = float(np.isnan(draws).mean())
    warnings = tuple(_warnings(fixed, n_images, n_units, undefined))
    return SamplingError(bootstrap_std(draws, n_units), warnings, n_units)


def _warnings(fixed: Sequence[str], n_images: int, n_units: int, undefined: float) -> Iterator[str]:
    if fixed:
        yield (
            Notice(
                "sampling-error-left-out",
                f"the interval leaves out the sampling error of {', '.join(fixed)}, which cannot "
                "be computed for other draws of the images",
            )
        )
    yield from few_blocks(n_images, n_units)
    if MANY_UNDEFINED < undefined < 1:
        yield (
            Notice(
                "draws-without-estimate",
                f"{undefined:.0%} of the draws of these images give no estimate: it hangs on a "
                "few of them, and the interval may be too narrow",
            )
        )


def source_interval(
    estimate: float, left_out: np.ndarray, residuals: np.ndarray, *, level: float = 0.9
) -> Interval:
    """Interval for the mAP of a new source, from the error on each training source.

    With enough sources for the level this is the jackknife+ (Barber et al. 2021, equation 1.6),
    which assumes nothing of the errors but that the new source is exchangeable with the old ones.
    With fewer, the errors are taken to be normal: estimate ± t(m - 1) · rms(residuals).

    left_out, residuals (m,): estimate for the new source, and absolute error on source i, both by
        the regressor fitted without source i.

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
        spread = math.sqrt(np.mean(np.square(residuals)))
        reach = float(stdtrit(m - 1, (1 + level) / 2)) * spread
        return Interval(estimate - reach, estimate + reach, "student-t")
    lower = -np.sort(-(left_out - residuals))[rank - 1]
    upper = np.sort(left_out + residuals)[rank - 1]
    return Interval(float(lower), float(upper), "jackknife+")


def inside(interval: Interval, estimate: float, *, most: float = 1.0) -> Interval:
    r"""Bring an interval into [0, most] without losing it at the edge.

    An estimate outside is off by at least its distance d to the edge. With v the nearest possible
    value, g the estimate and r the least difference that counts (`FINEST`),

    .. math:: lower' = \max(v - \max(g - lower, r) - d, 0)

    and likewise above, so that the interval holds v, has a width, and is not upside down.

    estimate: not clipped.
    most: the greatest possible value, maybe infinite.

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
    site departs from the regression and which of its images were taken are independent, so their
    variances add; for normal errors this is exact. The residuals of the sources hold the sampling
    error of their own images too, and nothing is taken off for it: the interval errs to the wide
    side, by a factor of about √2 at most.

    sampling_std: in the unit of `estimate`; NaN, where it is not known, changes nothing.
    n_images: images, or blocks of neighbouring frames, that count as independent.

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
