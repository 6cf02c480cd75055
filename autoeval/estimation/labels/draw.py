"""Drawing images so that any first part of the draw is spread over an order of them."""

from __future__ import annotations

import numpy as np


def balanced_order(order: np.ndarray, *, seed: int) -> np.ndarray:
    """Put images into a random sequence whose every beginning is spread evenly over an order.

    The order, closed to a ring and turned by a random number of places, is halved again and again;
    the sequences of two halves are merged by the keys ``(position + u) / length``, with a random u
    for one half and u + 1/2 for the other. By the turn each image stands at each place equally
    often, so it is among the first n with probability n / N exactly; by the keys the first n hold
    as many of each half, quarter and eighth as its share asks for. That is a stratified draw with
    proportional strata for each n at once, in which a larger draw keeps a smaller one.

    Parameters
    ----------
    order : ndarray of shape (N,), int
        Images, those alike next to each other: by predicted influence, or by time.
    seed : int

    Returns
    -------
    ndarray of shape (N,), int
        The images in the sequence in which they are to be labelled.

    Examples
    --------
    >>> drawn = balanced_order(np.arange(8), seed=0)
    >>> np.sort(drawn[:4] // 2)
    array([0, 1, 2, 3])
    """
    rng = np.random.default_rng(seed)
    return _merged(np.roll(order, rng.integers(len(order))), rng)


def _merged(order: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    n = len(order)
    if n < 2:
        return order
    halves = [_merged(part, rng) for part in np.array_split(order, 2)]
    start = rng.random()
    offsets = (start, (start + 0.5) % 1)
    keys = [
        (np.arange(len(part)) + at) / len(part) for part, at in zip(halves, offsets, strict=True)
    ]
    return np.concatenate(halves)[np.argsort(np.concatenate(keys), kind="stable")]
