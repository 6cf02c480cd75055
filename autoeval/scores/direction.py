"""Which way a score goes when accuracy rises."""

from __future__ import annotations

from enum import IntEnum


class Direction(IntEnum):
    """The sign of a score's slope against accuracy, where theory tells it.

    Examples
    --------
    >>> str(Direction.FALLS), Direction.FALLS * 2
    ('falls', -2)
    """

    RISES = 1
    FALLS = -1
    UNKNOWN = 0

    def __str__(self) -> str:
        return self.name.lower()


def rising(*features: str) -> dict[str, Direction]:
    """Declare features that rise with accuracy; see `Score.features`."""
    return dict.fromkeys(features, Direction.RISES)


def falling(*features: str) -> dict[str, Direction]:
    """Declare features that fall as accuracy rises."""
    return dict.fromkeys(features, Direction.FALLS)


def undirected(*features: str) -> dict[str, Direction]:
    """Declare features of which theory does not tell how they go with accuracy."""
    return dict.fromkeys(features, Direction.UNKNOWN)
