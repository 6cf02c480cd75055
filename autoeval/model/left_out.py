"""Leaving groups out in turn, without scikit-learn, whose import takes half a second."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def leave_one_group_out(groups: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Split rows by their group, as scikit-learn's ``LeaveOneGroupOut`` does.

    groups (N,): of each row; without order, those of equal value are one.
    Yields for each group, in sorted order, the indices of the other rows and of its own.

    >>> [(rest.tolist(), own.tolist()) for rest, own in leave_one_group_out(["b", "a", "b"])]
    [([0, 2], [1]), ([1], [0, 2])]
    """
    names, index = np.unique(np.asarray(groups), return_inverse=True)
    for k in range(len(names)):
        yield np.flatnonzero(index != k), np.flatnonzero(index == k)
