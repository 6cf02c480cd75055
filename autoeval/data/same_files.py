"""Files of the same content, found without reading those of a size of their own."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path


def same_content(files: Iterable[Path], others: Iterable[Path]) -> list[Path]:
    """Return those of ``files`` whose content is, byte by byte, that of one of ``others``.

    Files that cannot be read are like no other.
    """
    by_size: defaultdict[int, list[Path]] = defaultdict(list)
    for path in others:
        by_size[_size(path)].append(path)
    digests: dict[int, set[bytes]] = {}
    same = []
    for path in files:
        size = _size(path)
        if size > 0 and size in by_size:
            known = digests.setdefault(size, {_digest(other) for other in by_size[size]})
            if _digest(path) in known:
                same.append(path)
    return same


def later_copies(files: Sequence[Path]) -> list[int]:
    """Return the numbers of the files whose content is, byte by byte, that of an earlier one."""
    by_size: defaultdict[int, list[int]] = defaultdict(list)
    for k, path in enumerate(files):
        by_size[_size(path)].append(k)
    later = []
    for size, alike in by_size.items():
        seen: set[bytes] = set()
        for k in alike if size > 0 and len(alike) > 1 else ():
            digest = _digest(files[k])
            if digest in seen:
                later.append(k)
            seen.add(digest)
    return sorted(later)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _digest(path: Path) -> bytes:
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return str(path).encode("utf-8", "replace")
