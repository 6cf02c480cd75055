"""Measure answers to CAPTURe: tables, charts and a report page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.errors import InputError, refuse_given

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike

TASK = "total-occluded"


def report_answers(
    split: PathLike,
    answers: Sequence[PathLike],
    *,
    task: str | None = None,
    work_dir: PathLike = "capture_report",
) -> None:
    """Measure answers to CAPTURe: tables, charts and a report page.

    Items without an answer score as skipped ones and are named; of a run with --limit, only what
    was asked is measured.

    Parameters
    ----------
    split : path-like
        Folder of a split.
    answers : sequence of path-like
        Files that `autoeval count capture run` wrote, folders of them, JSON lists as the authors'
        scripts write them, or tables MODEL.csv with the columns image and count.
    task : str, optional
        Of answers in JSON lists and tables, which do not say (default: total-occluded).
    work_dir : path-like
        Where to write.
    """
    from autoeval.counting.capture.results import (
        collect,
        group_rows,
        read_answers,
        read_limits,
    )
    from autoeval.counting.capture.run_page import FORMATS, capture_page
    from autoeval.counting.capture.split import open_split
    from autoeval.counting.capture.tasks import get_task
    from autoeval.counting.filed_page import merged_notes
    from autoeval.report.text import Table, format_cells, to_terminal

    there = open_split(Path(split))
    files: list[Path] = []
    for path in map(Path, answers):
        files += sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    if all(path.suffix == ".jsonl" for path in files):
        refuse_given({"task": task}, "is for answers in JSON lists; these name their task.")
    rows = [row for path in files for row in read_answers(path, task=task or TASK)]
    limits = read_limits(path for path in files if path.suffix == ".jsonl")
    results = [
        collect(there.first(limits.get((model, name))), get_task(name), model, found)
        for (model, name), found in group_rows(rows).items()
    ]
    if not results:
        raise InputError(f"No answers in {', '.join(map(str, answers))}.")
    limited = [
        f"{model}, {name}: measured on the first {n} of {len(there.items)} items, which is what "
        "was asked (--limit)"
        for (model, name), n in limits.items()
        if n < len(there.items)
    ]
    page = capture_page(there, results, limited)
    print("".join(f"{line}\n" for line in limited), end="")
    written = page.write_all(Path(work_dir))
    tables = {block.name: block for block in page.blocks if isinstance(block, Table)}
    print(to_terminal(format_cells(tables["measures"].table, FORMATS)))
    if "models" in tables:
        print("\n" + tables["models"].text())
    for note in merged_notes((f"{r.model}, {r.task.name}", r.warnings) for r in results):
        print(f"note: {note}")
    print("written:\n" + "\n".join(f"  {path}" for path in written))
