"""Putting a task to a counter, item by item; what was answered before is not asked again."""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autoeval.counting.capture.answers import extract_count
from autoeval.counting.capture.ask import Extractor, put_question
from autoeval.counting.capture.prompts import PromptBook
from autoeval.counting.capture.records import CaptureItem
from autoeval.counting.capture.split import INPAINTED, OCCLUDED, CaptureSplit
from autoeval.counting.capture.tasks import COUNT, Task, fact
from autoeval.counting.counters.base import TEXT, Counter
from autoeval.counting.praco.asking import is_answered
from autoeval.counting.praco.journal import CellJournal
from autoeval.errors import InputError
from autoeval.metasets.images import UnreadableImageError
from autoeval.runtime.progress import progress_bar

Row = dict[str, Any]
Inpainter = Callable[[np.ndarray, np.ndarray], np.ndarray]
MOST_FAILURES = 10  # in a row, before a run gives up


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
        Questions under way at once; more than one only for counters that bear it.
    inpainter : callable of (image, box) -> image, optional
        Fills in the box (4,), xyxy, of an occluded image (H, W, 3) for the task ``inpainted``.
    """

    extractor: Extractor = extract_count
    temperatures: tuple[float | None, ...] = (None,)
    workers: int = 1
    inpainter: Inpainter | None = None


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


@dataclass(frozen=True, eq=False)
class _Query:
    item: CaptureItem
    sample: int
    question: str
    context: dict[str, Any]
    key: str


def run_task(
    split: CaptureSplit,
    task: Task,
    counter: Counter,
    book: PromptBook,
    journal: CellJournal,
    options: RunOptions | None = None,
) -> RunCounts:
    """Ask everything that the journal lacks.

    Parameters
    ----------
    split : CaptureSplit
    task : Task
    counter : Counter
        One that answers in text is asked the question of the task through its ``ask``; any other
        is given the object's name, with ``image_id`` and the facts that its ``needs`` lists as
        context.
    book : PromptBook
    journal : CellJournal
        Receives one row an answer, under its field ``key``.
    options : RunOptions, optional

    Returns
    -------
    RunCounts
        Failures (an unreadable image, an endpoint that gave up) are rows too, and asked again by
        the next run.

    Raises
    ------
    InputError
        If the counter cannot do the task, no item has it, or ten questions in a row failed.
    """
    options = options or RunOptions()
    _check(task, counter, options)
    queries = list(_queries(split, task, counter, book, options))
    if not queries:
        raise InputError(f"No item of {split.folder} has what the task {task.name} needs.")
    done = {row["key"] for row in journal.read().values() if is_answered(row)}
    waiting = [query for query in queries if query.key not in done]
    counts = RunCounts(reused=len(queries) - len(waiting))
    title = f"{counter.name}, {task.name}"
    with progress_bar(len(waiting), title, unit="question") as bar, journal.writer() as write:
        for row in _answers(split, task, counter, waiting, options):
            write([row])
            counts.add(row)
            bar.update()
    return counts


def _check(task: Task, counter: Counter, options: RunOptions) -> None:
    if TEXT not in counter.capabilities and (task.kind != COUNT or not _plain(task)):
        raise InputError(f"{counter.name} answers no questions, so it cannot do {task.name}.")
    if task.variant == INPAINTED and options.inpainter is None:
        raise InputError("The task inpainted needs an inpainter.")


def _plain(task: Task) -> bool:
    return task.told is None and task.samples == 1 and task.name.startswith(("total", INPAINTED))


def _queries(
    split: CaptureSplit, task: Task, counter: Counter, book: PromptBook, options: RunOptions
) -> Iterator[_Query]:
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
            content = json.dumps([*identity, list(_temperatures(task, options))])
            key = hashlib.sha256(content.encode()).hexdigest()[:20]
            yield _Query(item, sample, question, context, key)


def _temperatures(task: Task, options: RunOptions) -> tuple[float | None, ...]:
    return (1.0,) if task.samples > 1 and options.temperatures == (None,) else options.temperatures


def _answers(
    split: CaptureSplit, task: Task, counter: Counter, queries: list[_Query], options: RunOptions
) -> Iterator[Row]:
    failures = 0
    with ThreadPoolExecutor(options.workers) as pool:
        under_way = [
            pool.submit(_answer, split, task, counter, query, options) for query in queries
        ]
        try:
            for future in as_completed(under_way):
                row = future.result()
                yield row
                failures = 0 if is_answered(row) else failures + 1
                if failures == MOST_FAILURES:
                    raise InputError(
                        f"{failures} questions in a row failed, the last ({row['image_file']}) "
                        f"with {row['status']}. The same command goes on from here."
                    )
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _answer(
    split: CaptureSplit, task: Task, counter: Counter, query: _Query, options: RunOptions
) -> Row:
    start = time.perf_counter()
    row: Row = {
        "key": query.key,
        "image_file": query.item.image_file,
        "task": task.name,
        "sample": query.sample,
        "model": counter.name,
        "context": query.context,
    }
    try:
        image = _shown(split, task, query.item, options)
        if TEXT in counter.capabilities:
            row |= _spoken(counter, image, task, query, options)
        else:
            row |= _counted(counter, image, query)
    except (InputError, KeyboardInterrupt) as error:
        if not isinstance(error, UnreadableImageError):
            raise
        row |= _failed(error)
    except Exception as error:
        row |= _failed(error)
    return row | {"seconds": round(time.perf_counter() - start, 3)}


def _shown(split: CaptureSplit, task: Task, item: CaptureItem, options: RunOptions) -> np.ndarray:
    if task.variant == INPAINTED and options.inpainter is not None and item.box is not None:
        return options.inpainter(split.read_image(item, OCCLUDED), item.box)
    return split.read_image(item, task.variant)


def _spoken(counter: Any, image: np.ndarray, task: Task, query: _Query, options: RunOptions) -> Row:
    reply = put_question(
        counter.ask,
        image,
        query.question,
        task,
        extractor=options.extractor,
        temperatures=_temperatures(task, options),
        seed=zlib.crc32(query.key.encode()) if task.samples > 1 else None,
    )
    return {
        "status": "skipped" if reply.value is None else "ok",
        "value": reply.value,
        "rule": reply.rule,
        "confidence": reply.confidence,
        "text": reply.attempts[-1]["text"],
        "attempts": list(reply.attempts[:-1]),
        "temperature": reply.attempts[-1]["temperature"],
        "question": query.question,
    }


def _counted(counter: Counter, image: np.ndarray, query: _Query) -> Row:
    result = counter.count(image, query.question, query.context)
    value = None if np.isnan(result.count) else float(result.count)
    return {"status": result.status, "value": value, "warnings": list(result.warnings)}


def _failed(error: BaseException) -> Row:
    return {"status": f"failed: {type(error).__name__}: {error}", "value": None}
