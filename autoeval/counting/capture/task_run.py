"""The tasks of CAPTURe, and running a counter on one; finished items are not run again."""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from autoeval.counting.capture.answer_markup import CUT_OFF
from autoeval.counting.capture.answers import (
    Extraction,
    extract_choice,
    extract_confidence,
    extract_count,
)
from autoeval.counting.capture.making import Inpainter
from autoeval.counting.capture.split import INPAINTED, OCCLUDED, ORIGINAL, CaptureItem, CaptureSplit
from autoeval.counting.counters import TEXT, Counter, as_result
from autoeval.counting.prompting import (
    CellJournal,
    Extractor,
    ask_until_read,
    is_done,
    lock_of,
    number,
    result_fields,
    unless_all_fail,
)
from autoeval.errors import InputError
from autoeval.io.image_lists import content_digest
from autoeval.io.images import UnreadableImageError
from autoeval.runtime import OK, SKIPPED
from autoeval.runtime.files import PathLike, read_config, shipped_config
from autoeval.runtime.jobs import as_done
from autoeval.runtime.progress import announced_bar

Row = dict[str, Any]
COUNT = "count"
CHOICE = "choice"
HIDDEN = "num_occluded"  # field of an item, the answer where hidden objects are counted
FOUND = "found_points"  # what another counter found in the occluded image
PATTERN_CHOICES = ("rectangle", "triangle", "circle")
SAMPLES = 20  # answers a question for the sampled confidence (appendix C.3)
SHIPPED = shipped_config("counting", "capture", "prompts.py")
_NEEDED = ("total", "occluded_only", "pattern", "oracle_all", "oracle_visible", "confidence")


@dataclass(frozen=True)
class RunOptions:
    """How a task is put.

    Parameters
    ----------
    extractor : callable
        Reads the count out of an answer: from a text to an `Extraction`.
    temperatures : tuple of float or None
        Tried in turn until an answer can be read; None for that of the model.
    workers : int
        Questions that are asked at a time.
    inpainter : callable, optional
        See `load_inpainter`; needed by the task ``inpainted``.
    """

    extractor: Extractor = extract_count
    temperatures: tuple[float | None, ...] = (None,)
    workers: int = 1
    inpainter: Inpainter | None = None


@dataclass
class RunCounts:
    """Numbers of questions of a run.

    Parameters
    ----------
    reused : int
        Answered before.
    answered : int
        Answered now.
    skipped : int
        Of which no answer could be read now.
    failed : dict of str to str
        By image and sample, with the reason.
    """

    reused: int = 0
    answered: int = 0
    skipped: int = 0
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Query:
    """One question about one item.

    Parameters
    ----------
    item : CaptureItem
        That it is about.
    sample : int
        Number of the request of the same question, from 0.
    question : str
        Its text; the name of the objects for a counter that does not answer in text.
    context : dict of str to Any
        Facts that the counter is given, see `fact`.
    key : str
        Equal for equal image, box, task, sample, question, counter and temperatures.
    file : str
        What changes with the content of the image's file.
    """

    item: CaptureItem
    sample: int
    question: str
    context: dict[str, Any]
    key: str
    file: str


