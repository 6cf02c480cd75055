r"""Comparing means of dependent images: two-sample tests with blocks, or with whole windows.

Neighbouring images of a camera show much the same, so that their number says too much. Where the
baseline has several windows, the variance between windows is what a new window has to be compared
with: it holds whatever makes images of one window alike. Otherwise images next to each other are
taken together in blocks of 1, 2, 4, ... (batch means, Flegal & Jones 2010), and the length counts
at which the variance of the mean comes out greatest. Where neighbouring blocks are still alike,
with a correlation of r, the variance is that of an autoregressive series, (1 + r) / (1 - r) times
as large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

FEWEST_WINDOWS = 5  # of a baseline whose variance between windows counts
FEWEST_BLOCKS = 16  # of a block length that is tried: the variance of fewer says little
MOST_ALIKE, ONE_SIDED = 0.95, 1.645


@dataclass(frozen=True)
class Difference:
    """The mean of later images less that of a baseline.

    error: standard error if nothing changed: by the variance that both have around their means.
    units: how many independent blocks or windows were counted in both.
    dof: degrees of freedom of the error.
    """

    value: float
    error: float
    dof: float
    units: tuple[int, int]

    @property
    def z(self) -> float:
        """The difference in standard errors; 0 where nothing varies and nothing moved."""
        if self.error > 0:
            return self.value / self.error
        return 0.0 if self.value == 0 else float(np.copysign(np.inf, self.value))

    @property
    def p_lower(self) -> float:
        """Probability of so low a difference if nothing changed."""
        return float(stdtr(self.dof, self.z))

    @property
    def p_two_sided(self) -> float:
        """Probability of a difference so far from 0 if nothing changed."""
        return float(2 * stdtr(self.dof, -abs(self.z)))

    def half_width(self, level: float) -> float:
        """Half the width of the interval at a level."""
        return float(stdtrit(self.dof, (1 + level) / 2) * self.error)


def compare_images(before: np.ndarray, after: np.ndarray, least: float = 0.0) -> Difference:
    """Compare the means of two series of images, (N,) and (M,), in the order of time.

    least: variance of a single image that is taken at least, as of a share that was always 0.
    """
    value = float(after.mean() - before.mean())
    best = _at_length(1, before, after, value, least)
    length = 2
    while len(before) // length + len(after) // length - 2 >= FEWEST_BLOCKS:
        longer = _at_length(length, before, after, value, least)
        best = longer if longer.error > best.error else best
        length *= 2
    return best


def _at_length(
    length: int, before: np.ndarray, after: np.ndarray, value: float, least: float
) -> Difference:
    """Compare two series by blocks of one length."""
    parts = [_block_means(series, length) for series in (before, after)]
    counts = [len(part) for part in parts]
    around = [part - part.mean() for part in parts if len(part)]
    dof = max(sum(counts) - 2, 1)
    squares = sum(float((part**2).sum()) for part in around)
    products = sum(float((part[1:] * part[:-1]).sum()) for part in around)
    alike = min(products / squares, MOST_ALIKE) if squares > 0 else 0.0
    if alike < ONE_SIDED / np.sqrt(sum(counts)):  # as blocks that are independent may seem
        alike = 0.0
    longer = (1 + alike) / (1 - alike)
    variance = max(length * squares / dof * longer, least)  # of one image that had no neighbours
    error = float(np.sqrt(variance * (1 / len(before) + 1 / len(after))))
    units = (max(round(counts[0] / longer), 1), max(round(counts[1] / longer), 1))
    return Difference(value, error, max(dof / longer, 1.0), units)


def compare_windows(
    before: Sequence[float], after: Sequence[float], steady: Sequence[float], least: float = 0.0
) -> Difference:
    """Compare the mean of later windows with that of a baseline's windows.

    steady: windows whose variance counts, two or more: those of the baseline, and later ones.
    least: variance of a window that is taken at least.
    """
    variance = max(float(np.var(steady, ddof=1)), least)
    error = np.sqrt(variance * (1 / len(before) + 1 / len(after)))
    value = float(np.mean(after) - np.mean(before))
    return Difference(value, float(error), len(steady) - 1.0, (len(before), len(after)))


def _block_means(series: np.ndarray, length: int) -> np.ndarray:
    n = len(series) // length
    return series[: n * length].reshape(n, length).mean(axis=1)
