"""The constant predictor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from typing_extensions import Self

from autoeval.estimation.score_table import SEED, Rows


class Constant:
    """The mean target of the training sources' own images, whatever the scores say.

    The baseline that every score has to beat (Yang et al. 2024, section 5.1). A target with a
    long tail, such as a counting error, is harder to beat by its median.

    Parameters
    ----------
    statistic : callable
        What is taken of the targets, an array of shape (n_sources,).
    """

    features: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    selected_: tuple[str, ...] = ()

    def __init__(self, statistic: Callable[[np.ndarray], Any] = np.mean) -> None:
        self.statistic = statistic

    def fit(self, rows: Rows, target: str) -> Self:
        """Take the statistic of `target` over the sources."""
        own = rows.of_kind(SEED)
        first = np.unique(own["source"], return_index=True)[1]
        self.value_ = float(self.statistic(own[target][first]))
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Return the same value for each row."""
        return np.full(len(rows), self.value_)
