"""Leave-one-group-out cross-validation (LOGO)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from autoeval.regression.mixed_model import MixedModel
from autoeval.regression.mixture import Mixture
from autoeval.regression.pairs import Pairs


def split_groups(groups: Sequence[str] | np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each group and which rows are of it, in the order of appearance.

    Parameters
    ----------
    groups : sequence of str
        Group of each of N rows.

    Yields
    ------
    group : str
    own : ndarray of shape (N,), bool
        Rows of the group; the others are those to fit on. Nothing is yielded for a single group,
        which leaves none.

    Examples
    --------
    >>> [(group, int(own.sum())) for group, own in split_groups(["b", "a", "b"])]
    [('b', 2), ('a', 1)]
    """
    names = np.asarray(groups, object)
    for group in dict.fromkeys(names):
        own = np.asarray(names == group)
        if not own.all():
            yield str(group), own


def leave_one_group_out(
    model: MixedModel, pairs: Pairs, y: np.ndarray
) -> Iterator[tuple[str, np.ndarray, Mixture]]:
    """Predict every family by a model that has seen none of its pairs.

    Parameters
    ----------
    model : MixedModel
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
    for family, own in split_groups(pairs.family):
        yield family, own, model.fit(pairs[~own], y[~own]).predict(pairs[own])
