"""Table III of the paper on binned counting: GAME of density maps."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.counting.measures.game import GameScore
from autoeval.counting.reproduce.count_files import SCHEMES
from autoeval.counting.reproduce.printed_grid import beside, not_as_printed, rows_at_hand
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.report.printed_beside import Beside

PathLike = str | os.PathLike[str]
LEVELS = (1, 2, 3)
TILES = {"paper": "exact", "released": "floor_step"}
MAPS = "maps"


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

    Returns
    -------
    table : Beside
    missing : list of str
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
