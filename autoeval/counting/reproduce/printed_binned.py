"""Tables II to V, the bins, and figures 10 and 11 of the paper on binned counting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.binning import PUBLISHED, published_bins, released_bins
from autoeval.counting.evaluation.evaluation_report import plot_tper
from autoeval.counting.measures.count_errors import (
    TperCurve,
    absolute_error,
    bin_table,
    pooled,
    tper_curve,
)
from autoeval.counting.measures.game import GameScore, read_density
from autoeval.counting.predictions import read_predictions
from autoeval.counting.reproduce.printed_grid import (
    DrawnFigure,
    Own,
    available_rows,
    compare_with_print,
    printed_name,
)
from autoeval.counting.true_counts import read_truth
from autoeval.errors import InputError
from autoeval.report.compared_with_print import ComparedWithPrint, not_as_printed
from autoeval.report.page import Table
from autoeval.runtime.files import PathLike
from autoeval.words import listed

SCHEMES = {"rs": "RS", "rr": "RR", "unbinned": "no binning"}
FORM = "DATASET_unbinned_tar_pred_error.txt (or rr, rs)"
_NAME = re.compile(rf"({'|'.join(PUBLISHED)})_({'|'.join(SCHEMES)})(_.+)?\.(txt|csv|parquet)")
CONVENTIONS = {"paper": "paper", "released": "absolute_released"}
UNITS = {"paper": "multiples of the true count", "released": "objects"}
FORMATS = {"AUC": "{:.2f}", "share at 100": "{:.3f}"}
LEVELS = (1, 2, 3)
TILES = {"paper": "exact", "released": "floor_step"}
MAPS = "maps"


@dataclass(frozen=True)
class CountFile:
    """Predicted counts of one network.

    Parameters
    ----------
    model : str
        As print calls it, where print has it.
    dataset : str
        Name of published bins.
    scheme : str
        One of `SCHEMES`.
    path : Path
    """

    model: str
    dataset: str
    scheme: str
    path: Path

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """Return true and predicted counts (N,) of the images that have a prediction."""
        predictions = read_predictions(self.path)
        return predictions.target[predictions.answered], predictions.pred[predictions.answered]


def find_count_files(
    folders: Sequence[PathLike], models: Iterable[str]
) -> tuple[list[CountFile], list[str]]:
    """Find the files of all networks in folders and the folders within them.

    Parameters
    ----------
    folders : sequence of path-like
    models : iterable of str
        Names in print.

    Returns
    -------
    tuple of list of CountFile and list of str
        One for each network, data set and scheme, and which others are left out.
    """
    printed = set(models)
    files: dict[tuple[str, str, str], CountFile] = {}
    warnings: list[str] = []
    for folder in map(Path, folders):
        for path in [*sorted(folder.glob("*")), *sorted(folder.glob("*/*"))]:
            if match := _NAME.fullmatch(path.name):
                model = printed_name(path.parent.name.removesuffix("_txt"), printed)
                if path.parent == folder and model not in printed:
                    model = "BL" if match[3] else "DM-Count"
                file = CountFile(model, match[1], match[2], path)
                kept = files.setdefault((model, match[1], match[2]), file)
                if kept.path.resolve() != path.resolve():
                    warnings.append(f"{path} of {model} is left out: {kept.path} was read")
    return [*files.values()], warnings


def pooled_figures(
    files: Sequence[CountFile], *, mode: str
) -> tuple[dict[tuple[str, str], float], list[str]]:
    """Measure predicted counts on the published bins of their data set, as `bin_table` does.

    Parameters
    ----------
    files : sequence of CountFile
    mode : {"paper", "released"}
        See `bin_table`.

    Returns
    -------
    tuple of dict and list of str
        Figures by row and column of Table II, those of all images as ``global``; files that are
        left out.
    """
    figures: dict[tuple[str, str], float] = {}
    warnings: list[str] = []
    for file in files:
        try:
            target, pred = file.read()
            mean, std = pooled(bin_table(target, pred, published_bins(file.dataset), mode))
        except InputError as error:
            warnings.append(f"{file.path.name} of {file.model} is left out: {error}")
            continue
        row, label = f"{file.dataset.upper()} {file.model}", SCHEMES[file.scheme]
        figures |= {(row, f"{label} MAE"): mean, (row, f"{label} std"): std}
        if file.scheme == "unbinned":
            overall = absolute_error(target, pred)
            figures |= {(row, f"global {measure}"): overall[measure] for measure in ("MAE", "std")}
    return figures, warnings


def binned_table(
    name: str,
    entry: Mapping[str, Any],
    figures: Own,
    *,
    mode: str,
    notes: Sequence[str],
) -> ComparedWithPrint:
    """Compare pooled and global errors with Table II.

    Parameters
    ----------
    name : str
        Of the table.
    entry : mapping
        What print has; see `compare_with_print`.
    figures : mapping of tuple of str to float
        Of `pooled_figures`.
    mode : {"paper", "released"}
        By which they were measured.
    notes : sequence of str
        Below the table.
    """
    elsewhere = [row for row in entry["global_of_others"] if (row, "global MAE") in figures]
    if elsewhere:
        notes = [
            *notes,
            "print has the global figures of models that others released, ours are those of these "
            f"predictions: {listed(elsewhere, most=9)}",
        ]
    differing = _differing(entry, figures, mode)
    return compare_with_print(
        name, entry, figures, *differing, row="data set and model", notes=notes, only_own=True
    )


def ablation_table(
    name: str, entry: Mapping[str, Any], figures: Own, *, mode: str
) -> ComparedWithPrint:
    """Fill the cells of an ablation that repeat figures of Table II.

    Parameters
    ----------
    name, entry, figures, mode
        As `binned_table` takes them; the entry has ``repeats`` and ``cells``.
    """
    repeated = {
        (row, f"{column} {measure}"): figures[entry["repeats"], f"{scheme} {measure}"]
        for row, columns in entry["cells"].items()
        for column, scheme in columns.items()
        for measure in ("MAE", "std")
        if (entry["repeats"], f"{scheme} {measure}") in figures
    }
    differing = _differing(entry, repeated, mode)
    return compare_with_print(name, entry, repeated, *differing, row="setting")


def _differing(entry: Mapping[str, Any], figures: Own, mode: str) -> list[str]:
    kept = ["true counts outside the bins kept in bins of their own"]
    return [available_rows(entry, figures), *(kept if figures and mode == "paper" else [])]


def tper_figure(
    name: str, entry: Mapping[str, Any], files: Sequence[CountFile], *, mode: str
) -> tuple[DrawnFigure, list[str]]:
    """Draw the curves of the files that a figure is made of.

    Parameters
    ----------
    name : str
        Of the figure.
    entry : mapping
        What print has: ``models`` or ``datasets`` choose the files.
    files : sequence of CountFile
    mode : {"paper", "released"}
        The error is that of equation 12 or, in ``released``, in objects, as in the authors' code.

    Returns
    -------
    tuple of DrawnFigure and list of str
        The second says what is missing.
    """
    curves: dict[str, TperCurve] = {}
    warnings: list[str] = []
    for file in files:
        chosen = file.model in entry.get("models", [file.model])
        chosen &= file.dataset in entry.get("datasets", [file.dataset])
        if file.scheme == "unbinned" and chosen:
            try:
                target, pred = file.read()
            except InputError as error:
                warnings.append(f"{file.path.name} of {file.model} is left out: {error}")
                continue
            label = file.dataset.upper() if "models" in entry else file.model
            curves[label] = tper_curve(target, pred, convention=CONVENTIONS[mode])
    rows = [
        {"predictions": label, "AUC": c.auc, "share at 100": c.ratio[-1], "images": c.n_images}
        for label, c in curves.items()
    ]
    points = [
        pd.DataFrame({"predictions": label, "threshold": c.thresholds, "share": c.ratio})
        for label, c in curves.items()
    ]
    tables = [Table(f"figure_{name}", pd.DataFrame(rows), formats=FORMATS)] if rows else []
    if points:
        tables.append(Table(f"figure_{name}_curves", pd.concat(points, ignore_index=True)))
    draw = partial(plot_tper, [*curves.items()], unit=f"θ, {UNITS[mode]}", scale=1)
    about = f"Share of images whose error is at least θ, in {UNITS[mode]}."
    figure = DrawnFigure(f"figure_{name}", entry, tables, draw, about, warnings)
    wanted = "BL" if "models" in entry else "any network on JHU"
    return figure, [] if curves else [f"No unbinned predictions of {wanted}."]


def bins_table(
    name: str, entry: Mapping[str, Any], folder: PathLike | None
) -> tuple[ComparedWithPrint, list[str]]:
    """Bin the true counts of training images, and compare edges.

    Parameters
    ----------
    name : str
        Of the table.
    entry : mapping
        What print has: ``edges`` by data set, and ``gamma``.
    folder : path-like, optional
        With ``Train_DATASET.txt``.

    Returns
    -------
    tuple of ComparedWithPrint and list of str
        The second says what is missing.
    """
    rows, missing, notes = [], [], []
    for dataset, printed in entry["edges"].items():
        path = None if folder is None else Path(folder) / f"Train_{dataset}.txt"
        edges = tuple[float, ...]()
        if path is None or not path.is_file():
            missing.append(f"{dataset.upper()}: no Train_{dataset}.txt")
        else:
            try:
                counts = read_truth(path).counts.values()
                edges = released_bins(floor(min(counts)), ceil(max(counts)), entry["gamma"]).edges
            except InputError as error:
                notes.append(f"{dataset.upper()} is left out: {error}")
        pairs = zip_longest(printed, edges, fillvalue=np.nan)
        rows += [
            {"edge": str(k), "column": dataset.upper(), "printed": theirs, "own": ours}
            for k, (theirs, ours) in enumerate(pairs)
        ]
    n_binned = len(entry["edges"]) - len(missing) - len(notes)
    whole = f"{n_binned} of {len(entry['edges'])} data sets" if missing or notes else ""
    table, marks = pd.DataFrame(rows).assign(decimals=1), not_as_printed(whole)
    section = ComparedWithPrint(f"table_{name}", entry["title"], table, marks=marks, notes=notes)
    return section, missing


def game_table(
    name: str,
    entry: Mapping[str, Any],
    truth: PathLike | None,
    folders: Sequence[PathLike],
    *,
    mode: str,
) -> tuple[ComparedWithPrint, list[str]]:
    """Measure density maps tile by tile, and compare with print.

    Parameters
    ----------
    name : str
        Of the table.
    entry : mapping
        What print has; see `compare_with_print`.
    truth : path-like, optional
        Folder with ``maps/DATASET/IMAGE.npy``.
    folders : sequence of path-like
        With ``MODEL/maps/DATASET_SCHEME/IMAGE.npy`` of the same shape.
    mode : {"paper", "released"}
        Tiles have even edges or, in ``released``, steps of side // 2^L.

    Returns
    -------
    tuple of ComparedWithPrint and list of str
        The second says what is missing.
    """
    figures: dict[tuple[str, str], float] = {}
    notes: list[str] = []
    for row in entry["rows"]:
        dataset, _, model = row.partition(" ")
        for scheme, label in SCHEMES.items():
            inside = Path(model, MAPS, f"{dataset.lower()}_{scheme}")
            map_folders = [path for folder in folders if (path := Path(folder, inside)).is_dir()]
            if truth is None or not map_folders:
                continue
            notes += [f"{path} is left out: {map_folders[0]} was read" for path in map_folders[1:]]
            try:
                score = _score(Path(truth, MAPS, dataset.lower()), map_folders[0], TILES[mode])
            except InputError as error:
                notes.append(f"{inside} is left out: {error}")
                continue
            for level, *values in score.compute().itertuples(index=False):
                for measure, value in zip(("mean", "std"), values, strict=True):
                    figures[row, f"L={level} {label} {measure}"] = value
    coverage = available_rows(entry, figures)
    table = compare_with_print(
        name, entry, figures, coverage, row="data set and model", notes=notes, only_own=True
    )
    return table, [] if figures else ["No density maps: expected MODEL/maps/DATASET_SCHEME/*.npy."]


def _score(truth: Path, predicted: Path, rule: str) -> GameScore:
    names = {path.name for path in truth.glob("*.npy")}
    predicted_names = {path.name for path in predicted.glob("*.npy")}
    if not names or names != predicted_names:
        raise InputError(
            f"Expected the same images in {truth} ({len(names)}) and {predicted} "
            f"({len(predicted_names)}) but they differ by "
            f"{listed(sorted(names ^ predicted_names)) or 'nothing: both are empty'}."
        )
    score = GameScore(LEVELS, rule)
    for name in sorted(names):
        score.update(name, read_density(truth / name), read_density(predicted / name))
    return score
