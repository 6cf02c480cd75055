"""What a run of PrACo or PrACo++ writes: page, figures, tables, and text for the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.counting.filed_page import FiledPage, merged_notes
from autoeval.counting.journal import folder_name
from autoeval.counting.praco.data import CountingSet
from autoeval.counting.praco.plus_plus import PlusPlusResult
from autoeval.counting.praco.praco_charts import SIDE, confusion_chart, drift_chart
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
from autoeval.report.page import Heading, Headline, Text, Thumbnails, Warnings
from autoeval.report.text import Table, format_cells, to_terminal
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


def write_outcome(
    folder: Path,
    results: Sequence[PracoResult],
    counting_set: CountingSet,
    panels: Panels,
    *,
    n_resamples: int = 1000,
) -> str:
    """Write ``report.html`` with all its files; return the text for the terminal."""
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
    """Do the same for PrACo++; the parameters are those of `write_outcome`."""
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
            text = ", ".join(f"{n} {why}" for why, n in left_out.items() if n)
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
    axes.set_yticks(at, list(table["class"]), fontsize=8)
    axes.invert_yaxis()
    axes.axvline(0, color="0.3", lw=1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
    axes.set_xlabel("objects an image")
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=8)
    return figure


def data_notes(counting_set: CountingSet) -> list[str]:
    """Say what was left out of a set, and why."""
    notes = list(counting_set.warnings)
    excluded = counting_set.excluded
    for reason in sorted(set(excluded.values())):
        ids = [image_id for image_id, why in excluded.items() if why == reason]
        named = ", ".join(ids[:5]) + (", ..." if len(ids) > 5 else "")
        notes.append(f"excluded, {reason}: {len(ids)} images ({named})")
    return notes


def _text(table: pd.DataFrame, notes: Sequence[str]) -> str:
    return "\n".join([to_terminal(table), *(f"note: {note}" for note in notes)])
