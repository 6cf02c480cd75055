"""What the commands have in common that put printed figures of counting beside our own."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from autoeval.report.printed_beside import Beside
from autoeval.report.remarks import Remarks
from autoeval.report.sections import Report, told


def add_common(parser: argparse.ArgumentParser, tables: str, work_dir: str) -> None:
    """Declare the options that all of them have."""
    parser.add_argument("--table", nargs="+", default=[], metavar="N", help=f"{tables}; all")
    parser.add_argument("--data-root", type=Path, metavar="DIR", help="the data, see above")
    parser.add_argument(
        "--predictions", type=Path, nargs="+", default=[], metavar="DIR", help="see above"
    )
    parser.add_argument(
        "--work-dir", type=Path, default=Path(work_dir), metavar="DIR", help="(%(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_mode(parser: argparse.ArgumentParser) -> None:
    """Declare the way of measuring."""
    parser.add_argument(
        "--mode",
        choices=("released", "paper"),
        default="released",
        help="as the authors' code, which made the figures, or as the paper says (%(default)s)",
    )


def deliver(
    args: argparse.Namespace,
    title: str,
    tables: Sequence[Beside],
    missing: Mapping[str, Sequence[str]],
    downloads: Mapping[str, str],
) -> int:
    """Print tables with what is missing, and write page, CSV, JSON and Markdown."""
    lacking = [f"{name}: {text}" for name, texts in missing.items() for text in texts]
    sources = [f"Get the {what} from {where}" for what, where in downloads.items()]
    remarks = Remarks("missing", "What is missing", [*lacking, *(sources if lacking else [])])
    report = Report(title, [*tables, remarks])
    written = report.write(args.work_dir)
    print(told(report, written, as_json=args.json))
    return 0
