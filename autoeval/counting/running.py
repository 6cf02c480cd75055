"""Any counter over any images, result by result, so that a stopped run goes on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.counters.base import CountResult
from autoeval.counting.journal import Cell, CellJournal
from autoeval.counting.prompting import (
    CountRequest,
    PromptedCounter,
    is_done,
    number,
    result_fields,
)
from autoeval.data.images import UnreadableImageError
from autoeval.data.unlabelled import UnlabelledImage
from autoeval.errors import InputError
from autoeval.runtime.progress import announced_bar
from autoeval.runtime.states import FAILED
from autoeval.runtime.writers import write_json, write_table

MOST_FAILURES = 10  # of the counter, one after another, before a run gives up
UNREADABLE = f"{FAILED}: unreadable"


def count_images(
    prompted: PromptedCounter, images: Sequence[UnlabelledImage], prompt: str, journal: CellJournal
) -> pd.DataFrame:
    """Count in every image, without the results in the journal.

    Parameters
    ----------
    prompted : PromptedCounter
    images : sequence of UnlabelledImage
        Each is read when it is its turn.
    prompt : str
        What to count.
    journal : CellJournal
        With the key ``image``; receives each result as soon as it is there.

    Returns
    -------
    DataFrame
        ``id``, ``pred`` (NaN where there is no count), ``status`` (``ok``, ``skipped`` or
        ``failed: <reason>``), and of counters that say where: ``points`` (N, 2) as xy, pixels,
        ``scores`` and ``size`` (height, width).

    Raises
    ------
    InputError
        If ten images in a row fail for another reason than being unreadable, or all do.
    """
    cells = {key[0]: cell for key, cell in journal.read().items()}
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
    rows = [{"id": im.image_id, **_row(cells[im.image_id])} for im in images]
    return pd.DataFrame(rows).astype({"pred": np.float64})


def write_counts(folder: Path, table: pd.DataFrame) -> list[Path]:
    """Write ``predictions.csv`` and, of a counter that says where, ``points.json``.

    Both are what ``autoeval count evaluate`` reads.
    """
    columns = ["id", "pred", "status"]
    written = [write_table(folder / "predictions.csv", table[columns])]
    if "points" in table:
        points = {row.id: _points(row) for row in table.itertuples()}
        written.append(write_json(folder / "points.json", points, indent=None))
    return written


def _count(prompted: PromptedCounter, prompt: str, images: Sequence[UnlabelledImage]) -> list[Cell]:
    unread, requests = [], []
    for image in images:
        try:
            requests.append(CountRequest(image.read(), [prompt], image.image_id, prompt))
        except UnreadableImageError as error:
            status = f"{UNREADABLE}: {error.reason}"
            unread.append({"image": image.image_id, "count": None, "status": status})
    results = prompted.count(requests)
    return unread + [_cell(r, found[0]) for r, found in zip(requests, results, strict=True)]


def _cell(request: CountRequest, result: CountResult) -> Cell:
    cell: Cell = {"image": request.image_id, "count": number(result.count)}
    cell |= result_fields(result, {})
    if result.text is not None:
        cell["text"] = result.text
    return cell | (_places(result, request.image) if is_done(cell) else {})


def _places(result: CountResult, picture: np.ndarray) -> dict[str, Any]:
    points = result.points
    if points is None and result.boxes is not None:
        boxes = np.asarray(result.boxes, np.float64).reshape(-1, 4)
        points = (boxes[:, :2] + boxes[:, 2:]) / 2
    if points is None:
        return {}
    found: dict[str, Any] = {"points": np.asarray(points).tolist(), "size": picture.shape[:2]}
    if result.scores is not None:
        found["scores"] = np.asarray(result.scores).tolist()
    return found


def _row(cell: Cell) -> dict[str, Any]:
    kept = ("status", "points", "scores", "size")
    return {"pred": cell["count"], **{name: cell[name] for name in kept if name in cell}}


def _points(row: Any) -> dict[str, Any] | None:
    if not isinstance(row.points, list):
        return None
    found = {"points": row.points, "H": row.size[0], "W": row.size[1]}
    scores = getattr(row, "scores", None)
    return found | ({"scores": scores} if isinstance(scores, list) else {})
