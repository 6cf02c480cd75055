"""Figures 10 and 11 of the paper on binned counting: TPER curves of several files of counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from autoeval.counting.measures.tper import TperCurve, tper_curve
from autoeval.counting.reproduce.count_files import CountFile
from autoeval.counting.reproduce.drawn_figure import DrawnFigure
from autoeval.errors import InputError
from autoeval.report.parts import Part

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONVENTIONS = {"paper": "paper", "released": "absolute_released"}
UNITS = {"paper": "multiples of the true count", "released": "objects"}
FORMATS = {"AUC": "{:.2f}", "share at 100": "{:.3f}"}


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

    Returns
    -------
    figure : DrawnFigure
    missing : list of str
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
