"""Running a counter on a task, item by item; finished items are not run again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import cv2
import numpy as np

from autoeval.counting.capture.answering import (
    Inpainter,
    Query,
    Row,
    RunOptions,
    answer,
    make_queries,
)
from autoeval.counting.capture.split import INPAINTED, CaptureSplit
from autoeval.counting.capture.tasks import COUNT, CaptureTask, PromptBook
from autoeval.counting.counters.base import TEXT, Counter
from autoeval.counting.journal import CellJournal
from autoeval.counting.prompting import is_done, lock_of
from autoeval.errors import InputError
from autoeval.runtime.progress import announced_bar
from autoeval.runtime.threads import as_done

MOST_FAILURES = 10  # in a row, before a run gives up
_OPENCV = {"telea": cv2.INPAINT_TELEA, "navier-stokes": cv2.INPAINT_NS}
_REACH = 5  # pixels around the box that OpenCV looks at


@dataclass
class RunCounts:
    """How many questions were answered before, answered now, skipped now, and failed now."""

    reused: int = 0
    answered: int = 0
    skipped: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Count a row."""
        if row["status"] == "ok":
            self.answered += 1
        elif row["status"] == "skipped":
            self.skipped += 1
        else:
            self.failed[f"{row['image_file']} ({row['sample']})"] = row["status"]


def run_task(
    split: CaptureSplit,
    task: CaptureTask,
    counter: Counter,
    book: PromptBook,
    journal: CellJournal,
    options: RunOptions | None = None,
) -> RunCounts:
    """Ask everything that the journal lacks.

    Parameters
    ----------
    split : CaptureSplit
    task : CaptureTask
    counter : Counter
        One that answers in text is asked the question of the task through its ``ask``; any other
        is given the object's name, with ``image_id`` and the facts that its ``needs`` lists as
        context.
    book : PromptBook
    journal : CellJournal
        Receives one row an answer, under its field ``key``.
    options : RunOptions, optional

    Raises
    ------
    InputError
        If the counter cannot do the task, no item has it, or ten questions in a row failed.
    """
    options = options or RunOptions()
    _check(task, counter, options)
    queries = list(make_queries(split, task, counter, book, options))
    if not queries:
        raise InputError(f"No item of {split.folder} has what the task {task.name} needs.")
    done = {row["key"] for row in journal.read().values() if is_done(row)}
    waiting = [query for query in queries if query.key not in done]
    counts = RunCounts(reused=len(queries) - len(waiting))
    title = f"{counter.name}, {task.name}"
    with (
        announced_bar(len(waiting), title, items="questions", unit="question") as bar,
        journal.writer() as write,
    ):
        for row in _answers(split, task, counter, waiting, options):
            write([row])
            counts.add(row)
            bar.update()
    return counts


def _check(task: CaptureTask, counter: Counter, options: RunOptions) -> None:
    if TEXT not in counter.capabilities and (task.kind != COUNT or not _plain(task)):
        raise InputError(f"{counter.name} answers no questions, so it cannot do {task.name}.")
    if task.variant == INPAINTED and options.inpainter is None:
        raise InputError("The task inpainted needs an inpainter.")


def _plain(task: CaptureTask) -> bool:
    return (
        task.oracle_fact is None
        and task.samples == 1
        and task.name.startswith(("total", INPAINTED))
    )


def _answers(
    split: CaptureSplit,
    task: CaptureTask,
    counter: Counter,
    queries: list[Query],
    options: RunOptions,
) -> Iterator[Row]:
    failures, ask = 0, partial(answer, split, task, counter, options, lock_of(counter))
    for row in as_done(ask, queries, options.workers):
        yield row
        failures = 0 if is_done(row) else failures + 1
        if failures == MOST_FAILURES:
            raise InputError(
                f"{failures} questions in a row failed, the last ({row['image_file']}) "
                f"with {row['status']}. The same command goes on from here."
            )


def load_inpainter(name: str) -> Inpainter:
    """Return an inpainter.

    Parameters
    ----------
    name : str
        ``telea`` or ``navier-stokes`` for OpenCV's, which continue colours but no pattern and so
        show what the hook does; or ``package.module.function`` of one's own, called with the image
        (H, W, 3) uint8 BGR and the box (4,) xyxy, that returns the image without the box.

    Raises
    ------
    InputError
        If there is no such function.
    """
    if name in _OPENCV:
        return lambda image, box: _opencv(image, box, _OPENCV[name])
    from mmengine.utils import get_object_from_string

    try:
        found = get_object_from_string(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"No inpainter '{name}' ({error}): expected {', '.join(_OPENCV)} or "
            "package.module.function."
        ) from None
    if not callable(found):
        raise InputError(f"'{name}' cannot be called: expected a function of image and box.")
    return found


def _opencv(image: np.ndarray, box: np.ndarray, method: int) -> np.ndarray:
    x0, y0, x1, y1 = box
    mask = np.zeros(image.shape[:2], np.uint8)
    mask[y0:y1, x0:x1] = 1
    return cv2.inpaint(image, mask, _REACH, method)
