"""True and predicted counts side by side, checked once for every measure."""

from __future__ import annotations

from typing import Any

import numpy as np

from autoeval.errors import InputError


def as_pairs(target: Any, pred: Any) -> tuple[np.ndarray, np.ndarray]:
    """Check true and predicted counts.

    Parameters
    ----------
    target, pred : array-like of shape (N,)
        Targets from 0 up; predictions may be negative, as those of density maps sometimes are.

    Returns
    -------
    target, pred : ndarray of shape (N,), float64

    Raises
    ------
    InputError
        If the lengths differ or are 0, a target is negative, NaN or infinite, or a prediction is
        NaN or infinite.
    """
    target, pred = np.asarray(target, np.float64).ravel(), np.asarray(pred, np.float64).ravel()
    if len(target) != len(pred):
        raise InputError(
            f"Expected as many predictions as true counts but got {len(pred)} and {len(target)}."
        )
    if not len(target):
        raise InputError("Expected at least one image with a true and a predicted count: got none.")
    _refuse(~np.isfinite(target) | (target < 0), target, "true counts must be finite and not < 0")
    _refuse(~np.isfinite(pred), pred, "predictions must be finite; leave out skipped answers")
    return target, pred


def _refuse(bad: np.ndarray, values: np.ndarray, rule: str) -> None:
    if bad.any():
        first = int(bad.argmax())
        raise InputError(
            f"{bad.sum()} of {len(values)} counts are bad ({rule}): item {first} is "
            f"{values[first]:g}."
        )
