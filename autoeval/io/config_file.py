"""Configuration files: those that come with the package, and small YAML files of other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autoeval.errors import InputError
from autoeval.io.wording import printable
from autoeval.runtime.files import PathLike

PACKAGE = Path(__file__).resolve().parents[1]
CONFIGS = next((f for f in (PACKAGE / "configs", PACKAGE.parent / "configs") if f.is_dir()), None)
LARGEST = 1 << 20  # bytes; lists of 20,000 names have half as many
MOST_ALIASES = 20  # data.yaml has none; a few hundred can stand for more than any memory


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
