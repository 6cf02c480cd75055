"""Numbers of each image whose means over a period describe the camera and the detector there.

A period is compared with another by functions of such means alone. So periods can be drawn again
image by image or block by block, and each image's part in a change can be computed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autoeval.boxes import box_area, box_iou
from autoeval.detections import Detections
from autoeval.monitoring.records.record import CameraImage
from autoeval.monitoring.signal_names import MEANINGS

LOW, SOME, SURE, CERTAIN, OVERLAP = 0.05, 0.2, 0.3, 0.7, 0.5
UNKNOWN_SIZE = (480, 640)
OF_BOXES = (
    "boxes",
    "score",
    "share",
    "any",
    "best",
    "sure",
    "size",
    "sure_half",
    "again",
    "squares",
    "certain",
)
NUMBERS = (*OF_BOXES, *MEANINGS)
"""Of the boxes: how many are over .05 and the sum of their scores; the share of them over .3;
whether one is over .2; the best score; how many are over .3 and the sum of the logarithms of their
relative sizes; how many the pass at half the size has over .3; and how many of those at full size
it finds again with an overlap over .5; the sum of the squared scores over .05, and how many are
over .7. Then the signals of the camera. What was not measured is NaN."""


def image_numbers(records: Sequence[CameraImage], category: int | None = None) -> np.ndarray:
    """Return the numbers of each image.

    Parameters
    ----------
    records : sequence of CameraImage
    category : int, optional
        The one whose boxes count; by default those of all categories, as one.

    Returns
    -------
    ndarray of shape (n_images, len(NUMBERS)), float64
        Boxes are measured relative to the image; where the size of any image is not known, relative
        to one of `UNKNOWN_SIZE`.
    """
    known = all(min(record.size) > 0 for record in records)
    rows = [
        _numbers(record, category, record.size if known else UNKNOWN_SIZE) for record in records
    ]
    return np.array(rows, np.float64).reshape(-1, len(NUMBERS))


def _numbers(record: CameraImage, category: int | None, size: tuple[int, int]) -> list[float]:
    clean, half = (
        None if found is None else found if category is None else found[found.labels == category]
        for found in (record.clean, record.half_size)
    )
    assert clean is not None
    signals = [record.signals.get(name, np.nan) for name in MEANINGS]
    return [*_of_boxes(clean, half, size), *signals]


def _of_boxes(clean: Detections, half: Detections | None, size: tuple[int, int]) -> list[float]:
    low, sure = clean.above(LOW), clean.above(SURE)
    again = None if half is None else half.above(SURE)
    best = float(low.scores.max(initial=0.0))
    shares = box_area(sure.boxes.astype(np.float64)) / (size[0] * size[1])
    return [
        len(low),
        float(low.scores.sum(dtype=np.float64)),
        len(sure) / max(len(low), 1),
        float(best > SOME),
        best,
        len(sure),
        float(0.5 * np.log(np.maximum(shares, 1e-6)).sum()),
        np.nan if again is None else len(again),
        np.nan if again is None else _found_again(sure, again),
        float((low.scores.astype(np.float64) ** 2).sum()),
        len(clean.above(CERTAIN)),
    ]


def _found_again(sure: Detections, again: Detections) -> float:
    same = sure.labels[:, None] == again.labels
    overlaps = box_iou(sure.boxes.astype(np.float64), again.boxes.astype(np.float64)) * same
    return float((overlaps.max(axis=1, initial=0.0) > OVERLAP).sum())
