"""Several counting runs on one page, ranked by one measure each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.counting.evaluation.evaluation_report import label_text
from autoeval.counting.filed_page import FiledPage
from autoeval.counting.praco.plus_plus import HIGHER_IS_BETTER as RISING_IN_PLUS_PLUS
from autoeval.counting.praco.result import HIGHER_IS_BETTER
from autoeval.errors import InputError, first_line
from autoeval.report.page import Heading, Table, Text, cell_text
from autoeval.words import listed

# A run is ranked by the first that it has.
RANKED_BY = ("pooled MAE", "NMN", "NMN macro", "sMAPE", "accuracy", "MAE")
RISING = ("exact %", "accuracy", *HIGHER_IS_BETTER, *RISING_IN_PLUS_PLUS)
SIGNED = ("bias",)  # best where nearest 0
NO_MEASURES = ("model", "task", "low", "high", "n", "images", "counted")
_NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"
_INTERVAL = re.compile(rf"\[{_NUMBER}, {_NUMBER}\]")
ABOUT = (
    "Each run ranks its models by one measure, which its heading names; rank 1 is best, and equal "
    "values share a rank. The mean rank is over the runs in which a model has a value: compare it "
    "between models of the same runs only.",
    "Intervals are 95 % bootstrap intervals over images. Where those of two models overlap, the "
    "paired differences on the page of the run say whether one is better.",
)


@dataclass(frozen=True, eq=False)
class Standing:
    """The models of one run, the best first, ranked by one measure.

    Parameters
    ----------
    run : str
        Its name.
    measure : str
        By which its models are ranked.
    table : DataFrame
        ``model``, ``rank`` (equal ones share the mean), ``value``, ``low`` and ``high``, NaN where
        there is none.
    measures : DataFrame
        All measures of the run, in the same order.
    """

    run: str
    measure: str
    table: pd.DataFrame
    measures: pd.DataFrame

    @property
    def rises(self) -> bool:
        """Whether a larger value of the measure is a better one."""
        return self.measure.startswith(RISING)


def read_runs(
    folders: Sequence[Path], names: Sequence[str] | None = None, *, measures: Sequence[str] = ()
) -> list[Standing]:
    """Read what ``count evaluate``, ``count praco`` and ``count capture report`` wrote.

    Parameters
    ----------
    folders : sequence of Path
        Of each run.
    names : sequence of str, optional
        Of each run; by default those of the folders.
    measures : sequence of str
        A run is ranked by the first of these that it has, else by the first of `RANKED_BY`.

    Returns
    -------
    list of Standing
        One a run; of CAPTURe one a task.

    Raises
    ------
    InputError
        If names are equal, a folder is of no run, or no run has one of the measures.
    """
    names = [folder.resolve().name for folder in folders] if names is None else list(names)
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"Runs need different names, but {listed(twice)} came twice: NAME=DIR.")
    standings = []
    for name, folder in zip(names, folders, strict=True):
        table, intervals = _read(folder / "measures.csv"), _intervals(folder / "intervals.csv")
        if "task" in table:
            tasks = table.groupby("task", sort=False)
            standings += [_standing(f"{name}, {t}", part, measures, intervals) for t, part in tasks]
        else:
            standings.append(_standing(name, table, measures, intervals))
    unused = [measure for measure in measures if all(measure not in s.measures for s in standings)]
    if unused:
        available = dict.fromkeys(c for s in standings for c in s.measures if c not in NO_MEASURES)
        raise InputError(
            f"No run has the measure {listed(unused)}: they have {listed(available, 30)}."
        )
    return standings


def overall(standings: Sequence[Standing]) -> pd.DataFrame:
    """Put the ranks of every run side by side; models in most runs come first.

    Parameters
    ----------
    standings : sequence of Standing

    Returns
    -------
    DataFrame
        ``model``, ``runs``, ``mean rank`` and the rank in each run, NaN where the model is in none.
    """
    ranks = {s.run: s.table.set_index("model")["rank"] for s in standings}
    table = pd.DataFrame(ranks).reindex(
        dict.fromkeys(m for s in standings for m in s.table["model"])
    )
    table.insert(0, "runs", table.notna().sum(axis=1))
    table.insert(1, "mean rank", table.iloc[:, 1:].mean(axis=1))
    ordered = table.sort_values(["runs", "mean rank"], ascending=[False, True], kind="stable")
    return ordered.rename_axis("model").reset_index()


def _standing(
    run: str,
    table: pd.DataFrame,
    wanted: Sequence[str],
    intervals: dict[tuple[str, str], tuple[float, float]],
) -> Standing:
    table = table.dropna(axis=1, how="all")
    measure = next((name for name in (*wanted, *RANKED_BY) if name in table), None)
    if measure is None:
        raise InputError(
            f"{run} has no measure to rank by: expected one of {listed(RANKED_BY)} in measures.csv "
            f"but got {listed(table.columns, 20)}."
        )
    try:
        measured = table[measure].astype(np.float64)
    except ValueError as error:
        raise InputError(
            f"{run}: expected numbers in the column {measure!r} of measures.csv: {error}."
        ) from None
    values = measured.abs() if measure in SIGNED else measured
    rank = values.rank(ascending=not measure.startswith(RISING))
    table = table.assign(rank=rank).sort_values("rank", kind="stable", ignore_index=True)
    ranked = table[["model", "rank"]].assign(value=table[measure].astype(np.float64))
    # The columns of a CAPTURe run hold the interval of its main measure.
    if measure in ("sMAPE", "accuracy") and {"low", "high"} <= {*table}:
        ranked[["low", "high"]] = table[["low", "high"]]
    else:
        ends = [intervals.get((measure, model), (np.nan, np.nan)) for model in table["model"]]
        ranked[["low", "high"]] = np.reshape(ends, (-1, 2))
    measures = table.drop(columns=["rank", "task", "low", "high"], errors="ignore")
    return Standing(run, measure, ranked, measures)


def _read(path: Path) -> pd.DataFrame:
    try:
        # A missing number is blank, and "NA" the name of a model.
        table = pd.read_csv(path, dtype={"model": str}, keep_default_na=False, na_values=[""])
    except FileNotFoundError:
        raise InputError(
            f"No file {path}: expected a folder that `autoeval count evaluate`, `count praco` or "
            "`count capture report` wrote."
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot read {path}: {error}.") from None
    if "model" not in table or table.empty:
        raise InputError(f"{path} has no models: expected a column 'model' and a row for each.")
    return table


def _intervals(path: Path) -> dict[tuple[str, str], tuple[float, float]]:
    """Read the interval of each measure and model out of texts such as ``1.5 [1.2, 1.9]``."""
    if not path.is_file():
        return {}
    try:
        table = pd.read_csv(path, dtype=str).set_index("measure")
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"Cannot read the intervals {path}: {first_line(error)}. Expected the column 'measure' "
            "and one for each model: evaluate again, or remove the file to rank without intervals."
        ) from None
    return {
        (measure, model): (float(match[1]), float(match[2]))
        for model in table
        for measure, text in table[model].items()
        if (match := _INTERVAL.search(str(text)))
    }


def leaderboard_page(standings: Sequence[Standing]) -> FiledPage:
    """Build the page: ranks over all runs, then each run with its measures and a chart.

    Parameters
    ----------
    standings : sequence of Standing
        At least one.
    """
    page = FiledPage("Leaderboard of counting")
    ranks = overall(standings)
    page.blocks += map(Text, (f"{len(ranks)} models in {len(standings)} runs.", *ABOUT))
    caption = "Rank in each run"
    page.file_table("ranks", ranks, caption, formats={"mean rank": "{:.2f}"})
    page.file_rows(
        "leaderboard",
        pd.concat(
            [s.table.assign(run=s.run, measure=s.measure) for s in standings], ignore_index=True
        ),
    )
    for number, standing in enumerate(standings, 1):
        better = "higher is better" if standing.rises else "lower is better"
        better = "nearest 0 is best" if standing.measure in SIGNED else better
        page.blocks.append(Heading(f"{standing.run}: {standing.measure}, {better}"))
        page.file_figure(f"run_{number}", _standing_chart(standing), _caption(standing))
        caption = "All measures of the run, best model first"
        page.blocks.append(Table("", standing.measures, caption=caption))
    return page


def _standing_chart(standing: Standing) -> Figure:
    """Draw the ranking measure of each model with its interval, the best on top."""
    table = standing.table.dropna(subset=["value"])
    figure = Figure(figsize=(7, 1.1 + 0.34 * max(len(table), 1)), layout="constrained")
    axes = figure.subplots()
    at = np.arange(len(table))
    spans = table.dropna(subset=["low", "high"])
    axes.hlines(at[table["low"].notna()], spans["low"], spans["high"], color="C0", lw=2, alpha=0.6)
    axes.plot(table["value"], at, ls="", marker="o", ms=7, color="C0")
    axes.set_yticks(at, [label_text(name) for name in table["model"]])
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.set_xlabel(standing.measure)
    axes.grid(axis="x", alpha=0.3)
    return figure


def _caption(standing: Standing) -> str:
    table = standing.table
    best, missing = table[table["rank"] == table["rank"].min()], int(table["value"].isna().sum())
    sentences = []
    if len(best):
        value = cell_text(best["value"].iloc[0], "{:.4g}")
        sentences.append(f"Best: {listed(best['model'].tolist())} with {value}.")
    if missing:
        sentences.append(f"Models without a value, not drawn: {missing}.")
    return " ".join(sentences)
