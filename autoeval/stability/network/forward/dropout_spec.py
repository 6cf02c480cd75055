"""Where and how much to drop: plain values, without a network."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

from autoeval.errors import InputError
from autoeval.runtime.files import read_config, write_text

POSITIONS = ("after", "before")
N_STAGES = 4
FILE_KEYS = ("dropout", "found")
FIELDS = ("position", "stages", "rate")


@dataclass(frozen=True)
class DropoutSpec:
    """Where and how much to drop.

    Parameters
    ----------
    position : {"after", "before"}
        "after" drops elements of a stage's output, which both the next stage and the neck read;
        "before" those of its input alone: the neck still sees the previous stage whole.
    stages : tuple of int
        Numbers of the four backbone stages, from 0, kept sorted.
    rate : float
        Probability of zeroing an element, 0 <= rate < 1; the rest is divided by 1 - rate.

    Raises
    ------
    InputError
        If one of these does not hold.

    Examples
    --------
    >>> DropoutSpec("before", [2, 1])
    DropoutSpec(position='before', stages=(1, 2), rate=0.15)
    """

    position: str = "after"
    stages: tuple[int, ...] = (1, 2)
    rate: float = 0.15

    def __post_init__(self) -> None:
        if self.position not in POSITIONS:
            raise InputError(
                f"Expected dropout `position` 'after' or 'before', got {self.position!r}."
            )
        stages = _sorted_stages(self.stages)
        if not stages or len(set(stages)) < len(stages) or not set(stages) <= set(range(N_STAGES)):
            raise InputError(
                "Expected dropout `stages` to be different numbers among 0, 1, 2, 3 and at least "
                f"one, got {self.stages!r}."
            )
        is_number = isinstance(self.rate, Real) and not isinstance(self.rate, bool)
        if not is_number or not 0 <= self.rate < 1:
            raise InputError(f"Expected dropout `rate` at least 0 and under 1, got {self.rate!r}.")
        object.__setattr__(self, "stages", stages)
        object.__setattr__(self, "rate", float(self.rate))


def _sorted_stages(stages: Iterable[int]) -> tuple[int, ...]:
    try:
        return tuple(sorted(map(operator.index, stages)))
    except TypeError as error:
        raise InputError(f"Expected dropout `stages` as whole numbers, got {stages!r}.") from error


def write_dropout_config(
    path: str | os.PathLike[str], spec: DropoutSpec, search: dict[str, Any]
) -> None:
    """Write a dropout to a Python file.

    Parameters
    ----------
    path : path-like
        The file.
    spec : DropoutSpec
        The dropout.
    search : dict of str to Any
        How it was found, in plain values, with the name of the ``detector``.
    """
    detector = _literal(search["detector"])[1:-1]
    lines = [
        f'"""Dropout for {detector}, found by autoeval search-dropout."""',
        "",
        f'dropout = dict(position="{spec.position}", stages={list(spec.stages)}, rate={spec.rate})',
        "",
        "found = dict(",
        *(f"    {name}={_literal(value)}," for name, value in search.items()),
        ")",
    ]
    write_text(path, "\n".join(lines) + "\n")


def load_dropout(path: str | os.PathLike[str]) -> DropoutSpec:
    """Read the dropout of a configuration file.

    Parameters
    ----------
    path : path-like
        The file.

    Raises
    ------
    InputError
        If it cannot be read, or holds none.
    """
    dropout = read_config(path, FILE_KEYS).get("dropout")
    if not isinstance(dropout, dict) or set(dropout) != set(FIELDS):
        raise InputError(
            f"Expected {path} to hold `dropout = dict(position=..., stages=[...], rate=...)`, got "
            f"{dropout!r}. autoeval search-dropout writes such files."
        )
    return DropoutSpec(**dropout)


def of_search(
    path: str | os.PathLike[str], fact: Literal["sources", "named_stages"]
) -> tuple[str, ...]:
    """Return what a configuration file says of the search that chose its dropout.

    Parameters
    ----------
    path : path-like
        The file.
    fact : str
        ``sources`` that it was chosen on: on these the errors of what is fitted with it are too
        small. Or ``named_stages``: modules that the search was given as stages, which the dropout
        numbers.

    Returns
    -------
    tuple of str
        Empty where the file does not say it.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    return tuple(map(str, read_config(path, FILE_KEYS).get("found", {}).get(fact, ())))


def _literal(value: Any) -> str:
    """Write a value as the project's formatter would."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
