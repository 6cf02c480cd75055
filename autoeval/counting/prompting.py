"""A counter with its prompt: asking until an answer is read, in batches, kept one by one."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.counting.capture.answer_markup import CUT_OFF
from autoeval.counting.capture.answers import Extraction, extract_count
from autoeval.counting.counters import Counter, CountResult, as_result, count_prompts
from autoeval.errors import InputError
from autoeval.io.find_images import UnlabelledImage, file_stamp
from autoeval.io.images import UnreadableImageError
from autoeval.runtime import FAILED, OK, SKIPPED
from autoeval.runtime.files import PathLike, write_json, write_table
from autoeval.runtime.jobs import as_done
from autoeval.runtime.progress import announced_bar
from autoeval.words import listed

Item = TypeVar("Item")
Result = TypeVar("Result")
BATCH_SIZE = 8
MOST_FAILURES = 10  # of the counter, one after another, before a run gives up
UNREADABLE = f"{FAILED}: unreadable"
Cell = dict[str, Any]
Extractor = Callable[[str], Extraction]
# CAPTURe, appendix C.1: from 1.0 down in steps of .1; the question is skipped after 0.
BACKOFF = tuple(round(1 - k / 10, 1) for k in range(11))
# Images of two folders may have one name: their files tell them apart.
IMAGE_KEY = ("image", "file")


@dataclass(frozen=True, eq=False)
class CountRequest:
    """What is to be counted in one image.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
        BGR.
    classes : sequence of str
        Classes to count.
    image_id : str
    true_class : str
        Class of the (upper) image.
    """

    image: np.ndarray
    classes: Sequence[str]
    image_id: str
    true_class: str


@dataclass(frozen=True)
class PromptedCounter:
    """A counter, its prompt, and how images are handed to it.

    Parameters
    ----------
    counter : Counter
        One that is not ``concurrent`` is called by one thread at a time.
    prompt : str
        With ``{}`` for the class.
    reference : bool
        Whether the counter gets the true class of the (upper) image in its context, as
        ``positive_class``, which is then recorded; DAVE's published figures need it.
    workers : int
        Threads that read images and count.
    batch_size : int
        Images that a counter with ``count_batch`` gets at once.
    """

    counter: Counter
    prompt: str = "{}"
    reference: bool = False
    workers: int = 1
    batch_size: int = BATCH_SIZE
    _lock: AbstractContextManager = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_lock", lock_of(self.counter))

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the results beside the counter."""
        return {"prompt": self.prompt, "reference": self.reference}

    def parts(self, work: Callable[[Sequence[Item]], Result], items: Sequence[Item]) -> Iterator:
        """Yield the result of each batch of items, computed by threads, as they are done.

        Parameters
        ----------
        work : callable
            From a batch to its result.
        items : sequence
        """
        size = max(self.batch_size, 1) if hasattr(self.counter, "count_batch") else 1
        batches = [items[start : start + size] for start in range(0, len(items), size)]
        return as_done(work, batches, self.workers)

    def count(self, requests: Sequence[CountRequest]) -> list[list[CountResult]]:
        """Count the classes of each request; an error becomes a status.

        Where a batch fails, its images are counted one by one.

        Parameters
        ----------
        requests : sequence of CountRequest

        Returns
        -------
        list of list of CountResult
            One a class, for each request.

        Raises
        ------
        InputError
            As of a counter for an unknown class; an ImportError is raised on, too.
        """
        batched = getattr(self.counter, "count_batch", None)
        if batched is not None and len(requests) > 1:
            arguments = [self._arguments(request) for request in requests]
            images = [image for image, _, _ in arguments]
            prompts = [words for _, words, _ in arguments]
            contexts = [context for _, _, context in arguments]
            try:
                with self._lock:
                    answers = batched(images, prompts, contexts)
                return [self._checked(f, r) for f, r in zip(answers, requests, strict=True)]
            except (InputError, ImportError):
                raise
            except Exception:
                pass
        return [self._count_alone(request) for request in requests]

    def _count_alone(self, request: CountRequest) -> list[CountResult]:
        image, prompts, context = self._arguments(request)
        try:
            with self._lock:
                results = count_prompts(self.counter, image, prompts, context)
        except (InputError, ImportError):
            raise
        except Exception as error:
            status = f"{FAILED}: {type(error).__name__}: {error}"
            return [CountResult(math.nan, status=status, context=context)] * len(prompts)
        return self._checked(results, request)

    def _checked(self, results: list[CountResult], request: CountRequest) -> list[CountResult]:
        if len(results) != len(request.classes):
            raise InputError(
                f"The counter {self.counter.name} gave {len(results)} results for "
                f"{len(request.classes)} prompts."
            )
        return [as_result(result, self.counter.name) for result in results]

    def _arguments(self, request: CountRequest) -> tuple[np.ndarray, list[str], dict[str, Any]]:
        context = {"image_id": request.image_id, **self.privileged(request.true_class)}
        return request.image, [self.prompt.replace("{}", name) for name in request.classes], context

    def privileged(self, true_class: str) -> dict[str, str]:
        """Return what the counter gets beyond the image and the prompt.

        Parameters
        ----------
        true_class : str
            Of the (upper) image.

        Returns
        -------
        dict of str to str
            ``positive_class``, its prompt; empty without `reference`.
        """
        return {"positive_class": self.prompt.replace("{}", true_class)} if self.reference else {}


