"""Thresholded percentage error ratio: how many images are wrong by more than so much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autoeval.counting.measures.count_errors import as_pairs

THRESHOLDS = np.linspace(0, 100, 21)
CONVENTIONS = ("relative", "paper", "absolute_released")


@dataclass(frozen=True, eq=False)
class TperCurve:
    """Share of images with an error at or beyond each threshold (T,).

    Thresholds are in the unit of the convention: a share of the true count, multiples of it, or
    objects.
    """

    thresholds: np.ndarray
    ratio: np.ndarray
    n_images: int

    @property
    def auc(self) -> float:
        """Area under the curve by trapezoids, in the unit of the thresholds."""
        return float(_area(self.ratio, self.thresholds))


def tper_curve(target: Any, pred: Any, *, convention: str = "relative") -> TperCurve:
    """Share of images whose error is at least theta times the true count (equation 12).

    The conventions: ``"relative"``: theta from 0 to 1 in steps of .05 of the true count, with the
    area in [0, 1]; an image without objects counts at theta > 0 where its prediction is not 0, in
    the other two conventions always. ``"paper"``: equations 10 to 12 as printed, theta from 0 to
    100 times the true count. ``"absolute_released"``: what the authors' code computes and figures
    10 and 11 show, where operator precedence makes the compared error |e| + 0.001/y + 0.001
    objects.
    """
    if convention not in CONVENTIONS:
        raise ValueError(f"Expected a convention among {CONVENTIONS} but got {convention!r}.")
    target, pred = as_pairs(target, pred)
    beyond = {"relative": _relative, "paper": _literal, "absolute_released": _released}[convention]
    ratio = beyond(target, pred, THRESHOLDS).mean(0)
    thresholds = THRESHOLDS / 100 if convention == "relative" else THRESHOLDS
    return TperCurve(thresholds, ratio, len(target))


def tper_areas(target: Any, pred: Any) -> np.ndarray:
    """Return the area (N,) below the relative curve of each image alone, in [0, 1].

    Their mean over any images is the area of the curve of these images.
    """
    target, pred = as_pairs(target, pred)
    beyond = _relative(target, pred, THRESHOLDS)
    return _area(beyond.astype(np.float64), THRESHOLDS / 100)


def _relative(target: np.ndarray, pred: np.ndarray, percent: np.ndarray) -> np.ndarray:
    """Mask (N, T) of images at or beyond each threshold in percent."""
    # y percent <= 100 |e| has no rounding for whole counts, unlike a division by y.
    beyond = 100 * np.abs(pred - target)[:, None] >= target[:, None] * percent
    return beyond & (~((target == 0) & (pred == target))[:, None] | (percent == 0))


def _literal(target: np.ndarray, pred: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return np.abs(pred - target)[:, None] >= theta * target[:, None]


def _released(target: np.ndarray, pred: np.ndarray, objects: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        error = np.abs(pred - target) + 0.001 / target + 0.001
    return error[:, None] >= objects


def _area(ratio: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Area by trapezoids below curves (..., T)."""
    return (np.diff(thresholds) * (ratio[..., 1:] + ratio[..., :-1]) / 2).sum(-1)
