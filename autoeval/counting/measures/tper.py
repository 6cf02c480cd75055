"""Thresholded percentage error ratio: how many images are wrong by more than so much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import trapezoid

from autoeval.counting.measures.pairs import as_pairs

THRESHOLDS = np.linspace(0, 100, 21)
CONVENTIONS = ("relative", "percent", "absolute_released")
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
    convention : {"relative", "percent", "absolute_released"}
        ``"relative"``: theta from 0 to 1, area in [0, 1]. ``"percent"``: theta from 0 to 100, area
        a hundred times that. ``"absolute_released"``: what the authors' code computes, where
        operator precedence makes the compared error |e| + 0.001/y + 0.001 objects instead of a
        percentage; its areas tell nothing about relative error.
    zero_rule : {"exact", "literal", "skip"}
        An image without objects, y = 0: ``"exact"`` counts it at theta > 0 where its prediction is
        not 0; ``"literal"`` counts it always, as the formula does; ``"skip"`` leaves it out. The
        released convention counts it always.
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
    error = np.abs(pred - target)
    percent = np.asarray(percent, np.float64)
    if convention == "absolute_released":
        with np.errstate(divide="ignore"):
            beyond = (error + 0.001 / target + 0.001)[:, None] >= percent
        return TperCurve(percent, beyond.mean(0), convention, len(target), n_zero)
    if zero_rule == "skip":
        target, error = target[target > 0], error[target > 0]
    # y percent <= 100 |e| has no rounding for whole counts, unlike a division by y.
    beyond = 100 * error[:, None] >= target[:, None] * percent
    if zero_rule == "exact":
        beyond &= ~((target == 0) & (error == 0))[:, None] | (percent == 0)
    ratio = beyond.mean(0) if len(target) else np.full(len(percent), np.nan)
    unit = 1.0 if convention == "percent" else 100.0
    return TperCurve(percent / unit, ratio, convention, len(target), n_zero)
