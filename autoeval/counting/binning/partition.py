"""The best partition of a sequence into contiguous blocks, by dynamic programming."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autoeval.errors import InputError

MAX_VALUES = 100_000


def optimal_partition(n: int, score_last_block: Callable[[int], np.ndarray]) -> np.ndarray:
    """Split ``n`` ordered values into the blocks whose scores have the largest sum.

    F(r) = max over j of F(j) + score of the block of values j..r-1, with F(0) = 0 (Scargle et al.
    2013, section 2.6). Memory is O(n); the time is n vector operations of length up to n.

    Parameters
    ----------
    n : int
        Number of values.
    score_last_block : callable of int -> ndarray of shape (r,), float64
        For a given r, scores of the blocks that start at j = 0..r-1 and end before r.

    Returns
    -------
    ndarray of shape (B + 1,), int64
        Start of each block, then n. Of equally good starts the first is taken.

    Raises
    ------
    InputError
        If there are more than `MAX_VALUES` values, for which the time would be minutes.

    Examples
    --------
    Blocks that hold no more than two values cost one each:

    >>> optimal_partition(5, lambda r: np.where(np.arange(r) >= r - 2, -1.0, -np.inf))
    array([0, 1, 3, 5])
    """
    check_number(n)
    best = np.zeros(n + 1)
    start = np.zeros(n + 1, np.int64)
    for r in range(1, n + 1):
        candidates = score_last_block(r) + best[:r]
        start[r] = candidates.argmax()
        best[r] = candidates[start[r]]
    ends = [n]
    while ends[-1] > 0:
        ends.append(int(start[ends[-1]]))
    return np.array(ends[::-1], np.int64)


def check_number(n: int) -> None:
    """Raise `InputError` where ``n`` values are too many, before anything is made of them."""
    if n > MAX_VALUES:
        raise InputError(
            f"Expected at most {MAX_VALUES} distinct counts to bin but got {n}. "
            "Bin a coarser unit instead, such as tens."
        )


def cell_edges(values: np.ndarray) -> np.ndarray:
    """Edges around distinct sorted values (N,): midpoints, and both extremes; shape (N + 1,)."""
    return np.concatenate([values[:1], 0.5 * (values[1:] + values[:-1]), values[-1:]])
