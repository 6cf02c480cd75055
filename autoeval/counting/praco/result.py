"""The result of one model in both tests, the tables of several, and their differences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.counting.measures.bootstrap import MeasureInterval, bootstrap_intervals
from autoeval.counting.praco.praco_measures import (
    LOCALISED,
    UNDEFINED,
    measure_mosaics,
    mosaics_by_image,
    negative_by_class,
    negative_by_image,
    quotient,
)

Columns = Mapping[str, np.ndarray]
OWN_RECALL = "CntR without the spurious cell"
MEASURES = ("NMN", "PCCN", "CntP", "CntR", "CntF1", "MAE", "RMSE")
# Measures of PrACo++, and the columns of images that they are means of.
PLACES = dict(
    zip(("localised MAE", *(f"localised {m}" for m in MEASURES[2:5])), LOCALISED, strict=True)
)
HIGHER_IS_BETTER = ("PCCN", "CntP", "CntR", "CntF1", OWN_RECALL, *(m for m in PLACES if "Cnt" in m))
# Of an answer about parts of images: its counts, and what it is about.
PARTS = ("upper", "lower")
PART_KEY = ("positive", "negative", "negative_class", "layout", "image", "class")
COLUMNS = ("nmn", "near", "error", "precision", "recall", "own_recall", "f1", *PLACES.values())
FORMATS = {
    **dict.fromkeys((*MEASURES, OWN_RECALL, *PLACES), "{:.3f}"),
    **dict.fromkeys(("recall alone", "recall in mosaics"), "{:.3f}"),
    **dict.fromkeys(("PCCN", "MAE", "RMSE", "localised MAE"), "{:.2f}"),
    **dict.fromkeys(("counted below (%)", "mean_count"), "{:.1f}"),
}


class Measured:
    """Answers of one model that can be measured on any choice of images.

    Attributes
    ----------
    name : str
        Of the model.
    by_image : DataFrame
        One row an image.
    columns : dict of str to ndarray of shape (N,)
        The values of the images that the measures are made of.
    counts : DataFrame
        Images (rows) by classes, NaN where there is no count.
    mode : {"paper", "released"}
        By which formulas it is measured.
    higher_is_better : tuple of str
        How the names of such measures begin.
    of_parts : str
        Name of the table of answers about parts of images, which may be None.
    """

    name: str
    by_image: pd.DataFrame
    columns: dict[str, np.ndarray]
    counts: pd.DataFrame
    mode: str
    higher_is_better: tuple[str, ...]  # how the names of such measures begin
    of_parts: str

    def measure_columns(self, columns: Columns) -> dict[str, float]:
        """Return the measures that follow from columns; NaN where nothing defines one.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (n,)
            As `columns`, of any choice of images.
        """
        raise NotImplementedError

    @property
    def images(self) -> pd.Index:
        """Ids of the images."""
        return self.by_image.index

    def measures(self) -> dict[str, float]:
        """Return the measures of all images."""
        return self.measure_columns(self.columns)

    def measure(self, rows: np.ndarray) -> dict[str, float]:
        """Return the measures of some images.

        Mosaics of one upper image stay together; that it is also the lower one of others is not
        accounted for when images are resampled.

        Parameters
        ----------
        rows : ndarray of shape (n,), int
            Positions of images, which may repeat.
        """
        chosen = {name: values[rows] for name, values in self.columns.items()}
        return self.measure_columns(chosen)

    def answered_with(self, other: Self) -> Self:
        """Return what ``paper`` measures of what another model answered, too.

        Prompts, and mosaics or the classes of an image that are compared tile by tile.

        Parameters
        ----------
        other : Measured
            Of the same kind.
        """
        if self.mode != "paper":
            return self
        changes: dict[str, pd.DataFrame] = {}
        theirs = other.counts.reindex(index=self.counts.index, columns=self.counts.columns)
        if (theirs.isna() & self.counts.notna()).to_numpy().any():
            changes["counts"] = self.counts.where(theirs.notna())
        mine, parts = getattr(self, self.of_parts), getattr(other, self.of_parts)
        if mine is not None and parts is not None:
            answered = parts.dropna(subset=[name for name in PARTS if name in parts])
            key = [name for name in PART_KEY if name in mine and name in parts]
            both = pd.MultiIndex.from_frame(mine[key]).isin(pd.MultiIndex.from_frame(answered[key]))
            if not both.all():
                changes[self.of_parts] = mine[both]
        return replace(self, **changes) if changes else self  # type: ignore[type-var]

    def rises(self, measure: str) -> bool:
        """Return whether a larger value of a measure is a better one.

        Parameters
        ----------
        measure : str
            Its name.
        """
        return measure.startswith(self.higher_is_better)


def intervals_of(result: Measured, *, n_resamples: int = 1000) -> dict[str, MeasureInterval]:
    """Return each measure with its 95 % interval, whole images resampled.

    Parameters
    ----------
    result : Measured
    n_resamples : int
        Draws of the bootstrap.
    """
    images = result.images.to_numpy()
    return bootstrap_intervals(result.measure, images, n_resamples=n_resamples)


def compare(results: Sequence[Measured], *, n_resamples: int = 1000) -> pd.DataFrame:
    """Differences between every two models on the images both have, resampled in pairs.

    In ``paper`` prompts and mosaics that one of them did not answer enter neither side; in
    ``released``, where they fail in PCCN, differences are those of the models' measures.

    Parameters
    ----------
    results : sequence of Measured
        Of each model.
    n_resamples : int
        Draws of the bootstrap.

    Returns
    -------
    DataFrame
        A row for each pair and measure: ``A``, ``B``, ``measure``, ``difference`` (A - B), ``low``
        and ``high`` of the 95 % interval, ``images``, and ``better``, the better model where the
        interval excludes 0, else empty.

    Raises
    ------
    InputError
        If two models have no image in common.
    """
    rows = []
    for pair in combinations(results, 2):
        a, b = (one.answered_with(other) for one, other in (pair, pair[::-1]))
        common = a.images.intersection(b.images, sort=False).to_numpy()
        in_a, in_b = a.images.get_indexer(common), b.images.get_indexer(common)
        difference = partial(_difference, a, b, in_a, in_b)
        intervals = bootstrap_intervals(difference, common, n_resamples=n_resamples)
        for name, d in intervals.items():
            better = a.name if (d.low > 0) == a.rises(name) else b.name
            clear = d.low > 0 or d.high < 0
            values = (d.value, d.low, d.high, len(common), better if clear else "")
            rows.append((a.name, b.name, name, *values))
    names = ["A", "B", "measure", "difference", "low", "high", "images", "better"]
    return pd.DataFrame(rows, columns=names)


def _difference(
    a: Measured, b: Measured, at_a: np.ndarray, at_b: np.ndarray, rows: np.ndarray
) -> dict[str, float]:
    first, second = a.measure(at_a[rows]), b.measure(at_b[rows])
    return {name: first[name] - second[name] for name in first if name in second}


def defined_mean(values: np.ndarray) -> float:
    """Return the mean of the values that are not NaN.

    Parameters
    ----------
    values : ndarray of shape (N,)

    Returns
    -------
    float
        NaN where all are.
    """
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


@dataclass(eq=False)
class PracoResult(Measured):
    """The answers of one model and what follows from them.

    Parameters
    ----------
    name : str
        Of the model.
    counts, truth : DataFrame
        As `negative_by_image` takes them.
    mosaics : DataFrame, optional
        As `measure_mosaics` takes them; None where the model did not take the mosaic test.
    mode : {"paper", "released"}
        The formulas as printed, or as the authors' code computes; see `measure_columns`.
    notes : tuple of str
        What is missing.

    Attributes
    ----------
    by_image : DataFrame
        The measures of both tests, by image.
    columns : dict of str to ndarray of shape (N,)
        See `Measured`.
    measured : DataFrame or None
        Of `measure_mosaics`.
    """

    name: str
    counts: pd.DataFrame
    truth: pd.DataFrame
    mosaics: pd.DataFrame | None = None
    mode: str = "paper"
    notes: tuple[str, ...] = ()
    by_image: pd.DataFrame = field(init=False, repr=False)
    columns: dict[str, np.ndarray] = field(init=False, repr=False)
    measured: pd.DataFrame | None = field(init=False, repr=False, default=None)
    higher_is_better = HIGHER_IS_BETTER
    of_parts = "mosaics"

    def __post_init__(self) -> None:
        self.by_image = negative_by_image(self.counts, self.truth, self.mode)
        if self.mosaics is not None:
            self.measured = measure_mosaics(self.mosaics, self.truth)
            self.by_image = self.by_image.join(mosaics_by_image(self.measured, self.mode))
        table = self.by_image
        self.columns = {name: table[name].to_numpy(np.float64) for name in COLUMNS if name in table}

    def measure_columns(self, columns: Columns) -> dict[str, float]:
        """Return NMN, PCCN (%), MAE and RMSE and, where there are mosaics, CntP, CntR and CntF1.

        NaN is left out of a mean. CntF1 is the mean of the mosaics' F1 in ``released`` (which the
        published table shows) and the harmonic mean of CntP and CntR in ``paper`` (equation 7).
        ``released`` adds the recall without the spurious cell. The measures of `PLACES` (PrACo++)
        are means over the mosaics of an image, then over images.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (n,)
            As `columns`, of any choice of images.
        """
        released = self.mode == "released"
        mean = {name: defined_mean(values) for name, values in columns.items()}
        measures = {"NMN": mean["nmn"], "PCCN": 100 * mean["near"]}
        if "precision" in mean:
            p, r = mean["precision"], mean["recall"]
            harmonic = 2 * p * r / (p + r) if p + r > 0 else float("nan")
            measures |= {"CntP": p, "CntR": r, "CntF1": mean["f1"] if released else harmonic}
        rmse = float(np.sqrt(defined_mean(columns["error"] ** 2)))
        measures |= {"MAE": mean["error"], "RMSE": rmse}
        if "precision" in mean and released:
            measures[OWN_RECALL] = mean["own_recall"]
        return measures | {name: mean[column] for name, column in PLACES.items() if column in mean}

    def undefined(self) -> dict[str, int]:
        """Count the cells that could not enter a measure, and those changed on the way there."""
        counts = self.counts.loc[self.truth.index]
        numbers = {
            "prompts": counts.size,
            "prompts without a count": int(self.by_image["n_undefined"].sum()),
            "prompts with a count below 0": int((counts < 0).to_numpy().sum()),
        }
        if self.measured is not None:
            numbers["mosaics"] = len(self.measured)
            numbers |= {text: int(self.by_image[flag].sum()) for flag, text in UNDEFINED.items()}
        return numbers


def measures_table(results: Sequence[PracoResult]) -> pd.DataFrame:
    """Return one row for each model; the published table's columns, then what PrACo++ adds.

    Parameters
    ----------
    results : sequence of PracoResult
    """
    rows = [{"model": result.name, **result.measures()} for result in results]
    table = pd.DataFrame(rows)
    last = [name for name in (OWN_RECALL, *PLACES) if name in table]
    return table.reindex(columns=["model", *MEASURES, *last])


def interval_table(named: Mapping[str, Mapping[str, MeasureInterval]]) -> pd.DataFrame:
    """Return one row for each measure, one column for each model: value and 95 % interval as text.

    Parameters
    ----------
    named : mapping of str to mapping of str to MeasureInterval
        Of each model by measure, as of `intervals_of`.
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
    """Put differences into words: one column for both models, one for the interval.

    Parameters
    ----------
    differences : DataFrame
        Of `compare`.
    """
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
    """Return one row for each kind of cell, one column for each model: how many there are.

    Parameters
    ----------
    results : sequence of PracoResult
        At least one.
    """
    columns = {result.name: pd.Series(result.undefined(), dtype="Int64") for result in results}
    table = pd.DataFrame(columns)
    order = max((list(result.undefined()) for result in results), key=len)
    return table.reindex(order).rename_axis("cells").reset_index()


