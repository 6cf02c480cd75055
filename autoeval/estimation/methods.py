"""Regressors from scores to mAP, by name.

A method is fitted on the score table of the training sources and predicts rows of the same columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.score_table import sample_rows, seed_rows


class Method(Protocol):
    """A regressor of mAP on columns of the score table."""

    features: tuple[str, ...]

    def fit(self, table: pd.DataFrame, target: str) -> Self:
        """Fit on the rows of the training sources."""
        ...

    def predict(self, rows: pd.DataFrame) -> np.ndarray:
        """Estimate `target` for each row; NaN where a feature is not finite."""
        ...


class Constant:
    """The mean mAP of the training sources' own images, whatever the scores say.

    The baseline that every score has to beat (specification: section 4, step 4).
    """

    features: tuple[str, ...] = ()

    def fit(self, table: pd.DataFrame, target: str) -> Self:
        """Average `target` over the sources."""
        self.value_ = float(seed_rows(table).groupby("source")[target].first().mean())
        return self

    def predict(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the mean for each row."""
        return np.full(len(rows), self.value_)


class Linear:
    """Ordinary least squares of mAP on score columns (paper: section 4.1).

    Parameters
    ----------
    *features : str
        Columns of the score table.
    """

    def __init__(self, *features: str) -> None:
        self.features = features

    def fit(self, table: pd.DataFrame, target: str) -> Self:
        """Fit on the sample sets of the training sources.

        Raises
        ------
        InputError
            If no row has finite features and a finite target.
        """
        rows = sample_rows(table)
        usable = np.isfinite(rows[[*self.features, target]].to_numpy(float)).all(axis=1)
        if not usable.any():
            raise InputError(
                f"Expected sample sets with finite {', '.join(self.features)} and {target} but all "
                f"{len(rows)} lack one of them: no box was found, or none is labelled."
            )
        rows = rows[usable]
        self.regression_ = LinearRegression().fit(
            rows[list(self.features)].to_numpy(float), rows[target].to_numpy(float)
        )
        return self

    def predict(self, rows: pd.DataFrame) -> np.ndarray:
        """Estimate `target` for each row."""
        x = rows[list(self.features)].to_numpy(float)
        known = np.isfinite(x).all(axis=1)
        estimates = np.full(len(rows), np.nan)
        if known.any():
            estimates[known] = self.regression_.predict(x[known])
        return estimates


METHODS: dict[str, Callable[[], Method]] = {
    "constant": Constant,
    "bos": lambda: Linear("bos"),
    "bos_strict": lambda: Linear("bos_strict"),
}


def make_method(name: str) -> Method:
    """Make an unfitted method.

    Raises
    ------
    InputError
        If no method has that name.
    """
    if name not in METHODS:
        raise InputError(f"Expected a method out of {', '.join(METHODS)} but got '{name}'.")
    return METHODS[name]()
