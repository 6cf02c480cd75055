"""Naming things in messages without flooding the screen."""

from __future__ import annotations

from collections.abc import Collection


def listed(items: Collection[object], most: int = 5) -> str:
    """Name the first few items and count the rest.

    Examples
    --------
    >>> listed(["a", "b"]), listed(range(9), most=3)
    ('a, b', '0, 1, 2 and 6 more')
    """
    shown = ", ".join(str(item) for item in list(items)[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"
