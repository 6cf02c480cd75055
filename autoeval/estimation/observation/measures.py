"""What a pass may measure against labels beside mAP."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from typing_extensions import Self

from autoeval.detections import Detections


class Measure(Protocol):
    """Adds up how right a detector is, image by image, as `MeanAP` does."""

    def update(
        self, found: Detections, boxes: np.ndarray, labels: np.ndarray, iscrowd: np.ndarray
    ) -> None:
        """Take in the detections and the true boxes of one image."""
        ...

    def merge(self, other: Self, /) -> None:
        """Take in all that ``other`` has seen."""
        ...

    def compute(self) -> dict[str, float]:
        """Return named figures of all images seen."""
        ...


class MeasureSettings(Protocol):
    """A dataclass of plain values that makes a measure for each set of images."""

    def make(self) -> Measure:
        """Make a measure that has seen nothing."""
        ...
