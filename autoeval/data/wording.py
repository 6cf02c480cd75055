"""Naming things in messages without flooding the screen."""

from __future__ import annotations

import os
import re
from collections.abc import Collection

_STRAY_BYTE = "[\udc80-\udcff]"  # how Python carries a byte of a file name that is no UTF-8


def listed(items: Collection[object], most: int = 5) -> str:
    """Name the first few items and count the rest.

    Examples
    --------
    >>> listed(["a", "b"]), listed(range(9), most=3)
    ('a, b', '0, 1, 2 and 6 more')
    """
    shown = ", ".join(str(item) for item in list(items)[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def printable(name: str | os.PathLike[str]) -> str:
    r"""Spell out the bytes of a file name that are not UTF-8, so that it can be shown and stored.

    Examples
    --------
    >>> printable(os.fsdecode(b"bad\xff.jpg"))
    'bad\\xff.jpg'
    """
    text = os.fspath(name)
    if text.isascii():
        return text
    text = re.sub(_STRAY_BYTE, lambda byte: f"\\x{ord(byte[0]) - 0xDC00:02x}", text)
    return text.encode("utf-8", "backslashreplace").decode()
