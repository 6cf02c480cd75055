"""Putting one counter, or its prediction files, through both tests."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from autoeval.counting.journal import CellJournal, check_same_run
from autoeval.counting.praco.data import CountingSet
from autoeval.counting.praco.mosaic import locates
from autoeval.counting.praco.mosaic_pairs import MosaicRecipe
from autoeval.counting.praco.mosaic_run import KEY as MOSAIC_KEY
from autoeval.counting.praco.mosaic_run import counts_only, run_mosaic_test
from autoeval.counting.praco.negative_run import KEY as NEGATIVE_KEY
from autoeval.counting.praco.negative_run import Tiles, count_matrix, run_negative_test
from autoeval.counting.praco.released_csv import read_released, write_released
from autoeval.counting.praco.result import PracoResult
from autoeval.counting.prompting import PromptedCounter
from autoeval.data.wording import listed
from autoeval.runtime.files import atomic_path


def evaluate_counter(
    prompted: PromptedCounter,
    counting_set: CountingSet,
    recipes: Sequence[MosaicRecipe],
    folder: str | os.PathLike[str],
    *,
    settings: Mapping[str, Any],
    mode: str = "paper",
    divisions: int = 2,
) -> PracoResult:
    """Run both tests, going on from what the folder holds, and keep the results.

    Parameters
    ----------
    prompted : PromptedCounter
        One that gives counts only takes the negative-label test alone, and a note says so.
    counting_set : CountingSet
        Of images of one class each.
    recipes : sequence of MosaicRecipe
        Which mosaics; none skips the mosaic test.
    folder : path-like
        Of this counter alone. Receives the journals, ``negative.parquet``, ``mosaics.parquet`` and
        the authors' CSV files (where there is one mosaic for each image and class).
    settings : mapping
        What the results depend on, fit for JSON; a folder with other settings is refused.
    mode : {"released", "paper"}
        Of the measures.
    divisions : int
        d; mosaics are compared tile by tile on a grid of 2^d x 2^d.
    """
    folder = Path(folder)
    table = count_negatives(prompted, counting_set, folder, settings)
    counts = count_matrix(table, counting_set)
    notes, mosaics = failures("prompts", table), None
    if not locates(prompted.counter):
        notes.append(counts_only(prompted))
    elif recipes:
        journal = CellJournal(folder / "mosaics.jsonl", MOSAIC_KEY)
        mosaics = run_mosaic_test(prompted, counting_set, recipes, journal, divisions=divisions)
        notes += failures("mosaics", mosaics)
        with atomic_path(folder / "mosaics.parquet") as temporary:
            mosaics.to_parquet(temporary, index=False)
    _write_released(folder, prompted.counter.name, counting_set, counts, mosaics)
    name = prompted.counter.name
    return PracoResult(name, counts, counting_set.truth(), mosaics, mode, tuple(notes))


def count_negatives(
    prompted: PromptedCounter,
    counting_set: CountingSet,
    folder: Path,
    settings: Mapping[str, Any],
    tiles: Tiles | None = None,
) -> pd.DataFrame:
    """Run the negative-label test in a folder and keep its table; see `run_negative_test`."""
    prompts = {"prompt": prompted.prompt, "reference": prompted.reference}
    check_same_run(folder / "run.json", {**settings, **prompts})
    journal = CellJournal(folder / "negative.jsonl", NEGATIVE_KEY)
    table = run_negative_test(prompted, counting_set, journal, tiles=tiles)
    with atomic_path(folder / "negative.parquet") as temporary:
        table.to_parquet(temporary, index=False)
    return table


def evaluate_files(
    folder: str | os.PathLike[str],
    model: str,
    counting_set: CountingSet,
    *,
    mode: str = "paper",
) -> PracoResult:
    """Measure predictions made elsewhere on the images they have; see `read_released`."""
    found = read_released(folder, model, counting_set)
    truth = counting_set.truth().loc[found.counts.index]
    return PracoResult(model, found.counts, truth, found.mosaics, mode, found.problems)


def failures(what: str, table: pd.DataFrame) -> list[str]:
    """Say how many results of a table failed or were skipped and why, and their warnings."""
    reasons = table.loc[table["status"] != "ok", "status"]
    return [
        f"{n} {what} without a result ({reason})"
        for reason, n in reasons.value_counts().head(5).items()
    ] + _warnings(what, table)


def _warnings(what: str, table: pd.DataFrame) -> list[str]:
    if "warnings" not in table:
        return []
    texts = table["warnings"].dropna().explode().astype(str)
    return [f"{len(texts)} {what}: {listed(texts.unique(), most=2)}"] if len(texts) else []


def _write_released(
    folder: Path,
    model: str,
    counting_set: CountingSet,
    counts: pd.DataFrame,
    mosaics: pd.DataFrame | None,
) -> None:
    """Write the authors' files, those of the mosaics only where the form can hold them."""
    if mosaics is not None and mosaics.duplicated(["positive", "negative_class"]).any():
        mosaics = None
    write_released(folder, model, counting_set, counts, mosaics)
