"""What a run of PrACo or PrACo++ writes: page, charts, tables, and text for the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.counting.counters import CountResult
from autoeval.counting.filed_page import FiledPage, merged_notes
from autoeval.counting.praco.data import CountingSet
from autoeval.counting.praco.mosaic_run import MosaicRecipe, halves, make_mosaic
from autoeval.counting.praco.plus_plus import PlusPlusResult
from autoeval.counting.praco.praco_measures import confusion, drift
from autoeval.counting.praco.result import (
    FORMATS,
    MEASURES,
    Measured,
    PracoResult,
    class_table,
    compare,
    difference_table,
    interval_table,
    intervals_of,
    measures_table,
    undefined_table,
)
from autoeval.counting.prompting import PromptedCounter, folder_name
from autoeval.io.images import read_image
from autoeval.report.page import (
    Heading,
    Headline,
    Table,
    Text,
    Thumbnails,
    Warnings,
    format_cells,
    to_terminal,
)
from autoeval.runtime.files import write_table
from autoeval.words import listed

Panels = Mapping[str, Sequence[tuple[np.ndarray, str]]]
ABOUT = (
    "Negative-label test: every class is asked for in every image. NMN is the mean count of absent "
    "classes over the true count (0 is best); PCCN is the share of images where the count of the "
    "right class is nearer the truth than the mean count of absent ones.",
    "Mosaic test: an image above one of another class, and the class of the upper one is asked "
    "for. What is counted below, and above beyond the truth, lowers the precision CntP; what is "
    "missed above lowers the recall CntR. MAE and RMSE are those of the right class alone.",
)
MODES = {
    "released": "Measures as the authors' code computes them. Its recall counts every empty cell, "
    "also that of the positive class, as a mosaic with recall 1; the intervals hold the recall "
    "without them (spurious cells), too. CntF1 is the mean over mosaics.",
    "paper": "Measures as the paper prints them. CntF1 is the harmonic mean of CntP and CntR.",
}
ABOUT_PLUS_PLUS = (
    "Every class is asked for in every image. MNP is the mean count of the classes that an image "
    "does not hold, NMN the same over the number of objects in it (0 is best). PCCN is the share "
    "of images where the counts of the classes that are there are nearer the truth than those of "
    "absent classes. MAE and RMSE are of the classes that are there. Macro measures are means over "
    "images, micro ones over all pairs of image and class.",
    "Localised measures compare counts tile by tile: MAE is the sum over tiles of the absolute "
    "errors of a class, precision the share of what is counted in a tile that is there, recall the "
    "share of what is there that is counted in its tile.",
)
EVERY_CLASS = {
    "released": "they count as 0 in the macro MNP and NMN and as failures in PCCN, as in the "
    "authors' code",
    "paper": "they have no absent class and are left out of MNP, NMN and PCCN",
}
MOST_WRITTEN = 14
# Inches that a page of 1,100 pixels shows without shrinking letters below legibility.
PAGE_WIDTH = 10.5
UPPER_COLOR = (200, 110, 30)  # BGR: blue
LOWER_COLOR = (20, 90, 230)  # BGR: dark orange
SIDE = 480


def write_outcome(
    folder: Path,
    results: Sequence[PracoResult],
    counting_set: CountingSet,
    panels: Panels,
    *,
    n_resamples: int = 1000,
) -> str:
    """Write ``report.html`` with all its files.

    Parameters
    ----------
    folder : Path
        Tables of each model go into a folder of its own within it.
    results : sequence of PracoResult
        Of each model; at least one, all in one mode.
    counting_set : CountingSet
        That they are of.
    panels : mapping of str to sequence of tuple of ndarray and str
        Pictures of mosaics, (H, W, 3) uint8 BGR, and captions, by model.
    n_resamples : int
        Draws of the bootstrap.

    Returns
    -------
    str
        The text for the terminal.
    """
    for result in results:
        model_folder = folder / folder_name(result.name)
        write_table(model_folder / "per_image.csv", result.by_image.reset_index(names="image"))
        write_table(model_folder / "per_class.csv", class_table(result).reset_index())
    notes = [*data_notes(counting_set), *merged_notes((r.name, r.notes) for r in results)]
    page = FiledPage(f"PrACo on {counting_set.name}")
    for result in results:
        measures = result.measures()
        remarks = [f"PCCN {measures['PCCN']:.1f} %"]
        if not math.isnan(measures.get("CntF1", math.nan)):
            remarks.append(f"CntF1 {measures['CntF1']:.3f}")
        value = f"NMN {measures['NMN']:.3f}"
        page.blocks.append(Headline(result.name, value, ", ".join(remarks)))
    page.blocks.append(Warnings(notes))
    kept, with_images = counting_set.kept, {image.category for image in counting_set.kept}
    absent = [name for name in counting_set.classes if name not in with_images]
    text = f"{len(kept)} images of {len(with_images)} classes; {len(counting_set.classes)} prompts."
    if absent:
        text += f" Asked for but in no image: {listed(absent, most=30)}."
    if counting_set.excluded:
        names = listed(counting_set.excluded, most=20)
        text += f" Excluded: {len(counting_set.excluded)} images ({names})."
    page.blocks += map(Text, (text, *ABOUT, MODES[results[0].mode]))
    table = measures_table(results)
    shown = table[["model", *MEASURES]]
    page.file_table("measures", table, "Measures", shown=shown, formats=FORMATS)
    _add_intervals(page, results, n_resamples)
    caption = "Cells that are undefined or were changed"
    page.file_table("undefined", undefined_table(results), caption)
    _add_charts(page, results)
    for name, pictures in panels.items():
        caption = f"Mosaics, {name}: the lowest precisions, then a spread over all others"
        page.blocks.append(Thumbnails(pictures, caption, SIDE))
    page.write_all(folder)
    return _text(format_cells(table, FORMATS), notes)


def write_plus_plus(
    folder: Path,
    results: Sequence[PlusPlusResult],
    counting_set: CountingSet,
    *,
    n_resamples: int = 1000,
) -> str:
    """Write ``report.html`` with all its files for PrACo++.

    Parameters
    ----------
    folder, results, counting_set, n_resamples
        As `write_outcome` takes them, but for results of PrACo++.

    Returns
    -------
    str
        The text for the terminal.
    """
    for result in results:
        model_folder = folder / folder_name(result.name)
        write_table(model_folder / "per_image.csv", result.by_image.reset_index())
        write_table(model_folder / "per_class.csv", result.by_class())
        if result.localised is not None:
            write_table(model_folder / "localised.csv", result.localised)
    notes, classes = data_notes(counting_set), set(counting_set.classes)
    full = [image.image_id for image in counting_set.kept if classes <= set(image.points)]
    if full:
        fate = EVERY_CLASS[results[0].mode]
        notes.append(f"{len(full)} images hold every class ({listed(full)}): {fate}")
    notes += merged_notes((r.name, r.notes) for r in results)
    measures = pd.DataFrame([{"model": r.name, **r.measures()} for r in results])
    page = FiledPage(f"PrACo++ on {counting_set.name}")
    for name, measured in measures.set_index("model").iterrows():
        note = (
            f"macro; PCCN {measured['PCCN one at a time']:.1f} %, MAE {measured['MAE macro']:.2f}"
        )
        page.blocks.append(Headline(str(name), f"NMN {measured['NMN macro']:.3f}", note))
    page.blocks.append(Warnings(notes))
    n = [len(image.points) for image in counting_set.kept]
    text = (
        f"{len(n)} images of {min(n)} to {max(n)} classes each (on average {np.mean(n):.1f}); "
        f"{len(counting_set.classes)} prompts."
    )
    page.blocks += map(Text, (text, *ABOUT_PLUS_PLUS))
    page.file_rows("measures", measures)
    _add_intervals(page, results, n_resamples)
    for result in results:
        page.blocks.append(Heading(result.name))
        table = result.by_class()
        page.file_figure(
            f"classes_{folder_name(result.name)}",
            _class_chart(table),
            "Right: error where the class is there. Left: what is counted where it is not.",
        )
        page.blocks.append(Table("", table, caption="By class"))
    page.write_all(folder)
    columns = measures.set_index("model").T.rename_axis("measure", axis=0).reset_index()
    return _text(format_cells(columns, {r.name: "{:.3f}" for r in results}), notes)


def _add_intervals(page: FiledPage, results: Sequence[Measured], n_resamples: int) -> None:
    intervals = {r.name: intervals_of(r, n_resamples=n_resamples) for r in results}
    caption = "With 95 % intervals: bootstrap over images"
    page.file_table("intervals", interval_table(intervals), caption, sortable=False)
    differences = compare(results, n_resamples=n_resamples)
    if len(differences):
        shown = difference_table(differences)
        caption = "Differences on the same images with 95 % intervals: paired bootstrap"
        page.file_table("differences", differences, caption, shown=shown, sortable=False)


def _add_charts(page: FiledPage, results: Sequence[PracoResult]) -> None:
    drifts = {}
    for result in results:
        page.blocks.append(Heading(result.name))
        page.file_figure(
            f"confusion_{folder_name(result.name)}",
            confusion_chart(confusion(result.counts, result.truth)),
            "Mean of predicted over true count: the diagonal should be 1, the rest 0",
        )
        page.blocks.append(Table("", class_table(result), None, FORMATS, "By true class"))
        if result.measured is not None:
            positive = result.by_image["positive"]
            drifts[result.name], left_out = drift(result.measured, positive, result.mode)
            text = ", ".join(f"{n} {reason}" for reason, n in left_out.items() if n)
            left = f"Drift of {result.name}, mosaics left out: {text or 'none'}."
            page.blocks.append(Text(left))
    if any(len(values) for values in drifts.values()):
        page.blocks.append(Heading("Drift of the right count in mosaics"))
        page.file_figure(
            "drift",
            drift_chart(drifts),
            "How much the count of the upper image changes when another image is below it",
            image_format="png",
        )


def _class_chart(table: pd.DataFrame) -> Figure:
    """Draw, by class, the mean count where it is absent to the left and the MAE to the right."""
    figure = Figure(figsize=(8, 1.2 + 0.24 * len(table)), layout="constrained")
    axes = figure.subplots()
    at = np.arange(len(table))
    for column, sign, color in (("mean count where absent", -1, "#c6591a"), ("MAE", 1, "#1a4f7a")):
        axes.barh(at, sign * table[column].abs().fillna(0), color=color, label=column)
    axes.set_yticks(at, list(table["class"]), fontsize=8, parse_math=False)
    axes.invert_yaxis()
    axes.axvline(0, color="0.3", lw=1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
    axes.set_xlabel("objects an image")
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=8)
    return figure


def data_notes(counting_set: CountingSet) -> list[str]:
    """Say what was left out of a set, and why.

    Parameters
    ----------
    counting_set : CountingSet
    """
    notes = list(counting_set.warnings)
    excluded = counting_set.excluded
    for reason in sorted(set(excluded.values())):
        ids = [image_id for image_id, image_reason in excluded.items() if image_reason == reason]
        named = ", ".join(ids[:5]) + (", ..." if len(ids) > 5 else "")
        notes.append(f"excluded, {reason}: {len(ids)} images ({named})")
    return notes


def _text(table: pd.DataFrame, notes: Sequence[str]) -> str:
    return "\n".join([to_terminal(table), *(f"note: {note}" for note in notes)])


def confusion_chart(matrix: pd.DataFrame) -> Figure:
    """Draw a heat map; the colours end at 1.5.

    Parameters
    ----------
    matrix : DataFrame
        Of `confusion`.
    """
    n_rows, n_columns = matrix.shape
    size = (min(3.2 + 0.42 * n_columns, PAGE_WIDTH), 2.2 + min(0.34, 9 / n_rows) * n_rows)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(matrix.to_numpy(), cmap="Blues", vmin=0, vmax=1.5, aspect="auto")
    # A name that stands upright needs a line of letters, 0.15 inches, and no more.
    steep: dict[str, Any] = (
        {"rotation": 90, "ha": "center"}
        if n_columns > MOST_WRITTEN
        else {"rotation": 60, "ha": "right"}
    )
    plain: dict[str, Any] = {"fontsize": 8, "parse_math": False}
    axes.set_xticks(range(n_columns), list(matrix.columns), **plain, **steep)
    axes.set_yticks(range(n_rows), list(matrix.index), **plain)
    axes.set(xlabel="class asked for", ylabel="true class")
    if n_columns <= MOST_WRITTEN:
        for (row, column), value in np.ndenumerate(matrix.to_numpy()):
            if not np.isnan(value):
                shade, text = "white" if value > 0.8 else "black", f"{value:.2f}"
                axes.text(column, row, text, ha="center", va="center", fontsize=7, color=shade)
    bar: dict[str, Any] = {
        "label": "predicted / true count",
        "extend": "max",
        "shrink": 0.9,
        "fraction": 0.05,
    }
    figure.colorbar(image, ax=axes, **bar)
    return figure


def drift_chart(values: Mapping[str, np.ndarray]) -> Figure:
    """Draw the distribution of the drift of each model, with whiskers and outliers.

    Parameters
    ----------
    values : mapping of str to ndarray of shape (M,)
        Of `drift`, by model.
    """
    names = list(values)
    figure = Figure(figsize=(8, 1.4 + 0.6 * len(names)), layout="constrained")
    axes = figure.subplots()
    axes.boxplot(
        [values[name] for name in names],
        orientation="horizontal",
        widths=0.55,
        showmeans=True,
        medianprops={"color": "#1a4f7a", "lw": 2},
        meanprops={"marker": "D", "markerfacecolor": "#c6591a", "markeredgecolor": "white"},
        flierprops={"marker": ".", "markersize": 3, "alpha": 0.35, "markeredgecolor": "#555"},
    )
    labels = [f"{name}\n{len(values[name])} mosaics" for name in names]
    axes.set_yticks(range(1, len(names) + 1), labels, fontsize=8, parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel("relative change of the count, mosaic against image alone (diamond: mean)")
    axes.set_xlim(left=-0.02)
    axes.grid(axis="x", alpha=0.3)
    return figure


def choose_mosaics(measured: pd.DataFrame, n: int = 6) -> pd.DataFrame:
    """Choose mosaics of different upper images: the worst precisions, then a spread.

    Parameters
    ----------
    measured : DataFrame
        Of `measure_mosaics`.
    n : int
        How many at most; a third of them are the worst.

    Returns
    -------
    DataFrame
        Rows of `measured`, by rising precision.
    """
    ordered = measured.dropna(subset=["precision"]).sort_values("precision", kind="stable")
    ordered = ordered.drop_duplicates("positive")
    n_worst = min(len(ordered), n // 3)
    rest = np.linspace(n_worst, len(ordered) - 1, min(n - n_worst, len(ordered) - n_worst))
    return ordered.iloc[[*range(n_worst), *rest.round().astype(int)]]


def mosaic_panels(
    prompted: PromptedCounter, counting_set: CountingSet, chosen: pd.DataFrame
) -> list[tuple[np.ndarray, str]]:
    """Count in mosaics again and draw the results.

    Parameters
    ----------
    prompted : PromptedCounter
    counting_set : CountingSet
        With the files of the images.
    chosen : DataFrame
        Of `choose_mosaics`.

    Returns
    -------
    list of tuple of ndarray and str
        Pictures (H, W, 3), uint8, BGR, and captions.
    """
    paths = counting_set.paths
    panels = []
    for row in chosen.itertuples():
        recipe = MosaicRecipe(*(getattr(row, each.name) for each in fields(MosaicRecipe)))
        top, bottom = read_image(paths[row.positive]), read_image(paths[row.negative])
        request, seam = make_mosaic(recipe, top, bottom)
        [[result]] = prompted.count([request])
        upper, lower = halves(result, len(request.image), seam)
        caption = (
            f"“{row.positive_class}” above “{row.negative_class}”: {upper:.4g} of {row.count:.0f} "
            f"above, {lower:.4g} of 0 below"
        )
        panels.append((draw_panel(request.image, seam, result), caption))
    return panels


def draw_panel(mosaic: np.ndarray, seam: int, result: CountResult) -> np.ndarray:
    """Draw a counter's result into a mosaic, blue above the seam and orange below.

    Parameters
    ----------
    mosaic : ndarray of shape (H, W, 3), uint8
        BGR.
    seam : int
        Row at which the lower image starts.
    result : CountResult
        Boxes, else points, else the density map are drawn.

    Returns
    -------
    ndarray of shape (h, w, 3), uint8
        BGR; its longer side has `SIDE` pixels.
    """
    scale = SIDE / max(mosaic.shape[:2])
    picture = cv2.resize(mosaic, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    if result.boxes is not None:
        for x1, y1, x2, y2 in (np.asarray(result.boxes) * scale).reshape(-1, 4):
            color = UPPER_COLOR if (y1 + y2) / 2 < seam * scale else LOWER_COLOR
            cv2.rectangle(picture, (round(x1), round(y1)), (round(x2), round(y2)), color, 2)
    elif result.points is not None:
        for x, y in (np.asarray(result.points) * scale).reshape(-1, 2):
            color = UPPER_COLOR if y < seam * scale else LOWER_COLOR
            cv2.circle(picture, (round(x), round(y)), 4, color, -1, cv2.LINE_AA)
    elif result.density is not None:  # a map over the picture, each pixel as strong as its density
        dense = np.asarray(result.density, np.float32).clip(0)
        dense = cv2.resize(dense, (picture.shape[1], picture.shape[0]))
        strength = dense / dense.max() if dense.max() > 0 else dense
        heat = cv2.applyColorMap((255 * strength).astype(np.uint8), cv2.COLORMAP_JET)
        weight = 0.65 * np.sqrt(strength)[..., None]
        picture = (picture * (1 - weight) + heat * weight).round().astype(np.uint8)
    line = round(seam * scale)
    cv2.line(picture, (0, line), (picture.shape[1], line), (255, 255, 255), 2)
    upper, lower = halves(result, len(mosaic), seam)
    _write(picture, f"{upper:.4g}", 4, UPPER_COLOR)
    _write(picture, f"{lower:.4g}", line + 4, LOWER_COLOR)
    return picture


def _write(picture: np.ndarray, text: str, top: int, color: tuple[int, int, int]) -> None:
    font, white = cv2.FONT_HERSHEY_SIMPLEX, (255, 255, 255)
    (width, height), _ = cv2.getTextSize(text, font, 0.6, 2)
    left = picture.shape[1] - width - 14
    cv2.rectangle(picture, (left, top), (picture.shape[1] - 4, top + height + 10), color, -1)
    where = (left + 5, top + height + 5)
    cv2.putText(picture, text, where, font, 0.6, white, 2, cv2.LINE_AA)
