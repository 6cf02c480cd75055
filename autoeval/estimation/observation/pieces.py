"""Cutting a list of images into pieces, each of which is kept whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

MEAN, MOST = 32, 64


def pieces(names: Sequence[str]) -> Iterator[range]:
    """Yield the positions of each piece, in order.

    A piece ends where the name of its last image says so, or when it is full: an image more or less
    changes its own piece, and seldom others.

    Parameters
    ----------
    names : sequence of str
        Of the images.

    Examples
    --------
    >>> list(pieces([f"{k}.jpg" for k in range(100)]))
    [range(0, 18), range(18, 19), range(19, 65), range(65, 100)]
    """
    start = 0
    for position, name in enumerate(names, start=1):
        if position - start == MOST or _ends(name) or position == len(names):
            yield range(start, position)
            start = position


def _ends(name: str) -> bool:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % MEAN == 0
