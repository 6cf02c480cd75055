"""What a score is: fed image by image, mergeable, and computed once in the end."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import Self

from autoeval.detections import Evidence
from autoeval.scores.context import ScoreContext
from autoeval.scores.direction import Direction


class Score(ABC):
    """A label-free score of a set of images.

    `update` takes the evidence of one image, `merge` adds what another instance has seen, and
    `compute` returns named features of the whole set (NaN where the set gives none). Scores of
    shards, merged, equal the score of the whole set, in any order.

    A score declares the attributes below on its class and is decorated with
    `autoeval.scores.registry.register`; nothing else has to know of it.

    Attributes
    ----------
    name : str
        Its one name: in tables, options and files.
    meaning : str
        What it measures, in a few words.
    features : mapping of str to Direction
        The columns that it fills, and whether each rises or falls with accuracy.
    needs : frozenset of str
        Fields of `Evidence` that it reads beside the clean boxes: ``perturbed``, ``candidates``,
        ``logits``, ``features``, ``views``, ``half_size``, ``teacher``.
    needs_domain : bool
        Whether it compares with the detector's training domain.
    per_image : bool
        Whether it is of images as a whole, and so the same for every category; else of boxes.
    source : str
        Paper and section, or ``"this project"``.
    revision : int
        To be raised by whoever changes its numbers: what is in work dirs is then made again.
    """

    name: ClassVar[str]
    meaning: ClassVar[str]
    features: ClassVar[Mapping[str, Direction]]
    needs: ClassVar[frozenset[str]] = frozenset()
    needs_domain: ClassVar[bool] = False
    per_image: ClassVar[bool] = False
    source: ClassVar[str]
    revision: ClassVar[int] = 1

    @classmethod
    def make(cls, context: ScoreContext) -> Self:
        """Make the score that a pass needs."""
        return cls()

    def absence(self, evidence: Evidence) -> str | None:
        """Say why such evidence gives no score, None if it does."""
        reasons = (evidence.why_missing(name) for name in sorted(self.needs))
        return next((reason for reason in reasons if reason), None)

    @abstractmethod
    def update(self, evidence: Evidence) -> None:
        """Take in the evidence of one image."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Take in all that ``other`` has seen."""

    @abstractmethod
    def compute(self) -> dict[str, float]:
        """Return the features of all images seen."""

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the features of B sets of images drawn from the M seen, without another pass.

        Parameters
        ----------
        counts : ndarray of shape (B, M), int
            How often each image is in each set; images in the order in which they came.

        Returns
        -------
        dict of str to ndarray of shape (B,)
            NaN where a set gives none. Empty for a score that keeps no numbers of single images,
            which therefore has no bootstrap.
        """
        return {}


class RatioScore(Score):
    """A score whose F features are each a sum over images divided by another.

    The sums are rounded once, so that merged shards equal the whole to the last bit.

    Parameters
    ----------
    score_thr : float
        Only boxes with a score above it count.
    """

    def __init__(self, *, score_thr: float = 0.05) -> None:
        self.score_thr = score_thr
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []

    @classmethod
    def make(cls, context: ScoreContext) -> Self:
        """Make the score with the score threshold of the pass."""
        return cls(score_thr=context.score_thr)

    @abstractmethod
    def measure(self, evidence: Evidence) -> tuple[ArrayLike, ArrayLike]:
        """Return what one image adds to the numerators and the denominators, (F,) or one number."""

    def update(self, evidence: Evidence) -> None:
        """Take in one image."""
        above, below = self.measure(evidence)
        self._parts.append((self._row(above), self._row(below)))

    def merge(self, other: Self) -> None:
        """Take in all that ``other`` has seen."""
        self._parts.extend(other._parts)

    def compute(self) -> dict[str, float]:
        """Return the ratio of each feature, NaN where its denominator is 0."""
        above, below = (self._sums(side) for side in (0, 1))
        return {
            name: a / b if b else math.nan
            for name, a, b in zip(self.features, above, below, strict=True)
        }

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the ratios of sums in which each image counts as often as it was drawn, (B,)."""
        above, below = (counts @ self._rows(side) for side in (0, 1))
        ratios = np.divide(above, below, out=np.full(above.shape, math.nan), where=below != 0)
        return dict(zip(self.features, ratios.T, strict=True))

    def _row(self, values: ArrayLike) -> np.ndarray:
        row = np.empty(len(self.features))
        row[:] = values
        return row

    def _rows(self, side: int) -> np.ndarray:
        return np.array([part[side] for part in self._parts]).reshape(-1, len(self.features))

    def _sums(self, side: int) -> list[float]:
        return [math.fsum(column) for column in self._rows(side).T]


def observed_sum(values: Sequence[float]) -> tuple[float, int]:
    """Return the sum and the number of values that are not NaN, for `RatioScore.measure`."""
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known), len(known)
