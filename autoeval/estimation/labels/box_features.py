"""What can be seen of a box without labels that may tell whether it is right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autoeval.boxes import box_iou
from autoeval.detections import Detections

OF_BOX = (
    "score",
    "log_odds",
    "size",
    "aspect",
    "rank",
    "confident_boxes",
    "best_score",
    "overlap_above",
    "overlap_below",
    "at_edge",
)
OF_DROPOUT = ("dropout_overlap", "dropout_score", "dropout_spread")
OF_HALF_SIZE = ("half_overlap", "half_score")

CONFIDENT = 0.3
EDGE = 3.0  # pixels


def feature_names(*, dropout: bool, half_size: bool) -> tuple[str, ...]:
    """Return the columns of `box_features` for a pass that left this behind."""
    return OF_BOX + OF_DROPOUT * dropout + OF_HALF_SIZE * half_size


def box_features(
    boxes: Detections,
    image_size: tuple[int, int],
    perturbed: Sequence[Detections] = (),
    half_size: Detections | None = None,
) -> np.ndarray:
    """Describe the boxes of one image, each among the others of its category.

    Parameters
    ----------
    boxes : Detections of N boxes
    image_size : tuple of int
        Height and width in pixels.
    perturbed : sequence of Detections
        The same image under feature dropout.
    half_size : Detections, optional
        The same image at half the size.

    Returns
    -------
    ndarray of shape (N, F), float64
        Columns as in `feature_names`: score and its log-odds; logarithm of the side relative to the
        image and of the aspect ratio; logarithm of the rank among the boxes of its category in the
        image and of the number of confident ones; the best score among them; the largest IoU with a
        more and a less confident one; whether the box ends at the edge. For each other pass: IoU
        and score of the box that overlaps it and is confident, and how the score varies.
    """
    if not len(boxes):
        names = feature_names(dropout=bool(perturbed), half_size=half_size is not None)
        return np.zeros((0, len(names)))
    columns = [*_alone(boxes, image_size), *_among(boxes), _at_edge(boxes, image_size)]
    if perturbed:
        overlaps, scores = zip(*(_again(boxes, found) for found in perturbed), strict=True)
        columns += [np.mean(overlaps, axis=0), np.mean(scores, axis=0), np.std(scores, axis=0)]
    if half_size is not None:
        columns += _again(boxes, half_size)
    return np.stack(columns, axis=1)


def _alone(boxes: Detections, image_size: tuple[int, int]) -> list[np.ndarray]:
    scores = boxes.scores.astype(np.float64)
    inside = np.clip(scores, 1e-3, 1 - 1e-3)
    sizes = (boxes.boxes[:, 2:] - boxes.boxes[:, :2]).astype(np.float64)
    width, height = np.maximum(sizes, 1e-3).T
    side = 0.5 * np.log(np.clip(width * height / (image_size[0] * image_size[1]), 1e-6, 1))
    aspect = np.clip(np.log(width / height), -3, 3)
    return [scores, np.log(inside / (1 - inside)), side, aspect]


def _among(boxes: Detections) -> list[np.ndarray]:
    scores, same = boxes.scores.astype(np.float64), boxes.labels[:, None] == boxes.labels
    place = np.argsort(np.argsort(-scores, kind="stable"))
    above = same & (place[None, :] < place[:, None])
    below = same & (place[None, :] > place[:, None])
    overlap = box_iou(*[boxes.boxes.astype(np.float64)] * 2)
    return [
        np.log1p(above.sum(axis=1)),
        np.log1p((same & (scores > CONFIDENT)).sum(axis=1)),
        np.where(same, scores, 0).max(axis=1),
        np.where(above, overlap, 0).max(axis=1),
        np.where(below, overlap, 0).max(axis=1),
    ]


def _at_edge(boxes: Detections, image_size: tuple[int, int]) -> np.ndarray:
    near = boxes.boxes[:, :2].min(axis=1) < EDGE
    far = (boxes.boxes[:, 2:] > np.array(image_size[::-1]) - EDGE).any(axis=1)
    return (near | far).astype(np.float64)


def _again(boxes: Detections, found: Detections) -> list[np.ndarray]:
    """IoU and score of the overlapping box of another pass, (N,) each; 0 where there is none."""
    if not len(found):
        return [np.zeros(len(boxes)), np.zeros(len(boxes))]
    overlap = box_iou(boxes.boxes.astype(np.float64), found.boxes.astype(np.float64))
    overlap[boxes.labels[:, None] != found.labels] = 0
    partner = (overlap * (0.5 + 0.5 * found.scores)).argmax(axis=1)
    reached = overlap[np.arange(len(boxes)), partner]
    return [reached, found.scores[partner] * (reached > CONFIDENT)]
