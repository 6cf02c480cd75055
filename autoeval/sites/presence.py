"""Which categories are at a site: found by its boxes, or said to be there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import Self

from autoeval.model.calibration import LIKELY

LEAST_SHARE = 0.1
"""Expected objects of a category that counts, as a share of the mean over the categories found.

A few confident errors make a likely box of nearly any category of a detector somewhere. Chosen by
benchmarks/presence.py (docs/results/presence.md)."""


@dataclass(frozen=True, eq=False)
class Presence:
    """Which of K categories count in the accuracy at a site.

    A category is found where a box is a true positive with a probability over .3 at IoU .5. One
    that is found counts where its expected objects, the sum of these probabilities over all its
    boxes, are `LEAST_SHARE` of their mean over the categories found, or more; one that is said to
    be there always counts.

    likely (K,): boxes with a probability over .3.
    expected (K,): expected objects.
    counts (K,): bool.
    """

    categories: tuple[str, ...]
    likely: np.ndarray
    expected: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(
        cls,
        categories: Sequence[str],
        label: np.ndarray,
        probabilities: np.ndarray,
        present: Collection[str] = (),
    ) -> Self:
        """Decide for the boxes of a site, each with an index of its category and its probability.

        label, probabilities (N,); present: categories that are said to be there.

        >>> found = Presence.of(["car", "dog", "cat"], np.array([0] * 9 + [1]), np.full(10, .5))
        >>> found.counted, Presence.of(["car"], np.array([0]), np.array([.2])).counted
        (('car', 'dog'), ())
        """
        n = len(categories)
        likely = np.bincount(label[probabilities > LIKELY], minlength=n)
        expected = np.bincount(label, probabilities, minlength=n)
        found = likely > 0
        least = LEAST_SHARE * expected[found].mean() if found.any() else np.inf
        said = np.array([name in present for name in categories], bool)
        return cls(tuple(categories), likely, expected, (found & (expected >= least)) | said)

    @property
    def candidates(self) -> np.ndarray:
        """Indices of the categories that count or were found, int, rising."""
        return np.flatnonzero(self.counts | (self.likely > 0))

    @property
    def counted(self) -> tuple[str, ...]:
        """Names of the categories that count."""
        return tuple(self.categories[k] for k in np.flatnonzero(self.counts))
