"""Options and output of the commands that compare printed figures of counting with our own."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from autoeval.counting.commands.common_options import (
    add_json,
    add_mode,
    add_predictions,
    add_work_dir,
)

if TYPE_CHECKING:
    from autoeval.report.sections import Section

Make = Callable[[str, Mapping[str, Any]], "tuple[Section, Sequence[str]]"]


def add_reproduce_options(
    parser: argparse.ArgumentParser, paper: str, *, tables: str, figures: str = ""
) -> None:
    """Declare the options that all of them have; `paper` names the file in ``configs/papers``."""
    parser.add_argument(
        "--table",
        nargs="+",
        default=[],
        metavar="N",
        help=f"{tables} (default: all, unless --figure is given)",
    )
    if figures:
        parser.add_argument("--figure", nargs="+", default=[], metavar="N", help=figures)
    parser.add_argument("--data-root", metavar="DIR", help="the data, see above")
    add_predictions(parser, "see above")
    add_mode(parser)
    add_work_dir(parser, f"reproduce_{paper}")
    add_json(parser)


def reproduce(
    args: argparse.Namespace,
    paper: str,
    title: str,
    *,
    table: Make,
    figure: Make,
    missing: Mapping[str, Sequence[str]] | None = None,
) -> int:
    """Make what was requested, print it with what is missing, and write page and files.

    `table` and `figure` make one section from its name and entry in ``configs/papers`` and say what
    it lacks; `missing` is what else does.
    """
    from autoeval.counting.filed_page import PAGE, write_sections
    from autoeval.counting.reproduce.printed_grid import ModeSection
    from autoeval.data.config_file import read_paper
    from autoeval.report.sections import Remarks, Report, written_files

    numbers = getattr(args, "figure", [])
    tables, downloads = read_paper(paper, args.table)
    figures = read_paper(paper, numbers, kind="figure")[0] if numbers else {}
    if figures and not args.table:
        tables = {}
    sections: list[Section] = [ModeSection(args.mode)]
    texts = [f"{name}: {text}" for name, lacking in (missing or {}).items() for text in lacking]
    for kind, entries, make in (("table", tables, table), ("figure", figures, figure)):
        for name, entry in entries.items():
            section, lacking = make(name, entry)
            sections.append(section)
            texts += [f"{kind} {name}: {text}" for text in lacking]
    if texts:
        texts += [f"Get the {what} from {where}" for what, where in downloads.items()]
    report = Report(title, [*sections, Remarks("missing", "What is missing", texts)])
    write_sections(report, args.work_dir)
    written = written_files([args.work_dir / PAGE, args.work_dir])
    shown = f"{report.text()}\n\n{written}"
    print(json.dumps(report.to_dict(), indent=2) if args.json else shown)
    return 0
