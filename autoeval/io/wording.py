"""Naming things in messages without flooding the screen."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import Path

from autoeval.runtime.files import PathLike

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


def listed_near(wanted: Collection[str], known: Sequence[str], most: int = 20) -> str:
    """Name what is known, by default all; of more than `most` those that are spelt alike first.

    Examples
    --------
    >>> listed_near(["bycicle"], ["ant", "bicycle", "cat"], most=2)
    'bicycle, ant and 1 more'
    """
    if len(known) <= most:
        return ", ".join(known)
    near = [get_close_matches(word, known, n=most // 2) for word in wanted]
    first = dict.fromkeys(word for words in near for word in words)
    return listed([*first, *(word for word in known if word not in first)], most)


def short_names(paths: Sequence[PathLike]) -> list[str]:
    """Name paths by the last of their parts that tell them apart, without what ends them all.

    Examples
    --------
    >>> short_names(["work/a/estimator.parquet", "work/b/estimator.parquet"])
    ['a', 'b']
    """
    whole = [Path(path) for path in paths]
    while len({path.name for path in whole}) == 1 < len(whole) and whole[0].parent.name:
        whole = [path.parent for path in whole]
    names = [str(path) for path in whole]
    for depth in range(1, 1 + max((len(path.parts) for path in whole), default=0)):
        names = ["/".join(path.parts[-depth:]) for path in whole]
        if len(set(names)) == len(names):
            break
    return names


def masked_address(address: str) -> str:
    """Return an address without what may be a secret in it: user, path and query.

    Examples
    --------
    >>> masked_address("https://me:key@hooks.example.org/services/T0/secret?token=1")
    'https://hooks.example.org/***'
    """
    scheme, sign, rest = address.partition("://")
    whole = rest if sign else address
    host = re.split(r"[/?#\\]", whole, maxsplit=1)[0]
    shown = host.rpartition("@")[2]
    end = "/***" if len(whole) > len(host) else ""
    return f"{scheme}://{shown}{end}" if sign else f"{shown}{end}"


def printable(name: PathLike) -> str:
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
