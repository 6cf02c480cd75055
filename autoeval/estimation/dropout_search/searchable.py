"""What the search needs of a detector beside what every pass does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from autoeval.detections import Evidence
from autoeval.detectors.forward.dropout_spec import DropoutSpec
from autoeval.estimation.observation.observing import ImageDetector


class SearchableDetector(ImageDetector, Protocol):
    """A detector that can be observed under several dropouts at once."""

    @property
    def splits_backbone(self) -> bool:
        """Whether perturbed passes start where dropout begins."""
        ...

    def observe_each(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        dropouts: Sequence[DropoutSpec],
        *,
        repeats: int = 1,
        seed: int = 0,
    ) -> list[dict[DropoutSpec, Evidence]]:
        """Return the evidence of each image under each dropout."""
        ...

    def part_costs(self, image: np.ndarray) -> tuple[float, ...]:
        """Say how the cost of a pass is shared among the parts of the network."""
        ...