def lock_of(counter: Counter) -> AbstractContextManager:
    """Return what to enter while a counter runs: a lock, unless it is ``concurrent``.

    Parameters
    ----------
    counter : Counter
    """
    return nullcontext() if getattr(counter, "concurrent", False) else Lock()


def result_fields(result: CountResult, privileged: Mapping[str, str]) -> dict[str, Any]:
    """Return what a cell keeps of a result in addition to its count.

    Parameters
    ----------
    result : CountResult
    privileged : mapping of str to str
        What the counter was given.

    Returns
    -------
    dict
        ``status``, the privileged information, and ``text``, ``cut_off`` and ``warnings`` where
        there are any. A count that is not finite is a failure.
    """
    status = result.status
    if status == OK and not math.isfinite(result.count):
        status = f"{FAILED}: the count is {result.count}"
    fields: dict[str, Any] = {"status": status, **privileged}
    if result.text is not None:
        fields["text"] = str(result.text)
    if isinstance(result.text, CutOffAnswer):
        fields["cut_off"] = True
    if result.warnings:
        fields["warnings"] = list(result.warnings)
    return fields


def read_again(counter: Counter, cells: Iterable[Cell]) -> list[Cell]:
    """Read the texts that cells keep by the rules as they are now.

    So better rules cost no answers.

    Parameters
    ----------
    counter : Counter
        Where a model reads its answers, cells stay as they are.
    cells : iterable of dict
    """
    if getattr(counter, "extractor", None) is not extract_count:
        return list(cells)
    read = []
    for cell in cells:
        if is_done(cell) and isinstance(cell.get("text"), str):
            value = None if cell.get("cut_off") else extract_count(cell["text"]).value
            status = SKIPPED if value is None else OK
            cell = {**cell, "count": value if value is None else float(value), "status": status}
        read.append(cell)
    return read


def number(value: float) -> float | None:
    """Return a count as JSON holds it.

    Parameters
    ----------
    value : float

    Returns
    -------
    float or None
        None where it is not finite.
    """
    return float(value) if math.isfinite(value) else None


def is_done(cell: Mapping[str, Any]) -> bool:
    """Whether a cell holds a result, also a skipped one; failures are counted again.

    Parameters
    ----------
    cell : mapping
        With ``status``.
    """
    return not str(cell["status"]).startswith(FAILED)


def check_different_names(names: Sequence[str]) -> None:
    """Refuse two models with one name, or with names of one folder.

    Parameters
    ----------
    names : sequence of str

    Raises
    ------
    InputError
        If one comes twice, or two are the same in `folder_name`.
    """
    folders = [folder_name(name) for name in names]
    twice = sorted({name for name in names if folders.count(folder_name(name)) > 1})
    if twice:
        raise InputError(
            f"Models need different names, but {listed(twice)} came twice: set `name` in the "
            "counter's config."
        )


