"""What the default regressor buys over those of scikit-learn."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.linear_model import BayesianRidge, LinearRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.pair_table import pair_rows, values_of
from autoeval.model import Mixture, PredictionInterval, predict_intervals
from autoeval.model.calibrated_features import FEATURES
from autoeval.report.sections import Part
from autoeval.runtime.progress import progress_bar
from autoeval.stability.reports.study_report import StudyReport
from autoeval.stability.studies import transfer

DEFAULT = "bayes"
FIGURES = ["error", "half_width", "coverage"]
ABOUT = (
    "The scores of the default and the same pairs, by other regressors. Every evaluation leaves "
    "out the groups that it evaluates; a group counts once. Means over ways and categories, in "
    "points, coverage (nominal 90 %) in per cent, and that of the worst way and category; "
    "*loss*: the weighted interval score relative to that of the default; *few*: the error by one "
    "and three groups."
)
SIZES = (1, 3, 8)
MISSED = 0.1  # one less the level of the intervals


def regressors_report(
    tables: Mapping[str, pd.DataFrame], *, draws: int = 2, seed: int = 0
) -> StudyReport:
    """Evaluate every regressor on every detector, in every way that its table allows."""
    for name, table in tables.items():
        n_groups = transfer.sites_of(table)["group"].nunique()
        if n_groups < 3:
            raise InputError(f"{name}: expected sites of 3 groups or more, got {n_groups}.")
    parts = []
    with progress_bar(len(REGRESSORS), "evaluating regressors", unit="regressor") as bar:
        for name, estimator in REGRESSORS.items():
            evaluated = evaluate_all(tables, estimator, draws=draws, seed=seed)
            parts.append(evaluated.assign(regressor=name))
            bar.update()
    rank = {name: k for k, name in enumerate(tables)}
    figures = pd.concat(parts).sort_values(
        "detector", key=lambda column: column.map(rank), kind="stable"
    )
    figures = figures.reset_index(drop=True)
    part = Part("regressors", figures, _for_people(figures))
    title = "The default regressor compared with those of scikit-learn"
    return StudyReport("regressors", title, ABOUT, _figure(figures), [part])


def _for_people(figures: pd.DataFrame) -> pd.DataFrame:
    by = figures.groupby(["detector", "regressor"], sort=False)
    few = figures[figures["way"].isin(["1", "3"])].groupby(["detector", "regressor"], sort=False)
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


def _figure(figures: pd.DataFrame) -> Figure:
    ways = list(dict.fromkeys(figures["way"]))
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for name, regressor_figures in figures.groupby("regressor", sort=False):
        errors = regressor_figures.groupby("way")["error"].mean().reindex(ways)
        axes.plot(range(len(ways)), 100 * errors, "o" if name == DEFAULT else "x", label=name)
    axes.set_xticks(range(len(ways)), ways, fontsize=7)
    axes.set_xlabel("fitted on: all other groups, or so many, with and without a labelled set")
    axes.set_ylabel("mean absolute error (points of mAP)")
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", lw=0.4)
    axes.legend(fontsize=7)
    return figure


class PlainRegression:
    """Estimates pairs as `BayesianRegression` does, by a scikit-learn regressor on scaled scores.

    A prior is passed over. Intervals are normal, from the standard deviation that the regressor
    predicts, or else that of what it leaves of the pairs it was fitted on.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        *,
        target: str,
        level: float,
        features: Sequence[str],
        **_: Any,
    ) -> None:
        self.make, self.target, self.level, self.features_ = make, target, level, features

    def fit(self, table: pd.DataFrame) -> Self:
        """Fit on the pairs whose accuracy is known."""
        rows = pair_rows(table)
        self.rows_ = rows[np.isfinite(rows[self.target].astype(float))]
        x, y = self._scores(self.rows_), self.rows_[self.target].to_numpy(np.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._model = make_pipeline(StandardScaler(), self.make()).fit(x, y)
        self._left = np.std(y - self._model.predict(x))
        return self

    def predict(self, rows: pd.DataFrame) -> list[PredictionInterval]:
        """Estimate each pair."""
        x = self._scores(rows)
        if "return_std" in inspect.signature(self._model[-1].predict).parameters:
            mean, std = self._model.predict(x, return_std=True)
        else:
            mean, std = self._model.predict(x), np.full(len(x), self._left)
        one = Mixture(np.ones(1), mean[None], np.maximum(std, 1e-6)[None])
        return predict_intervals(one, self.level)

    def _scores(self, rows: pd.DataFrame) -> np.ndarray:
        return values_of(rows, self.features_)


def _gaussian_process() -> GaussianProcessRegressor:
    line, bend = ConstantKernel(0.1) * DotProduct(), ConstantKernel(0.1) * RBF(3.0)
    return GaussianProcessRegressor(line + bend + WhiteKernel(0.1), normalize_y=True)


REGRESSORS: Mapping[str, Callable[..., BayesianRegression | PlainRegression]] = {
    "bayes": BayesianRegression,
    "Gaussian process": partial(PlainRegression, _gaussian_process),
    "Bayesian ridge": partial(PlainRegression, BayesianRidge),
    "ridge, by cross-validation": partial(
        PlainRegression, partial(RidgeCV, np.logspace(-2, 3, 11))
    ),
    "least squares": partial(PlainRegression, LinearRegression),
    "random forest": partial(
        PlainRegression, partial(RandomForestRegressor, 200, min_samples_leaf=3, random_state=0)
    ),
}
"""Name: what makes the estimator; the default first."""


def evaluate_all(
    tables: Mapping[str, pd.DataFrame],
    estimator: Callable[..., Any],
    *,
    draws: int = 2,
    seed: int = 0,
) -> pd.DataFrame:
    """Evaluate a regressor on every detector; one row for each detector, way and category.

    ``loss`` is `weighted_interval_score`, the rest as in `transfer.figures`.
    """
    rows = []
    options: dict[str, Any] = {"features": FEATURES, "estimator": estimator}
    for detector, table in tables.items():
        for way, evaluated in _ways(table, draws, seed, options):
            scored = evaluated.assign(loss=weighted_interval_score(evaluated))
            for category, pairs in scored.groupby("category", sort=False):
                named = {"detector": detector, "way": way, "category": category}
                keys = ["group", *(["draw"] if "draw" in pairs else [])]
                loss = float(pairs.groupby(keys)["loss"].mean().mean())
                rows.append({**named, "loss": loss, **transfer.figures(pairs)})
    return pd.DataFrame(rows)


def weighted_interval_score(evaluated: pd.DataFrame) -> np.ndarray:
    r"""Price a value and its interval of level 90 % together.

    .. math:: WIS = \frac{1}{1.5} \left(\tfrac12 |y - m| + \tfrac{\alpha}{2} \Big(u - l +
              \tfrac{2}{\alpha} \big(\max(l - y, 0) + \max(y - u, 0)\big)\Big)\right)

    with the value m, the interval l to u and :math:`\alpha = .1` (Bracher et al. 2021, equation 1,
    with one interval): near the mean quantile loss, and least on average
    for the true quantiles. Where nothing is predicted, the interval is all that is possible and
    the value the mean of the sources.

    Examples
    --------
    >>> evaluated = pd.DataFrame({"true": [.5, .5], "lower": [.4, .6], "upper": [.6, .7]})
    >>> weighted_interval_score(evaluated.assign(estimate=[.5, .65], constant=.5)).round(4)
    array([0.0067, 0.12  ])
    """
    low, high = evaluated["lower"].fillna(0.0), evaluated["upper"].fillna(1.0)
    true = evaluated["true"]
    off = (evaluated["estimate"].fillna(evaluated["constant"]) - true).abs()
    outside = (low - true).clip(lower=0) + (true - high).clip(lower=0)
    interval = high - low + 2 / MISSED * outside
    return ((off + MISSED * interval) / 3).to_numpy(np.float64)


def _ways(
    table: pd.DataFrame, draws: int, seed: int, options: dict[str, Any]
) -> Iterator[tuple[str, pd.DataFrame]]:
    sites, sets = transfer.sites_of(table), transfer.labelled_of(table)
    yield "groups left out", transfer.groups_left_out(sites, **options)
    if len(sets):
        yield "0 and a set", transfer.by_labelled_set(sets, sites, **options)
    for m in (m for m in SIZES if m < sites["group"].nunique() - 1):
        for labelled in (None, sets) if len(sets) else (None,):
            drawn = transfer.few_groups(sites, labelled, m=m, draws=draws, seed=seed, **options)
            yield f"{m}{'' if labelled is None else ' and a set'}", drawn
