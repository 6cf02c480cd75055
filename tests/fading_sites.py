"""Places with a bright rectangle an image; the less it stands out, the less it is found."""

import numpy as np
from rectangles import RectangleDetector, rectangle_task

from autoeval.detections import Detections, Evidence

BRIGHTNESS = (250, 230, 210, 190, 170)


class FadingDetector(RectangleDetector):
    """Finds what is brighter than the middle; contrast makes boxes sure and exact."""

    def _one(self, image, image_id, repeats, seed):
        self.observed += 1
        grey = image[..., 0].astype(float)
        low, high = np.quantile(grey, [0.1, 0.99])
        rows, columns = np.nonzero(grey > (low + high) / 2)
        box = np.array([[columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]])
        sure = float(np.clip((high - low) / 255, 0.06, 1))
        clean = Detections(box + 6 * (1 - sure), np.array([sure]), np.zeros(1))
        return Evidence(image_id, image.shape[:2], clean)


def fading_task(folder, *, n_images=30):
    """Write five places, each a group of its own."""
    return rectangle_task(folder, BRIGHTNESS, n_images=n_images)
