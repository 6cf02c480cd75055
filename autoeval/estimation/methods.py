"""Regressors from scores to mAP, by name.

A method is fitted on the score table of the training sources and predicts rows of the same columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.score_table import SAMPLE, SEED, Rows


class Method(Protocol):
    """A regressor of mAP on columns of the score table."""

    features: tuple[str, ...]

    def fit(self, rows: Rows, target: str) -> Self:
        """Fit on the rows of the training sources."""
        ...

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate `target` for each row; NaN where a feature is not finite."""
        ...


class Constant:
    """The mean mAP of the training sources' own images, whatever the scores say.

    The baseline that every score has to beat (specification: section 4, step 4).
    """

    features: tuple[str, ...] = ()

    def fit(self, rows: Rows, target: str) -> Self:
        """Average `target` over the sources."""
        own = rows.of_kind(SEED)
        first = np.unique(own["source"], return_index=True)[1]
        self.value_ = float(own[target][first].mean())
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Return the mean for each row."""
        return np.full(len(rows), self.value_)


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

    def __init__(self, *features: str) -> None:
        self.features = features

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


METHODS: dict[str, Callable[[], Method]] = {
    "constant": Constant,
    "bos": lambda: Linear("bos"),
    "bos_strict": lambda: Linear("bos_strict"),
    "ac": lambda: Linear("ac"),
    "boxes_per_image": lambda: Linear("boxes_per_image"),
    "count_stability": lambda: Linear("count_stability@0.30"),
    "count_stability@0.05": lambda: Linear("count_stability@0.05"),
    "count_stability_pooled": lambda: Linear("count_stability_pooled@0.30"),
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
