"""Answers of a counter, kept one by one, so that a kill loses only the ones in flight."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from autoeval.errors import InputError
from autoeval.runtime.files import PathLike, write_json

Cell = dict[str, Any]


class CellJournal:
    """A file of JSON lines, one a cell, that is only ever appended to.

    A line that a kill cut short is dropped when the journal is next opened. The fields `key`
    identify a cell: of several lines with one key the last holds.
    """

    def __init__(self, path: PathLike, key: Sequence[str]) -> None:
        self.path = Path(path)
        self.key = tuple(key)

    def read(self) -> dict[tuple, Cell]:
        """Return the cells by their key, in the order in which they were first written."""
        cells: dict[tuple, Cell] = {}
        if not self.path.exists():
            return cells
        for line in self.path.read_bytes().splitlines():
            with suppress(LookupError, TypeError, ValueError):
                cell = json.loads(line)
                cells[tuple(cell[field] for field in self.key)] = cell
        return cells

    @contextmanager
    def writer(self) -> Iterator[Callable[[Sequence[Cell]], None]]:
        """Yield a function that appends cells and hands them to the operating system at once."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content.rfind(b"\n") + 1
        with self.path.open("ab") as stream:
            if whole < len(content):  # a kill cut the last line short
                stream.truncate(whole)

            def write(cells: Sequence[Cell]) -> None:
                stream.write(b"".join(json.dumps(cell).encode() + b"\n" for cell in cells))
                stream.flush()

            yield write
            os.fsync(stream.fileno())


def check_same_run(path: PathLike, settings: Mapping[str, Any]) -> None:
    """Keep the settings of a run beside its journals, or compare them with those kept there."""
    path = Path(path)
    now = json.loads(json.dumps(settings))
    if not path.exists():
        write_json(path, now)
        return
    try:
        before = json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}): remove its folder to start anew.") from None
    differing = [k for k in sorted({*before, *now}) if before.get(k) != now.get(k)]
    if differing:
        changes = "; ".join(f"{k}: {before.get(k)!r}, now {now.get(k)!r}" for k in differing)
        raise InputError(
            f"{path.parent} holds answers under other settings ({changes}). Give another folder, "
            "or remove this one to start anew."
        )


def folder_name(model: str) -> str:
    """Return a name fit for a folder."""
    return re.sub(r"[^\w.@+-]+", "_", model)
