"""Thresholded percentage error ratio: how many images are wrong by more than so much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autoeval.counting.measures.overall import as_pairs

THRESHOLDS = np.linspace(0, 100, 21)
CONVENTIONS = ("relative", "paper", "absolute_released")
ZERO_RULES = ("exact", "literal", "skip")


@dataclass(frozen=True, eq=False)
class TperCurve:
    """Share of images with a large error, against the threshold.

    Parameters
    ----------
    thresholds : ndarray of shape (T,)
        In the unit of the convention: a share of the true count, multiples of it, or objects.
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
        return float(_area(self.ratio, self.thresholds))


def tper_curve(
    target: Any,
    pred: Any,
    *,
    convention: str = "relative",
    zero_rule: str = "exact",
    thresholds: Any = THRESHOLDS,
) -> TperCurve:
    """Share of images whose error is at least theta times the true count (equation 12).

    Parameters
    ----------
    target, pred : array-like of shape (N,)
        True and predicted counts.
    convention : {"relative", "paper", "absolute_released"}
        ``"relative"``: `thresholds` are percent of the true count, theta is from 0 to 1 and the
        area in [0, 1]. ``"paper"``: equations 10 to 12 as printed, theta from 0 to 100 times the
        true count. ``"absolute_released"``: what the authors' code computes and figures 10 and 11
        show, where operator precedence makes the compared error |e| + 0.001/y + 0.001 objects.
    zero_rule : {"exact", "literal", "skip"}
        An image without objects, y = 0: ``"exact"`` counts it at theta > 0 where its prediction is
        not 0; ``"literal"`` counts it always, as the formula does; ``"skip"`` leaves it out. Only
        for ``"relative"``: the other two conventions count it always.
    thresholds : array-like of shape (T,)
        Increasing; in percent of the true count, in multiples of it (``"paper"``) or in objects
        (``"absolute_released"``).

    Raises
    ------
    InputError
        If the counts cannot be compared (see `as_pairs`).
    ValueError
        If the convention or the rule is unknown.

    Examples
    --------
    >>> curve = tper_curve([10, 10, 0], [10, 15, 0], thresholds=[0, 50, 100])
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
    thresholds = np.asarray(thresholds, np.float64)
    if convention != "relative":
        beyond = _released if convention == "absolute_released" else _literal
        ratio = beyond(target, pred, thresholds).mean(0)
        return TperCurve(thresholds, ratio, convention, len(target), n_zero)
    if zero_rule == "skip":
        target, pred = target[target > 0], pred[target > 0]
    reached = _relative(target, pred, thresholds, exact_zero=zero_rule == "exact")
    ratio = reached.mean(0) if len(target) else np.full(len(thresholds), np.nan)
    return TperCurve(thresholds / 100, ratio, convention, len(target), n_zero)


def tper_areas(target: Any, pred: Any) -> np.ndarray:
    """Return the area (N,) below the relative curve of each image alone, in [0, 1].

    Their mean over any images is the area of the curve of these images.

    Examples
    --------
    >>> tper_areas([10, 10, 0], [10, 15, 3]).round(3).tolist()
    [0.025, 0.525, 1.0]
    """
    target, pred = as_pairs(target, pred)
    beyond = _relative(target, pred, THRESHOLDS, exact_zero=True)
    return _area(beyond.astype(np.float64), THRESHOLDS / 100)


def _relative(
    target: np.ndarray, pred: np.ndarray, percent: np.ndarray, *, exact_zero: bool
) -> np.ndarray:
    """Mask (N, T) of images at or beyond each threshold in percent."""
    # y percent <= 100 |e| has no rounding for whole counts, unlike a division by y.
    beyond = 100 * np.abs(pred - target)[:, None] >= target[:, None] * percent
    if exact_zero:
        beyond &= ~((target == 0) & (pred == target))[:, None] | (percent == 0)
    return beyond


def _literal(target: np.ndarray, pred: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return np.abs(pred - target)[:, None] >= theta * target[:, None]


def _released(target: np.ndarray, pred: np.ndarray, objects: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        error = np.abs(pred - target) + 0.001 / target + 0.001
    return error[:, None] >= objects


def _area(ratio: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Area by trapezoids below curves (..., T)."""
    return (np.diff(thresholds) * (ratio[..., 1:] + ratio[..., :-1]) / 2).sum(-1)
