"""Arrays of a plan that take little memory, and little space in files.

`ByImage` holds numbers of each image in each category, of which most images of a category have the
same.

`compact` rearranges the arrays of a file without loss, so that they compress to about half. Numbers
that were read from text have few decimals and become whole ones; corners of boxes become a corner
and a size; whole numbers that rise become their steps. Then all first bytes of the numbers are
written together, all second ones, and so on: high bytes are nearly all alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import Self

PARTS = ("usual", "category", "image", "values")
KEPT_BITS = 12  # of the 23 of a single-precision fraction: a relative error of 1e-4
DECIMALS = {np.dtype(np.float32): range(5), np.dtype(np.float64): range(7)}  # that are tried
LARGEST = 2**30  # whole number
CORNERS = 4  # columns of boxes
ONE_BYTE = 255  # up to which steps are no shorter than the numbers
RISING = 0.9  # share of steps: ids of images rise within each category


@dataclass(frozen=True, eq=False)
class ByImage:
    """L numbers of each of M images in each of K categories.

    Images without a box of a category all have the same numbers, so that only the P others are
    kept: with many categories an array (K, L, M) would hold little else.
    """

    usual: np.ndarray  # of images that are not kept, (K, L)
    category: np.ndarray  # (P,), int32
    image: np.ndarray  # (P,), int32
    values: np.ndarray  # (P, L), float32
    n_images: int

    @classmethod
    def of(cls, categories: Iterable[np.ndarray], n_images: int) -> Self:
        """Keep the images of each category, (L, M), that differ from most of them.

        Examples
        --------
        >>> of = ByImage.of([np.array([[0.5, 2.0, 0.5, 0.5]])], 4)
        >>> of.usual, of.image, of.values
        (array([[0.5]]), array([1], dtype=int32), array([[2.]], dtype=float32))
        """
        usual, category, image, values = [], [], [], []
        for k, numbers in enumerate(categories):
            rounded = with_few_bits(numbers)
            # more than half of the images share a value, or there is little to save
            middle = np.argsort(rounded[0], kind="stable")[n_images // 2]
            other = np.flatnonzero((rounded != rounded[:, [middle]]).any(axis=0))
            usual.append(rounded[:, middle])
            category.append(np.full(len(other), k, np.int32))
            image.append(other.astype(np.int32))
            values.append(rounded[:, other].T)
        return cls(
            np.array(usual, np.float64),
            np.concatenate(category),
            np.concatenate(image),
            np.concatenate(values),
            n_images,
        )

    @classmethod
    def unknown(cls, n_categories: int, n_numbers: int, n_images: int) -> Self:
        """Return numbers that are 0 for every image, where nobody needs them."""
        none = np.zeros(0, np.int32)
        usual, values = np.zeros((n_categories, n_numbers)), np.zeros((0, n_numbers), np.float32)
        return cls(usual, none, none, values, n_images)

    def __len__(self) -> int:
        """Return the number of categories."""
        return len(self.usual)

    def __getitem__(self, level: int) -> np.ndarray:
        """Return one of the L numbers of all images, (K, M), float64."""
        dense = np.repeat(self.usual[:, level, None], self.n_images, axis=1)
        dense[self.category, self.image] = self.values[:, level]
        return dense

    def of_categories(self, kept: Sequence[int], n_added: int = 0) -> Self:
        """Keep some categories, in the order given, and add some whose numbers are 0."""
        place = np.full(len(self), -1, np.int32)
        place[list(kept)] = np.arange(len(kept))
        inside = place[self.category] >= 0
        none = np.zeros((n_added, self.usual.shape[1]))
        return type(self)(
            np.concatenate([self.usual[list(kept)], none]),
            place[self.category[inside]],
            self.image[inside],
            self.values[inside],
            self.n_images,
        )

    def to_arrays(self, name: str) -> dict[str, np.ndarray]:
        """Return what a file holds of it."""
        return {f"{name}_{part}": getattr(self, part) for part in PARTS}

    @classmethod
    def of_arrays(cls, name: str, arrays: Mapping[str, np.ndarray], n_images: int) -> Self:
        """Read what `to_arrays` gave."""
        usual, category, image, values = (arrays[f"{name}_{part}"] for part in PARTS)
        return cls(usual, category, image, values, n_images)


def with_few_bits(values: np.ndarray) -> np.ndarray:
    """Round to single precision with `KEPT_BITS` of the fraction, which compresses to half."""
    dropped = 23 - KEPT_BITS
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(1 << (dropped - 1))) >> np.uint32(dropped) << np.uint32(dropped)
    return rounded.view(np.float32)


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
