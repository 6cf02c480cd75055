"""Which questions a run asks, and how each is told from all others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from autoeval.counting.capture.answers import extract_count
from autoeval.counting.capture.ask import Extractor
from autoeval.counting.capture.prompts import PromptBook
from autoeval.counting.capture.records import CaptureItem
from autoeval.counting.capture.split import CaptureSplit
from autoeval.counting.capture.tasks import CaptureTask, fact
from autoeval.counting.counters.base import TEXT, Counter

Inpainter = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class RunOptions:
    """How a task is put.

    Parameters
    ----------
    extractor : callable of str -> Extraction
        Reads counts out of text.
    temperatures : tuple of float or None
        See `put_question`; sampled tasks without a temperature use 1.
    workers : int
        Questions in work at once; a counter that is not ``concurrent`` answers one at a time.
    inpainter : callable of (image, box) -> image, optional
        Fills in the box (4,), xyxy, of an occluded image (H, W, 3) for the task ``inpainted``.
    """

    extractor: Extractor = extract_count
    temperatures: tuple[float | None, ...] = (None,)
    workers: int = 1
    inpainter: Inpainter | None = None


@dataclass(frozen=True, eq=False)
class Query:
    """One question about one item.

    Parameters
    ----------
    item : CaptureItem
    sample : int
        Which of several askings of the same question.
    question : str
        What a speaking counter is asked, or the name of the objects.
    context : dict
        What the counter is told beyond image and question.
    key : str
        Equal for equal image, box, task, sample, question, counter and temperatures.
    """

    item: CaptureItem
    sample: int
    question: str
    context: dict[str, Any]
    key: str


def make_queries(
    split: CaptureSplit, task: CaptureTask, counter: Counter, book: PromptBook, options: RunOptions
) -> Iterator[Query]:
    """Yield every question of a task."""
    speaks = TEXT in counter.capabilities
    told = [task.told] if task.told else [] if speaks else list(getattr(counter, "needs", ()))
    for item in task.items(split.items):
        question = task.question(item, book) if speaks else item.object_name
        context: dict[str, Any] = {name: fact(item, name, task.variant) for name in told}
        if not speaks:
            context["image_id"] = item.image_file
        box = None if item.box is None else item.box.tolist()
        for sample in range(task.samples):
            identity = [item.image_file, box, task.name, sample, question, counter.name]
            content = json.dumps([*identity, list(temperatures_of(task, options))])
            key = hashlib.sha256(content.encode()).hexdigest()[:20]
            yield Query(item, sample, question, context, key)


def temperatures_of(task: CaptureTask, options: RunOptions) -> tuple[float | None, ...]:
    """Return the temperatures to try; several samples of one answer would say nothing at 0."""
    return (1.0,) if task.samples > 1 and options.temperatures == (None,) else options.temperatures
