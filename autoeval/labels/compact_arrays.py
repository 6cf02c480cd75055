"""Arrays of a file, rearranged without loss so that they compress to about half.

Numbers that were read from text have few decimals and become whole ones; corners of boxes become a
corner and a size; whole numbers that rise become their steps. Then all first bytes of the numbers
are written together, all second ones, and so on: high bytes are nearly all alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

DECIMALS = {np.dtype(np.float32): range(5), np.dtype(np.float64): range(7)}  # that are tried
LARGEST = 2**30  # whole number
CORNERS = 4  # columns of boxes
ONE_BYTE = 255  # up to which steps are no shorter than the numbers
RISING = 0.9  # share of steps: ids of images rise within each category


def compact(array: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    """Return bytes, uint8 (B, N), and what `restored` needs to give the array (n, ...) again.

    Examples
    --------
    >>> stored, how = compact(np.array([10.5, 10.25], np.float32))
    >>> how["decimals"], restored(stored, how)
    (2, array([10.5 , 10.25], dtype=float32))
    """
    how: dict[str, Any] = {"dtype": array.dtype.str, "shape": list(array.shape)}
    if not array.size:
        return np.zeros((array.dtype.itemsize, 0), np.uint8), how
    columns = np.ascontiguousarray(array.reshape(len(array), -1).T)
    for decimals in DECIMALS.get(array.dtype, ()):
        whole = _as_whole(columns, decimals)
        if whole is not None:
            columns, how["decimals"] = whole, decimals
            break
    if array.ndim == 1 and array.dtype.kind == "i" and array.max() > ONE_BYTE:
        steps = np.diff(array, prepend=array.dtype.type(0))
        if np.mean(steps >= 0) > RISING:
            columns, how["steps"] = steps[None], True
    size = columns.dtype.itemsize
    return np.ascontiguousarray(columns.reshape(-1).view(np.uint8).reshape(-1, size).T), how


def restored(stored: np.ndarray, how: Mapping[str, Any]) -> np.ndarray:
    """Return the array that `compact` was given, to the last bit."""
    dtype, shape = np.dtype(how["dtype"]), tuple(how["shape"])
    if 0 in shape:
        return np.zeros(shape, dtype)
    decimals = how.get("decimals")
    stored_dtype = dtype if decimals is None else np.dtype(np.int32)
    columns = np.ascontiguousarray(stored.T).reshape(-1).view(stored_dtype)
    columns = columns.reshape(-1, shape[0])
    if how.get("steps"):
        columns = np.cumsum(columns, axis=1, dtype=stored_dtype)
    if decimals is not None:
        columns = _as_written(columns, decimals, dtype)
    return np.ascontiguousarray(columns.T).reshape(shape)


def _as_whole(columns: np.ndarray, decimals: int) -> np.ndarray | None:
    """Return the numbers times a power of ten, int32, if that gives them exactly.

    Of boxes these are a corner and the sides, from which a file's reader made the other corner.
    """
    scaled = columns.astype(np.float64)
    if len(columns) == CORNERS:
        scaled[2:] -= scaled[:2]
    scaled = np.rint(scaled * 10**decimals)
    if not (np.abs(scaled) < LARGEST).all():
        return None
    whole = scaled.astype(np.int32)
    # by their bytes, since a negative zero would lose its sign
    same = _as_written(whole, decimals, columns.dtype).tobytes() == columns.tobytes()
    return whole if same else None


def _as_written(whole: np.ndarray, decimals: int, dtype: np.dtype) -> np.ndarray:
    numbers = whole / 10**decimals
    if len(numbers) == CORNERS:
        numbers[2:] += numbers[:2]
    return numbers.astype(dtype)
