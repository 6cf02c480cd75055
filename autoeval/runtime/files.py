"""Values for JSON; files that a kill or a full disk leaves as they were or whole, never half."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PathLike = str | os.PathLike[str]
FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet runs


@contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that replaces it when the body ends well.

    The temporary file keeps the suffix of ``path`` (libraries choose a format by it), is flushed to
    disk before the rename, and is removed when the body raises. An `OSError` names ``path``; a
    folder in its place is refused.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "deep" / "note.txt"
    ...     with atomic_path(target) as temporary:
    ...         _ = temporary.write_text("whole")
    ...     target.read_text(), len(list(target.parent.iterdir()))
    ('whole', 1)
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"Expected a file to write but {path} is a folder: name a file in it.")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except OSError as error:
        if error.errno is None:
            raise OSError(f"Cannot write {path}: {error}") from error
        raise type(error)(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def alone_in(folder: PathLike) -> Iterator[None]:
    """Write several files of one result into a folder while other processes that do so wait.

    So that what lies there in the end is of one of them. The lock (``flock``) ends with its owner,
    however that dies; a process that waits says so.
    """
    from filelock import FileLock, Timeout

    path = Path(folder) / ".writing.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, thread_local=False)  # the file stays: others may wait for it
    try:
        lock.acquire(blocking=False)
    except Timeout:
        print(f"note: another process writes into {folder}: waiting for it", file=sys.stderr)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def write_text(path: PathLike, text: str) -> None:
    """Write ``text`` (UTF-8) to ``path`` atomically, making its folder where needed."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_table(
    path: PathLike,
    table: pd.DataFrame,
    *,
    float_format: str | None = None,
    read_again: bool = False,
) -> Path:
    """Write a table without its index, as Parquet where the suffix says so, else as CSV.

    `float_format` is one such as ``"%.6g"``, for CSV; by default every digit is written. Text that
    a spreadsheet would run is escaped, see `without_formula`, but for what this program will have
    `read_again` as it was.
    """
    with atomic_path(path) as temporary:
        if temporary.suffix == ".parquet":
            table.to_parquet(temporary, index=False)
        else:
            if not read_again:
                kinds = table.dtypes
                table = table.rename(columns=without_formula)
                for k, kind in enumerate(kinds):
                    if kind.kind == "O":  # text, categories and mixed values
                        table.isetitem(k, table.iloc[:, k].map(without_formula))
            table.to_csv(temporary, index=False, float_format=float_format)
    return Path(path)


def without_formula(value: Any) -> Any:
    """Escape text that a spreadsheet would run, such as a file name that begins with ``=``.

    An apostrophe before it makes it text; numbers, also as text, and other values stay as they are.

    Examples
    --------
    >>> without_formula("=1+1"), without_formula("a-b"), without_formula("-2")
    ("'=1+1", 'a-b', '-2')
    """
    if not isinstance(value, str):
        return value
    whole = value.replace("\r", " ")  # not quoted by pandas: what follows would begin a row
    if not value.startswith(FORMULAS):
        return whole
    try:
        float(value)
    except ValueError:
        return f"'{whole}"
    return whole


def write_figure(path: PathLike, figure: Figure, *, dpi: int = 150) -> Path:
    """Draw a matplotlib figure into a file of the format that the suffix names; return the path.

    Equal figures give equal bytes: the file does not name the version that drew it, nor when.
    """
    import matplotlib as mpl

    unnamed = {"Date": None} if Path(path).suffix == ".svg" else {"Software": None}
    with mpl.rc_context({"svg.hashsalt": "autoeval"}), atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=dpi, metadata=unnamed)
    return Path(path)


def write_json(path: PathLike, value: Any, *, indent: int | None = 2) -> Path:
    """Write values as JSON, null for numbers that are not finite; return the path."""
    try:
        text = json.dumps(value, indent=indent, allow_nan=False)
    except ValueError:
        text = json.dumps(plain(value), indent=indent)
    write_text(path, text + "\n")
    return Path(path)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: times in ISO 8601, None for what JSON lacks.

    Mappings, lists and tuples are gone through; keys become texts and tuples lists.

    >>> plain({1: (float("nan"), float("inf"), 0.5)})
    {'1': [None, None, 0.5]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    value = value.item() if hasattr(value, "item") else value
    pandas = sys.modules.get("pandas")  # its NaT and NA exist only where something imported it
    if value is None or (pandas is not None and pandas.isna(value)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.isoformat() if isinstance(value, datetime) else value
