"""Images to estimate on, however they are named, and what is passed over among them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoeval.data.archives import refuse_archive
from autoeval.data.film import FILMS, FilmFrame, film_frames
from autoeval.data.image_folder import SUFFIXES, ImageFile, load_image_folder, natural_order
from autoeval.data.path_lists import LISTS, STANDARD_INPUT, is_pattern, listed_paths
from autoeval.data.walking import walk
from autoeval.data.wording import listed, printable
from autoeval.errors import InputError

# Formats of photographs that OpenCV does not read, so that they are not taken for other files.
_UNREAD = frozenset({".arw", ".cr2", ".cr3", ".dng", ".heic", ".heif", ".jxl", ".nef", ".raf"})


FILMS_SKIPPED = "films passed over"


@dataclass(frozen=True)
class FoundImages:
    """Images without labels, and what lay beside them.

    Parameters
    ----------
    images : tuple of ImageFile or FilmFrame
    skipped : tuple of str
        What was passed over, one sentence for each kind, counted and named.
    """

    images: tuple[ImageFile | FilmFrame, ...]
    skipped: tuple[str, ...] = ()


def find_images(
    source: str | os.PathLike[str],
    img_dir: str | os.PathLike[str] | None = None,
    *,
    every: str | None = None,
) -> FoundImages:
    """Find images; none is opened, but films are.

    Parameters
    ----------
    source : path-like
        A folder, searched with its subfolders; a COCO JSON file; an image; a film; a text file
        with a path on each line (``.txt`` or ``.lst``), or ``-`` for one on standard input; or a
        pattern such as ``site/**/*.jpg``.
    img_dir : path-like, optional
        For a COCO JSON file; see `load_image_folder`.
    every : str, optional
        Which frames of films are taken: ``"2s"``, or ``"10"`` for every tenth. Needed for a film;
        without it the films of a folder are passed over.

    Raises
    ------
    InputError
        If there is no image, or `every` is missing or malformed.
    """
    if os.fspath(source) == STANDARD_INPUT or is_pattern(source):
        return _of_paths(listed_paths(source), every)
    path = Path(source)
    if path.is_dir():
        return _in_folder(path, every)
    suffix = path.suffix.lower()
    if path.is_file() and suffix in LISTS:
        return _of_paths(listed_paths(path), every)
    if path.is_file() and suffix in FILMS | SUFFIXES:
        return _of_paths([path], every)
    refuse_archive(path)
    problems = list[str]()
    images = load_image_folder(path, img_dir, problems)
    return FoundImages(images, tuple(problems))


def _in_folder(folder: Path, every: str | None) -> FoundImages:
    names = sorted(walk(folder), key=natural_order)
    hidden = [name for name in names if re.search(r"(^|/)\.", name)]
    kept = [name for name in names if name not in set(hidden)]
    taken = SUFFIXES | FILMS if every else SUFFIXES
    images: list[ImageFile | FilmFrame] = []
    for name in kept:
        if _suffix(name) in taken:
            images += _images(folder / name, printable(name), every)
    rest = [name for name in kept if _suffix(name) not in taken]
    if not images:
        load_image_folder(folder)  # says what was expected
    return FoundImages(tuple(images), tuple(_skipped(rest, hidden)))


def _of_paths(paths: Sequence[Path], every: str | None) -> FoundImages:
    counts = Counter(paths)
    again = [printable(path) for path, n in counts.items() if n > 1]
    files = [path for path in counts if not path.is_dir()]
    root = os.path.commonpath([os.path.abspath(path.parent) for path in files] or ["/"])
    images: list[ImageFile | FilmFrame] = []
    rest = []
    for path in files:
        name = Path(os.path.abspath(path)).relative_to(root).as_posix()
        if _suffix(name) in SUFFIXES | FILMS:
            images += _images(path, printable(name), every)
        else:
            rest.append(name)
    if not images:
        raise InputError(
            f"None of the {len(paths)} paths (such as {printable(paths[0])}) is an image or a film."
        )
    skipped = [*_skipped(rest, [])]
    if again:
        skipped.append(f"paths listed more than once, taken once: {len(again)} ({listed(again)})")
    return FoundImages(tuple(images), tuple(skipped))


def _images(path: Path, name: str, every: str | None) -> Sequence[ImageFile | FilmFrame]:
    if _suffix(name) in FILMS:
        return film_frames(path, every, name)
    return (ImageFile(name, path),)


def _skipped(rest: Iterable[str], hidden: Sequence[str]) -> list[str]:
    kinds: dict[str, list[str]] = {
        FILMS_SKIPPED: [],
        "images in formats that OpenCV does not read, passed over": [],
        "other files passed over": [],
        "hidden files passed over": [printable(name) for name in hidden],
    }
    films, unread, other, _ = kinds.values()
    for name in rest:
        suffix = _suffix(name)
        kind = films if suffix in FILMS else unread if suffix in _UNREAD else other
        kind.append(printable(name))
    return [f"{what}: {len(names)} ({listed(names)})" for what, names in kinds.items() if names]


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()
