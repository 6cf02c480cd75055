"""The result of one model in both tests, and the tables of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from autoeval.counting.measures.bootstrap import MeasureInterval
from autoeval.counting.praco.comparing import (
    HIGHER_IS_BETTER,
    MEASURES,
    OWN_RECALL,
    PLACES,
    image_columns,
    measure_images,
    take,
)
from autoeval.counting.praco.praco_measures import (
    measure_mosaics,
    mosaics_by_image,
    negative_by_class,
    negative_by_image,
)

UNDEFINED = {
    "n_missing": "mosaics without a count",
    "n_undefined_precision": "mosaics with undefined precision",
    "n_undefined_f1": "mosaics with undefined F1",
    "n_clamped": "mosaics with a part below 0, taken as 0",
}
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


@dataclass(eq=False)
class PracoResult:
    """The answers of one model and what follows from them.

    Parameters
    ----------
    name : str
        Of the model.
    counts : DataFrame
        Predicted counts, images by classes.
    truth : DataFrame
        ``category`` and ``count`` of each image.
    mosaics : DataFrame, optional
        As `measure_mosaics` takes them; None where the model did not take the mosaic test.
    mode : {"released", "paper"}
        Of all measures.
    notes : tuple of str
        What is odd about the answers, one sentence each.

    Attributes
    ----------
    by_image : DataFrame
        `negative_by_image`, joined with `mosaics_by_image` where there are mosaics.
    measured : DataFrame or None
        `measure_mosaics`.
    """

    name: str
    counts: pd.DataFrame
    truth: pd.DataFrame
    mosaics: pd.DataFrame | None = None
    mode: str = "paper"
    notes: tuple[str, ...] = ()
    by_image: pd.DataFrame = field(init=False, repr=False)
    measured: pd.DataFrame | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        self.by_image = negative_by_image(self.counts, self.truth, self.mode)
        if self.mosaics is not None:
            self.measured = measure_mosaics(self.mosaics, self.truth)
            self.by_image = self.by_image.join(mosaics_by_image(self.measured, self.mode))

    def measures(self) -> dict[str, float]:
        """Return the measures of the published table; NaN where nothing defines one."""
        return measure_images(self.columns, self.mode)

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """Values of the images that the measures are made of, shape (N,) each."""
        return image_columns(self.by_image)

    @property
    def images(self) -> pd.Index:
        """Ids of the images."""
        return self.by_image.index

    def measure(self, rows: np.ndarray) -> dict[str, float]:
        """Return the measures of the images with the given indices, which may repeat.

        The mosaics of one upper image stay together; that an image also comes up as the lower one
        of several mosaics is not accounted for when images are resampled.
        """
        return measure_images(take(self.columns, rows), self.mode)

    def rises(self, measure: str) -> bool:
        """Tell whether a larger value of the measure is a better one."""
        return measure in HIGHER_IS_BETTER

    def undefined(self) -> dict[str, int]:
        """Count the cells that could not enter a measure, and those changed on the way there."""
        asked = self.counts.loc[self.truth.index]
        found = {
            "prompts": asked.size,
            "prompts without a count": int(self.by_image["n_undefined"].sum()),
            "prompts with a count below 0": int((asked < 0).to_numpy().sum()),
        }
        if self.measured is not None:
            found["mosaics"] = len(self.measured)
            found |= {text: int(self.by_image[flag].sum()) for flag, text in UNDEFINED.items()}
        return found


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
