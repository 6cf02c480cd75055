"""What the default regressor buys over those of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from autoeval.report.sections import Part, StudyReport
from autoeval.research.studies.plain_regressors import REGRESSORS, check_groups, evaluate_all
from autoeval.runtime.progress import progress_bar

DEFAULT = "bayes"
FIGURES = ["error", "half_width", "coverage"]
ABOUT = (
    "The scores of the default and the same pairs, by other regressors. Every evaluation leaves "
    "out the families that it evaluates; a family counts once. Means over ways and categories, in "
    "points, coverage (nominal 90 %) in per cent, and that of the worst way and category; "
    "*loss*: the weighted interval score relative to that of the default; *few*: the error by one "
    "and three families."
)


def regressors_report(
    tables: Mapping[str, pd.DataFrame], *, draws: int = 2, seed: int = 0
) -> StudyReport:
    """Evaluate every regressor on every detector, in every way that its table allows.

    Raises
    ------
    InputError
        If a table holds places of fewer than three families.
    """
    check_groups(tables)
    parts = []
    with progress_bar(len(REGRESSORS), "settings regressors", unit="regressor") as bar:
        for name, estimator in REGRESSORS.items():
            evaluated = evaluate_all(tables, estimator, draws=draws, seed=seed)
            parts.append(evaluated.assign(regressor=name))
            bar.update()
    rank = {name: k for k, name in enumerate(tables)}
    every = pd.concat(parts).sort_values("detector", key=lambda of: of.map(rank), kind="stable")
    every = every.reset_index(drop=True)
    part = Part("regressors", every, _for_people(every))
    title = "The default regressor compared with those of scikit-learn"
    return StudyReport("regressors", title, ABOUT, _figure(every), [part])


def _for_people(every: pd.DataFrame) -> pd.DataFrame:
    by = every.groupby(["detector", "regressor"], sort=False)
    few = every[every["way"].isin(["1", "3"])].groupby(["detector", "regressor"], sort=False)
    loss = by["loss"].mean()
    base = loss.xs(DEFAULT, level="regressor")
    points = (100 * by[FIGURES].mean()).round(1)
    table = points.assign(
        few=(100 * few["error"].mean()).round(1),
        worst=(100 * by["coverage"].min()).round(0),
        loss=(loss / base.reindex(loss.index.get_level_values(0)).to_numpy()).round(2),
    ).reset_index()
    order = ["detector", "regressor", "loss", "error", "few", "half_width", "coverage", "worst"]
    return table[order].rename(columns={"half_width": "half width", "worst": "worst coverage"})


def _figure(every: pd.DataFrame) -> Figure:
    ways = list(dict.fromkeys(every["way"]))
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for name, own in every.groupby("regressor", sort=False):
        errors = own.groupby("way")["error"].mean().reindex(ways)
        axes.plot(range(len(ways)), 100 * errors, "o" if name == DEFAULT else "x", label=name)
    axes.set_xticks(range(len(ways)), ways, fontsize=7)
    axes.set_xlabel("fitted on: all other families, or so many, with and without a labelled set")
    axes.set_ylabel("mean absolute error (points of mAP)")
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", lw=0.4)
    axes.legend(fontsize=7)
    return figure
