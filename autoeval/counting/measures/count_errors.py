"""Count errors: over all images, by bin of the true count, pooled over bins, and by threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from autoeval.counting.binning.bins import CountBins
from autoeval.errors import InputError

THRESHOLDS = np.linspace(0, 100, 21)  # of the thresholded percentage error ratio (TPER)
ROUNDING = 1e-12  # of a threshold, up to which an error below it reaches it
CONVENTIONS = ("relative", "paper", "absolute_released")


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


@dataclass(frozen=True, eq=False)
class TperCurve:
    """Share of images with an error at or beyond each threshold.

    Parameters
    ----------
    thresholds : ndarray of shape (T,)
        By convention a share of the true count, a multiple of it, or a number of objects; see
        `tper_curve`.
    ratio : ndarray of shape (T,)
        In [0, 1].
    n_images : int
    """

    thresholds: np.ndarray
    ratio: np.ndarray
    n_images: int

    @property
    def auc(self) -> float:
        """Area under the curve by trapezoids, in the unit of the thresholds."""
        return float(_area_below(self.ratio, self.thresholds))


def tper_curve(target: ArrayLike, pred: ArrayLike, *, convention: str = "relative") -> TperCurve:
    """Share of images whose error is at least theta times the true count (equation 12).

    Parameters
    ----------
    target, pred : array-like of shape (N,)
        As `as_pairs` takes them.
    convention : {"relative", "paper", "absolute_released"}
        ``"relative"``: theta from 0 to 1 in steps of .05, where an image without objects counts at
        theta > 0 if its prediction is not 0, in the other two always. ``"paper"``: equations 10 to
        12 as printed, theta from 0 to 100 times the true count in steps of 5.
        ``"absolute_released"``: as the authors' code and figures 10 and 11, where operator
        precedence compares |e| + 0.001/y + 0.001 with 0 to 100 objects.

    Raises
    ------
    InputError
        If there is no such convention, and as `as_pairs`.
    """
    if convention not in CONVENTIONS:
        raise InputError(f"Expected a convention among {CONVENTIONS} but got {convention!r}.")
    target, pred = as_pairs(target, pred)
    if convention == "relative":
        ratio = _beyond(target, pred, THRESHOLDS).mean(0)
        return TperCurve(THRESHOLDS / 100, ratio, len(target))
    error, least = np.abs(pred - target)[:, None], THRESHOLDS
    if convention == "paper":
        least = THRESHOLDS * target[:, None]
    else:
        with np.errstate(divide="ignore"):
            error = error + 0.001 / target[:, None] + 0.001
    return TperCurve(THRESHOLDS, (error >= least).mean(0), len(target))


def tper_areas(target: ArrayLike, pred: ArrayLike) -> np.ndarray:
    """Return the area below the relative curve of each image; their mean is that of all.

    Parameters
    ----------
    target, pred : array-like of shape (N,)
        As `as_pairs` takes them.

    Returns
    -------
    ndarray of shape (N,)
        In [0, 1].
    """
    target, pred = as_pairs(target, pred)
    beyond = _beyond(target, pred, THRESHOLDS)
    return _area_below(beyond.astype(np.float64), THRESHOLDS / 100)


def _beyond(target: np.ndarray, pred: np.ndarray, percent: np.ndarray) -> np.ndarray:
    """Mask (N, T) of images at or beyond each threshold in percent."""
    # y percent <= 100 |e| has no rounding for whole counts, unlike a division by y; of others the
    # last bits do not decide: 6.3 for 6 is 5 %.
    beyond = 100 * np.abs(pred - target)[:, None] >= target[:, None] * percent * (1 - ROUNDING)
    return beyond & (~((target == 0) & (pred == target))[:, None] | (percent == 0))


def _area_below(ratio: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Area by trapezoids below curves (..., T)."""
    return (np.diff(thresholds) * (ratio[..., 1:] + ratio[..., :-1]) / 2).sum(-1)
