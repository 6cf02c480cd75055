"""Regressors of scikit-learn in the place of the project's own: the same scores and pairs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.linear_model import BayesianRidge, LinearRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typing_extensions import Self

from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.pair_table import pair_rows, values_of
from autoeval.regression import Mixture, PredictionInterval, predict_intervals


class PlainRegression:
    """Estimates pairs as `BayesianRegression` does, by a scikit-learn regressor on scaled scores.

    Parameters
    ----------
    make : callable
        Makes the regressor.
    target, level, features
        As in `BayesianRegression`.
    **_
        A prior, which these do not take.

    Notes
    -----
    Intervals are normal, from the standard deviation that the regressor tells, or else that of what
    it leaves of the pairs it was fitted on.
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
        return values_of(rows, self.features_).to_numpy()


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
