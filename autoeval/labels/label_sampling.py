"""Which images to label: a balanced random sequence, and blocks of images that are near in time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from autoeval.data.film import time_blocks
from autoeval.data.find_images import UnlabelledImage

_NUMBER = re.compile(r"(\d+)(?=\D*$)")


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


def blocks_of(images: Sequence[UnlabelledImage], *, frames: int | None = None) -> np.ndarray:
    """Return the number of the block of time of each image, (M,), int.

    Parameters
    ----------
    images : sequence of UnlabelledImage
        Frames of films go by `autoeval.data.film.time_blocks`.
    frames : int, optional
        Says that files whose names differ in their last number alone are frames in that order, and
        that so many neighbours make a block. By default files are not taken as frames: unrelated
        photographs are numbered, too.
    """
    numbers = time_blocks(images)
    if frames is None:
        return numbers
    series: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for place, image in enumerate(images):
        found = _NUMBER.search(image.image_id)
        if found and getattr(image, "time_s", None) is None:
            name = image.image_id[: found.start()] + "\0" + image.image_id[found.end() :]
            series[name].append((int(found[1]), place))
    for members in series.values():
        first = int(numbers.max()) + 1
        for rank, (_, place) in enumerate(sorted(members)):
            numbers[place] = first + rank // frames
    return np.unique(numbers, return_inverse=True)[1]
