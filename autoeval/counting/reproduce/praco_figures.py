"""Figures 4 and 6 of PrACo from prediction files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from autoeval.counting.praco.mosaic_measures import drift
from autoeval.counting.praco.result import PracoResult
from autoeval.counting.reproduce.drawn_figure import DrawnFigure
from autoeval.counting.reproduce.praco_models import PracoModels
from autoeval.report.parts import Part

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def drift_figure(
    name: str, entry: Mapping[str, Any], models: PracoModels, *, mode: str = "paper"
) -> DrawnFigure:
    """Draw how far the count of the upper image drifts in mosaics (figure 4), model by model.

    Parameters
    ----------
    name : str
    entry : mapping
        The figure in ``configs/papers/praco.py``.
    models : PracoModels
    mode : {"paper", "released"}
        ``"released"`` drops drifts of 50 and more.
    """
    values, rows = {}, []
    for model, result in models.results.items():
        if result.measured is None:
            continue
        found, left_out = drift(result.measured, result.by_image["positive"], mode)
        if len(found):
            values[model] = found
            mean, median = found.mean(), np.median(found)
            rows.append({"model": model, "n": len(found), "mean": mean, "median": median})
            rows[-1] |= {"largest": found.max(), **left_out}
    tables = [Part(f"figure_{name}", pd.DataFrame(rows), formats=_FORMATS)] if rows else []
    about = "Relative change of the count, mosaic against image alone."
    return DrawnFigure(
        f"figure_{name}",
        entry["title"],
        entry["words"],
        tables,
        partial(_draw_drift, values),
        about=about,
    )


def negative_class_figure(name: str, entry: Mapping[str, Any], models: PracoModels) -> DrawnFigure:
    """Measure the negative classes that figure 6 shows density maps of, on all images.

    Parameters
    ----------
    name : str
    entry : mapping
        The figure in ``configs/papers/praco.py``, with its ``classes``.
    models : PracoModels

    Returns
    -------
    DrawnFigure
        Mean count over true count of each class, over the images that do not hold it.
    """
    rows = [
        {"model": model, **_by_class(result, entry["classes"])}
        for model, result in models.results.items()
    ]
    formats = dict.fromkeys(entry["classes"], "{:.2f}")
    table = pd.DataFrame(rows, columns=["model", *entry["classes"]])
    return DrawnFigure(
        f"figure_{name}",
        entry["title"],
        entry["words"],
        [Part(f"figure_{name}", table, formats=formats)] if rows else [],
        partial(_draw_classes, table),
        about="Mean of the count of an absent class over the true count of the image's own class; "
        "print shows density maps of images that are not named.",
    )


def _by_class(result: PracoResult, classes: list[str]) -> dict[str, float]:
    found = {}
    for name in classes:
        absent = result.truth.index[result.truth["category"] != name]
        counts = result.counts[name].reindex(absent) if name in result.counts else np.nan
        found[name] = float((counts / result.truth["count"].reindex(absent)).mean())
    return found


def _draw_drift(values: Mapping[str, np.ndarray]) -> Figure:
    from autoeval.counting.praco.praco_charts import drift_chart

    return drift_chart(values)


def _draw_classes(table: pd.DataFrame) -> Figure:
    from matplotlib.figure import Figure

    wide = table.set_index("model")
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(wide)
    for k, (model, values) in enumerate(wide.iterrows()):
        axes.bar(np.arange(len(values)) + k * width, values, width, label=str(model))
    axes.set_xticks(np.arange(wide.shape[1]) + 0.4 - width / 2, wide.columns, rotation=20)
    axes.set_ylabel("mean count over true count")
    axes.legend(frameon=False, fontsize=9)
    return figure


_FORMATS = dict.fromkeys(("mean", "median", "largest"), "{:.3f}")
