"""Small pictures of an image with one set of boxes, or with others beside."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from autoeval.detections import Detections

CLEAN, PERTURBED = (255, 140, 30), (0, 140, 255)  # BGR: blue, orange
SIDE, STRONG = 360, 0.3


def draw_boxes(
    image: np.ndarray, clean: Detections, perturbed: Sequence[Detections], *, side: int = SIDE
) -> np.ndarray:
    """Shrink an image and draw both sets of boxes; those under a score of .3 are drawn fainter.

    The image (H, W, 3) uint8 BGR is not changed, boxes are in its pixels; `side` is the longer one
    of the result in pixels, at most.
    """
    scale = min(1.0, side / max(image.shape[:2]))
    size = [max(1, round(length * scale)) for length in image.shape[1::-1]]
    canvas = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    drawn = [(clean, CLEAN, 2), *((boxes, PERTURBED, 1) for boxes in perturbed)]
    for faint in (True, False):
        layer = canvas.copy()
        for boxes, color, width in drawn:
            chosen = boxes[(boxes.scores < STRONG) == faint]
            for x1, y1, x2, y2 in np.rint(chosen.boxes * scale).astype(int).tolist():
                cv2.rectangle(layer, (x1, y1), (x2, y2), color, width)
        canvas = cv2.addWeighted(layer, 0.4, canvas, 0.6, 0) if faint else layer
    return canvas
