"""Answer files compared with the truth: collecting, reading and checking them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.capture.answers import extract_count
from autoeval.counting.capture.split import CaptureSplit
from autoeval.counting.capture.tasks import CHOICE, CaptureTask
from autoeval.counting.predictions import LARGEST, match_ids, read_long
from autoeval.counting.prompting import is_done
from autoeval.errors import InputError
from autoeval.runtime import FAILED, MISSING, OK, SKIPPED
from autoeval.runtime.files import PathLike, write_json
from autoeval.words import listed

Row = Mapping[str, Any]
LIMITS = "asked.json"  # how many items each task of a run was asked about; null for all


@dataclass(frozen=True, eq=False)
class TaskResult:
    """The answers of one model to one task: a row an item, and what was wrong with them.

    `frame` has ``image_file``, ``truth``, ``value`` (NaN or None where there is none), ``status``,
    ``confidence``, ``shape``, ``ground_truth`` and ``num_occluded``.
    """

    model: str
    task: CaptureTask
    frame: pd.DataFrame
    warnings: tuple[str, ...]


def read_answers(path: PathLike, *, task: str = "total-occluded") -> list[dict]:
    """Read answers: a ``.jsonl`` file of this program, a JSON list of the authors', or a table.

    Lists and tables (CSV or Parquet of ``image,count``; a column ``class`` is passed over) say
    neither model, taken from the file's name, nor `task`; -1 is a skipped answer.
    """
    path = Path(path)
    if path.suffix in (".csv", ".parquet"):
        counts = read_long(path).reset_index("class", drop=True)["count"]
        records = [
            {"image_file": name, "results": None if np.isnan(value) else value}
            for name, value in counts.items()
        ]
        return [_checked(_released_row(record, path.stem, task)) for record in records]
    try:
        text = path.read_text(encoding="utf-8")
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

    Items without an answer stay as ``missing``; of several answers to one question the last counts.
    Of several samples, the commonest answer is the value and its share of all, skipped ones
    included, the confidence.
    """
    items = {item.image_file: item for item in task.items(split.items)}
    by_image: dict[str, list[Row]] = {}
    bad, differing = list[str](), list[str]()
    rows = list(rows)
    names = match_ids({row["image_file"] for row in rows}, items)
    rows = [{**row, "image_file": names.get(row["image_file"], row["image_file"])} for row in rows]
    kept, warnings = _one_each(rows, items)
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
    if bad:
        what = "pattern" if task.kind == CHOICE else "count"
        warnings.append(f"{len(bad)} values are no {what} and taken as skipped: {listed(bad)}")
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
    """Keep beside the answers how many items of a task are sent to the counter, None for all."""
    path = folder / LIMITS
    limits = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    write_json(path, {**limits, task: limit})


def read_limits(paths: Iterable[Path]) -> dict[tuple[str, str], int]:
    """Return, by model and task, how many items were asked, of runs that had a limit."""
    asked: dict[tuple[str, str], list[int | None]] = {}
    for path in paths:
        file = path.parent / LIMITS
        limits = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        for model, task in group_rows(read_answers(path)):
            asked.setdefault((model, task), []).append(limits.get(task))
    return {
        key: max(n for n in given if n is not None)
        for key, given in asked.items()
        if None not in given
    }


def group_rows(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Sort answers by model and task."""
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
        if before is not None and is_done(before):
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


def _combine(rows: Sequence[Row], task: CaptureTask) -> dict[str, Any]:
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
    if task.kind == CHOICE:
        value = value if isinstance(value, str) and value else None
    else:
        value = _count(value)
    return {**row, "value": value, "status": SKIPPED if value is None else row["status"]}


def _count(value: Any) -> float | None:
    if isinstance(value, str):
        value = extract_count(value).value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= LARGEST else None
