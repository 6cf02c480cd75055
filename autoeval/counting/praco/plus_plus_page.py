"""The tables and the report page of PrACo++."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.counting.filed_page import FiledPage, merged_notes
from autoeval.counting.journal import folder_name
from autoeval.counting.measures.bootstrap import MeasureInterval
from autoeval.counting.praco.data import CountingSet
from autoeval.counting.praco.plus_plus_result import PlusPlusResult
from autoeval.counting.praco.praco_tables import difference_table, interval_table
from autoeval.data.wording import listed

ABOUT = (
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


def table_of_measures(results: Sequence[PlusPlusResult]) -> pd.DataFrame:
    """One row for each model."""
    return pd.DataFrame([{"model": result.name, **result.measures()} for result in results])


def notes_on(counting_set: CountingSet, mode: str) -> list[str]:
    """Say which images hold every class, and what becomes of them."""
    classes = set(counting_set.classes)
    full = [image.image_id for image in counting_set.kept if classes <= set(image.points)]
    if not full:
        return []
    return [f"{len(full)} images hold every class ({listed(full)}): {EVERY_CLASS[mode]}"]


def plus_plus_page(
    results: Sequence[PlusPlusResult],
    counting_set: CountingSet,
    *,
    intervals: Mapping[str, Mapping[str, MeasureInterval]],
    differences: pd.DataFrame,
    notes: Sequence[str] = (),
) -> FiledPage:
    """Build the page; the parameters are those of `evaluation_page.praco_page`."""
    page = FiledPage(f"PrACo++ on {counting_set.name}")
    for result in results:
        found = result.measures()
        page.add_headline(
            result.name,
            f"NMN {found['NMN macro']:.3f}",
            f"macro; PCCN {found['PCCN one at a time']:.1f} %, MAE {found['MAE macro']:.2f}",
        )
    page.add_warnings([*notes, *merged_notes((r.name, r.notes) for r in results)])
    n = [len(image.points) for image in counting_set.kept]
    page.add_text(
        f"{len(n)} images of {min(n)} to {max(n)} classes each (on average {np.mean(n):.1f}); "
        f"{len(counting_set.classes)} prompts.",
        *ABOUT,
    )
    page.tables["measures"] = table_of_measures(results)
    caption = "With 95 % intervals: bootstrap over images"
    page.file_table("intervals", interval_table(intervals), caption, sortable=False)
    if len(differences):
        caption = "Differences on the same images with 95 % intervals: paired bootstrap"
        shown = difference_table(differences)
        page.file_table("differences", differences, caption, shown=shown, sortable=False)
    for result in results:
        page.add_heading(result.name)
        table = result.by_class()
        page.file_figure(
            f"classes_{folder_name(result.name)}",
            class_chart(table),
            "Right: error where the class is there. Left: what is counted where it is not.",
        )
        page.add_table(table, "By class")
    return page


def class_chart(table: pd.DataFrame) -> Figure:
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
