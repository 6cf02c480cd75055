"""What a regressor from scores to mAP is."""

from __future__ import annotations

from collections.abc import Container
from typing import Protocol

import numpy as np
from typing_extensions import Self

from autoeval.estimation.score_table import Rows


class Method(Protocol):
    """A regressor of mAP on columns of the score table.

    It is fitted on the score table of the training sources and predicts rows of the same columns.

    features: columns that it reads when fitted.
    optional: those of them that it can do without.
    selected_: those of them that it reads to predict.
    """

    features: tuple[str, ...]
    optional: tuple[str, ...]
    selected_: tuple[str, ...]

    def fit(self, rows: Rows, target: str) -> Self:
        """Fit on the rows of the training sources."""
        ...

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate `target` for each row; NaN where a feature is not finite."""
        ...


def readable(method: Method, columns: Container[str]) -> tuple[str, ...]:
    """Return the columns that a method reads: those it needs, and of the others what there is."""
    return tuple(n for n in method.features if n in columns or n not in method.optional)