def run_task(
    split: CaptureSplit,
    task: CaptureTask,
    counter: Counter,
    book: PromptBook,
    journal: CellJournal,
    options: RunOptions | None = None,
) -> RunCounts:
    """Ask everything that the journal lacks, and add one row for each answer to it.

    A counter that answers in text is called through its ``ask``; any other gets the object's name,
    with ``image_id`` and the facts of its ``needs`` as context; it is asked again if these facts
    have changed. Any counter is asked again if the file of the image has changed. Texts in the
    journal that are read otherwise than before are added again with their new value.

    Parameters
    ----------
    split : CaptureSplit
        The items.
    task : CaptureTask
        The question.
    counter : Counter
        That answers it.
    book : PromptBook
        The wording of questions.
    journal : CellJournal
        Rows of this task and counter.
    options : RunOptions, optional
        By default those of `RunOptions`.

    Raises
    ------
    InputError
        If the counter or the options cannot do the task, no item has it, or the counter fails on
        ten questions in a row.
    """
    options = options or RunOptions()
    plain = task.prompt == "total" and task.samples == 1
    if TEXT not in counter.capabilities and not plain:
        raise InputError(f"{counter.name} answers no questions, so it cannot do {task.name}.")
    if task.variant == INPAINTED and options.inpainter is None:
        raise InputError("The task inpainted needs an inpainter.")
    if task.samples > 1 and options.temperatures == (None,):
        options = replace(options, temperatures=(1.0,))  # at 0, all samples would be the same
    queries = list(_queries(split, task, counter, book, options.temperatures))
    if not queries:
        raise InputError(f"No item of {split.folder} has what the task {task.name} needs.")
    kept = [row for row in journal.read().values() if is_done(row)]
    read = [_read_again(row, task, options) for row in kept]
    row_of = {row["key"]: row for row in kept}
    speaks = TEXT in counter.capabilities
    waiting = [q for q in queries if not _is_answered(row_of.get(q.key), q, speaks=speaks)]
    counts = RunCounts(reused=len(queries) - len(waiting))
    with journal.writer() as write:
        write([new for new, old in zip(read, kept, strict=True) if new is not old])
    ask = partial(_answer, split, task, counter, options, lock_of(counter))
    title = f"{counter.name}, {task.name}"
    bar = announced_bar(len(waiting), title, items="questions", unit="question")
    answered = ([row] for row in as_done(ask, waiting, options.workers))
    for row in unless_all_fail(journal.keep(answered, bar), counter.name, "questions"):
        if is_done(row):
            counts.answered += row["status"] == OK
            counts.skipped += row["status"] == SKIPPED
        else:
            counts.failed[f"{row['image_file']} ({row['sample']})"] = row["status"]
    return counts


def _is_answered(row: Row | None, query: Query, *, speaks: bool) -> bool:
    """Return whether a row is of the image and the facts as they are now.

    A question in words holds the facts; a row that says nothing of the file is of any.
    """
    return (
        row is not None
        and row.get("file", query.file) == query.file
        and (speaks or row.get("context") == query.context)
    )


def _queries(
    split: CaptureSplit,
    task: CaptureTask,
    counter: Counter,
    book: PromptBook,
    temperatures: tuple[float | None, ...],
) -> Iterator[Query]:
    """Yield every question of a task."""
    speaks = TEXT in counter.capabilities
    fact_names = [task.oracle_fact] if task.oracle_fact else []
    if not speaks:
        fact_names = list(getattr(counter, "needs", ()))
    for item in task.items(split.items):
        if task.oracle_fact == FOUND and fact(item, FOUND) is None:
            continue
        question = task.question(item, book) if speaks else item.object_name
        context: dict[str, Any] = {name: fact(item, name, task.variant) for name in fact_names}
        if not speaks:
            context["image_id"] = item.image_file
        box = None if item.box is None else item.box.tolist()
        shown = OCCLUDED if task.variant == INPAINTED else task.variant
        file = content_digest(split.image_path(item, shown)).hex()[:20]
        for sample in range(task.samples):
            identity = [item.image_file, box, task.name, sample, question, counter.name]
            content = json.dumps([*identity, list(temperatures)])
            key = hashlib.sha256(content.encode()).hexdigest()[:20]
            yield Query(item, sample, question, context, key, file)


