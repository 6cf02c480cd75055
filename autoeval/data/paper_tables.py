"""The figures that papers print, as the files in ``configs/papers`` hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autoeval.data.config_file import read_config
from autoeval.data.shipped import shipped_config
from autoeval.errors import InputError


def read_paper(
    paper: str, names: Sequence[str] = (), *, kind: str = "table"
) -> tuple[dict[str, Mapping[str, Any]], Mapping[str, str]]:
    """Read what a paper prints.

    Parameters
    ----------
    paper : str
        Name of a file in ``configs/papers``.
    names : sequence of str
        Tables to read, such as ``"1"``; all by default.
    kind : {"table", "figure"}

    Returns
    -------
    tables : dict of str to mapping
        By name, in the order asked for.
    downloads : mapping of str to str
        Where people get each thing that the tables need.

    Raises
    ------
    InputError
        If there is no such table.
    """
    content = read_config(shipped_config("papers", f"{paper}.py"))
    start = f"{kind}_"
    known = {k.removeprefix(start): v for k, v in content.items() if k.startswith(start)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"Expected {kind}s out of {', '.join(known)} but got {unknown[0]!r}.")
    return {name: known[name] for name in names or known}, content["downloads"]