def count_images(
    prompted: PromptedCounter, images: Sequence[UnlabelledImage], prompt: str, journal: CellJournal
) -> pd.DataFrame:
    """Count in every image, without the results in the journal.

    Parameters
    ----------
    prompted : PromptedCounter
    images : sequence of UnlabelledImage
    prompt : str
        Class to count.
    journal : CellJournal
        With the key `IMAGE_KEY`; receives the results.

    Returns
    -------
    DataFrame
        ``id``, ``pred`` (NaN where there is no count), ``status``, and of counters that say where
        ``points`` (N, 2) as xy, pixels, ``scores`` and ``size``, height and width.

    Raises
    ------
    InputError
        As `unless_all_fail`.
    """
    kept = read_again(prompted.counter, journal.read().values())
    cells = {(cell["image"], cell["file"]): cell for cell in kept}
    keys = [(im.image_id, stamp_of(getattr(im, "path", None))) for im in images]
    waiting = [
        image
        for key, image in zip(keys, images, strict=True)
        if not is_done(cells.get(key, {"status": FAILED}))
    ]
    counted = prompted.parts(partial(_count, prompted, prompt), waiting)
    bar = announced_bar(len(waiting), prompted.counter.name)
    for cell in unless_all_fail(journal.keep(counted, bar), prompted.counter.name, "images"):
        cells[cell["image"], cell["file"]] = cell
    table = pd.DataFrame([cells[key] for key in keys])
    return table.rename(columns={"image": "id", "count": "pred"}).astype({"pred": np.float64})


def unless_all_fail(cells: Iterable[Cell], counter: str, items_name: str) -> Iterator[Cell]:
    """Yield cells, as long as the counter does not fail on all.

    An image that cannot be read is no failure of the counter.

    Parameters
    ----------
    cells : iterable of dict
        With ``status`` and the name of the item in ``image``, or in ``image_file``.
    counter, items_name : str
        Its name, and what the cells are of, for messages.

    Raises
    ------
    InputError
        At the tenth failure in a row (`MOST_FAILURES`).
    """
    in_a_row = 0
    for cell in cells:
        yield cell
        unfit = not is_done(cell) and not cell["status"].startswith(UNREADABLE)
        in_a_row = in_a_row + 1 if unfit else 0
        if in_a_row == MOST_FAILURES:
            name = cell.get("image") or cell["image_file"]
            raise InputError(
                f"{counter} failed on {in_a_row} {items_name} in a row, the last ({name}) with "
                f"{cell['status']}. The same command goes on from here."
            )


def write_counts(folder: Path, table: pd.DataFrame) -> list[Path]:
    """Write ``predictions.csv`` and, of a counter that says where, ``points.json``.

    Points of an earlier run are removed where this one has none: they are of other images.

    Parameters
    ----------
    folder : Path
    table : DataFrame
        Of `count_images`.

    Returns
    -------
    list of Path
        What was written.
    """
    columns = ["id", "pred", "status"]
    written = [write_table(folder / "predictions.csv", table[columns], read_again=True)]
    if "points" in table:
        points: dict[str, dict[str, Any] | None] = {}
        for row in table.to_dict("records"):
            entry = None
            if isinstance(row["points"], list):
                entry = {"points": row["points"], "H": row["size"][0], "W": row["size"][1]}
                if isinstance(row.get("scores"), list):
                    entry["scores"] = row["scores"]
            points[row["id"]] = entry
        written.append(write_json(folder / "points.json", points, indent=None))
    else:
        (folder / "points.json").unlink(missing_ok=True)
    return written


def stamp_of(path: PathLike | None) -> str:
    """Return what changes with a file; empty where there is none.

    Parameters
    ----------
    path : path-like, optional
        None for an image without a file.
    """
    try:
        return "" if path is None else file_stamp(path)
    except OSError:  # it is missing: reading it says so
        return ""


def _count(prompted: PromptedCounter, prompt: str, images: Sequence[UnlabelledImage]) -> list[Cell]:
    cells: list[Cell] = []
    requests, files = [], []
    for image in images:
        file = stamp_of(getattr(image, "path", None))
        try:
            requests.append(CountRequest(image.read(), [prompt], image.image_id, prompt))
            files.append(file)
        except UnreadableImageError as error:
            status = f"{UNREADABLE}: {error.reason}"
            unread = {"count": None, "status": status}
            cells.append({"image": image.image_id, "file": file, **unread})
    counted = zip(requests, files, prompted.count(requests), strict=True)
    for request, file, [result] in counted:
        cell: Cell = {"image": request.image_id, "file": file, "count": number(result.count)}
        cell |= result_fields(result, {})
        points = result.centres
        if points is not None and is_done(cell):
            cell |= {"points": points.tolist(), "size": request.image.shape[:2]}
            if result.scores is not None:
                cell["scores"] = np.asarray(result.scores).tolist()
        cells.append(cell)
    return cells


