"""Tables II, IV, V and figures 10, 11 of the paper on binned counting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from autoeval.counting.binning.paper import published_bins
from autoeval.counting.measures.binned import bin_table, pooled
from autoeval.counting.measures.overall import absolute_error
from autoeval.counting.measures.tper import TperCurve, tper_curve
from autoeval.counting.reproduce.count_files import SCHEMES, CountFile
from autoeval.counting.reproduce.printed_grid import (
    DrawnFigure,
    Own,
    beside,
    not_as_printed,
    rows_at_hand,
)
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.report.printed_beside import Beside
from autoeval.report.sections import Part

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONVENTIONS = {"paper": "paper", "released": "absolute_released"}
UNITS = {"paper": "multiples of the true count", "released": "objects"}
FORMATS = {"AUC": "{:.2f}", "share at 100": "{:.3f}"}


def pooled_figures(
    files: Sequence[CountFile], *, mode: str = "paper"
) -> tuple[dict[tuple[str, str], float], list[str]]:
    """Measure predicted counts on the published bins of their data set.

    Parameters
    ----------
    files : sequence of CountFile
    mode : {"paper", "released"}
        What becomes of true counts outside the bins; see `bin_table`.
    """
    own: dict[tuple[str, str], float] = {}
    problems: list[str] = []
    for file in files:
        try:
            values = _measured(file, mode)
        except InputError as error:
            problems.append(f"{file.path.name} of {file.model} is left out: {error}")
            continue
        row = f"{file.dataset.upper()} {file.model}"
        own |= {(row, column): value for column, value in values.items()}
    return own, problems


def binned_table(
    name: str, entry: Mapping[str, Any], own: Own, *, mode: str = "paper", notes: Sequence[str] = ()
) -> Beside:
    """Put pooled and global errors beside Table II.

    Parameters
    ----------
    name : str
    entry : mapping
        The table in ``configs/papers/binned.py``.
    own : mapping of (str, str) to float
        As `pooled_figures` returns them.
    mode : {"paper", "released"}
    notes : sequence of str
    """
    elsewhere = [row for row in entry["global_of_others"] if (row, "global MAE") in own]
    marks = _marks(entry, {row for row, _ in own}, mode)
    notes = [*notes, *_of_others(elsewhere)]
    return beside(
        name, entry, own, row="data set and model", marks=marks, notes=notes, only_own=True
    )


def ablation_table(name: str, entry: Mapping[str, Any], own: Own, *, mode: str = "paper") -> Beside:
    """Fill the cells of an ablation that repeat figures of Table II; see `binned_table`."""
    repeated = {
        (row, f"{column} {measure}"): own[entry["repeats"], f"{scheme} {measure}"]
        for row, columns in entry["cells"].items()
        for column, scheme in columns.items()
        for measure in ("MAE", "std")
        if (entry["repeats"], f"{scheme} {measure}") in own
    }
    marks = _marks(entry, {row for row, _ in repeated}, mode)
    return beside(name, entry, repeated, row="setting", marks=marks)


def _measured(file: CountFile, mode: str) -> dict[str, float]:
    target, pred = file.read()
    mean, std = pooled(bin_table(target, pred, published_bins(file.dataset), mode))
    label = SCHEMES[file.scheme]
    values = {f"{label} MAE": mean, f"{label} std": std}
    if file.scheme == "unbinned":
        overall = absolute_error(target, pred)
        values |= {"global MAE": overall["MAE"], "global std": overall["std"]}
    return values


def _marks(entry: Mapping[str, Any], rows: set[str], mode: str) -> str:
    kept = "true counts outside the bins kept in bins of their own" if mode == "paper" else ""
    return not_as_printed(rows_at_hand(entry, rows), kept if rows else "")


def _of_others(rows: Sequence[str]) -> list[str]:
    if not rows:
        return []
    return [
        "print has the global figures of models that others released, ours are those of these "
        f"predictions: {listed(rows, most=9)}"
    ]


def tper_figure(
    name: str, entry: Mapping[str, Any], files: Sequence[CountFile], *, mode: str = "paper"
) -> tuple[DrawnFigure, list[str]]:
    """Draw the curves of the files that a figure is made of.

    Parameters
    ----------
    name : str
        Number of the figure.
    entry : mapping
        The figure in ``configs/papers/binned.py``; ``models`` or ``datasets`` choose files.
    files : sequence of CountFile
    mode : {"paper", "released"}
        Equation 12, or the error in objects that the authors' code compares.
    """
    curves: dict[str, TperCurve] = {}
    problems: list[str] = []
    for file in files:
        if file.scheme == "unbinned" and _is_in(entry, file):
            try:
                target, pred = file.read()
            except InputError as error:
                problems.append(f"{file.path.name} of {file.model} is left out: {error}")
                continue
            label = file.dataset.upper() if "models" in entry else file.model
            curves[label] = tper_curve(target, pred, convention=CONVENTIONS[mode])
    figure = DrawnFigure(
        f"figure_{name}",
        entry["title"],
        entry["words"],
        _tables(f"figure_{name}", curves) if curves else (),
        partial(_draw, curves, UNITS[mode]),
        about=f"Share of images whose error is at least θ, in {UNITS[mode]}.",
        notes=problems,
    )
    wanted = "BL" if "models" in entry else "any network on JHU"
    return figure, [] if curves else [f"No unbinned predictions of {wanted}."]


def _tables(name: str, curves: Mapping[str, TperCurve]) -> list[Part]:
    rows = [
        {"predictions": label, "AUC": c.auc, "share at 100": c.ratio[-1], "images": c.n_images}
        for label, c in curves.items()
    ]
    points = [
        pd.DataFrame({"predictions": label, "threshold": c.thresholds, "share": c.ratio})
        for label, c in curves.items()
    ]
    return [
        Part(name, pd.DataFrame(rows), formats=FORMATS),
        Part(f"{name}_curves", pd.concat(points, ignore_index=True)),
    ]


def _draw(curves: Mapping[str, TperCurve], unit: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for label, curve in curves.items():
        axes.plot(curve.thresholds, curve.ratio, lw=2, label=f"{label}, AUC {curve.auc:.2f}")
    axes.set(xlim=(0, 100), ylim=(0, 1.02), xlabel=f"θ, {unit}")
    axes.set_ylabel("share of images with an error of at least θ")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=9)
    return figure


def _is_in(entry: Mapping[str, Any], file: CountFile) -> bool:
    models = entry.get("models", [file.model])
    return file.model in models and file.dataset in entry.get("datasets", [file.dataset])
