"""Putting one counter, or its prediction files, through both tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.journal import Cell, CellJournal, check_same_run
from autoeval.counting.praco.data import CountedImage, CountingSet
from autoeval.counting.praco.mosaic_run import (
    MosaicRecipe,
    counts_only,
    locates,
    run_mosaic_test,
    tile_counts,
)
from autoeval.counting.praco.released_csv import write_released
from autoeval.counting.praco.result import PracoResult
from autoeval.counting.prompting import (
    CountRequest,
    PromptedCounter,
    is_done,
    number,
    read_again,
    result_fields,
)
from autoeval.errors import InputError
from autoeval.io.images import UnreadableImageError, read_image
from autoeval.runtime import FAILED
from autoeval.runtime.files import PathLike, write_table
from autoeval.runtime.progress import announced_bar
from autoeval.words import listed

KEY = ("image", "class")


def run_negative_test(
    prompted: PromptedCounter,
    counting_set: CountingSet,
    folder: Path,
    *,
    divisions: int | None = None,
) -> pd.DataFrame:
    """Count every class in every measured image, going on from what the folder holds.

    All classes of an image go to the counter at once. The table has ``image``, ``class``, ``count``
    (NaN where there is none), ``status`` and what else the cells hold: with `divisions` d also
    ``tiles``, the counts in 2^d x 2^d tiles. A counter that fails on every prompt ends the run.
    """
    journal = CellJournal(folder / "negative.jsonl", KEY)
    kept_cells = read_again(prompted.counter, journal.read().values())
    cells = {(cell["image"], cell["class"]): cell for cell in kept_cells}
    kept = counting_set.kept
    done = {key for key, cell in cells.items() if is_done(cell)}
    wanted = {
        image.image_id: [c for c in counting_set.classes if (image.image_id, c) not in done]
        for image in kept
    }
    waiting = [image for image in kept if wanted[image.image_id]]
    total, items = sum(map(len, wanted.values())), f"prompts on {len(waiting)} images"
    count = partial(_count, prompted, wanted, divisions)
    with (
        journal.writer() as write,
        announced_bar(total, "Negative labels", items=items, unit="prompt") as bar,
    ):
        for fresh in prompted.parts(count, waiting):
            write(fresh)
            cells.update({(cell["image"], cell["class"]): cell for cell in fresh})
            bar.update(len(fresh))
    table = pd.DataFrame([cells[im.image_id, name] for im in kept for name in counting_set.classes])
    table = table.astype({"count": np.float64})
    if table["status"].str.startswith(FAILED).all():
        raise InputError(
            f"The counter {prompted.counter.name} failed on all {len(table)} prompts; the first: "
            f"{table['status'].iloc[0]}."
        )
    write_table(folder / "negative.parquet", table)
    return table


def _count(
    prompted: PromptedCounter,
    wanted: Mapping[str, list[str]],
    divisions: int | None,
    images: Sequence[CountedImage],
) -> list[Cell]:
    cells: list[Cell] = []
    requests = []
    for image in images:
        image_id, classes = image.image_id, wanted[image.image_id]
        true_class = ", ".join(image.points)  # one, or all of an image of several
        try:
            requests.append(CountRequest(read_image(image.path), classes, image_id, true_class))
        except UnreadableImageError as error:
            failed = {"count": None, "status": f"{FAILED}: {error.reason}"}
            cells += [{"image": image_id, "class": name, **failed} for name in classes]
    for request, results in zip(requests, prompted.count(requests), strict=True):
        privileged = prompted.privileged(request.true_class)
        for name, result in zip(request.classes, results, strict=True):
            cell: Cell = {"image": request.image_id, "class": name, "count": number(result.count)}
            cell |= result_fields(result, privileged)
            if divisions is not None and is_done(cell):
                size = request.image.shape[:2]
                cell["tiles"] = tile_counts(result, *size, divisions=divisions)
            cells.append(cell)
    return cells


def count_matrix(table: pd.DataFrame, counting_set: CountingSet) -> pd.DataFrame:
    """Arrange the counts of `run_negative_test` as images (rows) by classes (columns)."""
    matrix = table.pivot(index="image", columns="class", values="count")
    ids = [image.image_id for image in counting_set.kept]
    matrix = matrix.reindex(index=ids, columns=list(counting_set.classes))
    return matrix.rename_axis(index="image_id", columns=None)


def evaluate_counter(
    prompted: PromptedCounter,
    counting_set: CountingSet,
    recipes: Sequence[MosaicRecipe],
    folder: PathLike,
    *,
    settings: Mapping[str, Any],
    mode: str = "paper",
    divisions: int = 2,
) -> PracoResult:
    """Run both tests, going on from what the folder holds, and keep the results.

    A counter that gives counts only takes the negative-label test alone; no recipes skip the mosaic
    test. The folder is of this counter and these `settings` alone. Mosaics are compared on a grid
    of 2^d x 2^d tiles, with d `divisions`.
    """
    folder = Path(folder)
    check_same_run(folder / "run.json", {**settings, **prompted.settings})
    ask_once(prompted, counting_set)
    table = run_negative_test(prompted, counting_set, folder)
    counts = count_matrix(table, counting_set)
    notes, mosaics = failures("prompts", table), None
    if not locates(prompted.counter):
        notes.append(counts_only(prompted))
    elif recipes:
        mosaics = run_mosaic_test(prompted, counting_set, recipes, folder, divisions=divisions)
        notes += failures("mosaics", mosaics)
    name, fitting = prompted.counter.name, mosaics
    if mosaics is not None and mosaics.duplicated(["positive", "negative_class"]).any():
        fitting = None  # the authors' form cannot hold them
    write_released(folder, name, counting_set, counts, fitting)
    return PracoResult(name, counts, counting_set.truth(), mosaics, mode, tuple(notes))


def ask_once(prompted: PromptedCounter, counting_set: CountingSet) -> None:
    """Let a function answer about one image, by which it shows whether it says where it counts."""
    if getattr(prompted.counter, "asked", True):
        return
    for image in counting_set.kept:
        try:
            picture, name = read_image(image.path), next(iter(image.points))
        except UnreadableImageError:
            continue
        prompted.count([CountRequest(picture, [name], image.image_id, name)])
        return


def failures(what: str, table: pd.DataFrame) -> list[str]:
    """Say how many results of a table failed or were skipped and why, and their warnings."""
    reasons = table.loc[table["status"] != "ok", "status"].value_counts().head(5)
    lines = [f"{n} {what} without a result ({reason})" for reason, n in reasons.items()]
    if "warnings" in table:
        texts = table["warnings"].dropna().explode().astype(str)
        lines += [f"{len(texts)} {what}: {listed(texts.unique(), most=2)}"] if len(texts) else []
    return lines
