"""A thresholded score whose threshold is chosen on the training sources."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, product

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
    *families : sequence of str, or str
        The columns of a score, one a threshold, such as ``ps@0.00`` to ``ps@0.95``; a single column
        is a family of its own. Thresholds of several scores are chosen together.

    Attributes
    ----------
    selected_ : tuple of str
        The chosen column of each family.
    """

    optional: tuple[str, ...] = ()

    def __init__(self, *families: Sequence[str] | str) -> None:
        self.families = [(f,) if isinstance(f, str) else tuple(f) for f in families]
        self.features = tuple(chain(*self.families))

    def fit(self, rows: Rows, target: str) -> Self:
        """Choose the thresholds and fit; ties go to the lower threshold.

        A threshold at which more than a tenth of the sample sets have no value, or all have the
        same, is not considered.

        Raises
        ------
        InputError
            If none is left.
        """
        samples = rows.of_kind(SAMPLE)
        choices = [_informative(family, samples) for family in self.families]
        fits = [Linear(*columns).fit(rows, target) for columns in product(*choices)]
        errors = [float(np.nanmean((fit.predict(samples) - samples[target]) ** 2)) for fit in fits]
        self.fitted_ = fits[int(np.argmin(errors))]
        self.selected_ = self.fitted_.selected_
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate the target for each row."""
        return self.fitted_.predict(rows)


def _informative(family: Sequence[str], samples: Rows) -> list[str]:
    """Keep the columns that most sample sets have and that vary; a column alone is always kept."""
    if len(family) == 1:
        return list(family)
    kept = [column for column in family if _is_informative(samples[column].astype(np.float64))]
    if not kept:
        raise InputError(
            f"Expected sample sets with finite {family[0]} to {family[-1]} that vary "
            "but too many lack them or all are the same: does the detector find any box?"
        )
    return kept


def _is_informative(values: np.ndarray) -> bool:
    finite = values[np.isfinite(values)]
    return len(finite) >= (1 - MOST_UNDEFINED) * len(values) and len(np.unique(finite)) > 1
