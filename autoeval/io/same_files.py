"""Files that are the same, byte by byte."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from autoeval.io.find_images import UnlabelledImage
from autoeval.io.image_lists import ImageFile
from autoeval.notices import Notice
from autoeval.runtime.files import PathLike
from autoeval.words import listed


def same_content(files: Iterable[Path], others: Iterable[Path]) -> list[Path]:
    """Return those of ``files`` whose bytes are those of one of ``others``; none unreadable."""
    files, others = list(files), list(others)
    sizes, theirs = [_size(path) for path in files], [_size(path) for path in others]
    shared = set(sizes) & set(theirs) - {-1, 0}
    digests = {
        content_digest(path) for path, size in zip(others, theirs, strict=True) if size in shared
    }
    alike = (path for path, size in zip(files, sizes, strict=True) if size in shared)
    return [path for path in alike if content_digest(path) in digests]


def later_copies(files: Sequence[Path]) -> list[int]:
    """Return the numbers of the files whose content is, byte by byte, that of an earlier one."""
    sizes = [_size(path) for path in files]
    times = Counter(sizes)
    alike = (k for k, size in enumerate(sizes) if size > 0 and times[size] > 1)
    first: dict[bytes, int] = {}
    return [k for k in alike if first.setdefault(content_digest(files[k]), k) != k]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def content_digest(path: Path) -> bytes:
    """Return a hash of the bytes of a file; of its path where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return str(path).encode("utf-8", "replace")


def file_stamp(path: PathLike) -> str:
    """Return size and time of the last change: another one means other content.

    Raises OSError without such a file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     os.utime(file.name, ns=(0, 7))
    ...     file_stamp(file.name)
    '0-7'
    """
    status = os.stat(path)
    return f"{status.st_size}-{status.st_mtime_ns}"


def path_stamp(path: PathLike) -> str:
    """Return where a file lies and its stamp, such as of images that several folders name alike."""
    try:
        return f"{os.path.abspath(path)} {file_stamp(path)}"
    except OSError:
        return f"{os.path.abspath(path)} absent"


def without_copies(
    images: Sequence[UnlabelledImage],
) -> tuple[tuple[UnlabelledImage, ...], tuple[str, ...]]:
    """Leave out files that are byte by byte an earlier one: a copy adds no information.

    Frames of videos and arrays are all kept; a warning names the files that were left out.
    """
    copies = copied(images)
    kept = tuple(image for k, image in enumerate(images) if k not in copies)
    return kept, tuple(
        Notice("copies-left-out", f"{named}, and were left out", severity="note")
        for named in _copies_named(images, copies)
    )


def copies_taken(images: Sequence[UnlabelledImage]) -> tuple[str, ...]:
    """Warn where files are counted that are byte by byte an earlier one; see above."""
    named = _copies_named(images, copied(images))
    return tuple(
        Notice("copies-counted", f"{t}, and count as images of their own: leave them out")
        for t in named
    )


def copied(images: Sequence[UnlabelledImage]) -> list[int]:
    """Return the numbers of the files that are byte by byte an earlier one."""
    files = [(k, image.path) for k, image in enumerate(images) if isinstance(image, ImageFile)]
    return [files[n][0] for n in later_copies([path for _, path in files])]


def _copies_named(images: Sequence[UnlabelledImage], copies: Sequence[int]) -> list[str]:
    names = listed([images[k].image_id for k in copies])
    named = f"{len(copies)} of {len(images)} images are copies of another, byte by byte ({names})"
    return [named] if copies else []
