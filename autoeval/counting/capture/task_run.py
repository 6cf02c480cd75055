"""Running a counter on a task, question by question; finished items are not run again."""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from autoeval.counting.capture.answers import (
    Extraction,
    extract_choice,
    extract_confidence,
    extract_count,
)
from autoeval.counting.capture.render import Inpainter
from autoeval.counting.capture.split import INPAINTED, OCCLUDED, CaptureItem, CaptureSplit
from autoeval.counting.capture.tasks import (
    CHOICE,
    COUNT,
    PATTERN_CHOICES,
    CaptureTask,
    PromptBook,
    fact,
)
from autoeval.counting.counters import TEXT, Counter
from autoeval.counting.journal import CellJournal
from autoeval.counting.prompting import is_done, lock_of
from autoeval.data.images import UnreadableImageError
from autoeval.errors import InputError
from autoeval.runtime import OK, SKIPPED
from autoeval.runtime.progress import announced_bar
from autoeval.runtime.threads import as_done

Row = dict[str, Any]
Extractor = Callable[[str], Extraction]
# Appendix C.1: from 1.0 down in steps of .1; the question is skipped after 0.
BACKOFF = tuple(round(1 - k / 10, 1) for k in range(11))


def answer(
    split: CaptureSplit,
    task: CaptureTask,
    counter: Counter,
    options: RunOptions,
    turn: AbstractContextManager,
    query: Query,
) -> Row:
    """Ask; an unreadable image, and what the counter raises, become the row's status.

    Images are read outside of ``turn``, the `lock_of` the counter. `InputError` is raised on: no
    other question can do better.
    """
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
        if task.variant == INPAINTED and options.inpainter and query.item.box is not None:
            occluded = split.read_image(query.item, OCCLUDED)
            image = options.inpainter(occluded, query.item.box)
        else:
            image = split.read_image(query.item, task.variant)
        with turn:
            if TEXT in counter.capabilities:
                row |= _spoken(counter, image, task, query, options)
            else:
                found = counter.count(image, query.question, query.context)
                value = None if np.isnan(found.count) else float(found.count)
                row |= {"status": found.status, "value": value, "warnings": list(found.warnings)}
    except Exception as error:
        if isinstance(error, InputError) and not isinstance(error, UnreadableImageError):
            raise
        row |= {"status": f"failed: {type(error).__name__}: {error}", "value": None}
    return row | {"seconds": round(time.perf_counter() - start, 3)}


def _spoken(
    counter: Any, image: np.ndarray, task: CaptureTask, query: Query, options: RunOptions
) -> Row:
    """Ask until an answer can be read or the temperatures are used up."""
    seed = zlib.crc32(query.key.encode()) if task.samples > 1 else None
    attempts: list[dict[str, Any]] = []
    for temperature in _temperatures_of(task, options):
        given = {"temperature": temperature, "seed": seed}
        given = {name: value for name, value in given.items() if value is not None}
        text = counter.ask(image, query.question, **given)
        attempts.append({"temperature": temperature, "text": text})
        value: int | str | None
        if task.kind == CHOICE:
            value = extract_choice(text, PATTERN_CHOICES)
            rule = "choice" if value else "no choice"
        else:
            read = options.extractor(text)
            value, rule = read.value, read.rule
        if value is not None:
            break
    return {
        "status": SKIPPED if value is None else OK,
        "value": value,
        "rule": rule,
        "confidence": extract_confidence(text) if task.prompted_confidence else None,
        "text": text,
        "attempts": attempts[:-1],
        "temperature": temperature,
        "question": query.question,
    }


@dataclass(frozen=True)
class RunOptions:
    """How a task is put.

    `temperatures` are tried in turn until `extractor` can read an answer; `inpainter` fills in the
    box (4,) xyxy of an occluded image (H, W, 3) for the task ``inpainted``.
    """

    extractor: Extractor = extract_count
    temperatures: tuple[float | None, ...] = (None,)
    workers: int = 1
    inpainter: Inpainter | None = None


@dataclass(frozen=True, eq=False)
class Query:
    """One question about one item; `sample` numbers several requests of the same question.

    `question` is the name of the objects for a counter that does not answer in text. `key` is equal
    for equal image, box, task, sample, question, counter and temperatures.
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
    own = [] if speaks else list(getattr(counter, "needs", ()))
    given = [task.oracle_fact] if task.oracle_fact else own
    for item in task.items(split.items):
        question = task.question(item, book) if speaks else item.object_name
        context: dict[str, Any] = {name: fact(item, name, task.variant) for name in given}
        if not speaks:
            context["image_id"] = item.image_file
        box = None if item.box is None else item.box.tolist()
        for sample in range(task.samples):
            identity = [item.image_file, box, task.name, sample, question, counter.name]
            content = json.dumps([*identity, list(_temperatures_of(task, options))])
            key = hashlib.sha256(content.encode()).hexdigest()[:20]
            yield Query(item, sample, question, context, key)


def _temperatures_of(task: CaptureTask, options: RunOptions) -> tuple[float | None, ...]:
    """Return the temperatures to try; several samples of one answer would say nothing at 0."""
    return (1.0,) if task.samples > 1 and options.temperatures == (None,) else options.temperatures


MOST_FAILURES = 10  # in a row, before a run gives up


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
    """Ask everything that the journal lacks, and add one row an answer to it.

    A counter that answers in text is called through its ``ask``; any other gets the object's
    name, with ``image_id`` and the facts of its ``needs`` as context. Ten failures in a row end the
    run.
    """
    options = options or RunOptions()
    plain = task.kind == COUNT and task.oracle_fact is None and task.samples == 1
    plain = plain and task.name.startswith(("total", INPAINTED))
    if TEXT not in counter.capabilities and not plain:
        raise InputError(f"{counter.name} answers no questions, so it cannot do {task.name}.")
    if task.variant == INPAINTED and options.inpainter is None:
        raise InputError("The task inpainted needs an inpainter.")
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
