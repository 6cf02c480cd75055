"""Answer files compared with the truth: collecting, checking and measuring them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.capture.answers import extract_count
from autoeval.counting.capture.split import CaptureItem, CaptureSplit
from autoeval.counting.capture.task_run import CHOICE, HIDDEN, CaptureTask
from autoeval.counting.measures.bootstrap import bootstrap_mean
from autoeval.counting.measures.count_errors import smape, smape_terms
from autoeval.counting.predictions import BLANK, LARGEST, match_ids, read_long
from autoeval.counting.prompting import Extractor, is_done
from autoeval.errors import InputError
from autoeval.runtime import FAILED, MISSING, OK, SKIPPED
from autoeval.runtime.files import PathLike, read_json, read_paper, write_json
from autoeval.words import listed

Row = Mapping[str, Any]
LIMITS = "asked.json"  # how many items each task of a run was asked about; null for all
NONE = "none"


@dataclass(frozen=True, eq=False)
class TaskResult:
    """The answers of one model to one task.

    Parameters
    ----------
    model : str
        Name of the model.
    task : CaptureTask
        What it was asked.
    frame : DataFrame
        A row an item: ``image_file``, ``truth``, ``value`` (NaN or None where there is none),
        ``status``, ``confidence``, ``shape``, ``ground_truth`` and ``num_occluded``.
    warnings : tuple of str
        What is odd about the answers, one sentence each.
    """

    model: str
    task: CaptureTask
    frame: pd.DataFrame
    warnings: tuple[str, ...]


def read_answers(path: PathLike, *, task: str = "total-occluded") -> list[dict]:
    """Read answers: a ``.jsonl`` file of this program, a JSON list of the authors', or a table.

    Lists and tables (CSV or Parquet of ``image,count``; a column ``class`` is passed over) say
    neither model, taken from the file's name, nor `task`; -1 is a skipped answer.

    Parameters
    ----------
    path : path-like
        The file; its ending says which of the three it is.
    task : str
        Name of the task that the answers of a list or table are to.

    Returns
    -------
    list of dict
        One for each answer, with ``image_file``, ``task``, ``sample`` (0 for the first) and
        ``status``; and ``value``, ``model``, ``confidence`` and ``ground_truth`` where stated.

    Raises
    ------
    InputError
        If there is no such file, or it does not hold answers.
    """
    path = Path(path)
    if path.suffix in (".csv", ".tsv", ".txt", ".parquet"):
        counts = read_long(path).reset_index("class", drop=True)["count"]
        records = [
            {"image_file": name, "results": None if np.isnan(value) else value}
            for name, value in counts.items()
        ]
        return [_checked(_released_row(record, path.stem, task)) for record in records]
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".jsonl":
            rows = [json.loads(line) for line in text.split("\n") if line.strip()]
        else:
            rows = [_released_row(record, path.stem, task) for record in json.loads(text)]
        return [_checked(row) for row in rows]
    except FileNotFoundError:
        raise InputError(f"No answers at {path}.") from None
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise InputError(f"{path} does not hold answers: {error!r}.") from None


def collect(split: CaptureSplit, task: CaptureTask, model: str, rows: Iterable[Row]) -> TaskResult:
    """Put the answers of one model to one task beside the truth; what is odd becomes a warning.

    Items without an answer stay as ``missing``; of several answers to one question the last counts;
    answers about an image of the same name with another box are left out. Of several samples, the
    commonest answer is the value, of equally common ones that of the first sample, and its share of
    all, skipped ones included, the confidence.

    Parameters
    ----------
    split : CaptureSplit
        Items with their true counts.
    task : CaptureTask
        The task that all `rows` are of.
    model : str
        Name of the model that gave them.
    rows : iterable of mapping
        Answers, as `read_answers` returns them.

    Returns
    -------
    TaskResult
        With a row for every item of the task.
    """
    items = {item.image_file: item for item in task.items(split.items)}
    by_image: dict[str, list[Row]] = {}
    bad, differing = list[str](), list[str]()
    rows = list(rows)
    names = match_ids({row["image_file"] for row in rows}, items)
    rows = [{**row, "image_file": names.get(row["image_file"], row["image_file"])} for row in rows]
    elsewhere = [row for row in rows if _of_another_box(row, items)]
    kept, warnings = _one_each((row for row in rows if not _of_another_box(row, items)), items)
    for row in kept:
        name, stated = row["image_file"], row.get("ground_truth")
        read = _read(row, task)
        by_image.setdefault(name, []).append(read)
        if read["value"] is None and is_done(row) and row.get("value") is not None:
            bad.append(name)
        if stated is not None and _count(stated) != items[name].ground_truth:
            differing.append(f"{name} ({stated}, here {items[name].ground_truth})")
    records = [
        {
            "image_file": name,
            "truth": task.truth(item),
            **_combine(by_image.get(name, []), task),
            "shape": item.shape,
            "ground_truth": item.ground_truth,
            "num_occluded": item.num_occluded,
        }
        for name, item in items.items()
    ]
    frame = pd.DataFrame(records)
    if elsewhere:
        names = listed(list(dict.fromkeys(row["image_file"] for row in elsewhere)))
        warnings.append(
            f"{len(elsewhere)} answers are about images of another split, which have the names of "
            f"these and other boxes: {names}"
        )
    if bad:
        value_name = "pattern" if task.kind == CHOICE else "count"
        warnings.append(
            f"{len(bad)} values are no {value_name} and taken as skipped: {listed(bad)}"
        )
    if differing:
        warnings.append(
            f"{len(differing)} answers state another true count than the split, whose counts are "
            f"used: {listed(differing, most=3)}"
        )
    for status in (MISSING, FAILED):
        names = frame.loc[frame["status"] == status, "image_file"].tolist()
        if names:
            warnings.append(f"{len(names)} of {len(frame)} items {status}: {listed(names)}")
    few = [name for name, answers in by_image.items() if len(answers) < task.samples]
    if few:
        warnings.append(f"{len(few)} items with fewer than {task.samples} samples: {listed(few)}")
    return TaskResult(model, task, frame, tuple(warnings))


def note_limit(folder: Path, task: str, limit: int | None) -> None:
    """Keep beside the answers how many items of a task are sent to the counter.

    Parameters
    ----------
    folder : Path
        With the answers.
    task : str
        Its name.
    limit : int, optional
        How many; None for all.
    """
    path = folder / LIMITS
    limits = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    write_json(path, {**limits, task: limit})


def read_limits(paths: Iterable[Path]) -> dict[tuple[str, str], int]:
    """Return how many items were asked, of runs that had a limit.

    Parameters
    ----------
    paths : iterable of Path
        Files of answers.

    Returns
    -------
    dict of (str, str) to int
        By model and task the largest limit; those that any run asked about all items are left out.

    Raises
    ------
    InputError
        See `read_answers`.
    """
    limits_by_task: dict[tuple[str, str], list[int | None]] = {}
    for path in paths:
        file = path.parent / LIMITS
        limits = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        for model, task in group_rows(read_answers(path)):
            limits_by_task.setdefault((model, task), []).append(limits.get(task))
    return {
        key: max(n for n in run_limits if n is not None)
        for key, run_limits in limits_by_task.items()
        if None not in run_limits
    }


def asked_items(split: CaptureSplit, limit: int | None, rows: Iterable[Row]) -> CaptureSplit:
    """Return the split of what was asked: its first items, and all others that have an answer.

    Parameters
    ----------
    split : CaptureSplit
        All items.
    limit : int, optional
        How many were asked in the last run; None for all.
    rows : iterable of mapping
        Answers of one model to one task, of earlier runs, too.
    """
    if limit is None:
        return split
    items, rows = {item.image_file: item for item in split.items}, list(rows)
    names = match_ids({row["image_file"] for row in rows}, items)
    named = [{**row, "image_file": names.get(row["image_file"])} for row in rows]
    asked = {row["image_file"] for row in named if not _of_another_box(row, items)}
    kept = [item for k, item in enumerate(split.items) if k < limit or item.image_file in asked]
    return replace(split, items=tuple(kept))


def group_rows(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return answers by model and task.

    Parameters
    ----------
    rows : sequence of mapping
        See `read_answers`.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((str(row.get("model", "model")), row["task"]), []).append(row)
    return groups


def _checked(row: Mapping[str, Any]) -> dict[str, Any]:
    checked = {"image_file": str(row["image_file"]), "task": row["task"]}
    checked |= {"sample": int(row.get("sample", 0)), "status": str(row["status"])}
    if row.get("confidence") is not None:
        checked["confidence"] = float(row["confidence"])
    return {**row, **checked}


def _released_row(record: Mapping[str, Any], model: str, task: str) -> dict[str, Any]:
    value = record["processed_results"] if "processed_results" in record else record["results"]
    skipped = value is None or (isinstance(value, (int, float)) and value < 0)
    return {
        "image_file": record["image_file"],
        "ground_truth": record.get("ground_truth"),
        "task": task,
        "model": model,
        "value": None if skipped else value,
        "status": SKIPPED if skipped else OK,
        "text": record.get("answer"),
    }


def _one_each(rows: Iterable[Row], names: Container[str]) -> tuple[list[Row], list[str]]:
    answers: dict[tuple[str, int], Row] = {}
    times: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for row in rows:
        name, place = row["image_file"], (row["image_file"], row.get("sample", 0))
        if name not in names:
            unknown[name] += 1
            continue
        before = answers.get(place)
        # One key again: its text was read anew, or its image changed and was asked about anew.
        same_key = before is not None and "key" in row and row["key"] == before.get("key")
        if before is not None and is_done(before) and not same_key:
            if not is_done(row):
                continue
            times[name] += 1
        answers[place] = row
    warnings = []
    if times:
        warnings.append(
            f"{len(times)} items answered more than once, the last counts: {listed(list(times))}"
        )
    if unknown:
        warnings.append(
            f"{len(unknown)} images are not in this task of the split: {listed(list(unknown))}"
        )
    return list(answers.values()), warnings


def _of_another_box(row: Row, items: Mapping[str, CaptureItem]) -> bool:
    """Return whether an answer says of which box it is, and that of the item is another."""
    item = items.get(row["image_file"])
    if item is None or "box" not in row:
        return False
    return row["box"] != (None if item.box is None else item.box.tolist())


def _combine(rows: Sequence[Row], task: CaptureTask) -> dict[str, Any]:
    # in the order of the samples, whichever was answered first
    rows = sorted(rows, key=lambda row: row.get("sample", 0))
    answered = [row for row in rows if is_done(row)]
    if not answered:
        return {"value": None, "status": FAILED if rows else MISSING, "confidence": np.nan}
    values = Counter(row.get("value") for row in answered)
    skips = values.pop(None, 0)
    if not values:
        return {"value": None, "status": SKIPPED, "confidence": np.nan}
    value, times = values.most_common(1)[0]
    share = times / (values.total() + skips)
    stated = answered[-1].get("confidence")
    confidence = share if task.samples > 1 else np.nan if stated is None else stated
    return {"value": value, "status": OK, "confidence": confidence}


def _read(row: Row, task: CaptureTask) -> Row:
    """Turn the value of an answer into a count or pattern; without one it is a skipped answer."""
    value = row.get("value")
    if not is_done(row) or value is None:
        return {**row, "value": value}
    if isinstance(value, str) and value.strip().lower() in BLANK:
        value = None
    elif task.kind == CHOICE:
        value = value if isinstance(value, str) else None
    else:
        value = _count(value, hidden=task.answer == HIDDEN)
    return {**row, "value": value, "status": SKIPPED if value is None else row["status"]}


def _count(value: Any, *, hidden: bool = False) -> float | None:
    if isinstance(value, str):
        value = extract_count(value, hidden=hidden).value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= LARGEST else None


def measure(result: TaskResult) -> dict[str, Any]:
    """Measure the answers to one task.

    An item without a value scores a sMAPE of 100 and is not exact; the MAE is over the others. The
    main measure, ``sMAPE`` for counts and ``accuracy`` (%) for patterns, has ``low`` and ``high``,
    its 95 % bootstrap interval over items.

    Parameters
    ----------
    result : TaskResult
        As `collect` makes it.

    Returns
    -------
    dict
        ``model``, ``task``, ``n`` (items), the main measure with ``low`` and ``high``, for counts
        ``MAE`` (objects, NaN without a value) and ``exact %``, ``skipped %``, and ``missing``, the
        number of items that failed or have no answer.
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
    """Measure the sMAPE of counts at every level of a factor (Fig. 6 and 7).

    Parameters
    ----------
    result : TaskResult
        Of a task of counts.
    factor : {"shape", "ground_truth", "num_occluded"}
        Column of its frame; items where it is not known are passed over.

    Returns
    -------
    DataFrame
        A row a level: ``model``, the factor, ``n`` (items), ``sMAPE`` in %, and the ends ``low``
        and ``high`` of its 95 % bootstrap interval.
    """
    rows = [
        {"model": result.model, factor: level, "n": len(part)}
        | _with_ends("sMAPE", smape_terms(*counts(part)))
        for level, part in result.frame.dropna(subset=[factor]).groupby(factor)
    ]
    return pd.DataFrame(rows, columns=["model", factor, "n", "sMAPE", "low", "high"])


