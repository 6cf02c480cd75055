"""Least squares on given columns."""

from __future__ import annotations

import numpy as np
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.score_table import SAMPLE, Rows

# Share of the rows that may lack a score that is to be selected among others.
MOST_UNDEFINED = 0.1


class Linear:
    """Ordinary least squares of mAP on score columns (paper: section 4.1).

    Parameters
    ----------
    *features : str
        Columns of the score table.

    Attributes
    ----------
    coefficients_ : ndarray of shape (n_features + 1,)
        Slopes and, last, the intercept.
    """

    optional: tuple[str, ...] = ()

    def __init__(self, *features: str) -> None:
        self.features = features
        self.selected_ = features

    def fit(self, rows: Rows, target: str) -> Self:
        """Fit on the sample sets of the training sources.

        Raises
        ------
        InputError
            If no row has finite features and a finite target.
        """
        samples = rows.of_kind(SAMPLE)
        x, y = samples.matrix(self.features), samples[target]
        usable = np.isfinite(x).all(axis=1) & np.isfinite(y)
        if not usable.any():
            raise InputError(
                f"Expected sample sets with finite {', '.join(self.features)} and {target} but all "
                f"{len(samples)} lack one of them: no box was found, or none is labelled."
            )
        self.coefficients_ = np.linalg.lstsq(_design(x[usable]), y[usable], rcond=None)[0]
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate `target` for each row."""
        x = rows.matrix(self.features)
        known = np.isfinite(x).all(axis=1)
        return np.where(known, _design(np.where(known[:, None], x, 0)) @ self.coefficients_, np.nan)


def _design(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x, np.ones(len(x))])
