"""Count errors: over all images, by bin of the true count, and pooled over bins."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from autoeval.counting.binning.bins import CountBins
from autoeval.errors import InputError


def absolute_error(target: ArrayLike, pred: ArrayLike) -> dict[str, float]:
    """Return the usual errors of counts, in objects.

    Parameters
    ----------
    target, pred : array-like of shape (N,)
        True and predicted counts, as `as_pairs` takes them.

    Returns
    -------
    dict of str to float
        ``MAE``, the population ``std`` of the absolute errors, ``RMSE`` and ``bias`` (mean of pred
        - target).

    Examples
    --------
    >>> absolute_error([2, 4], [3, 1])
    {'MAE': 2.0, 'std': 1.0, 'RMSE': 2.23606797749979, 'bias': -1.0}
    """
    target, pred = as_pairs(target, pred)
    error = pred - target
    return {
        "MAE": float(np.abs(error).mean()),
        "std": float(np.abs(error).std()),
        "RMSE": float(np.sqrt((error**2).mean())),
        "bias": float(error.mean()),
    }


def mape(target: ArrayLike, pred: ArrayLike) -> float:
    """Mean of 100 |error| / target over the images whose target is not 0.

    It is 100 times the NAE of crowd counting (NWPU-Crowd), which leaves out the same images.

    Parameters
    ----------
    target, pred : array-like of shape (N,)
        As `as_pairs` takes them.

    Returns
    -------
    float
        In percent; NaN where all targets are 0.
    """
    target, pred = as_pairs(target, pred)
    some = target > 0
    if not some.any():
        return float("nan")
    return float(100 * (np.abs(pred - target)[some] / target[some]).mean())


def smape(target: ArrayLike, pred: ArrayLike) -> float:
    """Mean of 100 |error| / (|target| + |pred|): the sMAPE of CAPTURe, section on metrics.

    torchmetrics' measure is twice this.

    Parameters
    ----------
    target, pred : array-like of shape (N,)
        As `as_pairs` takes them, but that a prediction may be NaN, a skipped answer, which scores
        100; 0 for 0 scores 0.

    Returns
    -------
    float
        In [0, 100].
    """
    return float(smape_terms(target, pred).mean())


def smape_terms(target: ArrayLike, pred: ArrayLike) -> np.ndarray:
    """Return the term of each image in `smape`.

    Parameters
    ----------
    target, pred : array-like of shape (N,)
        As `smape` takes them.

    Returns
    -------
    ndarray of shape (N,), float64
        In [0, 100].
    """
    pred = np.asarray(pred, np.float64).ravel()
    skipped = np.isnan(pred)
    target, filled = as_pairs(target, np.where(skipped, 0.0, pred))
    scale = np.abs(target) + np.abs(filled)
    share = np.divide(np.abs(filled - target), scale, out=np.zeros_like(scale), where=scale > 0)
    return 100 * np.where(skipped, 1.0, share)


def as_pairs(target: ArrayLike, pred: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Check true and predicted counts, and return them as numbers.

    Parameters
    ----------
    target : array-like of shape (N,)
        True counts, at least 0.
    pred : array-like of shape (N,)
        Predictions, which may be negative or fractional.

    Returns
    -------
    target, pred : ndarray of shape (N,), float64

    Raises
    ------
    InputError
        If there is no image, the numbers differ, or a count is not finite, or a true one under 0.
    """
    target, pred = np.asarray(target, np.float64).ravel(), np.asarray(pred, np.float64).ravel()
    if len(target) != len(pred):
        raise InputError(
            f"Expected as many predictions as true counts but got {len(pred)} and {len(target)}."
        )
    if not len(target):
        raise InputError("Expected at least one image with a true and a predicted count: got none.")
    for values, lowest, rule in (
        (target, 0, "true counts must be finite and not < 0"),
        (pred, -np.inf, "predictions must be finite; leave out skipped answers"),
    ):
        bad = ~np.isfinite(values) | (values < lowest)
        if bad.any():
            first = int(bad.argmax())
            raise InputError(
                f"{bad.sum()} of {len(values)} counts are bad ({rule}): item {first} is "
                f"{values[first]:g}."
            )
    return target, pred


def bin_table(
    target: ArrayLike, pred: ArrayLike, bins: CountBins, mode: str = "paper"
) -> pd.DataFrame:
    """Errors by bin of the true count (paper on binned counting, section III-E).

    Parameters
    ----------
    target, pred : array-like of shape (N,)
        As `as_pairs` takes them.
    bins : CountBins
    mode : {"paper", "released"}
        Of targets outside the edges ``"paper"`` makes underflow and overflow bins; ``"released"``
        drops them, as the authors' code does.

    Returns
    -------
    DataFrame
        One row a bin with images: ``bin``, ``lo``, ``hi``, ``n``, ``mean`` and population ``std``
        of |error|, and ``bias`` (mean of pred - target), in objects.

    Raises
    ------
    InputError
        If there is no such mode, and as `as_pairs`.
    """
    check_mode(mode)
    target, pred = as_pairs(target, pred)
    error, index = pred - target, bins.assign(target)
    spans = [*zip(bins.labels(), bins.edges, bins.edges[1:], strict=False)]
    if mode == "paper":
        ends = ("below", -np.inf, bins.edges[0]), ("above", bins.edges[-1], np.inf)
        spans = [ends[0], *spans, ends[1]]
        index = index + 1  # below comes first
    rows = []
    for k, span in enumerate(spans):
        bin_errors = error[index == k]
        off = np.abs(bin_errors)
        if len(bin_errors):
            rows.append((*span, len(bin_errors), off.mean(), off.std(), bin_errors.mean()))
    return pd.DataFrame(rows, columns=["bin", "lo", "hi", "n", "mean", "std", "bias"])


def pooled(table: pd.DataFrame) -> tuple[float, float]:
    """Pool the means and standard deviations of bins (the same paper, equations 8 and 9).

    The variance is that within bins only, hence smaller than that of all errors.

    Parameters
    ----------
    table : DataFrame
        Of `bin_table`: ``n``, ``mean`` and ``std`` are read.

    Returns
    -------
    mean, std : float
        In objects; NaN without images.
    """
    total = table["n"].sum()
    if not total:
        return float("nan"), float("nan")
    mean = (table["n"] * table["mean"]).sum() / total
    variance = (table["n"] * table["std"] ** 2).sum() / total
    return float(mean), float(np.sqrt(variance))


def check_mode(mode: str) -> None:
    """Refuse a mode that there is not.

    Parameters
    ----------
    mode : str
        Expected to be ``paper`` or ``released``.

    Raises
    ------
    InputError
        If it is neither.
    """
    if mode not in ("paper", "released"):
        raise InputError(f"Expected mode 'paper' or 'released' but got {mode!r}.")
