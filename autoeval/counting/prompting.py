"""A counter with its prompt: batches, failed results, and counting in many images."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from autoeval.counting.asking import CutOffAnswer
from autoeval.counting.capture.answers import extract_count
from autoeval.counting.counters import Counter, CountResult, as_result, count_prompts
from autoeval.counting.journal import Cell, CellJournal
from autoeval.errors import InputError
from autoeval.io.find_images import UnlabelledImage
from autoeval.io.images import UnreadableImageError
from autoeval.runtime import FAILED, OK, SKIPPED
from autoeval.runtime.files import write_json, write_table
from autoeval.runtime.jobs import as_done
from autoeval.runtime.progress import announced_bar
from autoeval.words import listed

Item = TypeVar("Item")
Result = TypeVar("Result")


BATCH_SIZE = 8
MOST_FAILURES = 10  # of the counter, one after another, before a run gives up
UNREADABLE = f"{FAILED}: unreadable"


@dataclass(frozen=True, eq=False)
class CountRequest:
    """Classes to count in one image, and the true class of the (upper) image."""

    image: np.ndarray
    classes: Sequence[str]
    image_id: str
    true_class: str


@dataclass(frozen=True)
class PromptedCounter:
    """A counter, its prompt with ``{}`` for the class, and how images are handed to it.

    With `reference` the counter gets the true class of the (upper) image in its context, as
    ``positive_class``, which is then recorded; DAVE's published figures need it. `workers` threads
    read images and count; a counter that is not ``concurrent`` is called by one at a time. One with
    ``count_batch`` gets `batch_size` images at once.
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
        """Yield the result of ``work`` for each batch of items, computed by its threads."""
        size = max(self.batch_size, 1) if hasattr(self.counter, "count_batch") else 1
        batches = [items[start : start + size] for start in range(0, len(items), size)]
        return as_done(work, batches, self.workers)

    def count(self, requests: Sequence[CountRequest]) -> list[list[CountResult]]:
        """Count the classes of each request; an error becomes a status.

        Where a batch fails, its images are counted one by one. `InputError`, as of an unknown
        class, and ImportError are raised on.
        """
        batched = getattr(self.counter, "count_batch", None)
        if batched is not None and len(requests) > 1:
            images, prompts, contexts = map(list, zip(*map(self._arguments, requests), strict=True))
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
        return request.image, [self.prompt.format(name) for name in request.classes], context

    def privileged(self, true_class: str) -> dict[str, str]:
        """Return what the counter gets beyond the image and the prompt."""
        return {"positive_class": self.prompt.format(true_class)} if self.reference else {}


def lock_of(counter: Counter) -> AbstractContextManager:
    """Return what to enter while a counter runs: a lock, unless it is ``concurrent``."""
    return nullcontext() if getattr(counter, "concurrent", False) else Lock()


def result_fields(result: CountResult, privileged: Mapping[str, str]) -> dict[str, Any]:
    """Return ``status``, the privileged information, and text and warnings where there are any."""
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

    So better rules cost no answers. Where a model reads the texts, cells stay as they are.
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
    """Return a finite count, or None."""
    return float(value) if math.isfinite(value) else None


def is_done(cell: Mapping[str, Any]) -> bool:
    """Whether a cell holds a result, also a skipped one; failures are counted again."""
    return not str(cell["status"]).startswith(FAILED)


def check_names(names: Sequence[str]) -> None:
    """Raise `InputError` where two models carry one name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"Models need different names, but {listed(twice)} came twice: set `name` in the "
            "counter's config."
        )


def count_images(
    prompted: PromptedCounter, images: Sequence[UnlabelledImage], prompt: str, journal: CellJournal
) -> pd.DataFrame:
    """Count in every image, without the results in the journal, which has the key ``image``.

    The table has ``id``, ``pred`` (NaN where there is no count), ``status``, and of counters that
    say where ``points`` (N, 2) as xy, pixels, ``scores`` and ``size``. Ten failures in a row, but
    for unreadable images, end the run.
    """
    kept = read_again(prompted.counter, journal.read().values())
    cells = {cell["image"]: cell for cell in kept}
    waiting = [im for im in images if not is_done(cells.get(im.image_id, {"status": FAILED}))]
    in_a_row = 0
    with journal.writer() as write, announced_bar(len(waiting), prompted.counter.name) as bar:
        for fresh in prompted.parts(partial(_count, prompted, prompt), waiting):
            write(fresh)
            bar.update(len(fresh))
            for cell in fresh:
                cells[cell["image"]] = cell
                unfit = not is_done(cell) and not cell["status"].startswith(UNREADABLE)
                in_a_row = in_a_row + 1 if unfit else 0
                if in_a_row == MOST_FAILURES:
                    raise InputError(
                        f"{prompted.counter.name} failed on {in_a_row} images in a row, the last "
                        f"({cell['image']}) with {cell['status']}. The same command goes on from "
                        "here."
                    )
    table = pd.DataFrame([cells[im.image_id] for im in images])
    return table.rename(columns={"image": "id", "count": "pred"}).astype({"pred": np.float64})


def write_counts(folder: Path, table: pd.DataFrame) -> list[Path]:
    """Write ``predictions.csv`` and, of a counter that says where, ``points.json``."""
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
    return written


def _count(prompted: PromptedCounter, prompt: str, images: Sequence[UnlabelledImage]) -> list[Cell]:
    cells: list[Cell] = []
    requests = []
    for image in images:
        try:
            requests.append(CountRequest(image.read(), [prompt], image.image_id, prompt))
        except UnreadableImageError as error:
            status = f"{UNREADABLE}: {error.reason}"
            cells.append({"image": image.image_id, "count": None, "status": status})
    for request, [result] in zip(requests, prompted.count(requests), strict=True):
        cell: Cell = {"image": request.image_id, "count": number(result.count)}
        cell |= result_fields(result, {})
        points = result.centres
        if points is not None and is_done(cell):
            cell |= {"points": points.tolist(), "size": request.image.shape[:2]}
            if result.scores is not None:
                cell["scores"] = np.asarray(result.scores).tolist()
        cells.append(cell)
    return cells
