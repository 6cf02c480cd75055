"""Numbers of each image in each category, which most images of a category have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import Self

PARTS = ("usual", "category", "image", "values")
KEPT_BITS = 12  # of the 23 of a single-precision fraction: a relative error of 1e-4


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
