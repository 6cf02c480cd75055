"""Measures of CAPTURe with bootstrap intervals, and the published figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.capture.answers import Extraction
from autoeval.counting.capture.results import TaskResult
from autoeval.counting.capture.tasks import CHOICE
from autoeval.counting.measures.bootstrap import bootstrap_mean
from autoeval.counting.measures.count_errors import smape, smape_terms
from autoeval.errors import InputError
from autoeval.io.documents import read_json, read_paper
from autoeval.runtime import FAILED, MISSING, SKIPPED
from autoeval.runtime.files import PathLike

NONE = "none"
Extractor = Callable[[str], Extraction]


def measure(result: TaskResult) -> dict[str, Any]:
    """Measure the answers to one task.

    An item without a value scores a sMAPE of 100 and is not exact; the MAE is over the others. The
    main measure, ``sMAPE`` for counts and ``accuracy`` (%) for patterns, has ``low`` and ``high``,
    its 95 % bootstrap interval over items.
    """
    frame, right = result.frame, _right(result.frame)
    row: dict[str, Any] = {"model": result.model, "task": result.task.name, "n": len(frame)}
    if result.task.kind == CHOICE:
        row |= _with_ends("accuracy", 100.0 * right)
    else:
        truth, value = counts(frame)
        error = np.abs(value - truth)[~np.isnan(value)]
        row |= _with_ends("sMAPE", smape_terms(truth, value))
        row["MAE"] = float(error.mean()) if len(error) else np.nan
        row["exact %"] = 100 * float(right.mean())
    row["skipped %"] = 100 * float((frame["status"] == SKIPPED).mean())
    row["missing"] = int(frame["status"].isin([FAILED, MISSING]).sum())
    return row


def by_factor(result: TaskResult, factor: str) -> pd.DataFrame:
    """Measure the sMAPE of counts at every level of a factor (Fig. 6 and 7) that is known."""
    rows = [
        {"model": result.model, factor: level, "n": len(part)}
        | _with_ends("sMAPE", smape_terms(*counts(part)))
        for level, part in result.frame.dropna(subset=[factor]).groupby(factor)
    ]
    return pd.DataFrame(rows, columns=["model", factor, "n", "sMAPE", "low", "high"])


def paired_difference(original: TaskResult, occluded: TaskResult) -> dict[str, Any]:
    """Compare the sMAPE of the same images, drawn in pairs: occluded - original (Table 2)."""
    first, second = _paired_terms(original, occluded)
    return {
        "model": original.model,
        "n": len(first),
        "original": float(first.mean()),
        "occluded": float(second.mean()),
        **_with_ends("difference", second - first),
    }


def model_difference(a: TaskResult, b: TaskResult) -> dict[str, Any]:
    """Compare two models (A - B) by the main `measure` of the items of one task that both have.

    The bootstrap draws both answers to an item together; ``better`` names the better model where
    the interval excludes 0.
    """
    first, second = _paired_terms(a, b)
    patterns = a.task.kind == CHOICE
    difference = _with_ends("difference", first - second)
    clear = difference["low"] > 0 or difference["high"] < 0
    return {
        "task": a.task.name,
        "A": a.model,
        "B": b.model,
        "n": len(first),
        "measure": "accuracy" if patterns else "sMAPE",
        "of A": float(first.mean()),
        "of B": float(second.mean()),
        **difference,
        "better": (a if (difference["low"] > 0) == patterns else b).model if clear else "",
    }


def _paired_terms(a: TaskResult, b: TaskResult) -> list[np.ndarray]:
    """Return the terms (N,) of the main measure of both, over the items that both have."""
    shared = a.frame[["image_file"]].merge(b.frame[["image_file"]])
    frames = [shared.merge(result.frame) for result in (a, b)]
    if a.task.kind == CHOICE:
        return [100.0 * _right(frame) for frame in frames]
    return [smape_terms(*counts(frame)) for frame in frames]


def confusion(result: TaskResult, *, most: int = 30) -> pd.DataFrame:
    """Count the items by truth (rows) and answer (columns), as in Fig. 11.

    Counts above `most` share a level; items without a value have the column ``none``.
    """
    truth, value = result.frame["truth"], result.frame["value"]
    if result.task.kind != CHOICE:
        truth, value = _levels(truth, most), _levels(value, most)
    answered = value.where(value.notna(), NONE)
    rows = sorted(set(truth), key=_order)
    columns = sorted({*truth, *value.dropna()}, key=_order)
    table = pd.crosstab(truth, answered)
    return table.reindex(index=rows, columns=[*columns, NONE], fill_value=0)


def reliability(result: TaskResult) -> pd.DataFrame:
    """Compare stated or sampled confidence with error, in steps of .1 (Fig. 9 and 10)."""
    frame = result.frame.dropna(subset=["confidence"])
    step = np.minimum((frame["confidence"] * 10).astype(int), 9)
    rows = [
        {
            "model": result.model,
            "confidence": part["confidence"].mean(),
            "n": len(part),
            "sMAPE": smape(*counts(part)),
            "exact %": 100 * float(_right(part).mean()),
        }
        for _, part in frame.groupby(step)
    ]
    return pd.DataFrame(rows, columns=["model", "confidence", "n", "sMAPE", "exact %"])


def _with_ends(name: str, terms: np.ndarray) -> dict[str, float]:
    """Return the mean of the terms (N,) of items under a name, ``low`` and ``high``."""
    interval = bootstrap_mean(terms, np.arange(len(terms)))
    return {name: interval.value, "low": interval.low, "high": interval.high}


def counts(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return true counts and answers (N,), float64; NaN where there is no answer."""
    return frame["truth"].to_numpy(float), frame["value"].to_numpy(float)


