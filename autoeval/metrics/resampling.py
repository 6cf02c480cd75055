"""Drawing images again: how often each is in each of many sets of as many."""

from __future__ import annotations

import numpy as np


def resampled_counts(
    n_items: int,
    *,
    resamples: int,
    seed: int = 0,
    blocks: np.ndarray | None = None,
    dtype: type[np.integer] = np.int64,
) -> np.ndarray:
    """Draw `n_items` out of as many with replacement, many times.

    Items that depend on each other are drawn together, block by block (Künsch 1989).

    n_items: at least 1.
    blocks (n_items,), int64: number of the block of each item, from 0 without gaps; by default each
        is its own.
    dtype: of the counts. ``numpy.uint8`` is enough: the probability that an item is drawn more than
        255 times is below 1e-500 for any number of items.
    Returned: (resamples, n_items) of `dtype`: how often each item was drawn; rows sum to `n_items`
        where blocks are of equal size.

    >>> resampled_counts(5, resamples=3).sum(axis=1)
    array([5, 5, 5])
    """
    rng = np.random.default_rng(seed)
    n_blocks = n_items if blocks is None else int(blocks.max()) + 1
    shares = np.full(n_blocks, 1 / n_blocks)
    drawn = np.empty((resamples, n_blocks), dtype)
    for row in drawn:
        row[:] = rng.multinomial(n_blocks, shares)
    return drawn if blocks is None else drawn[:, blocks]
