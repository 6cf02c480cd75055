"""A thresholded score whose threshold is chosen on the training sources."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.methods.linear import MOST_UNDEFINED, Linear
from autoeval.estimation.score_table import SAMPLE, Rows


class BestThreshold:
    """Least squares on a thresholded score, at the threshold that explains training best.

    Source: paper, section 5.1: the thresholds of PS, ES and ATC are set for the highest correlation
    in training.

    Parameters
    ----------
    family : sequence of str
        The columns of a score, one a threshold, such as ``ps@0.00`` to ``ps@0.95``.
    *others : str
        Further columns to regress on.

    Attributes
    ----------
    selected_ : tuple of str
        The chosen column, and ``others``.
    """

    optional: tuple[str, ...] = ()

    def __init__(self, family: Sequence[str], *others: str) -> None:
        self.family = tuple(family)
        self.others = others
        self.features = (*self.family, *others)

    def fit(self, rows: Rows, target: str) -> Self:
        """Choose the threshold and fit; ties go to the lower threshold.

        A threshold at which more than a tenth of the sample sets have no value, or all have the
        same, is not considered.

        Raises
        ------
        InputError
            If none is left.
        """
        samples = rows.of_kind(SAMPLE)
        fits = {
            column: Linear(column, *self.others).fit(rows, target)
            for column in self.family
            if _tells(samples[column].astype(np.float64))
        }
        if not fits:
            raise InputError(
                f"Expected sample sets with finite {self.family[0]} to {self.family[-1]} that vary "
                "but too many lack them or all are the same: does the detector find any box?"
            )
        errors = {
            column: float(np.nanmean((fit.predict(samples) - samples[target]) ** 2))
            for column, fit in fits.items()
        }
        self.fitted_ = fits[min(errors, key=errors.__getitem__)]
        self.selected_ = self.fitted_.selected_
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate the target for each row."""
        return self.fitted_.predict(rows)


def _tells(values: np.ndarray) -> bool:
    finite = values[np.isfinite(values)]
    return len(finite) >= (1 - MOST_UNDEFINED) * len(values) and len(np.unique(finite)) > 1
