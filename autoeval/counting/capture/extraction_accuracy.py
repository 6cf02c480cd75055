"""How often an answer extractor reads what a person reads."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from autoeval.counting.capture.answers import Extraction
from autoeval.errors import InputError

Extractor = Callable[[str], Extraction]


def read_cases(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read a table of answers: a JSON list of ``{"kind", "text", "value"}``, null for no answer.

    Raises
    ------
    InputError
        If the file is missing or has another form.
    """
    try:
        cases = json.loads(Path(path).read_text(encoding="utf-8"))
        return [{key: case[key] for key in ("kind", "text", "value")} for case in cases]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f'Expected {path} to be a list of {{"kind", "text", "value"}}: {error!r}.'
        ) from None


def score_extractor(
    extractor: Extractor, cases: Iterable[Mapping[str, Any]]
) -> tuple[pd.DataFrame, list[str]]:
    """Compare an extractor with what a person read.

    Parameters
    ----------
    extractor : callable of str -> Extraction
    cases : iterable of mapping
        See `read_cases`.

    Returns
    -------
    tuple of DataFrame and list of str
        One row a kind and one for all: number of answers, read right, a number where there is none
        (``invented``), none where there is one (``missed``), another number (``wrong``), and the
        accuracy in %. Then every case that went wrong, in words.

    Examples
    --------
    >>> from autoeval.counting.capture.answers import extract_count
    >>> cases = [{"kind": "a", "text": "7", "value": 7}, {"kind": "a", "text": "8", "value": 9}]
    >>> table, errors = score_extractor(extract_count, cases)
    >>> float(table.loc["all", "accuracy"]), errors
    (50.0, ["a: expected 9, got 8 (last) from '8'"])
    """
    rows, errors = [], []
    for case in cases:
        found = extractor(case["text"])
        rows.append({"kind": case["kind"], "verdict": _verdict(case["value"], found.value)})
        if found.value != case["value"]:
            errors.append(
                f"{case['kind']}: expected {case['value']}, got {found.value} ({found.rule}) "
                f"from {case['text']!r}"
            )
    frame = pd.DataFrame(rows, columns=["kind", "verdict"])
    both = pd.concat([frame, frame.assign(kind="all")])
    table = pd.crosstab(both["kind"], both["verdict"])
    table = table.reindex(columns=["right", "wrong", "invented", "missed"], fill_value=0)
    table.insert(0, "answers", table.sum(axis=1))
    table["accuracy"] = 100 * table["right"] / table["answers"]
    table.columns.name = None
    return table.loc[[*(kind for kind in table.index if kind != "all"), "all"]], errors


def _verdict(expected: int | None, found: int | None) -> str:
    if found == expected:
        return "right"
    if expected is None:
        return "invented"
    return "missed" if found is None else "wrong"
