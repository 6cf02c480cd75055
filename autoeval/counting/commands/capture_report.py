"""Measure answers to CAPTURe: tables, charts and a report page.

ANSWERS are files that `autoeval count capture run` wrote, folders of them, JSON lists as the
authors' scripts write them, or tables MODEL.csv with the columns image and count. Items without an
answer score as skipped ones and are named; of a run with --limit, only what was asked is measured.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from autoeval.commands.typed_options import refuse_beside
from autoeval.counting.commands.common_options import add_work_dir
from autoeval.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("split", type=Path, metavar="SPLIT", help="folder of a split")
    parser.add_argument("answers", type=Path, nargs="+", metavar="ANSWERS")
    parser.add_argument(
        "--task",
        default="total-occluded",
        help="of answers in JSON lists and tables, which do not say (default: %(default)s)",
    )
    add_work_dir(parser, "capture_report")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
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
    from autoeval.report.text import format_cells, to_terminal

    split = open_split(args.split)
    files = []
    for path in args.answers:
        files += sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    if all(path.suffix == ".jsonl" for path in files):
        refuse_beside(args, ["task"], "is for answers in JSON lists; these name their task.")
    rows = [row for path in files for row in read_answers(path, task=args.task)]
    limits = read_limits(path for path in files if path.suffix == ".jsonl")
    results = [
        collect(split.first(limits.get((model, task))), get_task(task), model, answers)
        for (model, task), answers in group_rows(rows).items()
    ]
    if not results:
        raise InputError(f"No answers in {', '.join(map(str, args.answers))}.")
    limited = [
        f"{model}, {task}: measured on the first {n} of {len(split.items)} items, which is what "
        "was asked (--limit)"
        for (model, task), n in limits.items()
        if n < len(split.items)
    ]
    page = capture_page(split, results, limited)
    print("".join(f"{line}\n" for line in limited), end="")
    written = page.write_all(args.work_dir)
    print(to_terminal(format_cells(page.tables["measures"].table, FORMATS)))
    if "models" in page.tables:
        print("\n" + page.tables["models"].text())
    for note in merged_notes((f"{r.model}, {r.task.name}", r.warnings) for r in results):
        print(f"note: {note}")
    print("written:\n" + "\n".join(f"  {path}" for path in written))
    return 0
