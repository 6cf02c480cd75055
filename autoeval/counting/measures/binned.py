"""Error by bin of the true count, and pooled over bins (paper, section III-E)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.binning.bins import CountBins
from autoeval.counting.measures.overall import as_pairs


def bin_table(target: Any, pred: Any, bins: CountBins, mode: str = "paper") -> pd.DataFrame:
    """Mean and standard deviation of |error| in each bin that has images.

    Parameters
    ----------
    target, pred : array-like of shape (N,)
        True and predicted counts.
    bins : CountBins
        Bins are (lo, hi], the first closed on both sides.
    mode : {"paper", "released"}
        What becomes of targets outside the edges: ``"paper"`` reports them as underflow and
        overflow bins, ``"released"`` drops them, as the authors' code does.

    Returns
    -------
    DataFrame
        Columns ``bin`` (name), ``lo``, ``hi``, ``n``, ``mean``, ``std`` (population) and ``bias``
        (mean of prediction minus target).

    Raises
    ------
    InputError
        If the counts cannot be compared (see `as_pairs`).

    Examples
    --------
    >>> bins = CountBins((0, 5, 10))
    >>> bin_table([0, 5, 6, 20], [1, 8, 6, 10], bins)[["bin", "n", "mean", "std"]]
         bin  n  mean  std
    0    0–5  2   2.0  1.0
    1   5–10  1   0.0  0.0
    2  above  1  10.0  0.0
    """
    check_mode(mode)
    target, pred = as_pairs(target, pred)
    error, index = pred - target, bins.assign(target)
    rows = [
        {
            "bin": name,
            "lo": lo,
            "hi": hi,
            "n": int(inside.sum()),
            "mean": np.abs(error[inside]).mean(),
            "std": np.abs(error[inside]).std(),
            "bias": error[inside].mean(),
        }
        for k, name, lo, hi in _spans(bins, mode)
        if (inside := index == k).any()
    ]
    return pd.DataFrame(rows, columns=["bin", "lo", "hi", "n", "mean", "std", "bias"])


def pooled(table: pd.DataFrame) -> tuple[float, float]:
    """Pool the means and standard deviations of bins (equations 8 and 9).

    The variance is that within bins only, hence smaller than that of all errors.

    Parameters
    ----------
    table : DataFrame
        Columns ``n``, ``mean`` and ``std``, such as `bin_table` makes.

    Returns
    -------
    mean, std : float
        NaN where no bin has images.

    Examples
    --------
    >>> mean, std = pooled(pd.DataFrame({"n": [3, 1], "mean": [1., 5.], "std": [2., 0.]}))
    >>> mean, round(std, 4)
    (2.0, 1.7321)
    """
    total = table["n"].sum()
    if not total:
        return float("nan"), float("nan")
    mean = (table["n"] * table["mean"]).sum() / total
    variance = (table["n"] * table["std"] ** 2).sum() / total
    return float(mean), float(np.sqrt(variance))


def check_mode(mode: str) -> None:
    """Raise ValueError unless ``mode`` is ``"paper"`` or ``"released"``."""
    if mode not in ("paper", "released"):
        raise ValueError(f"Expected mode 'paper' or 'released' but got {mode!r}.")


def _spans(bins: CountBins, mode: str) -> Iterator[tuple[int, str, float, float]]:
    if mode == "paper":
        yield -1, "below", -np.inf, bins.edges[0]
    for k, label in enumerate(bins.labels()):
        yield k, label, bins.edges[k], bins.edges[k + 1]
    if mode == "paper":
        yield len(bins), "above", bins.edges[-1], np.inf
