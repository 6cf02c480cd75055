"""Bayesian regression on pairs of place and category, as a method among others."""

from __future__ import annotations

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.pair_table import FEATURES, WITH_TEACHER
from autoeval.estimation.score_table import Rows

OF_PAIRS = ("family", "category")


class Bayes:
    """The line of `BayesianRegression`; intervals come from `autoeval.estimation.pair_regression`.

    Fitted on the sources' own images.
    """

    features: tuple[str, ...] = (*FEATURES, WITH_TEACHER)
    optional: tuple[str, ...] = (WITH_TEACHER,)

    def fit(self, rows: Rows, target: str) -> Self:
        """Fit on the rows of the training sources.

        Raises
        ------
        InputError
            If the target is not a precision, or no row has a finite one.
        """
        if not target.startswith("mAP"):
            raise InputError(f"The method 'bayes' knows how scores go with mAP, not with {target}.")
        names = [name for name in (*OF_PAIRS, *self.features) if name in rows]
        self._pairs = BayesianRegression(target=target).fit(_frame(rows, [*names, target]))
        self.selected_ = self._pairs.features_
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate the target for each row."""
        table = _frame(rows, [n for n in ("category", *self.selected_) if n in rows])
        return self._pairs.distribution(table).mean


def _frame(rows: Rows, names: list[str]) -> pd.DataFrame:
    shared = ("source", "kind", "repeat", "n_images")
    present = [name for name in dict.fromkeys((*shared, *names)) if name in rows]
    table = pd.DataFrame({name: rows[name] for name in present})
    return table if "n_images" in table else table.assign(n_images=np.inf)
