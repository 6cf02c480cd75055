"""How far an estimate varies because a set of images is small, from sets drawn again from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from autoeval.estimation.score_table import Rows

# Column of the rows of a pass: for each repeat, a dict of feature to its values in B draws.
RESAMPLED = "resampled"
N_BLOCKS = "n_blocks"
RESAMPLES = 200
MANY_UNDEFINED = 0.05
FEW_UNITS = 10


@dataclass(frozen=True)
class SamplingError:
    """Sampling error of an estimate.

    Parameters
    ----------
    std : float
        Standard deviation of the estimate over draws of the images; NaN where it is not known.
    warnings : tuple of str
        What it leaves out.
    n_units : int
        Images, or blocks of neighbouring frames, that were drawn as independent.
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
    as independent, but for frames of films, which are drawn by blocks of time (`time_blocks`): N is
    the number of blocks then. Source: Efron & Tibshirani 1993, chapters 5, 6 and 8.6.

    Parameters
    ----------
    estimates : ndarray of shape (B,)
        Not clipped; NaN where a draw gives none.
    n_images : int

    Returns
    -------
    float
        NaN for one image, and with fewer than two draws that give an estimate.

    Examples
    --------
    >>> round(bootstrap_std(np.array([.3, .5]), 2), 6)
    0.141421
    """
    known = estimates[np.isfinite(estimates)]
    if n_images < 2 or len(known) < 2:
        return math.nan
    return float(known.std() * math.sqrt(n_images / (n_images - 1)))


def sampling_error(
    rows: pd.DataFrame, features: Sequence[str], predict: Callable[[Rows], np.ndarray]
) -> SamplingError:
    """Find the sampling error of the estimate that a regressor makes from a pass.

    Parameters
    ----------
    rows : DataFrame of R rows
        One a repeat, with the column `RESAMPLED`; without it nothing is known.
    features : sequence of str
        What the regressor reads. Those without a bootstrap keep their value of all images.
    predict : callable
        From rows to an array of shape (R * B,): B estimates for each repeat in turn.
    """
    if RESAMPLED not in rows:
        return SamplingError()
    fixed = [name for name in features if name not in rows[RESAMPLED].iloc[0]]
    n_images = int(rows["n_images"].iloc[0])
    n_units = int(rows[N_BLOCKS].iloc[0]) if N_BLOCKS in rows else n_images
    if fixed and len(fixed) == len(features):
        return SamplingError(math.nan, tuple(_warnings(fixed, n_images, n_units, 0)), n_units)
    draws = predict(_drawn_again(rows, features)).reshape(len(rows), -1).mean(axis=0)
    undefined = float(np.isnan(draws).mean())
    warnings = tuple(_warnings(fixed, n_images, n_units, undefined))
    return SamplingError(bootstrap_std(draws, n_units), warnings, n_units)


def _drawn_again(rows: pd.DataFrame, features: Sequence[str]) -> Rows:
    parts = []
    for row in rows.sort_values("repeat").to_dict("records"):
        drawn = row[RESAMPLED]
        columns = {name: (row | drawn)[name] for name in ("repeat", *features)}
        parts.append(pd.DataFrame(columns, index=range(len(next(iter(drawn.values()))))))
    return Rows.of(pd.concat(parts), features)


def _warnings(fixed: Sequence[str], n_images: int, n_units: int, undefined: float) -> Iterator[str]:
    if fixed:
        yield (
            f"the interval leaves out the sampling error of {', '.join(fixed)}, which cannot be "
            "computed for other draws of the images"
        )
    yield from few_blocks(n_images, n_units)
    if MANY_UNDEFINED < undefined < 1:
        yield (
            f"{undefined:.0%} of the draws of these images give no estimate: it hangs on a few of "
            "them, and the interval may be too narrow"
        )


def few_blocks(n_images: int, n_units: int) -> tuple[str, ...]:
    """Warn of images that are too few, or too close in time, for a sampling error.

    Parameters
    ----------
    n_images : int
    n_units : int
        Images, or blocks of neighbouring frames, that count as independent.
    """
    if n_images < 2:
        return ("the sampling error is unknown with one image: the interval leaves it out",)
    if n_units < 2:
        return (
            "all images are neighbours in time: the sampling error is unknown, and the interval "
            "leaves it out",
        )
    if n_units < min(n_images, FEW_UNITS):
        return (
            f"the images are neighbours in time, {n_units} blocks that count as independent: the "
            "sampling error itself is uncertain",
        )
    return ()
