"""Score the reading of counts out of free text on a table of answers that a person has read."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "cases",
        type=Path,
        nargs="?",
        metavar="FILE",
        help='JSON list of {"kind", "text", "value"}, null for no answer (default: shipped)',
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from autoeval.counting.capture.answers import extract_count
    from autoeval.counting.capture.capture_measures import read_cases, score_extractor
    from autoeval.io.config_file import shipped_config
    from autoeval.report.text import format_cells, to_markdown

    cases = args.cases or shipped_config("counting", "capture", "answer_cases.json")
    table, errors = score_extractor(extract_count, read_cases(cases))
    shown = format_cells(table.rename_axis("kind").reset_index(), {"accuracy": "{:.1f}"})
    print(to_markdown(shown))
    for error in errors:
        print(error)
    return 0
