"""The tables of an evaluation: published form, intervals, undefined cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from autoeval.counting.measures.bootstrap import MeasureInterval
from autoeval.counting.praco.comparing import MEASURES, OWN_RECALL, PLACES
from autoeval.counting.praco.praco_measures import negative_by_class
from autoeval.counting.praco.result import PracoResult

FORMATS = {
    "NMN": "{:.3f}",
    "PCCN": "{:.2f}",
    "CntP": "{:.3f}",
    "CntR": "{:.3f}",
    "CntF1": "{:.3f}",
    "MAE": "{:.2f}",
    "RMSE": "{:.2f}",
    OWN_RECALL: "{:.3f}",
    **dict.fromkeys(PLACES, "{:.3f}"),
    "localised MAE": "{:.2f}",
    "recall alone": "{:.3f}",
    "recall in mosaics": "{:.3f}",
    "counted below (%)": "{:.1f}",
    "mean_count": "{:.1f}",
}


def measures_table(results: Sequence[PracoResult]) -> pd.DataFrame:
    """One row for each model; the published table's columns, then what PrACo++ adds."""
    rows = [{"model": result.name, **result.measures()} for result in results]
    table = pd.DataFrame(rows)
    last = [name for name in (OWN_RECALL, *PLACES) if name in table]
    return table.reindex(columns=["model", *MEASURES, *last])


def interval_table(named: Mapping[str, Mapping[str, MeasureInterval]]) -> pd.DataFrame:
    """One row for each measure, one column for each model: value and 95 % interval as text.

    The measures of the published table come first.
    """
    columns = {
        name: pd.Series({key: _text(key, interval) for key, interval in intervals.items()})
        for name, intervals in named.items()
    }
    table = pd.DataFrame(columns).dropna(how="all")
    first = [m for m in (*MEASURES, OWN_RECALL, *PLACES) if m in table.index]
    table = table.reindex([*first, *(m for m in table.index if m not in first)])
    return table.fillna("–").rename_axis("measure").reset_index()


def difference_table(differences: pd.DataFrame) -> pd.DataFrame:
    """Put the table of `compare` into words: one column for both models, one for the interval."""
    text = [
        _text(row.measure, MeasureInterval(row.difference, row.low, row.high))
        for row in differences.itertuples()
    ]
    return pd.DataFrame(
        {
            "A − B": differences["A"] + " − " + differences["B"],
            "measure": differences["measure"],
            "difference": text,
            "better": differences["better"].replace("", "–"),
        }
    )


def undefined_table(results: Sequence[PracoResult]) -> pd.DataFrame:
    """One row for each kind of cell, one column for each model: how many there are."""
    columns = {result.name: pd.Series(result.undefined(), dtype="Int64") for result in results}
    table = pd.DataFrame(columns)
    order = max((list(result.undefined()) for result in results), key=len)
    return table.reindex(order).rename_axis("cells").reset_index()


def class_table(result: PracoResult) -> pd.DataFrame:
    """One row for each true class: the measures of its images, and what is counted instead.

    ``recall alone`` is that of each image by itself, against ``recall in mosaics`` (without the
    spurious cell); ``counted below (%)`` is the share of mosaics in whose lower part anything is
    counted, ``most confused with`` the class that most often has the highest wrong count.
    """
    table = negative_by_class(result.by_image)
    by_image = result.by_image
    found = np.minimum(by_image["positive"].clip(lower=0), by_image["count"]) / by_image["count"]
    groups = by_image.assign(alone=found).groupby("category", sort=False)
    table["recall alone"] = groups["alone"].mean()
    if result.measured is not None:
        table["CntP"] = groups["precision"].mean()
        table["CntR"] = groups["recall"].mean()
        table["CntF1"] = groups["f1"].mean()
        table["recall in mosaics"] = groups["own_recall"].mean()
        below = (result.measured["lower"] > 0).groupby(result.measured["positive_class"])
        table["counted below (%)"] = 100 * below.mean()
    wrong = by_image[by_image["negative_max"] > 0]
    most = wrong.groupby("category")["negative_class"].agg(lambda names: names.mode().iloc[0])
    table["most confused with"] = most.reindex(table.index).fillna("–")
    return table.rename_axis("true class")


def image_table(result: PracoResult) -> pd.DataFrame:
    """One row for each image, everything that was measured on it."""
    return result.by_image.reset_index(names="image")


def _text(measure: str, interval: MeasureInterval) -> str:
    if interval.value != interval.value:
        return "–"
    spec = FORMATS.get(measure, "{:.3f}")
    value, low, high = (spec.format(x) for x in (interval.value, interval.low, interval.high))
    return f"{value} [{low}, {high}]"