class CellJournal:
    """A file of JSON lines, one a cell, that is only ever appended to.

    A line that a kill cut short is dropped when the journal is next opened.

    Parameters
    ----------
    path : path-like
    key : sequence of str
        Fields that identify a cell: of several lines with one key the last holds.
    """

    def __init__(self, path: PathLike, key: Sequence[str]) -> None:
        self.path = Path(path)
        self.key = tuple(key)

    def read(self) -> dict[tuple, Cell]:
        """Return the cells by their key, in the order in which they were first written."""
        cells: dict[tuple, Cell] = {}
        if not self.path.exists():
            return cells
        # A last line without its end is not read, even if whole: `writer` drops it.
        for line in self.path.read_bytes().split(b"\n")[:-1]:
            with suppress(LookupError, TypeError, ValueError):
                cell = json.loads(line)
                cells[tuple(cell[field] for field in self.key)] = cell
        return cells

    @contextmanager
    def writer(self) -> Iterator[Callable[[Sequence[Cell]], None]]:
        """Yield a function that appends cells and hands them to the operating system at once."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content.rfind(b"\n") + 1
        with self.path.open("ab") as stream:
            if whole < len(content):  # a kill cut the last line short
                stream.truncate(whole)

            def write(cells: Sequence[Cell]) -> None:
                stream.write(b"".join(json.dumps(cell).encode() + b"\n" for cell in cells))
                stream.flush()

            yield write
            os.fsync(stream.fileno())

    def keep(self, parts: Iterable[Sequence[Cell]], bar: tqdm) -> Iterator[Cell]:
        """Yield the cells of each part when they are appended.

        Parameters
        ----------
        parts : iterable of sequence of dict
        bar : tqdm
            Shows how many.
        """
        with self.writer() as write, bar:
            for cells in parts:
                write(cells)
                bar.update(len(cells))
                yield from cells


def check_same_run(path: PathLike, settings: Mapping[str, Any]) -> None:
    """Keep the settings of a run beside its journals, or compare them with those kept there.

    Parameters
    ----------
    path : path-like
        JSON file of the settings.
    settings : mapping
        As JSON holds them.

    Raises
    ------
    InputError
        If the file holds other settings, or is damaged.
    """
    path = Path(path)
    now = json.loads(json.dumps(settings))
    if not path.exists():
        write_json(path, now)
        return
    try:
        before = json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}): remove its folder to start anew.") from None
    differing = [k for k in sorted({*before, *now}) if before.get(k) != now.get(k)]
    if differing:
        changes = "; ".join(f"{k}: {before.get(k)!r}, now {now.get(k)!r}" for k in differing)
        raise InputError(
            f"{path.parent} holds answers under other settings ({changes}). Give another folder, "
            "or remove this one to start anew."
        )


def folder_name(model: str) -> str:
    """Return a name fit for a folder.

    Parameters
    ----------
    model : str
        Name of a model.
    """
    return re.sub(r"[^\w.@+-]+", "_", model)


class CutOffAnswer(str):
    """The text of an answer that reached the limit of tokens: nothing is read from it."""


@dataclass(frozen=True)
class Reading:
    """What was read from the last answer.

    Parameters
    ----------
    value : float or str, optional
        None where nothing can be read.
    rule : str
        By which it was read.
    text : str
        The answer.
    temperature : float, optional
        At which it was given; None where that was left to the model.
    attempts : sequence of dict
        ``temperature`` and ``text`` of the answers before it.
    """

    value: float | str | None
    rule: str
    text: str
    temperature: float | None
    attempts: Sequence[dict[str, Any]] = ()


def ask_until_read(
    ask: Callable[..., str],
    image: np.ndarray | None,
    question: str,
    read: Callable[[str], Any],
    *,
    temperatures: Sequence[float | None],
    seed: int | None = None,
) -> Reading:
    """Ask at each of several temperatures in turn until an answer can be read.

    An answer that was cut off counts as one that cannot be read.

    Parameters
    ----------
    ask : callable
        Answers a question about an image.
    image : ndarray of shape (H, W, 3), uint8, or None
        BGR.
    question : str
    read : callable
        Returns of an answer what has a ``value`` and a ``rule``, such as an `Extraction`.
    temperatures : sequence of float
        At least one; None is not passed on.
    seed : int, optional
        Passed on where it is given.
    """
    attempts: list[dict[str, Any]] = []
    for temperature in temperatures:
        settings = {"temperature": temperature, "seed": seed}
        text = ask(image, question, **{k: v for k, v in settings.items() if v is not None})
        attempts.append({"temperature": temperature, "text": str(text)})
        extraction = Extraction(None, CUT_OFF) if isinstance(text, CutOffAnswer) else read(text)
        if extraction.value is not None:
            break
    return Reading(extraction.value, extraction.rule, text, temperature, attempts[:-1])
