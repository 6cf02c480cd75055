"""Several new places side by side: what is not known of the line is the same for all of them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from autoeval.estimation.pairs.pair_estimator import NEW, PairEstimator
from autoeval.estimation.regression import Told, tell
from autoeval.estimation.regression.bayesian import AT_ONCE


class NewPlaces:
    """The accuracies at K new places, each the mean over its categories.

    Each place counts as a family of its own: what is particular to it is independent of the others,
    the uncertainty of the line through the known places is shared. Cameras of one owner may be more
    alike than that; then order is told more carefully than it could be.

    Parameters
    ----------
    estimator : PairEstimator
    rows : DataFrame
        One row for each place and category: ``place``, ``category``, ``n_images`` and the scores.
    level : float
        Nominal coverage of intervals.

    Attributes
    ----------
    names : list of str
        In the order of `told`.
    """

    def __init__(self, estimator: PairEstimator, rows: pd.DataFrame, *, level: float = 0.9) -> None:
        self.estimator = estimator
        self.level = level
        self.names = list(dict.fromkeys(rows["place"]))
        self._rows = rows

    def told(self) -> list[Told]:
        """Return the value and the interval of each place, those that it has alone."""
        told = []
        for k in range(0, len(self.names), AT_ONCE):
            rows = self._of(self.names[k : k + AT_ONCE])
            told += tell(self.estimator.distribution(rows, _average(rows)), self.level)
        return told

    def draw(self, *, draws: int, seed: int = 0) -> np.ndarray:
        """Draw the accuracies of all places together, shape (draws, K), not cut at 0 and 1."""
        rows = self._of(self.names)
        drawn, average = self.estimator.draw(rows, draws=draws, seed=seed), _average(rows)
        return drawn if average is None else drawn @ average.T

    def _of(self, names: list[str]) -> pd.DataFrame:
        rows = self._rows[self._rows["place"].isin(names)]
        own = NEW + rows["place"].astype(str)
        return rows.assign(family=own, source=own)


def _average(rows: pd.DataFrame) -> np.ndarray | None:
    """Return the weights (K, M) of rows in the mean of each place; None where all have one row."""
    place, names = pd.factorize(rows["place"])
    if len(names) == len(rows):
        return None
    weights = (place == np.arange(len(names))[:, None]).astype(float)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