def _answer(
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
        "file": query.file,
        "box": None if query.item.box is None else query.item.box.tolist(),
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
                answer = counter.count(image, query.question, query.context)
                result = as_result(answer, counter.name, query.context)
                status = result_fields(result, {})["status"]  # of NaN or infinity, a failure
                row |= {"status": status, "value": number(result.count)}
                row["warnings"] = list(result.warnings)
    except Exception as error:
        if isinstance(error, InputError) and not isinstance(error, UnreadableImageError):
            raise
        row |= {"status": f"failed: {type(error).__name__}: {error}", "value": None}
    return row | {"seconds": round(time.perf_counter() - start, 3)}


def _spoken(
    counter: Any, image: np.ndarray, task: CaptureTask, query: Query, options: RunOptions
) -> Row:
    """Ask until an answer can be read or the temperatures are used up."""
    reading = ask_until_read(
        counter.ask,
        image,
        query.question,
        _reader(task, options),
        temperatures=options.temperatures,
        seed=zlib.crc32(query.key.encode()) if task.samples > 1 else None,
    )
    stated = extract_confidence(reading.text) if task.prompted_confidence else None
    return {
        "status": SKIPPED if reading.value is None else OK,
        "value": reading.value,
        "rule": reading.rule,
        "confidence": stated,
        "text": str(reading.text),
        "attempts": list(reading.attempts),
        "temperature": reading.temperature,
        "question": query.question,
    }


def _read_again(row: Row, task: CaptureTask, options: RunOptions) -> Row:
    """Return the row itself, or as today's rules read its text where that is something else."""
    text, choice = row.get("text"), task.kind == CHOICE
    by_rules = row["task"] == task.name and (choice or options.extractor is extract_count)
    if not by_rules or not isinstance(text, str) or row.get("rule") in (CUT_OFF, "model"):
        return row
    read = _reader(task, options)(text)
    stated = extract_confidence(text) if task.prompted_confidence else row.get("confidence")
    if (read.value, stated) == (row.get("value"), row.get("confidence")):
        return row
    status = SKIPPED if read.value is None else OK
    read_anew = {"value": read.value, "rule": read.rule, "status": status, "confidence": stated}
    return {**row, **read_anew}


def _reader(task: CaptureTask, options: RunOptions) -> Extractor:
    """Return what reads the answers of a task; rules know what its question is for."""
    if task.kind == CHOICE:
        return _read_choice
    if task.answer == HIDDEN and options.extractor is extract_count:
        return partial(extract_count, hidden=True)
    return options.extractor


def _read_choice(text: str) -> Extraction:
    """Read which pattern an answer names."""
    value: Any = extract_choice(text, PATTERN_CHOICES)
    return Extraction(value, "choice" if value else "no choice")


class PromptBook:
    """The prompts of every task, for one model.

    Parameters
    ----------
    templates : mapping of str to Any
        As in ``configs/counting/capture/prompts.py``.
    model : str
        Whose wording of the total is used.

    Raises
    ------
    InputError
        If a prompt is missing, or there are none for this model.
    """

    def __init__(self, templates: Mapping[str, Any], *, model: str = "default") -> None:
        absent = [name for name in _NEEDED if name not in templates]
        if absent:
            raise InputError(f"The prompts lack {', '.join(absent)}.")
        models = sorted(templates["total"]["real"]["occluded"])
        if model not in models:
            raise InputError(f"No prompts for '{model}'; there are some for {', '.join(models)}.")
        self.templates = templates
        self.model = model

    def total(self, item: CaptureItem, variant: str) -> str:
        """Return the question for the total number of objects.

        Parameters
        ----------
        item : CaptureItem
            That it is about.
        variant : {"occluded", "original"}
            The image that is shown.
        """
        return _fill(self.templates["total"][item.split][variant][self.model], item)


@dataclass(frozen=True)
class CaptureTask:
    """A task of CAPTURe.

    Parameters
    ----------
    name : str
        Of the task.
    variant : {"original", "occluded", "inpainted"}
        The image that is shown.
    prompt : str
        Name of the question in a `PromptBook`.
    answer : str
        Field of an item that has the right answer.
    kind : {"count", "choice"}
        Whether the question is for a number or for a pattern.
    oracle_fact : str, optional
        Fact that the question gives away, see `fact`.
    samples : int
        Answers that are requested to each question.
    prompted_confidence : bool
        Whether the question asks for a confidence, too.
    """

    name: str
    variant: str
    prompt: str = "total"
    answer: str = "ground_truth"
    kind: str = COUNT
    oracle_fact: str | None = None
    samples: int = 1
    prompted_confidence: bool = False

    def question(self, item: CaptureItem, book: PromptBook) -> str:
        """Return the question about an item.

        Parameters
        ----------
        item : CaptureItem
            An item that has this task.
        book : PromptBook
            The wording of questions.

        Raises
        ------
        InputError
            If the book lacks this question.
        """
        if self.prompt not in book.templates:
            raise InputError(f"The prompts lack '{self.prompt}', which the task {self.name} needs.")
        template = "{question}" if self.prompt == "total" else book.templates[self.prompt]
        values: dict[str, str] = {"choices": ", ".join(PATTERN_CHOICES)}
        if "{question}" in template:
            values["question"] = book.total(
                item, ORIGINAL if self.variant == INPAINTED else self.variant
            )
        if self.oracle_fact is not None:
            points = fact(item, self.oracle_fact)
            values |= {"coordinates": coordinates(points), "found": str(len(points))}
        return _fill(template, item, **values)

    def truth(self, item: CaptureItem) -> int | str | None:
        """Return the right answer; None where an item does not have the task.

        Parameters
        ----------
        item : CaptureItem
            Any.
        """
        answer = getattr(item, self.answer)
        return answer if self.kind == COUNT or answer in PATTERN_CHOICES else None

    def items(self, items: Iterable[CaptureItem]) -> list[CaptureItem]:
        """Return the items that have this task, whether another counter looked at them or not.

        Parameters
        ----------
        items : iterable of CaptureItem
            Those of a split.
        """
        return [
            item
            for item in items
            if self.truth(item) is not None
            and (
                self.oracle_fact is None
                or self.oracle_fact == FOUND
                or fact(item, self.oracle_fact) is not None
            )
            and (self.variant != INPAINTED or item.box is not None)
        ]


TASKS = {
    task.name: task
    for task in (
        CaptureTask("total-original", ORIGINAL),
        CaptureTask("total-occluded", OCCLUDED),
        CaptureTask("occluded-only", OCCLUDED, "occluded_only", HIDDEN),
        CaptureTask("pattern-original", ORIGINAL, "pattern", "shape", kind=CHOICE),
        CaptureTask("pattern-occluded", OCCLUDED, "pattern", "shape", kind=CHOICE),
        CaptureTask("oracle-all", OCCLUDED, "oracle_all", oracle_fact="all_points"),
        CaptureTask("oracle-visible", OCCLUDED, "oracle_visible", oracle_fact="visible_points"),
        CaptureTask("hybrid", OCCLUDED, "hybrid", oracle_fact=FOUND),
        CaptureTask("inpainted", INPAINTED),
        CaptureTask("confidence-original", ORIGINAL, "confidence", prompted_confidence=True),
        CaptureTask("confidence-occluded", OCCLUDED, "confidence", prompted_confidence=True),
        CaptureTask("sampled-original", ORIGINAL, samples=SAMPLES),
        CaptureTask("sampled-occluded", OCCLUDED, samples=SAMPLES),
    )
}


def fact(item: CaptureItem, name: str, variant: str = OCCLUDED) -> Any:
    """Return something privileged about an item, fit for JSON; None where it is not known.

    Parameters
    ----------
    item : CaptureItem
        Any.
    name : {"all_points", "visible_points", "box", "radius", "found_points"}
        Points are lists of [x, y], the box is xyxy, all in pixels.
    variant : str
        The image that is shown; the original has no box, and all its objects are visible.
    """
    if name in ("radius", FOUND):
        return item.record.get(name)
    original = variant == ORIGINAL
    values = {
        "all_points": item.points,
        "visible_points": item.points_in_image if original else item.visible_points,
        "box": None if original else item.box,
    }
    return None if values[name] is None else np.asarray(values[name]).tolist()


def coordinates(points: list[list[float]]) -> str:
    """Write centres as a question does, in whole pixels.

    Parameters
    ----------
    points : list of list of float
        xy, pixels.

    Examples
    --------
    >>> coordinates([[115.45, 147.55], [50.0, 100.0]])
    '(115, 148), (50, 100)'
    """
    return ", ".join(f"({x:.0f}, {y:.0f})" for x, y in points)


def get_task(name: str) -> CaptureTask:
    """Return a task by its name.

    Parameters
    ----------
    name : str
        A key of `TASKS`.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in TASKS:
        raise InputError(f"No task '{name}'. There are {', '.join(TASKS)}.")
    return TASKS[name]


def load_prompts(path: PathLike | None = None, *, model: str = "default") -> PromptBook:
    """Read prompts from a Python file.

    Parameters
    ----------
    path : path-like, optional
        The file, by default the shipped one.
    model : str
        See `PromptBook`.

    Raises
    ------
    InputError
        If it cannot be read; see `PromptBook`.
    """
    return PromptBook(read_config(path or SHIPPED, [*_NEEDED, "hybrid", "extract"]), model=model)


def _fill(template: str, item: CaptureItem, **values: str) -> str:
    for name, value in {"objects": item.object_name, **values}.items():
        template = template.replace(f"{{{name}}}", value)
    return template
