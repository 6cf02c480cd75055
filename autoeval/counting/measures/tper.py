"""Thresholded percentage error ratio: how many images are wrong by more than so much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import trapezoid

from autoeval.counting.measures.count_pairs import as_pairs

THRESHOLDS = np.linspace(0, 100, 21)
CONVENTIONS = ("relative", "percent", "paper", "absolute_released")
ZERO_RULES = ("exact", "literal", "skip")


@dataclass(frozen=True, eq=False)
class TperCurve:
    """Share of images with a large error, against the threshold.

    Parameters
    ----------
    thresholds : ndarray of shape (T,)
        In the unit of the convention: a ratio, percent, or objects.
    ratio : ndarray of shape (T,)
        Share of images at or beyond each threshold.
    convention : str
        Which error is compared with the thresholds.
    n_images : int
        Images that entered.
    n_zero : int
        Images without objects among those that were given.
    """

    thresholds: np.ndarray
    ratio: np.ndarray
    convention: str
    n_images: int
    n_zero: int

    @property
    def auc(self) -> float:
        """Area under the curve by trapezoids, in the unit of the thresholds."""
        return float(trapezoid(self.ratio, self.thresholds))


def tper_curve(
    target: Any,
    pred: Any,
    *,
    convention: str = "relative",
    zero_rule: str = "exact",
    percent: Any = THRESHOLDS,
) -> TperCurve:
    """Share of images whose error is at least theta times the true count (equation 12).

    Parameters
    ----------
    target, pred : array-like of shape (N,)
        True and predicted counts.
    convention : {"relative", "percent", "paper", "absolute_released"}
        ``"relative"``: theta from 0 to 1, area in [0, 1]. ``"percent"``: theta from 0 to 100, area
        a hundred times that. ``"paper"``: equations 10 to 12 as printed, theta from 0 to 100
        percent and an image without objects always counted. ``"absolute_released"``: what the
        authors' code computes, where operator precedence makes the compared error
        |e| + 0.001/y + 0.001 objects instead of a percentage; its areas tell nothing about relative
        error.
    zero_rule : {"exact", "literal", "skip"}
        An image without objects, y = 0: ``"exact"`` counts it at theta > 0 where its prediction is
        not 0; ``"literal"`` counts it always, as the formula does; ``"skip"`` leaves it out. The
        paper's and the released convention count it always.
    percent : array-like of shape (T,)
        Thresholds in percent (in objects for ``"absolute_released"``), increasing.

    Raises
    ------
    InputError
        If the counts cannot be compared (see `as_pairs`).
    ValueError
        If the convention or the rule is unknown.

    Examples
    --------
    >>> curve = tper_curve([10, 10, 0], [10, 15, 0], percent=[0, 50, 100])
    >>> curve.ratio.round(3), round(curve.auc, 3)
    (array([1.   , 0.333, 0.   ]), 0.417)
    """
    if convention not in CONVENTIONS or zero_rule not in ZERO_RULES:
        raise ValueError(
            f"Expected a convention among {CONVENTIONS} and a rule among {ZERO_RULES} "
            f"but got {convention!r} and {zero_rule!r}."
        )
    target, pred = as_pairs(target, pred)
    n_zero = int((target == 0).sum())
    percent = np.asarray(percent, np.float64)
    if convention == "absolute_released":
        error = np.abs(pred - target)
        with np.errstate(divide="ignore"):
            beyond = (error + 0.001 / target + 0.001)[:, None] >= percent
        return TperCurve(percent, beyond.mean(0), convention, len(target), n_zero)
    if zero_rule == "skip" and convention != "paper":
        target, pred = target[target > 0], pred[target > 0]
    exact_zero = zero_rule == "exact" and convention != "paper"
    beyond = _beyond(target, pred, percent, exact_zero=exact_zero)
    ratio = beyond.mean(0) if len(target) else np.full(len(percent), np.nan)
    unit = 1.0 if convention in ("percent", "paper") else 100.0
    return TperCurve(percent / unit, ratio, convention, len(target), n_zero)


def tper_areas(target: Any, pred: Any) -> np.ndarray:
    """Return the area (N,) below the relative curve of each image alone, in [0, 1].

    Their mean over any images is the area of the curve of these images.

    Examples
    --------
    >>> tper_areas([10, 10, 0], [10, 15, 3]).round(3).tolist()
    [0.025, 0.525, 1.0]
    """
    target, pred = as_pairs(target, pred)
    beyond = _beyond(target, pred, THRESHOLDS, exact_zero=True)
    return trapezoid(beyond.astype(np.float64), THRESHOLDS / 100, axis=1)


def _beyond(
    target: np.ndarray, pred: np.ndarray, percent: np.ndarray, *, exact_zero: bool
) -> np.ndarray:
    """Mask (N, T) of images at or beyond each threshold in percent."""
    error = np.abs(pred - target)
    # y percent <= 100 |e| has no rounding for whole counts, unlike a division by y.
    beyond = 100 * error[:, None] >= target[:, None] * percent
    if exact_zero:
        beyond &= ~((target == 0) & (error == 0))[:, None] | (percent == 0)
    return beyond
