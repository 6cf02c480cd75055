"""Reading JSON, YAML and configuration files, and what of their items cannot be read."""

from __future__ import annotations

import gc
import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autoeval.errors import InputError
from autoeval.runtime.files import PathLike
from autoeval.words import Notice, listed, printable

GZIP = b"\x1f\x8b"
JSON = (".json", ".json.gz")
MOST_BAD = 0.5
NAMED = 3
MALFORMED = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)
PACKAGE = Path(__file__).resolve().parents[1]
CONFIGS = next((f for f in (PACKAGE / "configs", PACKAGE.parent / "configs") if f.is_dir()), None)
LARGEST = 1 << 20  # bytes; lists of 20,000 names have half as many
MOST_ALIASES = 20  # data.yaml has none; a few hundred can stand for more than any memory


def is_json(path: PathLike) -> bool:
    """Whether a path is called as JSON is, in whatever case, be it compressed by gzip.

    Examples
    --------
    >>> is_json("val.JSON"), is_json("val.json.gz"), is_json("val.jsonl")
    (True, True, False)
    """
    return Path(path).name.lower().endswith(JSON)


def read_json(path: PathLike, what: str = "file") -> Any:
    """Read a JSON file; `what` is expected there, such as ``"annotation file"``, for messages."""
    path, name = Path(path), printable(path)
    try:
        content = path.read_bytes()
        if content.startswith(GZIP):
            content = gzip.decompress(content)
        # The collector would walk over ever more values, half of the time.
        was_on = gc.isenabled()
        gc.disable()
        try:
            return json.loads(content)
        finally:
            if was_on:
                gc.enable()
    except FileNotFoundError:
        raise InputError(f"No {what} {name}: check the path.") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"Cannot read the {what} {name}: {reason}.") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not a JSON file in UTF-8 ({error}): write it with encoding='utf-8'."
        ) from error
    except ValueError as error:
        raise InputError(f"{name} is not a JSON file ({error}).") from error
    except RecursionError:
        raise InputError(f"{name} is nested too deeply to be a {what}.") from None


def name_of(given: object) -> Path:
    """Return a path, or for messages what an object is.

    Examples
    --------
    >>> str(name_of("a/b.json")), str(name_of([{"score": 1}]))
    ('a/b.json', 'the list in memory')
    """
    if isinstance(given, str | os.PathLike):
        return Path(given)
    return Path(f"the {type(given).__name__} in memory")


@dataclass
class BadItems:
    """The items of one kind that could not be read.

    `path` is the file or folder that they are in, for messages, empty where items are named by
    their file; `what` they are, such as ``"annotations"``; `form` describes a fault by ``{item}``
    and ``{fault}``. `n` items were read so far, and `faults` says what is wrong with some.

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
    what: str
    form: str = "{item} is malformed: {fault}"
    n: int = 0
    faults: list[str] = field(default_factory=list, init=False)

    @contextmanager
    def item(self, name: str) -> Iterator[None]:
        """Leave out the item that the body reads where it is malformed."""
        self.n += 1
        try:
            yield
        except MALFORMED as error:
            self.add(name, error)

    def warnings(self, before: Iterable[str] = ()) -> tuple[str, ...]:
        """Return what was left out, in one sentence, where anything was.

        `before` is what was left out of other lists, which may be the reason. Raises `InputError`
        if it is more than half of the items.
        """
        n_bad = len(self.faults)
        if n_bad > MOST_BAD * self.n:
            where = f"{self.path}: " if self.path else ""
            raise InputError(
                f"{where}{'; '.join([*before, self.faults[0]])}. {n_bad} of {self.n} "
                f"{self.what} cannot be read; a few would be left out, but these are most."
            )
        what = Notice(
            "entries-malformed",
            f"{self.what} left out: {n_bad} of {self.n} ({listed(self.faults, NAMED)})",
        )
        return (what,) if n_bad else ()

    def add(self, name: str, error: Exception) -> None:
        """Take in what is wrong with an item."""
        if isinstance(error, InputError):  # names the item itself
            self.faults.append(str(error).rstrip("."))
            return
        self.faults.append(self.form.format(item=name, fault=fault(error)))


def fault(error: Exception) -> str:
    """Say what is wrong, where a field is missing too."""
    return f"no field {error}" if isinstance(error, KeyError) else str(error)


def shipped_config(*parts: str) -> Path:
    """Return the path of a shipped configuration file, or of a folder of them.

    Raises FileNotFoundError if the package lies neither in a checkout nor as installed.

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

    Examples
    --------
    >>> or_shipped("configs/metasets/mild.py").is_file(), str(or_shipped("mine.py"))
    (True, 'mine.py')
    """
    given = Path(path)
    if given.exists() or given.parts[:1] != ("configs",) or CONFIGS is None:
        return given
    shipped = CONFIGS.joinpath(*given.parts[1:])
    return shipped if shipped.is_file() else given


def read_config(path: PathLike) -> dict[str, Any]:
    """Read an mmengine configuration file, maybe a shipped ``configs/...``, as plain dictionaries.

    Raises `InputError` if it is missing or cannot be run.
    """
    from mmengine.config import Config

    file = or_shipped(path)
    if not file.is_file():
        raise InputError(f"No configuration file {path}: check the path.")
    try:
        return Config.fromfile(file).to_dict()
    except Exception as error:  # the file is a program: it can fail in any way
        raise InputError(f"Cannot read the configuration file {path}: {error}") from error


def read_paper(
    paper: str, names: Sequence[str] = (), *, kind: str = "table"
) -> tuple[dict[str, Mapping[str, Any]], Mapping[str, str]]:
    """Read what a file in ``configs/papers`` prints: tables or figures by name, all by default.

    Also returned is where people get each thing that they need.
    """
    content = read_config(shipped_config("papers", f"{paper}.py"))
    start = f"{kind}_"
    printed = {k.removeprefix(start): v for k, v in content.items() if k.startswith(start)}
    unknown = [name for name in names if name not in printed]
    if unknown:
        raise InputError(f"Expected {kind}s out of {', '.join(printed)} but got {unknown[0]!r}.")
    return {name: printed[name] for name in names or printed}, content["downloads"]


def read_yaml(path: Path) -> Any:
    """Read a YAML file, or raise `InputError` if it is none, too large, or full of aliases."""
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
