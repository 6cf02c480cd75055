"""Images named one by one: in a text file, on standard input, or by a pattern."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from autoeval.errors import InputError

LISTS = frozenset({".txt", ".lst"})
STANDARD_INPUT = "-"


def listed_paths(source: str | os.PathLike[str]) -> list[Path]:
    """Read a list of paths.

    Parameters
    ----------
    source : path-like
        A text file with a path on each line (those that begin with # are comments), relative to the
        file's folder or else to the current one; ``-`` for the same on standard input; or a pattern
        such as ``site/**/*.jpg``.

    Raises
    ------
    InputError
        If the file is no text, or nothing is listed.
    """
    if os.fspath(source) == STANDARD_INPUT:
        paths = [Path(line) for line in _lines(sys.stdin)]
    elif Path(source).is_file():
        paths = _in_file(Path(source))
    else:
        paths = [Path(path) for path in sorted(glob.glob(os.fspath(source), recursive=True))]
    if not paths:
        what = "on standard input" if os.fspath(source) == STANDARD_INPUT else f"in {source}"
        raise InputError(f"No path {what}: expected one image on each line, or a pattern.")
    return paths


def is_pattern(source: str | os.PathLike[str]) -> bool:
    """Whether a path that does not exist holds the signs of a pattern."""
    return glob.has_magic(os.fspath(source)) and not Path(source).exists()


def _in_file(file: Path) -> list[Path]:
    try:
        lines = _lines(file.read_text(encoding="utf-8-sig").splitlines())
    except UnicodeDecodeError:
        raise InputError(f"{file} is not a text file with a path on each line.") from None
    return [_nearest(file.parent / line, Path(line)) for line in lines]


def _nearest(beside: Path, from_here: Path) -> Path:
    return from_here if from_here.exists() and not beside.exists() else beside


def _lines(lines: Iterable[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]
