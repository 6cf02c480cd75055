"""Files: JSON, YAML and configuration files read; what is written stays as it was or is whole."""

from __future__ import annotations

import ast
import gc
import gzip
import json
import math
import os
import re
import runpy
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from autoeval.errors import InputError, first_line
from autoeval.words import Notice, listed, printable, refuse_unknown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PathLike = str | os.PathLike[str]
FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet runs
GZIP = b"\x1f\x8b"
JSON = (".json", ".json.gz")
YAML = (".yaml", ".yml")
"""Ends of the names of YAML files, in lower case."""
MOST_BAD = 0.5
NAMED = 3
MALFORMED = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)
PACKAGE = Path(__file__).resolve().parents[1]
CONFIGS = next((f for f in (PACKAGE / "configs", PACKAGE.parent / "configs") if f.is_dir()), None)
LARGEST = 1 << 20  # bytes; lists of 20,000 names have half as many
HALVES = re.compile(rb"\\u[dD][89a-fA-F]")
MOST_ALIASES = 20  # data.yaml has none; a few hundred can stand for more than any memory


@contextmanager
def atomic_path(path: PathLike, *, suffix: str | None = None) -> Iterator[Path]:
    """Yield a temporary path beside a file that replaces it when the body ends well.

    The temporary file is flushed to disk before the rename, and is removed when the body raises.
    The folder is made where needed.

    Parameters
    ----------
    path : path-like
        The file to write.
    suffix : str, optional
        Of the temporary file; by default that of `path`, since libraries choose a format by it.

    Yields
    ------
    Path
        What the body writes to.

    Raises
    ------
    OSError
        If it cannot be written; the error names `path`.
    InputError
        If a folder is in its place.

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
    temporary: Path | None = None
    try:
        before, after = f".{path.stem}-", path.suffix if suffix is None else suffix
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=before, suffix=after)
        os.close(handle)
        temporary = Path(name)
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
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextmanager
def alone_in(folder: PathLike) -> Iterator[None]:
    """Write several files of one result into a folder while other processes that do so wait.

    So that what lies there in the end is of one of them. The lock (``flock``) ends with its owner,
    however that dies; a process that waits says so.

    Parameters
    ----------
    folder : path-like
        Made where needed; the file of the lock stays in it.
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
    """Write text (UTF-8) to a file atomically, making its folder where needed.

    Parameters
    ----------
    path : path-like
        The file.
    text : str
        Its content.
    """
    # a program that reads all files of a suffix, as node_exporter does *.prom, also hidden ones,
    # is to find none that is half written, or that a kill left
    with atomic_path(path, suffix=".tmp") as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_table(
    path: PathLike,
    table: pd.DataFrame,
    *,
    float_format: str | None = None,
    read_again: bool = False,
) -> Path:
    """Write a table without its index, as Parquet where the suffix says so, else as CSV.

    Parameters
    ----------
    path : path-like
        The file to write.
    table : DataFrame
        What is written.
    float_format : str, optional
        One such as ``"%.6g"``, for CSV; by default every digit is written.
    read_again : bool
        Whether this program will read it: text is then written as it is. Otherwise text that
        a spreadsheet would run is escaped in CSV, see `without_formula`.

    Returns
    -------
    Path
        The file.
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
    A carriage return becomes a blank.

    Parameters
    ----------
    value : Any
        Of a cell.

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
    """Draw a matplotlib figure into a file.

    Equal figures give equal bytes: the file does not name the version that drew it, nor when.

    Parameters
    ----------
    path : path-like
        The file to write, ``.svg`` or ``.png``.
    figure : Figure
        What is drawn.
    dpi : int
        Pixels an inch, of PNG.

    Returns
    -------
    Path
        The file.
    """
    import matplotlib as mpl

    unnamed = {"Date": None} if Path(path).suffix == ".svg" else {"Software": None}
    with mpl.rc_context({"svg.hashsalt": "autoeval"}), atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=dpi, metadata=unnamed)
    return Path(path)


def write_json(path: PathLike, value: Any, *, indent: int | None = 2) -> Path:
    """Write values as JSON, null for numbers that are not finite.

    Parameters
    ----------
    path : path-like
        The file to write.
    value : object
        Anything that `plain` makes plain.
    indent : int, optional
        None for all in one line.

    Returns
    -------
    Path
        The file.
    """
    try:
        text = json.dumps(value, indent=indent, allow_nan=False)
    except (TypeError, ValueError):  # of NumPy, times, numbers that are not finite
        text = json.dumps(plain(value), indent=indent)
    write_text(path, text + "\n")
    return Path(path)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: times in ISO 8601, None for what JSON lacks.

    Mappings, lists and tuples are gone through; keys become texts, tuples and arrays lists.

    Parameters
    ----------
    value : Any
        Of any type; one that is not named here stays as it is.

    Examples
    --------
    >>> plain({1: (float("nan"), float("inf"), 0.5)})
    {'1': [None, None, 0.5]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # numbers and arrays of NumPy
        return plain(value.tolist())
    pandas = sys.modules.get("pandas")  # its NaT and NA exist only where something imported it
    if value is None or (pandas is not None and pandas.isna(value)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.isoformat() if isinstance(value, datetime) else value


def is_json(path: PathLike) -> bool:
    """Return whether a path is called as JSON is, in whatever case, be it compressed by gzip.

    Parameters
    ----------
    path : path-like
        It need not be there.

    Examples
    --------
    >>> is_json("val.JSON"), is_json("val.json.gz"), is_json("val.jsonl")
    (True, True, False)
    """
    return Path(path).name.lower().endswith(JSON)


def read_json(path: PathLike, file_kind: str = "file") -> Any:
    """Read a JSON file, also compressed by gzip.

    Parameters
    ----------
    path : path-like
        The file.
    file_kind : str
        What is expected there, such as ``"annotation file"``, for messages.

    Raises
    ------
    InputError
        If it is missing, cannot be read, or is no JSON in UTF-8.
    """
    path, name = Path(path), printable(path)
    try:
        content = path.read_bytes()
        if content.startswith(GZIP):
            content = gzip.decompress(content)
        # The collector would walk over ever more values, half of the time.
        was_on = gc.isenabled()
        gc.disable()
        try:
            value = json.loads(content)
            if HALVES.search(content):  # of two halves of a character one may be missing
                json.dumps(value, ensure_ascii=False).encode()
            return value
        finally:
            if was_on:
                gc.enable()
    except FileNotFoundError:
        raise InputError(f"No {file_kind} {name}: check the path.") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"Cannot read the {file_kind} {name}: {reason}.") from error
    except UnicodeError as error:
        raise InputError(
            f"{name} is not a JSON file in UTF-8 ({error}): write it with encoding='utf-8'."
        ) from error
    except ValueError as error:
        raise InputError(f"{name} is not a JSON file ({error}).") from error
    except RecursionError:
        raise InputError(f"{name} is nested too deeply to be a {file_kind}.") from None


def name_of(value: object) -> Path:
    """Return a path, or for messages what an object is.

    Parameters
    ----------
    value : object
        A path or another object.

    Examples
    --------
    >>> str(name_of("a/b.json")), str(name_of([{"score": 1}]))
    ('a/b.json', 'the list in memory')
    """
    if isinstance(value, str | os.PathLike):
        return Path(value)
    return Path(f"the {type(value).__name__} in memory")


@dataclass
class BadItems:
    """The items of one kind that could not be read.

    Parameters
    ----------
    path : str
        File or folder that they are in, for messages; empty where items are named by their file.
    items_name : str
        What they are, such as ``"annotations"``.
    form : str
        Describes a fault by ``{item}`` and ``{fault}``.
    n : int
        Items that were read so far.

    Attributes
    ----------
    faults : list of str
        What is wrong with some.

    Examples
    --------
    >>> bad = BadItems("a.json", "widths")
    >>> for k, width in enumerate(["3", "4", ""]):
    ...     with bad.item(f"widths[{k}]"):
    ...         _ = float(width)
    >>> bad.warnings()
    ("widths left out: 1 of 3 (widths[2] is malformed: could not convert string to float: '')",)
    """

    path: str
    items_name: str
    form: str = "{item} is malformed: {fault}"
    n: int = 0
    faults: list[str] = field(default_factory=list, init=False)

    @contextmanager
    def item(self, name: str) -> Iterator[None]:
        """Leave out the item that the body reads where it is malformed: raises one of `MALFORMED`.

        Parameters
        ----------
        name : str
            Of the item, for messages.
        """
        self.n += 1
        try:
            yield
        except MALFORMED as error:
            self.add(name, error)

    def warnings(self, before: Iterable[str] = ()) -> tuple[Notice, ...]:
        """Return what was left out, in one sentence, where anything was.

        Parameters
        ----------
        before : iterable of str
            What was left out of other lists, which may be the reason.

        Raises
        ------
        InputError
            If it is more than half of the items.
        """
        n_bad = len(self.faults)
        if n_bad > MOST_BAD * self.n:
            where = f"{self.path}: " if self.path else ""
            raise InputError(
                f"{where}{'; '.join([*before, self.faults[0]])}. {n_bad} of {self.n} "
                f"{self.items_name} cannot be read; a few would be left out, but these are most."
            )
        notice = Notice(
            "entries-malformed",
            f"{self.items_name} left out: {n_bad} of {self.n} ({listed(self.faults, NAMED)})",
        )
        return (notice,) if n_bad else ()

    def add(self, name: str, error: Exception) -> None:
        """Take in what is wrong with an item.

        Parameters
        ----------
        name : str
            Of the item.
        error : Exception
            What reading it raised; an `InputError` names the item itself.
        """
        if isinstance(error, InputError):  # names the item itself
            self.faults.append(str(error).rstrip("."))
            return
        self.faults.append(self.form.format(item=name, fault=fault(error)))


def fault(error: Exception) -> str:
    """Return what an error says; of a `KeyError` that a field is missing.

    Parameters
    ----------
    error : Exception
        That was raised.
    """
    return f"no field {error}" if isinstance(error, KeyError) else str(error)


def shipped_config(*parts: str) -> Path:
    """Return the path of a shipped configuration file, or of a folder of them.

    Parameters
    ----------
    *parts : str
        Of the path below the folder of configurations.

    Raises
    ------
    FileNotFoundError
        If the package lies neither in a checkout nor as installed.

    Examples
    --------
    >>> shipped_config("tasks", "vehicle.py").name
    'vehicle.py'
    """
    if CONFIGS is None:
        raise FileNotFoundError(
            f"No folder configs in or beside {PACKAGE}: install autoeval with pip, or run it from "
            "a whole checkout."
        )
    return CONFIGS.joinpath(*parts)


def or_shipped(path: PathLike) -> Path:
    """Return the file, or where there is none the shipped one that ``configs/...`` names.

    So what the documentation calls ``configs/metasets/corruptions.py`` is found from any folder.

    Parameters
    ----------
    path : path-like
        The file.

    Examples
    --------
    >>> or_shipped("configs/metasets/mild.py").is_file(), str(or_shipped("mine.py"))
    (True, 'mine.py')
    """
    named_file = Path(path)
    if named_file.exists() or named_file.parts[:1] != ("configs",) or CONFIGS is None:
        return named_file
    shipped = CONFIGS.joinpath(*named_file.parts[1:])
    return shipped if shipped.is_file() else named_file


def read_config(path: PathLike, known: Sequence[str] | None = None) -> dict[str, Any]:
    """Read an mmengine configuration file, maybe a shipped ``configs/...``, as plain dictionaries.

    Parameters
    ----------
    path : path-like
        The file. Left out is what it has for itself: names that begin with an underscore, modules,
        functions and the `custom_imports` that mmengine has carried out.
    known : sequence of str, optional
        Names that are read; by default any. Left out are then variables that the file uses itself,
        such as words that all of its seed sets have.

    Raises
    ------
    InputError
        If it is missing, cannot be run, or has a name that is not `known`.
    """
    from mmengine.config import Config

    file = or_shipped(path)
    if not file.is_file():
        raise InputError(f"No configuration file {path}: check the path.")
    try:
        config = Config.fromfile(file)
    except Exception as error:  # the file is a program: it can fail in any way
        raise InputError(
            f"Cannot read the configuration file {path}: {first_line(error)}"
        ) from error
    content = {
        name: value
        for name, value in config.to_dict().items()
        if not (name.startswith("_") or callable(value) or isinstance(value, ModuleType))
        and name != "custom_imports"
    }
    if known is None:
        return content
    lines, is_python = list[str](), False
    for line in config.text.split("\n"):  # of the files that it is made of, each behind its path
        if os.path.isabs(line) and os.path.isfile(line):
            is_python = line.endswith(".py")
        elif is_python:
            lines.append(line)
    variables = {
        node.id
        for node in ast.walk(ast.parse("\n".join(lines)))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    content = {n: value for n, value in content.items() if n in known or n not in variables}
    refuse_unknown(content, known, str(path))
    return content


def read_paper(
    paper: str, names: Sequence[str] = (), *, kind: str = "table"
) -> tuple[dict[str, Mapping[str, Any]], Mapping[str, str]]:
    """Read what a file in ``configs/papers`` prints: tables or figures by name.

    Parameters
    ----------
    paper : str
        Name of the file, without its suffix.
    names : sequence of str
        Which of them; all by default.
    kind : str
        ``"table"`` or ``"figure"``.

    Returns
    -------
    tuple of dict and mapping
        Each by its name; and where people get each thing that they need.

    Raises
    ------
    InputError
        If there is none of a name.
    """
    content = runpy.run_path(str(shipped_config("papers", f"{paper}.py")))  # without mmengine
    start = f"{kind}_"
    printed = {k.removeprefix(start): v for k, v in content.items() if k.startswith(start)}
    unknown = [name for name in names if name not in printed]
    if unknown:
        raise InputError(f"Expected {kind}s out of {', '.join(printed)} but got {unknown[0]!r}.")
    return {name: printed[name] for name in names or printed}, content["downloads"]


def read_yaml(path: Path) -> Any:
    """Read a YAML file.

    Parameters
    ----------
    path : Path
        The file, in UTF-8.

    Raises
    ------
    InputError
        If it is none, larger than `LARGEST` bytes, or has more than `MOST_ALIASES` aliases.
    """
    import yaml  # most commands read none

    name = printable(path)
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise InputError(
                f"{name} has {size:,} bytes: expected a YAML file of {LARGEST:,} at most, such as "
                "data.yaml with the names of categories."
            )
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        events = yaml.parse(text, Loader=yaml.SafeLoader)
        if sum(isinstance(event, yaml.AliasEvent) for event in events) > MOST_ALIASES:
            raise InputError(
                f"{name} has more than {MOST_ALIASES} aliases (*NAME), which can stand for more "
                "than any memory: write out what they stand for."
            )
        return yaml.safe_load(text)
    except OSError as error:
        raise InputError(f"Cannot read {name}: {error.strerror}.") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{name} is not a YAML file ({error}).") from error
