"""Every family predicted by a regression that has seen none of its pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autoeval.estimation.regression.bayesian import BayesianRegression
from autoeval.estimation.regression.mixture import Mixture
from autoeval.estimation.regression.pairs import Pairs


def without_each_family(
    model: BayesianRegression, pairs: Pairs, y: np.ndarray
) -> Iterator[tuple[str, np.ndarray, Mixture]]:
    """Leave out each family in turn.

    Parameters
    ----------
    model : BayesianRegression
        Is fitted again each time; left fitted without the last family.
    pairs : Pairs
    y : ndarray of shape (N,)

    Yields
    ------
    family : str
    own : ndarray of shape (N,), bool
        Which pairs are of the family.
    predicted : Mixture
        Of those pairs.
    """
    for family in dict.fromkeys(pairs.family):
        own = np.asarray(pairs.family == family)
        if not own.all():
            yield str(family), own, model.fit(pairs[~own], y[~own]).predict(pairs[own])
