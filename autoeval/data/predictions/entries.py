"""The entries of a results file as columns; those that cannot be used are counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.data.wording import listed
from autoeval.errors import InputError

WORDS = ("category", "category_name", "label", "name")
FEWEST_USABLE = 0.5
MOST_BEYOND = 0.01


@dataclass(frozen=True, eq=False)
class Entries:
    """The N usable entries of a file.

    Parameters
    ----------
    images : list of tuple
        ``image_id`` and ``file_name`` of each, None for what is not there.
    categories : list of tuple
        ``category_id`` and word of each, None for what is not there.
    boxes : ndarray of shape (N, 4), float32
        As xyxy, pixels.
    scores : ndarray of shape (N,), float32
    problems : tuple of str
        Which entries were left out and why.
    """

    images: list[tuple[Any, Any]]
    categories: list[tuple[Any, Any]]
    boxes: np.ndarray
    scores: np.ndarray
    problems: tuple[str, ...]


def read_entries(path: Path, content: Sequence[Any]) -> Entries:
    """Take the columns out of a list of entries.

    Raises
    ------
    InputError
        If less than half of them can be used, or none, or scores are no confidences in [0, 1].
    """
    if not content:
        raise InputError(f"{path} holds no box: where nothing at all is found, nothing is told.")
    rows: list[dict] = [e if isinstance(e, dict) else {} for e in content]
    images = [(e.get("image_id"), e.get("file_name")) for e in rows]
    word = next((w for w in WORDS if any(w in e for e in rows[:100])), WORDS[0])
    categories = [(e.get("category_id"), e.get(word)) for e in rows]
    scores = _numbers([e.get("score") for e in rows], _score)
    xywh = _numbers([e.get("bbox") for e in rows], _box, 4)
    _refuse_other_scale(path, scores)
    faults = _faults(images, categories, xywh, scores)
    usable = ~np.any(list(faults.values()), axis=0)
    problems = tuple(_told(what, bad) for what, bad in faults.items() if bad.any())
    if usable.sum() <= FEWEST_USABLE * len(rows):
        raise InputError(
            f"{path} is not a COCO results file: {usable.sum()} of its {len(rows)} entries can be "
            f"used. {' '.join(problems)} Expected a list of objects with image_id or file_name, "
            "category_id or category, bbox [left, top, width, height] and score."
        )
    kept = np.flatnonzero(usable)
    boxes = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], axis=1)
    return Entries(
        [images[k] for k in kept],
        [categories[k] for k in kept],
        boxes[kept].astype(np.float32),
        scores[kept].astype(np.float32),
        problems,
    )


def _refuse_other_scale(path: Path, scores: np.ndarray) -> None:
    beyond = np.isfinite(scores) & ((scores < 0) | (scores > 1))
    if beyond.sum() > max(MOST_BEYOND * len(scores), 1):
        raise InputError(
            f"{path}: {beyond.sum()} of {len(scores)} scores are not in [0, 1] "
            f"({np.nanmin(scores):.3g} to {np.nanmax(scores):.3g}). Expected confidences: divide "
            "percentages by 100, and put logits through a sigmoid."
        )


def _faults(
    images: list[tuple], categories: list[tuple], xywh: np.ndarray, scores: np.ndarray
) -> dict[str, np.ndarray]:
    """Say what is wrong with which entry; an entry has one fault at most."""
    nothing = (None, None)
    no_image = np.array([image == nothing for image in images], bool)
    no_category = np.array([category == nothing for category in categories], bool)
    checks = {
        "without image_id and file_name": no_image,
        "without category_id and category": no_category,
        "whose bbox is not four finite numbers": ~np.isfinite(xywh).all(axis=1),
        "whose bbox has no area": (xywh[:, 2:] <= 0).any(axis=1),
        "without a score in [0, 1]": ~((scores >= 0) & (scores <= 1)),
    }
    before, faults = np.zeros(len(scores), bool), {}
    for what, bad in checks.items():
        faults[what] = bad & ~before
        before |= bad
    return faults


def _told(what: str, bad: np.ndarray) -> str:
    return f"entries {what}, left out: {bad.sum()} (numbers {listed(np.flatnonzero(bad).tolist())})"


def _numbers(values: list, parse: Callable[[Any], Any], width: int = 1) -> np.ndarray:
    """Turn a column into floats, NaN for what is none; one by one only where something is odd."""
    shape = (len(values), width) if width > 1 else (len(values),)
    try:
        column = np.array(values, np.float64)
    except (TypeError, ValueError):
        column = np.zeros(0)
    if column.shape != shape:
        column = np.array([parse(value) for value in values], np.float64)
    return column.reshape(shape)


def _score(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


def _box(value: Any) -> list[float]:
    if isinstance(value, list) and len(value) == 4:
        return [_score(number) for number in value]
    return [float("nan")] * 4
