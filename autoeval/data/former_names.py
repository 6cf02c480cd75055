"""What an image was called before a labelling tool stored it under a name of its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from urllib.parse import parse_qs, unquote, urlsplit

_PREFIX = re.compile(r"[0-9a-f]{8}(?:-|__)(?=.)")
_ODD = re.compile(r"[^-\w.]")


def stored_name(name: str) -> str:
    """Return the file name of an image as tools store it: no folder, no address, no spaces.

    Label Studio's addresses are ``/data/upload/PROJECT/NAME`` and, percent-encoded,
    ``/data/local-files/?d=FOLDER/NAME``. Spaces become ``_``, and other signs are dropped, as by
    Django for files that are uploaded.

    Examples
    --------
    >>> stored_name("/data/local-files/?d=images%2Fyard%20north.jpg"), stored_name("yard north.jpg")
    ('yard_north.jpg', 'yard_north.jpg')
    """
    address = urlsplit(name.replace("\\", "/").replace("#", "%23"))
    path = parse_qs(address.query).get("d", [address.path])[-1]
    return _ODD.sub("", unquote(path).rpartition("/")[2].strip().replace(" ", "_"))


def former_name(name: str) -> str:
    """Return `stored_name` without the eight hexadecimal digits of Label Studio before it.

    Uploads are ``a1b2c3d4-0013.jpg``, and local files in an export ``a1b2c3d4__0013.jpg``.

    Examples
    --------
    >>> former_name("/data/upload/1/a1b2c3d4-0013.jpg"), former_name("images/0013.jpg")
    ('0013.jpg', '0013.jpg')
    """
    return _PREFIX.sub("", stored_name(name), count=1)


class FormerNames:
    """Images by what a tool may have made of their names; for names that are not there as they are.

    Parameters
    ----------
    names : sequence of str
        Paths of images. Those that cannot be distinguished are not found.
    """

    def __init__(self, names: Sequence[str]) -> None:
        stored = [stored_name(name) for name in names]
        times = Counter(stored)
        self._index = {name: k for k, name in enumerate(stored) if times[name] == 1}

    def find(self, name: str) -> int | None:
        """Return the position of an image by a name that a tool gave it, or None."""
        return self._index.get(stored_name(name), self._index.get(former_name(name)))