def paired_difference(original: TaskResult, occluded: TaskResult) -> dict[str, Any]:
    """Compare the sMAPE of the same images: occluded - original (Table 2).

    Parameters
    ----------
    original, occluded : TaskResult
        Answers of one model to two tasks; images that only one has are passed over.

    Returns
    -------
    dict
        ``model``, ``n`` (images), ``original`` and ``occluded`` (sMAPE in %), and ``difference``
        in points, with ``low`` and ``high`` of its 95 % interval by a bootstrap over pairs.
    """
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

    Parameters
    ----------
    a, b : TaskResult
        Answers of two models to the same task.

    Returns
    -------
    dict
        ``task``, ``A`` and ``B`` (names), ``n`` (items), ``measure`` (``accuracy`` or ``sMAPE``),
        ``of A`` and ``of B`` in %, ``difference`` with ``low`` and ``high`` in points, and
        ``better``, a name or "".
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

    Items without a value have the column ``none``.

    Parameters
    ----------
    result : TaskResult
        Of any task.
    most : int
        Counts above it share a level.
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
    """Compare stated or sampled confidence with error, in steps of .1 (Fig. 9 and 10).

    Parameters
    ----------
    result : TaskResult
        Of a task of counts.

    Returns
    -------
    DataFrame
        One row a step that holds an item: ``model``, mean ``confidence``, ``n`` (items), ``sMAPE``
        and ``exact %``; empty without confidences.
    """
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
    """Return true counts and answers (N,), float64; NaN where there is no answer.

    Parameters
    ----------
    frame : DataFrame
        Of a `TaskResult` of counts.
    """
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
    """Return the published sMAPE (%) on original and occluded images of a split (Tables 2 and 3).

    Parameters
    ----------
    split : {"real", "synthetic"}
        The split.
    """
    entry = read_paper("capture", ["2"])[0]["2"]
    columns = {f"{split}, {name}": name for name in ("original", "occluded")}
    printed = pd.DataFrame.from_dict(entry["rows"], "index", columns=[*entry["columns"]])
    table = printed.loc[entry["averaged"], [*columns]].rename(columns=columns)
    table.loc["humans, 100 items", "occluded"] = published_human(split)
    order = ["humans, 100 items", *entry["averaged"]]
    return table.loc[order].rename_axis("model").reset_index()


