"""What a score is: fed image by image, mergeable, and computed once in the end."""

from __future__ import annotations

from typing import Protocol

from typing_extensions import Self

from autoeval.detections import Evidence


class Score(Protocol):
    """A label-free score of a set of images.

    `update` takes the evidence of one image, `merge` adds what another instance has seen, and
    `compute` returns named features of the whole set (NaN where the set gives none). Scores of
    shards, merged, equal the score of the whole set, in any order.
    """

    def update(self, evidence: Evidence) -> None:
        """Take in the evidence of one image."""
        ...

    def merge(self, other: Self) -> None:
        """Take in all that ``other`` has seen."""
        ...

    def compute(self) -> dict[str, float]:
        """Return the features of all images seen."""
        ...