def _right(frame: pd.DataFrame) -> np.ndarray:
    return (frame["value"] == frame["truth"]).to_numpy(bool)


def _levels(values: pd.Series, most: int) -> pd.Series:
    def level(value: Any) -> Any:
        if pd.isna(value):
            return None
        return f"> {most}" if value > most else round(float(value))

    return pd.Series([level(value) for value in values], values.index, dtype=object)


def _order(level: Any) -> tuple[bool, Any]:
    return (isinstance(level, str), level)


def published_table(split: str) -> pd.DataFrame:
    """Return the published sMAPE on the ``real`` or ``synthetic`` split, original and occluded."""
    entry = read_paper("capture", ["2"])[0]["2"]
    columns = {f"{split}, {name}": name for name in ("original", "occluded")}
    printed = pd.DataFrame.from_dict(entry["rows"], "index", columns=[*entry["columns"]])
    table = printed.loc[entry["averaged"], [*columns]].rename(columns=columns)
    table.loc["humans, 100 items", "occluded"] = published_human(split)
    order = ["humans, 100 items", *entry["averaged"]]
    return table.loc[order].rename_axis("model").reset_index()


def published_human(split: str) -> float:
    """Return the published sMAPE of people on 100 occluded items of a split."""
    entry = read_paper("capture", ["3"])[0]["3"]
    return entry["rows"]["Human"][[*entry["columns"]].index(f"{split}, occluded")]


def read_cases(path: PathLike) -> list[dict[str, Any]]:
    """Read a table of answers: a JSON list of ``{"kind", "text", "value"}``, null for no answer."""
    cases = read_json(path, "table of answers")
    try:
        return [{key: case[key] for key in ("kind", "text", "value")} for case in cases]
    except (KeyError, TypeError) as error:
        raise InputError(
            f'Expected {path} to be a list of {{"kind", "text", "value"}}: {error!r}.'
        ) from None


def score_extractor(
    extractor: Extractor, cases: Iterable[Mapping[str, Any]]
) -> tuple[pd.DataFrame, list[str]]:
    """Compare an extractor with what a person read (`read_cases`), and name every wrong case.

    The table has a row a kind and one for all: ``invented`` is a number where there is none,
    ``missed`` none where there is one, ``wrong`` another number; the accuracy is in %.
    """
    rows, errors = [], []
    for case in cases:
        expected, extraction = case["value"], extractor(case["text"])
        verdict = "right"
        if extraction.value != expected:
            verdict = "missed" if extraction.value is None else "wrong"
            verdict = "invented" if expected is None else verdict
            errors.append(
                f"{case['kind']}: expected {expected}, got {extraction.value} ({extraction.rule}) "
                f"from {case['text']!r}"
            )
        rows.append((case["kind"], verdict))
    frame = pd.DataFrame(rows, columns=["kind", "verdict"])
    both = pd.concat([frame, frame.assign(kind="all")])
    table = pd.crosstab(both["kind"], both["verdict"])
    table = table.reindex(columns=["right", "wrong", "invented", "missed"], fill_value=0)
    table.insert(0, "answers", table.sum(axis=1))
    table["accuracy"] = 100 * table["right"] / table["answers"]
    table.columns.name = None
    return table.loc[[*(kind for kind in table.index if kind != "all"), "all"]], errors
