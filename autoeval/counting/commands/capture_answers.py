"""Score the reading of counts out of free text on a table of answers that a person has read."""

from __future__ import annotations

import argparse
from pathlib import Path

from autoeval.counting.capture.answers import extract_count
from autoeval.counting.capture.answers.extraction_accuracy import read_cases, score_extractor
from autoeval.counting.capture.prompts import SHIPPED
from autoeval.report.tables import format_cells, to_markdown

CASES = SHIPPED.with_name("answer_cases.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "cases",
        type=Path,
        nargs="?",
        default=CASES,
        metavar="FILE",
        help='JSON list of {"kind", "text", "value"}, null for no answer (default: shipped)',
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    table, errors = score_extractor(extract_count, read_cases(args.cases))
    shown = format_cells(table.rename_axis("kind").reset_index(), {"accuracy": "{:.1f}"})
    print(to_markdown(shown))
    for error in errors:
        print(error)
    return 0
