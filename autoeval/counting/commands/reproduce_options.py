"""What the commands have in common that put printed figures of counting beside our own."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from autoeval.counting.commands.common_options import add_json, add_mode, add_out, add_predictions

if TYPE_CHECKING:
    from autoeval.report.sections import Section

Entries = Mapping[str, Mapping[str, Any]]


def add_reproduce_options(
    parser: argparse.ArgumentParser, paper: str, *, tables: str, figures: str = ""
) -> None:
    """Declare the options that all of them have.

    Parameters
    ----------
    parser : ArgumentParser
    paper : str
        Name of the file in ``configs/papers``.
    tables, figures : str
        Those that print has, for the help.
    """
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
    add_out(parser, f"reproduce_{paper}")
    add_json(parser)


def wanted(args: argparse.Namespace, paper: str) -> tuple[Entries, Entries, Mapping[str, str]]:
    """Read the tables and figures that were asked for, and where their data are had."""
    from autoeval.data.config_file import read_paper

    figures: Entries = {}
    if getattr(args, "figure", []):
        figures, _ = read_paper(paper, args.figure, kind="figure")
    tables, downloads = read_paper(paper, args.table)
    return ({} if figures and not args.table else tables), figures, downloads


def deliver(
    args: argparse.Namespace,
    title: str,
    sections: Sequence[Section],
    missing: Mapping[str, Sequence[str]],
    downloads: Mapping[str, str],
) -> int:
    """Print sections with the mode and what is missing; write page, tables and figures."""
    from autoeval.counting.filed_page import PAGE, write_sections
    from autoeval.counting.reproduce.printed_grid import ModeSection
    from autoeval.report.sections import Remarks, Report, printed_text

    lacking = [f"{name}: {text}" for name, texts in missing.items() for text in texts]
    sources = [f"Get the {what} from {where}" for what, where in downloads.items()]
    remarks = Remarks("missing", "What is missing", [*lacking, *(sources if lacking else [])])
    report = Report(title, [ModeSection(args.mode), *sections, remarks])
    write_sections(report, args.out)
    print(printed_text(report, [args.out / PAGE, args.out], as_json=args.json))
    return 0
