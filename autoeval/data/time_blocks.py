"""Which images are neighbours in time, so that what varies can be told by independent blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

SECONDS = 30.0


def time_blocks(images: Iterable[object], *, seconds: float = SECONDS) -> np.ndarray:
    """Return the number of the block of time that each image belongs to.

    Neighbouring frames of a film show the same things, so a set of them tells less than as many
    independent images would. Drawing whole blocks again in place of images accounts for that, where
    a block lasts longer than what is seen stays in view (Künsch 1989, the block bootstrap).

    Parameters
    ----------
    images : iterable
        Frames of films (`FilmFrame`) and other images; each of the others is a block of its own. A
        film that does not say how fast it runs is one block.
    seconds : float
        Length of a block. The default is a convention: longer than traffic or passers-by stay in
        view of most cameras.

    Returns
    -------
    ndarray of shape (N,), int64
        Equal for images of one block, counted from 0 in order of appearance.
    """
    numbers: dict[object, int] = {}
    return np.array(
        [numbers.setdefault(_key(image, seconds), len(numbers)) for image in images], np.int64
    )


def _key(image: object, seconds: float) -> object:
    time_s = getattr(image, "time_s", None)
    if time_s is None:
        return id(image)
    film = getattr(image, "path", None)
    return film, math.floor(time_s / seconds) if math.isfinite(time_s) else 0
