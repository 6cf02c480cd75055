"""From what an answer file says to a count or a pattern, and whether the file fits the split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autoeval.counting.capture.answers import extract_count
from autoeval.counting.capture.records import CaptureItem
from autoeval.counting.capture.tasks import CHOICE, CaptureTask
from autoeval.counting.count_columns import LARGEST
from autoeval.counting.prompting import is_done
from autoeval.data.wording import listed
from autoeval.runtime.states import SKIPPED

Row = Mapping[str, Any]


def readable(rows: Iterable[Row], task: CaptureTask) -> tuple[list[Row], list[str]]:
    """Turn the values of answers into counts (or patterns); what is none is a skipped answer.

    Parameters
    ----------
    rows : iterable of mapping
        With ``image_file``, ``status`` and ``value``; failed ones are passed on as they are.
    task : CaptureTask

    Returns
    -------
    tuple of list of mapping and list of str
        The rows, and sentences that name the values that cannot be read.

    Examples
    --------
    >>> from autoeval.counting.capture.tasks import get_task
    >>> rows = [{"image_file": name, "status": "ok", "value": value}
    ...         for name, value in (("a", "twelve"), ("b", 10**400))]
    >>> found, problems = readable(rows, get_task("total-occluded"))
    >>> [row["value"] for row in found], problems
    ([12.0, None], ['1 values are no count and taken as skipped: b'])
    """
    found: list[Row] = []
    bad = []
    for row in rows:
        value = row.get("value")
        if not is_done(row) or value is None:
            found.append(row)
            continue
        read = _pattern(value) if task.kind == CHOICE else _count(value)
        if read is None:
            bad.append(row["image_file"])
        found.append(
            {**row, "value": read, "status": row["status"] if read is not None else SKIPPED}
        )
    what = "pattern" if task.kind == CHOICE else "count"
    problems = [f"{len(bad)} values are no {what} and taken as skipped: {listed(bad)}"]
    return found, problems if bad else []


def contradictions(rows: Iterable[Row], items: Sequence[CaptureItem]) -> list[str]:
    """Name the answers that state another true count than the split does."""
    truth = {item.image_file: item.ground_truth for item in items}
    differing = [
        f"{row['image_file']} ({row['ground_truth']}, here {truth[row['image_file']]})"
        for row in rows
        if row.get("ground_truth") is not None
        and row["image_file"] in truth
        and _count(row["ground_truth"]) != truth[row["image_file"]]
    ]
    if not differing:
        return []
    return [
        f"{len(differing)} answers state another true count than the split, whose counts are used: "
        f"{listed(differing, most=3)}"
    ]


def _pattern(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> float | None:
    if isinstance(value, str):
        value = extract_count(value).value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= LARGEST else None
