"""What a detector finds at half its input size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from autoeval.detections import Detections
from autoeval.detectors.causes import UnsuitableSize, telling_sizes
from autoeval.detectors.inputs.preprocessing import Preprocessor
from autoeval.detectors.inputs.shrinking import on_half, shrink

#: Takes images, their names and a preprocessor (None for the usual one), and returns the boxes.
Find = Callable[[Sequence[np.ndarray], Sequence[str], Preprocessor | None], list[Detections]]


class Halving:
    """Boxes at half the input size, for a network that takes one size only (SSD) on a canvas.

    Parameters
    ----------
    make : callable
        Makes the preprocessor of half the size.
    find : callable
        A clean pass of the detector.
    """

    def __init__(self, make: Callable[[], Preprocessor], find: Find) -> None:
        self._make = make
        self._find = find

    @cached_property
    def _preprocess(self) -> Preprocessor:
        return self._make()

    def __call__(self, images: Sequence[np.ndarray], image_ids: Sequence[str]) -> list[Detections]:
        """Find boxes at half the input size, or on a canvas where an image does not go through.

        Raises
        ------
        InputError
            If the preprocessor cannot be made.
        """
        try:
            return self.of_input(images, image_ids)
        except UnsuitableSize:
            if len(images) == 1:
                return self.on_canvas(images, image_ids)
        pairs = zip(images, image_ids, strict=True)
        return [boxes for image, name in pairs for boxes in self([image], [name])]

    def of_input(self, images: Sequence[np.ndarray], image_ids: Sequence[str]) -> list[Detections]:
        """Find boxes at half the input size; `UnsuitableSize` if the network cannot take it."""
        with telling_sizes():
            return self._find(images, image_ids, self._preprocess)

    def on_canvas(self, images: Sequence[np.ndarray], image_ids: Sequence[str]) -> list[Detections]:
        """Find boxes on images at half their size, see `autoeval.detectors.inputs.shrinking`."""
        found = self._find([shrink(image) for image in images], image_ids, None)
        return [on_half(boxes, image.shape) for boxes, image in zip(found, images, strict=True)]
