"""Files that come with the package, configuration files, and the printed figures among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autoeval.errors import InputError
from autoeval.runtime.files import PathLike

PACKAGE = Path(__file__).resolve().parents[1]
CONFIGS = next((f for f in (PACKAGE / "configs", PACKAGE.parent / "configs") if f.is_dir()), None)


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