def published_human(split: str) -> float:
    """Return the published sMAPE (%) of people on 100 occluded items of a split (Table 3).

    Parameters
    ----------
    split : {"real", "synthetic"}
        The split.
    """
    entry = read_paper("capture", ["3"])[0]["3"]
    return entry["rows"]["Human"][[*entry["columns"]].index(f"{split}, occluded")]


def read_cases(path: PathLike) -> list[dict[str, Any]]:
    """Read a table of answers and what a person read in them.

    Parameters
    ----------
    path : path-like
        A JSON list of ``{"kind", "text", "value"}``; a value of null for no answer.

    Raises
    ------
    InputError
        If it is no such file.
    """
    cases = read_json(path, "table of answers")
    try:
        cases = [{key: case[key] for key in ("kind", "text", "value")} for case in cases]
    except (KeyError, TypeError) as error:
        raise InputError(
            f'Expected {path} to be a list of {{"kind", "text", "value"}}: {error!r}.'
        ) from None
    if not cases:
        raise InputError(f"{path} holds no answers: expected one or more.")
    for number, case in enumerate(cases):
        is_number = isinstance(case["value"], int | float) and np.isfinite(case["value"])
        if not isinstance(case["text"], str) or not (is_number or case["value"] is None):
            raise InputError(
                f"{path}, answer {number}: expected a text and as its value a number or null, got "
                f"{case['text']!r} and {case['value']!r}."
            )
    return cases


def score_extractor(
    extractor: Extractor, cases: Iterable[Mapping[str, Any]]
) -> tuple[pd.DataFrame, list[str]]:
    """Compare an extractor with what a person read.

    Parameters
    ----------
    extractor : callable
        From an answer to an `Extraction`.
    cases : iterable of mapping
        See `read_cases`.

    Returns
    -------
    table : DataFrame
        One row a kind, and the last of all: ``answers``, and those of them that are ``right``,
        ``wrong`` (another number), ``invented`` (a number where there is none) and ``missed`` (none
        where there is one), and ``accuracy`` in %.
    errors : list of str
        Every case that is not right.
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
    verdicts = pd.concat([frame, frame.assign(kind="all")])
    table = pd.crosstab(verdicts["kind"], verdicts["verdict"])
    table = table.reindex(columns=["right", "wrong", "invented", "missed"], fill_value=0)
    table.insert(0, "answers", table.sum(axis=1))
    table["accuracy"] = 100 * table["right"] / table["answers"]
    table.columns.name = None
    return table.loc[[*(kind for kind in table.index if kind != "all"), "all"]], errors
