"""The images whose boxes move most under dropout, kept while a pass goes by."""

from __future__ import annotations

import math
from bisect import insort
from dataclasses import dataclass

from autoeval.detections import Detections, Evidence
from autoeval.stability.scores.box_stability import box_stability
from autoeval.stability.scores.box_stability_settings import BoxStabilitySettings

LOST_BOXES_COUNT = BoxStabilitySettings(empty="zero", normalise="max")


@dataclass(frozen=True, eq=False)
class UnstableImage:
    """One image with the boxes that differ.

    stability: mean box stability over the repeats, in [-1, 1]; lost boxes count against it.
    clean: boxes with a score above .05, which are those compared.
    """

    stability: float
    image_id: str
    clean: Detections
    perturbed: tuple[Detections, ...]

    @property
    def order(self) -> tuple[float, str]:
        """By stability, then by name."""
        return self.stability, self.image_id


class LeastStableImages:
    """Keeps the least stable images seen, the least stable one first.

    Images without a box before and after dropout are passed over. Boxes are matched as by the
    preset ``paper``, so in a pass with that preset no box is matched twice.

    >>> import numpy as np
    >>> still = Detections(np.array([[0, 0, 2, 2]]), np.array([.9]), np.array([0]))
    >>> kept = LeastStableImages(1)
    >>> kept.update(Evidence("a", (4, 4), still, (still,)))
    >>> kept.update(Evidence("b", (4, 4), still, (Detections.empty(),)))
    >>> [(image.image_id, image.stability) for image in kept.images]
    [('b', 0.0)]
    """

    def __init__(self, n_images: int = 8) -> None:
        self.n_images = n_images
        self.images: list[UnstableImage] = []

    def update(self, evidence: Evidence) -> None:
        """Take in one image."""
        clean, score_thr = evidence.clean, LOST_BOXES_COUNT.score_thr
        stable = [
            box_stability(clean, boxes, LOST_BOXES_COUNT)
            for boxes in evidence.perturbed
            if (clean.scores > score_thr).any() or (boxes.scores > score_thr).any()
        ]
        if stable:
            mean = math.fsum(stable) / len(stable)
            perturbed = tuple(boxes.above(score_thr) for boxes in evidence.perturbed)
            image = UnstableImage(mean, evidence.image_id, clean.above(score_thr), perturbed)
            self._keep(image)

    def _keep(self, image: UnstableImage) -> None:
        insort(self.images, image, key=lambda kept: kept.order)
        del self.images[self.n_images :]
