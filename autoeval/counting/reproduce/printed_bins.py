"""The published bins, and table III (GAME) of the paper on binned counting."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.binning.paper import released_bins
from autoeval.counting.measures.game import GameScore
from autoeval.counting.reproduce.count_files import SCHEMES
from autoeval.counting.reproduce.printed_grid import beside, not_as_printed, rows_at_hand
from autoeval.counting.truth import read_truth
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.report.printed_beside import Beside

PathLike = str | os.PathLike[str]
LEVELS = (1, 2, 3)
TILES = {"paper": "exact", "released": "floor_step"}
MAPS = "maps"


def bins_table(
    name: str, entry: Mapping[str, Any], folder: PathLike | None
) -> tuple[Beside, list[str]]:
    """Bin the true counts of training images, and compare edges."""
    rows, missing, notes = [], [], []
    for dataset, printed in entry["edges"].items():
        path = None if folder is None else Path(folder) / f"Train_{dataset}.txt"
        own = tuple[float, ...]()
        if path is None or not path.is_file():
            missing.append(f"{dataset.upper()}: no Train_{dataset}.txt")
        else:
            try:
                own = _edges(path, entry["gamma"])
            except InputError as error:
                notes.append(f"{dataset.upper()} is left out: {error}")
        rows += _edge_rows(dataset.upper(), printed, own)
    there = len(entry["edges"]) - len(missing) - len(notes)
    marks = f"{there} of {len(entry['edges'])} data sets" if missing or notes else ""
    table = pd.DataFrame(rows).assign(decimals=1)
    section = Beside(
        f"table_{name}", entry["title"], table, marks=not_as_printed(marks), notes=notes
    )
    return section, missing


def _edges(path: Path, gamma: float) -> tuple[float, ...]:
    counts = np.array(list(read_truth(path).counts.values()))
    return released_bins(int(np.floor(counts.min())), int(np.ceil(counts.max())), gamma).edges


def _edge_rows(
    dataset: str, printed: Sequence[float], own: Sequence[float]
) -> list[dict[str, Any]]:
    return [
        {
            "edge": str(k),
            "column": dataset,
            "printed": printed[k] if k < len(printed) else np.nan,
            "own": own[k] if k < len(own) else np.nan,
        }
        for k in range(max(len(printed), len(own)))
    ]


def game_table(
    name: str,
    entry: Mapping[str, Any],
    truth: PathLike | None,
    folders: Sequence[PathLike],
    *,
    mode: str = "paper",
) -> tuple[Beside, list[str]]:
    """Measure density maps tile by tile.

    Parameters
    ----------
    name : str
    entry : mapping
        The table in ``configs/papers/binned.py``.
    truth : path-like, optional
        Folder with the true maps, ``maps/DATASET/IMAGE.npy``.
    folders : sequence of path-like
        With predicted maps of the same shape, ``MODEL/maps/DATASET_SCHEME/IMAGE.npy`` (scheme
        ``unbinned``, ``rr`` or ``rs``).
    mode : {"paper", "released"}
        Tiles with even edges, or steps of side // 2^L as in the authors' code.
    """
    own: dict[tuple[str, str], float] = {}
    notes: list[str] = []
    for row in entry["rows"]:
        dataset, _, model = row.partition(" ")
        for scheme, label in SCHEMES.items():
            inside = Path(model, MAPS, f"{dataset.lower()}_{scheme}")
            found = [
                Path(folder) / inside for folder in folders if (Path(folder) / inside).is_dir()
            ]
            if truth is None or not found:
                continue
            try:
                score = _score(Path(truth, MAPS, dataset.lower()), found[0], TILES[mode])
            except InputError as error:
                notes.append(f"{inside} is left out: {error}")
                continue
            for level, *values in score.compute().itertuples(index=False):
                for measure, value in zip(("mean", "std"), values, strict=True):
                    own[row, f"L={level} {label} {measure}"] = value
    marks = not_as_printed(rows_at_hand(entry, {row for row, _ in own}))
    table = beside(
        name, entry, own, row="data set and model", marks=marks, notes=notes, only_own=True
    )
    return table, [] if own else ["No density maps: expected MODEL/maps/DATASET_SCHEME/*.npy."]


def _score(truth: Path, predicted: Path, rule: str) -> GameScore:
    names = {path.name for path in truth.glob("*.npy")}
    others = {path.name for path in predicted.glob("*.npy")}
    if not names or names != others:
        raise InputError(
            f"Expected the same images in {truth} ({len(names)}) and {predicted} ({len(others)}) "
            f"but they differ by {listed(sorted(names ^ others)) or 'nothing: both are empty'}."
        )
    score = GameScore(LEVELS, rule)
    for each in sorted(names):
        score.update(each, _map(truth / each), _map(predicted / each))
    return score


def _map(path: Path) -> np.ndarray:
    try:
        found = np.load(path).astype(np.float64)
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot read the density map {path}: {error}.") from None
    if found.ndim != 2:
        raise InputError(f"Expected {path} to hold a map (H, W) but got the shape {found.shape}.")
    return found
