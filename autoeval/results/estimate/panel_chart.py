"""Accuracy against the scores of the default: the panel's pairs, the labelled ones, the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.model import predict_intervals
from autoeval.model.priors import panel_pairs
from autoeval.model.regression import DEFAULT_METHOD, Regression
from autoeval.report.plots import Cloud, RegressionBand
from autoeval.results.columns import explained
from autoeval.results.estimate.estimate_charts import PlottedScores, scores_to_plot

STEPS = 30  # points of a line
PARTS = ("value", "lower", "upper")
ABOUT = "what the fit expects of a category at a new site, where other scores are as usual"
PANEL = "pairs of detector, site and category of the panel (docs/explanation/calibration.md)"


def plotted_with_panel(
    estimator: AccuracyEstimator, estimate: Estimate | None = None
) -> PlottedScores:
    """Gather what `ScoreScatter` shows of a fit by the default method, and of an estimate."""
    regression = estimator.regression_
    cloud = cloud_of(regression)
    here = estimate.features if estimate else {}
    n_images = estimate.n_images if estimate else int(regression.rows_["n_images"].median())
    lines = fitted_lines(regression, cloud, here, n_images)
    plotted = scores_to_plot(estimator, DEFAULT_METHOD, lines, cloud)
    return replace(plotted, about=[*plotted.about, explained(regression.features_)])


def cloud_of(regression: Regression) -> Cloud | None:
    """Return the pairs of the panel with their accuracy; None for targets that it has not."""
    pairs = panel_pairs(regression.floor)
    target = regression.target
    if target not in pairs:
        return None
    scores = {name: pairs[name] for name in regression.features_ if name in pairs}
    return Cloud(scores, pairs[target], f"{len(pairs[target])} {PANEL}")


def fitted_lines(
    regression: Regression,
    cloud: Cloud | None,
    here: Mapping[str, float],
    n_images: int,
) -> dict[str, RegressionBand]:
    """Return what is predicted of one category at a new site along each score.

    The other scores are what pairs usually have at that value of the score: on the least-squares
    line through the cloud, or through the labelled pairs where there is none. The band is the
    prediction interval with `n_images`; a line ends where no estimate would be given.

    here: scores of an estimate, as far as which the lines are drawn.
    """
    labelled = regression.rows_[list(regression.features_)]
    usual = labelled if cloud is None else pd.DataFrame(cloud.scores)
    lines = {}
    for name in regression.features_:
        if name not in usual:  # agreement with a reference detector, which the cloud has not
            continue
        scores = [*usual[name], *labelled[name], here.get(name, np.nan)]
        grid = np.linspace(np.nanmin(scores), np.nanmax(scores), STEPS)
        rows = _usual_rows(usual, name, grid, regression.features_).assign(n_images=n_images)
        intervals = predict_intervals(regression.distribution(rows), regression.level)
        given = [k for k, interval in enumerate(intervals) if not interval.refused]
        if len(given) > 1 and np.ptp(grid) > 0:
            y, lower, upper = (
                np.array([getattr(intervals[k], part) for k in given]) for part in PARTS
            )
            lines[name] = RegressionBand(grid[given], y, lower, upper, ABOUT)
    return lines


def _usual_rows(
    usual: pd.DataFrame, along: str, grid: np.ndarray, features: Sequence[str]
) -> pd.DataFrame:
    """Return one row a value of the grid: that score, and the others as they usually go with it."""
    columns = {along: grid}
    x = usual[along].to_numpy(np.float64)
    for name in features:
        if name == along:
            continue
        if name not in usual:
            columns[name] = np.full(len(grid), np.nan)  # filled from the others by the fit
            continue
        y = usual[name].to_numpy(np.float64)
        both = np.isfinite(x) & np.isfinite(y)
        degree = 1 if np.ptp(x[both]) > 0 else 0
        columns[name] = np.polynomial.Polynomial.fit(x[both], y[both], degree)(grid)
    return pd.DataFrame(columns)
