"""Thresholded percentage error ratio: how many images are wrong by more than so much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from autoeval.counting.measures.count_errors import as_pairs
from autoeval.errors import InputError

THRESHOLDS = np.linspace(0, 100, 21)
ROUNDING = 1e-12  # of a threshold, up to which an error below it reaches it
CONVENTIONS = ("relative", "paper", "absolute_released")


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
        return float(_area(self.ratio, self.thresholds))


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
        ratio = _relative(target, pred, THRESHOLDS).mean(0)
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
    beyond = _relative(target, pred, THRESHOLDS)
    return _area(beyond.astype(np.float64), THRESHOLDS / 100)


def _relative(target: np.ndarray, pred: np.ndarray, percent: np.ndarray) -> np.ndarray:
    """Mask (N, T) of images at or beyond each threshold in percent."""
    # y percent <= 100 |e| has no rounding for whole counts, unlike a division by y; of others the
    # last bits do not decide: 6.3 for 6 is 5 %.
    beyond = 100 * np.abs(pred - target)[:, None] >= target[:, None] * percent * (1 - ROUNDING)
    return beyond & (~((target == 0) & (pred == target))[:, None] | (percent == 0))


def _area(ratio: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Area by trapezoids below curves (..., T)."""
    return (np.diff(thresholds) * (ratio[..., 1:] + ratio[..., :-1]) / 2).sum(-1)
