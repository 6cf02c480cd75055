"""The published bins from the counts of training images."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.binning.released import released_bins
from autoeval.counting.reproduce.printed_grid import not_as_printed
from autoeval.counting.truth import read_truth
from autoeval.errors import InputError
from autoeval.report.printed_beside import Beside

PathLike = str | os.PathLike[str]


def bins_table(
    name: str, entry: Mapping[str, Any], folder: PathLike | None
) -> tuple[Beside, list[str]]:
    """Bin the true counts of training images, and compare edges.

    Parameters
    ----------
    name : str
    entry : mapping
        The table in ``configs/papers/binned.py``.
    folder : path-like, optional
        With ``Train_DATASET.txt``.

    Returns
    -------
    table : Beside
    missing : list of str
        Data sets without their file.
    """
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