def class_table(result: PracoResult) -> pd.DataFrame:
    """Return one row for each true class: the measures of its images, and what is counted instead.

    Parameters
    ----------
    result : PracoResult

    Returns
    -------
    DataFrame
        The columns of `negative_by_class`. ``recall alone`` is of each image by itself. Where there
        are mosaics: ``CntP``, ``CntR``, ``CntF1``, by the mode of the result, ``recall in
        mosaics``, that without the spurious cell, and ``counted below (%)``, the share of mosaics
        in whose lower part anything is counted, of those with a count. ``most confused with`` is
        the most frequent highest wrong count.
    """
    table = negative_by_class(result.by_image)
    by_image = result.by_image
    alone = np.minimum(by_image["positive"].clip(lower=0), by_image["count"]) / by_image["count"]
    groups = by_image.assign(alone=alone).groupby("category", sort=False)
    table["recall alone"] = groups["alone"].mean()
    if result.measured is not None:
        means = groups[["precision", "recall", "f1", "own_recall"]].mean()
        if result.mode == "paper":  # equation 7, as over all images
            p, r = means["precision"].to_numpy(), means["recall"].to_numpy()
            means["f1"] = quotient(2 * p * r, p + r)
        table[["CntP", "CntR", "CntF1", "recall in mosaics"]] = means
        answered = result.measured.dropna(subset=["lower"])
        below = (answered["lower"] > 0).groupby(answered["positive_class"])
        table["counted below (%)"] = 100 * below.mean()
    wrong = by_image[by_image["negative_max"] > 0]
    most = wrong.groupby("category")["negative_class"].agg(lambda names: names.mode().iloc[0])
    table["most confused with"] = most.reindex(table.index).fillna("–")
    return table.rename_axis("true class")


def _text(measure: str, interval: MeasureInterval) -> str:
    if math.isnan(interval.value):
        return "–"
    text = FORMATS.get(measure, "{:.3f}").format
    ends = "" if math.isnan(interval.low) else f" [{text(interval.low)}, {text(interval.high)}]"
    return f"{text(interval.value)}{ends}"
