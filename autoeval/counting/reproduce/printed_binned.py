"""Table II of the paper on binned counting, and its bins, from released files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.binning.published_bins import PUBLISHED, published_bins
from autoeval.counting.binning.released import released_bins
from autoeval.counting.measures.binned import bin_table, pooled
from autoeval.counting.measures.overall import absolute_error
from autoeval.counting.predictions import read_predictions
from autoeval.counting.reproduce.printed_grid import beside, not_as_printed, printed_name
from autoeval.counting.truth import read_truth
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.report.printed_beside import Beside

PathLike = str | os.PathLike[str]
SCHEMES = {"rs": "RS", "rr": "RR", "unbinned": "no binning"}
RELEASED_MODEL = "BL"
_FILE = re.compile(rf"({'|'.join(PUBLISHED)})_({'|'.join(SCHEMES)})(_.+)?\.(txt|csv|parquet)")
_FORM = "DATASET_unbinned_tar_pred_error.txt (or rr, rs)"


def binned_table(
    name: str, entry: Mapping[str, Any], folders: Sequence[PathLike], *, mode: str = "released"
) -> tuple[Beside, list[str]]:
    """Measure predicted counts on the bins of their data set.

    Parameters
    ----------
    name : str
    entry : mapping
        The table in ``configs/papers/binned.py``.
    folders : sequence of path-like
        With files such as ``jhu_unbinned_tar_pred_error.txt`` (data set, then ``unbinned``, ``rr``
        or ``rs``), or with a folder of them for each model, called ``MODEL`` or ``MODEL_txt``.
        Files in the folder itself are BL's, the only ones that the authors' repository holds,
        unless the folder has the name of a model in print.
    mode : {"released", "paper"}
        What becomes of true counts outside the bins; see `bin_table`.

    Returns
    -------
    table : Beside
    missing : list of str
    """
    own: dict[tuple[str, str], float] = {}
    problems: list[str] = []
    models = {row.partition(" ")[2]: row for row in entry["rows"]}
    found = [each for folder in folders for each in _files(Path(folder), models)]
    for model, dataset, scheme, path in found:
        try:
            values = _measured(path, dataset, scheme, mode)
        except InputError as error:
            problems.append(f"{path.name} of {model} is left out: {error}")
            continue
        own |= {(f"{dataset.upper()} {model}", column): value for column, value in values.items()}
    elsewhere = [row for row in entry["global_of_others"] if (row, "global MAE") in own]
    table = beside(
        name,
        entry,
        own,
        row="data set and model",
        marks=_marks(entry, own, mode),
        notes=[*problems, *_of_others(elsewhere)],
        only_own=True,
    )
    return table, [] if found else [f"No predictions: expected files {_FORM}."]


def bins_table(
    name: str, entry: Mapping[str, Any], folders: Sequence[PathLike]
) -> tuple[Beside, list[str]]:
    """Bin the true counts of training and validation images, and compare edges.

    Parameters
    ----------
    name : str
    entry : mapping
    folders : sequence of path-like
        With ``Train_DATASET.txt`` and, where the bins follow from it, too, ``Val_DATASET.txt``.

    Returns
    -------
    table : Beside
    missing : list of str
        Data sets without their files.
    """
    rows, missing, notes = [], [], []
    for dataset, printed in entry["edges"].items():
        names = [f"{part}_{dataset}.txt" for part in entry["parts"][dataset]]
        paths, own = _found(names, folders), tuple[float, ...]()
        if len(paths) < len(names):
            missing.append(f"{dataset.upper()}: {listed(names)} expected, {len(paths)} there")
        else:
            try:
                own = _edges(paths, entry["gamma"])
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


def _files(folder: Path, models: Mapping[str, str]) -> list[tuple[str, str, str, Path]]:
    found = []
    for path in [*sorted(folder.glob("*")), *sorted(folder.glob("*/*"))]:
        match = _FILE.fullmatch(path.name)
        if match:
            name = printed_name(path.parent.name.removesuffix("_txt"), models)
            inside = path.parent != folder or name in models
            model = name if inside else RELEASED_MODEL
            found.append((model, match.group(1), match.group(2), path))
    return found


def _measured(path: Path, dataset: str, scheme: str, mode: str) -> dict[str, float]:
    read = read_predictions(path)
    target, pred = read.target[read.answered], read.pred[read.answered]
    mean, std = pooled(bin_table(target, pred, published_bins(dataset), mode))
    label = SCHEMES[scheme]
    values = {f"{label} MAE": mean, f"{label} std": std}
    if scheme == "unbinned":
        overall = absolute_error(target, pred)
        values |= {"global MAE": overall["MAE"], "global std": overall["std"]}
    return values


def _marks(entry: Mapping[str, Any], own: Mapping[tuple[str, str], float], mode: str) -> str:
    rows = {row for row, _ in own}
    lacking = len(set(entry["rows"]) - rows)
    few = f"{len(entry['rows']) - lacking} of {len(entry['rows'])} rows" if lacking else ""
    kept = "true counts outside the bins kept in bins of their own" if mode == "paper" else ""
    return not_as_printed(few, kept)


def _of_others(rows: Sequence[str]) -> list[str]:
    if not rows:
        return []
    return [
        "print has the global figures of models that others released, ours are those of these "
        f"predictions: {listed(rows, most=9)}"
    ]


def _found(names: Sequence[str], folders: Sequence[PathLike]) -> list[Path]:
    """Return the first file of each name that is in one of the folders."""
    places = [[Path(folder) / name for folder in folders] for name in names]
    return [path for paths in places for path in [p for p in paths if p.is_file()][:1]]


def _edges(paths: Sequence[Path], gamma: float) -> tuple[float, ...]:
    counts = np.concatenate([list(read_truth(path).counts.values()) for path in paths])
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
