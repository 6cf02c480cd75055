"""Numbers of each image whose means over a period describe the camera and the detector there.

A period is compared with another by functions of such means alone. So periods can be drawn again
image by image or block by block, and each image's part in a change can be computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autoeval.boxes import box_area, box_iou
from autoeval.detections import Detections
from autoeval.model.calibration import ScoreCalibration
from autoeval.monitoring.site_records import CameraImage

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
MEANINGS = {
    "detail_1": "log contrast of details of 1 to 2 pixels at 512 pixels",
    "detail_2": "the same of 2 to 4 pixels",
    "detail_3": "the same of 4 to 8 pixels",
    "detail_4": "the same of 8 to 16 pixels",
    "detail": "log contrast of the finest details, at full size",
    "edges": "log gradient of the sharpest hundredth, at 512 pixels",
    "coarse_edges": "the same at 256 pixels",
    "noise": "log noise level, at full size",
    "brightness": "mean grey level, 0 to 1",
    "contrast": "log standard deviation of grey levels",
    "dark": "share of nearly black pixels",
    "bright": "share of nearly white pixels",
    "haze": "mean of the dark channel, 0 to 1",
    "saturation": "mean saturation of colours, 0 to 1",
    "blockiness": "log ratio of steps at borders of 8 x 8 blocks to steps elsewhere",
}
NUMBERS = (*OF_BOXES, *MEANINGS)
"""Of the boxes: how many are over .05 and the sum of their scores; the share of them over .3;
whether one is over .2; the best score; how many are over .3 and the sum of the logarithms of their
relative sizes; how many the pass at half the size has over .3; and how many of those at full size
it finds again with an overlap over .5; the sum of the squared scores over .05, and how many are
over .7. Then the signals of the camera. What was not measured is NaN."""
MOST = 9.0  # of a squared distance, in each direction


def image_numbers(
    records: Sequence[CameraImage],
    category: int | None = None,
    calibration: ScoreCalibration | None = None,
) -> np.ndarray:
    """Return the numbers of each image.

    category: the one whose boxes count; by default those of all categories, as one.
    calibration: with it, scores are true-positive probabilities at IoU .5, without it confidences;
        boxes of the pass at half the size go through the same function.
    Returned: (n_images, len(NUMBERS)), float64: boxes are measured relative to the image; where the
        size of any image is not known, relative to one of `UNKNOWN_SIZE`.
    """
    sized = all(min(record.size) > 0 for record in records)
    rows = [
        _numbers(record, category, record.size if sized else UNKNOWN_SIZE, calibration)
        for record in records
    ]
    return np.array(rows, np.float64).reshape(-1, len(NUMBERS))


def _numbers(
    record: CameraImage,
    category: int | None,
    size: tuple[int, int],
    calibration: ScoreCalibration | None,
) -> list[float]:
    def read(boxes: Detections) -> Detections:
        counted = boxes if category is None else boxes[boxes.labels == category]
        if calibration is None:
            return counted
        return replace(counted, scores=calibration.at_half(counted.scores, counted.boxes))

    half = None if record.half_size is None else read(record.half_size)
    signals = [record.signals.get(name, np.nan) for name in MEANINGS]
    return [*_of_boxes(read(record.clean), half, size), *signals]


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


def novelty(
    before: np.ndarray, after: np.ndarray, whitening: np.ndarray, blocks: np.ndarray | None = None
) -> np.ndarray:
    """Return the novelty of each image, those of the baseline first, (N + M,)."""
    baseline = signals_in(before)
    blocks = (
        np.arange(len(baseline)) if blocks is None else np.unique(blocks, return_inverse=True)[1]
    )
    together = np.zeros((blocks.max() + 1, baseline.shape[1]))
    np.add.at(together, blocks, baseline)
    # An image of the baseline is compared with the mean of the other blocks: with its own in the
    # mean it would be nearer to it than a new image is, and every new one would be novel.
    n_others = len(baseline) - np.bincount(blocks)[blocks, None]
    other_mean = (baseline.sum(axis=0) - together[blocks]) / np.maximum(n_others, 1)
    deviations = np.concatenate(
        [(baseline - other_mean) * (n_others > 0), signals_in(after) - baseline.mean(axis=0)]
    )
    # Whitened, the squares add up to the squared Mahalanobis distance; each direction is bounded,
    # so that one signal gone wild does not outweigh the rest.
    return np.minimum((deviations @ whitening) ** 2, MOST).sum(axis=1)


def signals_in(numbers: np.ndarray) -> np.ndarray:
    """Return the signals of the images among their numbers, (N, len(MEANINGS))."""
    return numbers[:, len(OF_BOXES) :]
