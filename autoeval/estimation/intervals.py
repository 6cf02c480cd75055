"""The sampling error of few images, and the level of intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.notices import Notice

# Column of the rows of a pass: for each repeat, a dict of feature to its values in B draws.
RESAMPLED = "resampled"
N_BLOCKS = "n_blocks"
RESAMPLES = 200
FEW_UNITS = 10
MIN_SOURCES = 3


@dataclass(frozen=True)
class SamplingError:
    """Sampling error of an estimate: its standard deviation over draws of the images, if known.

    warnings: what it leaves out.
    n_units: images, or blocks of neighbouring frames, that were drawn as independent.
    """

    std: float = math.nan
    warnings: tuple[str, ...] = ()
    n_units: int = 0

    def independent(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Count no more images in ``n_images`` than are independent, where that is known."""
        if not self.n_units:
            return rows
        return rows.assign(n_images=np.minimum(rows["n_images"], self.n_units))


def bootstrap_std(estimates: np.ndarray, n_images: int) -> float:
    r"""Return the standard deviation of an estimate over draws with replacement of its N images.

    .. math:: s = \sqrt{\frac{N}{N - 1} \cdot \frac{1}{B} \sum_b (g(x^*_b) - \bar g)^2}

    over the B draws; the first factor undoes the bias of the bootstrap in small sets. Images count
    as independent, but for frames of videos, drawn by blocks of time (`time_blocks`): N is then
    the number of blocks. Source: Efron & Tibshirani 1993, chapters 5, 6 and 8.6.

    estimates (B,): not clipped; NaN where a draw gives none.
    Returned: NaN for one image, and with fewer than two draws that give an estimate.

    >>> round(bootstrap_std(np.array([.3, .5]), 2), 6)
    0.141421
    """
    finite = estimates[np.isfinite(estimates)]
    if n_images < 2 or len(finite) < 2:
        return math.nan
    return float(finite.std() * math.sqrt(n_images / (n_images - 1)))


def few_blocks(n_images: int, n_units: int) -> tuple[str, ...]:
    """Warn of images that are too few, or too close in time, for a sampling error.

    n_units: images, or blocks of neighbouring frames, that count as independent.
    """
    if n_images < 2:
        return (
            Notice(
                "sampling-error-left-out",
                "the sampling error is unknown with one image: the interval leaves it out",
            ),
        )
    if n_units < 2:
        return (
            Notice(
                "sampling-error-left-out",
                "all images are neighbours in time: the sampling error is unknown, and the "
                "interval leaves it out",
            ),
        )
    if n_units < min(n_images, FEW_UNITS):
        return (
            Notice(
                "few-blocks",
                f"the images are neighbours in time, {n_units} blocks that count as independent: "
                "the sampling error itself is uncertain",
                severity="note",
            ),
        )
    return ()


def check_level(level: float) -> None:
    """Make sure that a nominal coverage is one."""
    if not isinstance(level, int | float) or isinstance(level, bool) or not 0 < level < 1:
        raise InputError(
            f"Expected the `level` of intervals as a number over 0 and under 1, such as 0.9, but "
            f"got {level!r}."
        )
