"""The constant predictor."""

from __future__ import annotations

import numpy as np
from typing_extensions import Self

from autoeval.estimation.score_table import SEED, Rows


class Constant:
    """The mean mAP of the training sources' own images, whatever the scores say.

    The baseline that every score has to beat (specification: section 4, step 4).
    """

    features: tuple[str, ...] = ()
    selected_: tuple[str, ...] = ()

    def fit(self, rows: Rows, target: str) -> Self:
        """Average `target` over the sources."""
        own = rows.of_kind(SEED)
        first = np.unique(own["source"], return_index=True)[1]
        self.value_ = float(own[target][first].mean())
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Return the mean for each row."""
        return np.full(len(rows), self.value_)
