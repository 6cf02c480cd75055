"""The chosen dropout as a configuration file that other tools read."""

from __future__ import annotations

import os
from typing import Any

from autoeval.data.config_file import read_config
from autoeval.detectors.forward.dropout_spec import DropoutSpec
from autoeval.errors import InputError
from autoeval.runtime.files import write_text

FIELDS = ("position", "stages", "rate")


def write_dropout_config(
    path: str | os.PathLike[str], spec: DropoutSpec, found: dict[str, Any]
) -> None:
    """Write a dropout, and how it was found.

    Parameters
    ----------
    path : path-like
        Ends in ``.py``.
    spec : DropoutSpec
    found : dict
        Plain values, for people.
    """
    lines = [
        f'"""Dropout for {found["detector"]}, found by autoeval search-dropout."""',
        "",
        f'dropout = dict(position="{spec.position}", stages={list(spec.stages)}, rate={spec.rate})',
        "",
        "found = dict(",
        *(f"    {name}={_literal(value)}," for name, value in found.items()),
        ")",
    ]
    write_text(path, "\n".join(lines) + "\n")


def load_dropout(path: str | os.PathLike[str]) -> DropoutSpec:
    """Read the dropout of a configuration file.

    Raises
    ------
    InputError
        If the file is missing, or its ``dropout`` does not have exactly a position, stages and a
        rate.
    """
    dropout = read_config(path).get("dropout")
    if not isinstance(dropout, dict) or set(dropout) != set(FIELDS):
        raise InputError(
            f"Expected {path} to hold `dropout = dict(position=..., stages=[...], rate=...)`, got "
            f"{dropout!r}. autoeval search-dropout writes such files."
        )
    return DropoutSpec(dropout["position"], tuple(dropout["stages"]), dropout["rate"])


def _literal(value: Any) -> str:
    """Write a value as the project's formatter would."""
    return f'"{value}"' if isinstance(value, str) else repr(value)
