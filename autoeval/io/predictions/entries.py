"""The entries of a predictions file as columns; those that cannot be used are counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from autoeval.errors import InputError
from autoeval.io.labels.truth import FARTHEST
from autoeval.io.predictions.raw_columns import Coded, RawColumns
from autoeval.io.wording import listed
from autoeval.notices import Notice

FEWEST_USABLE = 0.5
MOST_BEYOND = 0.01
LARGEST_FACTOR = 10.0  # of scores that exceed 1; beyond it they are percentages


class NoBoxError(InputError):
    """A predictions file without a box."""


@dataclass(frozen=True, eq=False)
class Entries:
    """The N usable entries of a file.

    `images` are pairs of ``image_id`` and ``file_name``, `categories` of ``category_id`` and word,
    None for what is not there; `image` and `category` (N,) index into them. `boxes` (N, 4) float64
    are xyxy, pixels; `warnings` say which entries were left out and why.
    """

    images: list[tuple[Any, Any]]
    image: np.ndarray
    categories: list[tuple[Any, Any]]
    category: np.ndarray
    boxes: np.ndarray
    scores: np.ndarray
    warnings: tuple[str, ...]


def read_entries(path: Path, content: Iterable[RawColumns]) -> Entries:
    """Check and gather entries, some at a time.

    Raises `NoBoxError` if there are none, `InputError` if less than half of them can be used, or
    scores are no confidences in [0, 1].
    """
    gathered = _Gathered()
    for columns in content:
        gathered.add(columns)
    n = gathered.n
    if not n:
        raise NoBoxError(f"{path} holds no box: expected one or more, to estimate from.")
    if gathered.n_beyond > max(MOST_BEYOND * n, 1):
        raise InputError(
            f"{path}: {gathered.n_beyond} of {n} scores are not in [0, 1] "
            f"({gathered.lowest:.3g} to {gathered.highest:.3g}). Expected confidences: "
            f"{_remedy(gathered.lowest, gathered.highest)}"
        )
    faults = {what: np.concatenate(bad) for what, bad in gathered.faults.items()}
    warnings = tuple(
        Notice("entries-malformed", f"entries {what}, left out: {len(bad)} (numbers {listed(bad)})")
        for what, bad in faults.items()
        if len(bad)
    )
    n_usable = n - sum(map(len, faults.values()))
    if n_usable <= FEWEST_USABLE * n:
        raise InputError(
            f"{path} is not a COCO results file: {n_usable} of its {n} entries can be "
            f"used. {' '.join(warnings)} Expected a list of objects with image_id or file_name, "
            "category_id or category, bbox [left, top, width, height] and score."
        )
    return Entries(
        list(gathered.images),
        _joined(gathered.image).astype(np.int64),
        list(gathered.categories),
        _joined(gathered.category).astype(np.int64),
        _joined(gathered.boxes),
        _joined(gathered.scores),
        warnings,
    )


def _remedy(lowest: float, highest: float) -> str:
    """Say how scores become confidences, by their range."""
    if lowest < 0:
        return "put logits through a sigmoid."
    if highest > LARGEST_FACTOR:
        return "divide percentages by 100."
    return (
        f"a detector of several scores can exceed 1. Clip them, min(score, 1), where few do, or "
        f"rescale all by the highest, score / {highest:.3g}; the labelled set and new images in "
        "the same way."
    )


@dataclass(eq=False)
class _Gathered:
    """Usable entries so far, and what was wrong with the others."""

    n: int = 0
    n_beyond: int = 0
    lowest: float = np.inf
    highest: float = -np.inf
    faults: dict[str, list[np.ndarray]] = field(default_factory=dict)
    images: dict[tuple, int] = field(default_factory=dict)
    categories: dict[tuple, int] = field(default_factory=dict)
    image: list[np.ndarray] = field(default_factory=list)
    category: list[np.ndarray] = field(default_factory=list)
    boxes: list[np.ndarray] = field(default_factory=list)
    scores: list[np.ndarray] = field(default_factory=list)

    def add(self, raw: RawColumns) -> None:
        finite = raw.scores[np.isfinite(raw.scores)]
        self.n_beyond += int(np.count_nonzero((finite < 0) | (finite > 1)))
        self.lowest = min(self.lowest, finite.min(initial=np.inf))
        self.highest = max(self.highest, finite.max(initial=-np.inf))
        faults = _faults(raw)
        for what, bad in faults.items():
            self.faults.setdefault(what, []).append(self.n + np.flatnonzero(bad))
        self.n += len(raw)
        usable = ~np.logical_or.reduce(list(faults.values()))
        kept = slice(None) if usable.all() else usable
        self.image.append(_number(self.images, raw.image_id, raw.file_name, kept))
        self.category.append(_number(self.categories, raw.category_id, raw.word, kept))
        xywh = raw.xywh[kept]
        boxes = np.empty(xywh.shape)
        boxes[:, :2], boxes[:, 2:] = xywh[:, :2], xywh[:, :2] + xywh[:, 2:]
        self.boxes.append(boxes)
        self.scores.append(raw.scores[kept])


def _number(
    number_of: dict[tuple, int], first: Coded, second: Coded, kept: np.ndarray | slice
) -> np.ndarray:
    """Give each pair of values a number, in the order of the file, (n,) int32."""
    width = len(second.values) + 1
    pair = (first.codes[kept] + 1) * width + second.codes[kept] + 1
    coded = pa.array(pair).dictionary_encode()
    firsts, seconds = [None, *first.values], [None, *second.values]
    keys = [(firsts[p // width], seconds[p % width]) for p in coded.dictionary.to_pylist()]
    numbers = [number_of.setdefault(key, len(number_of)) for key in keys]
    return np.array(numbers, np.int32)[coded.indices.to_numpy()]


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Join arrays and let them go."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def _faults(raw: RawColumns) -> dict[str, np.ndarray]:
    """Say what is wrong with which entry; an entry has one fault at most."""
    checks = {
        "without image_id and file_name": (raw.image_id.codes < 0) & (raw.file_name.codes < 0),
        "without category_id and category": (raw.category_id.codes < 0) & (raw.word.codes < 0),
        "whose bbox is not four finite numbers": ~np.isfinite(raw.xywh).all(axis=1),
        f"whose bbox is beyond {FARTHEST:.0e} pixels": (np.abs(raw.xywh) >= FARTHEST).any(axis=1),
        "whose bbox has a negative width or height": (raw.xywh[:, 2:] < 0).any(axis=1),
        "without a score in [0, 1]": ~((raw.scores >= 0) & (raw.scores <= 1)),
    }
    before, faults = np.zeros(len(raw), bool), {}
    for what, bad in checks.items():
        faults[what] = bad & ~before
        before |= bad
    return faults
