"""What a regression has to offer, and which one a method takes."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.estimation.bayesian_regression import DEFAULT_METHOD, BayesianRegression
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.source_regression import SourceRegression


class Regression(Protocol):
    """From scores to an `Estimate`; see `SourceRegression` and `BayesianRegression`."""

    target: str
    table_: pd.DataFrame
    sources_: list[str]
    training_range_: dict[str, tuple[float, float]]

    @property
    def residuals_(self) -> np.ndarray:
        """Absolute errors on what was left out, empty where nothing could be."""
        ...

    @property
    def features_(self) -> tuple[str, ...]:
        """Scores that it reads."""
        ...

    def fit(self, table: pd.DataFrame) -> Self:
        """Fit on a score table."""
        ...

    def predict_rows(self, rows: pd.DataFrame, *, backbone: str = "ResNet") -> Estimate:
        """Estimate from the scores of one set of images."""
        ...

    def predict_repeats(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the estimate of each repeat."""
        ...

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of the table by what does not know its source."""
        ...


def make_regression(method: str, *, target: str = "mAP", level: float = 0.9) -> Regression:
    """Make the regression that a method takes: on pairs for ``bayes``, else on sample sets."""
    kind = BayesianRegression if method == DEFAULT_METHOD else SourceRegression
    return kind(method, target=target, level=level)
