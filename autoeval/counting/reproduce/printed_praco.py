"""Tables 1 to 3 and figures 4 and 6 of PrACo from prediction files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.counting.evaluation.evaluation_report import label_text
from autoeval.counting.praco.data import load_counting_set, single_class
from autoeval.counting.praco.evaluation_page import drift_chart
from autoeval.counting.praco.praco_measures import drift
from autoeval.counting.praco.released_csv import NEGATIVE, evaluate_files, file_name, find_released
from autoeval.counting.praco.result import PracoResult
from autoeval.counting.reproduce.printed_grid import (
    DrawnFigure,
    compare_with_print,
    printed_name,
)
from autoeval.errors import InputError
from autoeval.report.compared_with_print import ComparedWithPrint
from autoeval.report.page import Table
from autoeval.runtime.files import PathLike

Models = Mapping[str, PracoResult]
_FORMATS = dict.fromkeys(("mean", "median", "largest"), "{:.3f}")


def praco_table(
    name: str, entry: Mapping[str, Any], models: Models, *, mode: str
) -> ComparedWithPrint:
    """Compare the measures of models with those in print.

    Parameters
    ----------
    name : str
        Of the table.
    entry : mapping
        What print has, with the number of its ``images``; see `compare_with_print`.
    models : mapping of str to PracoResult
        By their names in print.
    mode : {"paper", "released"}
        By which they were measured.
    """
    figures = {
        (model, measure): value
        for model, result in models.items()
        for measure, value in result.measures().items()
    }
    notes = [f"{model}: {note}" for model, r in models.items() for note in r.notes]
    differing = [
        f"{model} on {len(r.images)} images ({entry['images']} in print)"
        for model, r in models.items()
        if len(r.images) != entry["images"]
    ]
    if models and mode == "paper":
        differing.append("measures as the paper defines them, not as its figures were made")
    return compare_with_print(name, entry, figures, *differing, notes=notes)


def read_models(
    data_root: PathLike | None,
    predictions: Sequence[PathLike],
    split: str,
    *,
    printed: Iterable[str],
    by_folder: str | None,
    exclude: Sequence[PathLike],
    mode: str,
) -> tuple[Models, list[str]]:
    """Measure the prediction files of one split, by the names of models in print.

    Parameters
    ----------
    data_root : path-like, optional
        FSC-147's folder.
    predictions : sequence of path-like
        Folders in the authors' form.
    split : str
        Of FSC-147.
    printed : iterable of str
        Names in print, which replace those of files whatever their case and hyphens.
    by_folder : str or None
        Model of which each folder holds another setting, called as the folder; those in `printed`
        are measured.
    exclude : sequence of path-like
        Lists of image ids; see `read_exclusions`.
    mode : {"paper", "released"}
        See `PracoResult`.

    Returns
    -------
    tuple of dict of str to PracoResult and list of str
        By name of the model; what is missing.
    """
    names = list(printed)
    if data_root is None:
        return {}, ["No folder of FSC-147: give --data-root DIR."]
    try:
        counting_set = load_counting_set(data_root, split=split, exclude=exclude, need_images=False)
        counting_set = single_class(counting_set)
    except InputError as error:
        return {}, [str(error)]
    if by_folder:
        wanted = file_name(NEGATIVE, by_folder, split)
        folders = map(Path, predictions)
        paths = [[*at.glob(wanted), *sorted(at.glob(f"*/{wanted}"))] for at in folders]
        files = [(by_folder, path) for in_folder in paths for path in in_folder]
    else:
        files = [
            (model, path)
            for folder in predictions
            for model, path in find_released(folder, split).items()
        ]
    results: dict[str, PracoResult] = {}
    warnings: list[str] = []
    for model, path in files:
        name = printed_name(path.parent.name if by_folder else model, names)
        if by_folder and name not in names:
            continue
        if name in results:
            warnings.append(f"{path} of {name} is left out: an earlier folder has it, too")
            continue
        try:
            results[name] = evaluate_files(path.parent, model, counting_set, mode=mode)
        except InputError as error:
            warnings.append(f"{name}: {error}")
    if not results and not warnings:
        inside = f"{' or '.join(names)}/" if by_folder else ""
        warnings.append(
            f"No prediction file {inside}{file_name(NEGATIVE, by_folder or 'MODEL', split)}."
        )
    return results, warnings


def drift_figure(name: str, entry: Mapping[str, Any], models: Models, *, mode: str) -> DrawnFigure:
    """Draw the drift of the upper count, model by model (figure 4).

    Parameters
    ----------
    name : str
        Of the figure.
    entry : mapping
        See `DrawnFigure`.
    models : mapping of str to PracoResult
    mode : {"paper", "released"}
        See `drift`.
    """
    values, rows = {}, []
    for model, result in models.items():
        if result.measured is None:
            continue
        drifts, left_out = drift(result.measured, result.by_image["positive"], mode)
        if len(drifts):
            values[model] = drifts
            middle = {"mean": drifts.mean(), "median": np.median(drifts), "largest": drifts.max()}
            rows.append({"model": model, "n": len(drifts), **middle, **left_out})
    tables = [Table(f"figure_{name}", pd.DataFrame(rows), formats=_FORMATS)] if rows else []
    about = "Relative change of the count, mosaic against image alone."
    return DrawnFigure(f"figure_{name}", entry, tables, partial(drift_chart, values), about)


def negative_class_figure(name: str, entry: Mapping[str, Any], models: Models) -> DrawnFigure:
    """Measure the negative classes that figure 6 shows density maps of, on all images.

    Parameters
    ----------
    name : str
        Of the figure.
    entry : mapping
        With ``classes``; see `DrawnFigure`.
    models : mapping of str to PracoResult
    """
    classes, rows = entry["classes"], []
    for model, result in models.items():
        row: dict[str, Any] = {"model": model}
        for kind in classes:
            truth = result.truth[result.truth["category"] != kind]
            counts = result.counts[kind].reindex(truth.index) if kind in result.counts else np.nan
            row[kind] = float((counts / truth["count"]).mean())
        rows.append(row)
    table = pd.DataFrame(rows, columns=["model", *classes])
    part = Table(f"figure_{name}", table, formats=dict.fromkeys(classes, "{:.2f}"))
    about = (
        "Mean of the count of an absent class over the true count of the image's own class; print "
        "shows density maps of images that are not named."
    )
    draw = partial(_draw_classes, table)
    return DrawnFigure(f"figure_{name}", entry, [part] if rows else [], draw, about)


def _draw_classes(table: pd.DataFrame) -> Figure:
    wide = table.set_index("model")
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(wide)
    for k, (model, values) in enumerate(wide.iterrows()):
        label = label_text(str(model))
        axes.bar(np.arange(len(values)) + k * width, values, width, label=label)
    axes.set_xticks(np.arange(wide.shape[1]) + 0.4 - width / 2, wide.columns, rotation=20)
    axes.set_ylabel("mean count over true count")
    axes.legend(frameon=False, fontsize=9)
    return figure
