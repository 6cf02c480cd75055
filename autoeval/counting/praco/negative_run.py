"""The negative-label test: every class of the set is counted in every image (section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.counting.counters.base import CountResult
from autoeval.counting.journal import Cell, CellJournal
from autoeval.counting.praco.data import CountedImage, CountingSet
from autoeval.counting.prompting import (
    CountRequest,
    PromptedCounter,
    is_done,
    number,
    result_fields,
)
from autoeval.data.images import UnreadableImageError, read_image
from autoeval.errors import InputError
from autoeval.runtime.progress import announced_bar
from autoeval.runtime.states import FAILED

KEY = ("image", "class")
Tiles = Callable[..., list[float]]


def run_negative_test(
    prompted: PromptedCounter,
    counting_set: CountingSet,
    journal: CellJournal,
    *,
    tiles: Tiles | None = None,
    read: Callable[[Path], np.ndarray] = read_image,
) -> pd.DataFrame:
    """Count every class in every measured image, without the results in the journal.

    Parameters
    ----------
    prompted : PromptedCounter
        All classes of an image go to its counter at once.
    counting_set : CountingSet
        Excluded images are not counted in.
    journal : CellJournal
        With the key `KEY`; receives the results of an image as soon as they are there.
    tiles : callable of (result, height, width) -> list of float, optional
        Further numbers to keep of each result (see `autoeval.counting.praco.mosaic`).
    read : callable of Path -> ndarray
        Reads an image (H, W, 3) uint8 BGR.

    Returns
    -------
    DataFrame
        ``image``, ``class``, ``count`` (NaN where there is none), ``status`` and what else the
        cells hold, in the order of the set.

    Raises
    ------
    InputError
        If the counter failed on every prompt.
    """
    cells = journal.read()
    kept = counting_set.kept
    wanted = {
        image.image_id: [
            name
            for name in counting_set.classes
            if (image.image_id, name) not in cells or not is_done(cells[image.image_id, name])
        ]
        for image in kept
    }
    waiting = [image for image in kept if wanted[image.image_id]]
    total, items = sum(map(len, wanted.values())), f"prompts on {len(waiting)} images"
    count = partial(_count, prompted, wanted, read, tiles)
    with (
        journal.writer() as write,
        announced_bar(total, "Negative labels", items=items, unit="prompt") as bar,
    ):
        for fresh in prompted.parts(count, waiting):
            write(fresh)
            cells.update({(cell["image"], cell["class"]): cell for cell in fresh})
            bar.update(len(fresh))
    table = _table(cells, counting_set)
    if table["status"].str.startswith(FAILED).all():
        raise InputError(
            f"The counter {prompted.counter.name} failed on all {len(table)} prompts; the first: "
            f"{table['status'].iloc[0]}."
        )
    return table


def _count(
    prompted: PromptedCounter,
    wanted: Mapping[str, list[str]],
    read: Callable[[Path], np.ndarray],
    tiles: Tiles | None,
    images: Sequence[CountedImage],
) -> list[Cell]:
    unread: list[Cell] = []
    requests = []
    for image in images:
        classes = wanted[image.image_id]
        try:
            true_class = ", ".join(image.points)  # one, or all of an image of several
            requests.append(CountRequest(read(image.path), classes, image.image_id, true_class))
        except UnreadableImageError as error:
            status = f"{FAILED}: {error.reason}"
            unread += [
                {"image": image.image_id, "class": name, "count": None, "status": status}
                for name in classes
            ]
    results = prompted.count(requests)
    return unread + [
        _cell(prompted, request, name, result, tiles)
        for request, of_image in zip(requests, results, strict=True)
        for name, result in zip(request.classes, of_image, strict=True)
    ]


def _cell(
    prompted: PromptedCounter,
    request: CountRequest,
    name: str,
    result: CountResult,
    tiles: Tiles | None,
) -> Cell:
    cell: Cell = {"image": request.image_id, "class": name, "count": number(result.count)}
    cell |= result_fields(result, prompted.privileged(request.true_class))
    if tiles is not None and is_done(cell):
        cell["tiles"] = tiles(result, *request.image.shape[:2])
    return cell


def _table(cells: dict[tuple, Cell], counting_set: CountingSet) -> pd.DataFrame:
    rows = [
        cells[image.image_id, name] for image in counting_set.kept for name in counting_set.classes
    ]
    table = pd.DataFrame(rows)
    return table.assign(count=table["count"].astype(np.float64))


def count_matrix(table: pd.DataFrame, counting_set: CountingSet) -> pd.DataFrame:
    """Arrange the counts of `run_negative_test` as images (rows) by classes (columns)."""
    matrix = table.pivot(index="image", columns="class", values="count")
    ids = [image.image_id for image in counting_set.kept]
    matrix = matrix.reindex(index=ids, columns=list(counting_set.classes))
    return matrix.rename_axis(index="image_id", columns=None)
