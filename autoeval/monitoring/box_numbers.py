"""Numbers of the boxes of each image, whose means over a window describe the detector there.

Windows are compared by functions of such means alone, so that the sampling error of every
comparison follows from how the numbers vary between images, or blocks of images.
"""

from __future__ import annotations

import numpy as np

from autoeval.io.predictions import FoundBoxes
from autoeval.model.calibration import ScoreCalibration

LOW, SURE, CERTAIN = 0.05, 0.3, 0.7  # true-positive probabilities
UNKNOWN_SIZE = (480, 640)
SMALLEST = 1e-6  # area of a box, relative to its image
NUMBERS = ("boxes", "score", "best", "empty", "sure", "size", "squares", "certain")
"""The square root of the number of likely boxes, those with a true-positive probability over
`SURE`; the mean probability of boxes over `LOW`, 0 without any; the best one; whether no box is
likely. How many are likely, and the sum of the logarithms of their sides relative to the image; the
sum of squared probabilities over `LOW`; how many are over `CERTAIN`."""
AT = {name: k for k, name in enumerate(NUMBERS)}


def box_numbers(
    boxes: FoundBoxes, calibration: ScoreCalibration, category: int | None = None
) -> np.ndarray:
    """Return the numbers of each of M images, (M, len(NUMBERS)), float64.

    category: the one whose boxes count; by default those of all categories, as one.
    """
    rows = np.arange(len(boxes)) if category is None else boxes.rows_of(category)
    image, n_images = boxes.image[rows], len(boxes.images)
    p = np.asarray(calibration.at_half(boxes.scores[rows], boxes.boxes[rows]), np.float64)
    sizes = np.array([image.size or UNKNOWN_SIZE for image in boxes.images], np.float64)
    if any(image.size is None or min(image.size) <= 0 for image in boxes.images):
        sizes[:] = UNKNOWN_SIZE
    corners = np.asarray(boxes.boxes[rows], np.float64)
    area = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    share = area / sizes.reshape(-1, 2).prod(axis=1)[image]
    side = 0.5 * np.log(np.maximum(share, SMALLEST))

    def total(weights: np.ndarray) -> np.ndarray:
        return np.bincount(image, weights, minlength=n_images)

    best = np.zeros(n_images)
    np.maximum.at(best, image, p)
    n_sure, n_low = total(p > SURE), total(p > LOW)
    columns = {
        "boxes": np.sqrt(n_sure),  # counts vary as their mean does, their roots by about 1/2
        "score": total(p * (p > LOW)) / np.maximum(n_low, 1),
        "best": best,
        "empty": (n_sure == 0).astype(np.float64),
        "sure": n_sure,
        "size": total(side * (p > SURE)),
        "squares": total(p**2 * (p > LOW)),
        "certain": total(p > CERTAIN),
    }
    return np.stack([columns[name] for name in NUMBERS], axis=1)
