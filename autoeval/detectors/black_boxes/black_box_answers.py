"""Reading what a callable answers, with errors that say what is wrong and for which image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autoeval.data.wording import listed
from autoeval.detections import Detections
from autoeval.errors import InputError

PARTS = ("boxes", "scores", "labels")


def read_answers(
    answers: Any,
    sizes: Sequence[tuple[int, int]],
    image_ids: Sequence[str],
    categories: Sequence[str],
) -> tuple[list[Detections], int]:
    """Turn boxes, scores and labels of several images into detections.

    Parameters
    ----------
    answers : tuple of three sequences
        See `autoeval.detectors.black_boxes.black_box.BlackBoxDetector`.
    sizes : sequence of tuple of int
        Height and width of each image.
    image_ids, categories : sequence of str

    Returns
    -------
    found : list of Detections
        Clipped to their images.
    n_outside : int
        Boxes without area in their image, left out.

    Raises
    ------
    InputError
        If it is not that, or holds NaN, scores outside [0, 1] or unknown categories.
    """
    boxes, scores, labels = _three(answers)
    lengths = [len(part) for part in (boxes, scores, labels)]
    if set(lengths) != {len(sizes)}:
        raise InputError(
            f"Expected boxes, scores and labels of {len(sizes)} images, one array each, "
            f"but got {lengths[0]}, {lengths[1]} and {lengths[2]}."
        )
    found = [
        _one(*answer, categories) for answer in zip(boxes, scores, labels, image_ids, strict=True)
    ]
    clipped = [
        _clip(each, size, image_id)
        for each, size, image_id in zip(found, sizes, image_ids, strict=True)
    ]
    return clipped, sum(map(len, found)) - sum(map(len, clipped))


def _three(answers: Any) -> tuple[Sequence, Sequence, Sequence]:
    if not isinstance(answers, list | tuple) or len(answers) != len(PARTS):
        raise InputError(
            "Expected three lists, of boxes, scores and labels, with one array for each image, "
            f"but got {type(answers).__name__}."
        )
    return tuple(answers)  # type: ignore[return-value]


def _one(
    boxes: Any, scores: Any, labels: Any, image_id: str, categories: Sequence[str]
) -> Detections:
    """Read one image."""
    try:
        found = Detections(
            np.asarray(boxes, np.float32).reshape(-1, 4),
            np.asarray(scores, np.float32).reshape(-1),
            _numbers(labels, categories),
        )
    except (TypeError, ValueError, KeyError) as error:
        raise InputError(f"The answer for image '{image_id}' is malformed: {error}") from error
    if not np.isfinite(found.boxes).all():
        raise InputError(f"Expected finite boxes but image '{image_id}' has NaN or infinite ones.")
    if not ((found.scores >= 0) & (found.scores <= 1)).all():
        odd = found.scores[~((found.scores >= 0) & (found.scores <= 1))]
        raise InputError(f"Expected scores in [0, 1] but image '{image_id}' has {listed(odd)}.")
    return found


def _numbers(labels: Any, categories: Sequence[str]) -> np.ndarray:
    """Read numbers or words; a list of categories may hold a word several times, as "N/A"."""
    given = np.asarray(labels)
    if given.dtype.kind in "US":
        index = {name: k for k, name in enumerate(categories)}
        unknown = sorted(set(given.tolist()) - index.keys())
        if unknown:
            raise ValueError(f"its labels {listed(unknown)} are not among the categories")
        return np.array([index[word] for word in given.tolist()], np.int64)
    numbers, n = given.astype(np.int64).reshape(-1), len(categories)
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < n:
        raise ValueError(
            f"labels are from 0 to {n - 1}, these from {numbers.min()} to {numbers.max()}"
        )
    return numbers


def _clip(found: Detections, size: tuple[int, int], image_id: str) -> Detections:
    height, width = size
    if len(found) and found.boxes.max() <= 1 < min(size):
        raise InputError(f"Expected boxes in pixels but those of '{image_id}' lie in [0, 1].")
    boxes = found.boxes.clip(0, np.array([width, height] * 2, np.float32))
    inside = np.all(boxes[:, 2:] > boxes[:, :2], axis=1)
    return Detections(boxes, found.scores, found.labels)[inside]
