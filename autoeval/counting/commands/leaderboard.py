"""Put several counting runs on one page: each model's rank in each run, and every measure.

RUN is a folder that `autoeval count evaluate`, `count praco` or `count capture report` wrote, or
NAME=FOLDER. Models that are called alike in several runs are one. Writes report.html, ranks.csv,
leaderboard.csv and a figure for each run into the folder --work-dir.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from autoeval.counting.commands.common_options import add_work_dir


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="see above")
    parser.add_argument(
        "--measure",
        nargs="+",
        default=[],
        metavar="NAME",
        help="rank a run by the first of these that it has (default: pooled MAE, NMN, "
        "NMN macro, sMAPE, accuracy or MAE)",
    )
    add_work_dir(parser, "leaderboard")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from autoeval.counting.filed_page import PAGE
    from autoeval.counting.leaderboard import leaderboard_page, overall, read_runs
    from autoeval.report.text import format_cells, to_terminal

    named = [_named(text) for text in args.runs]
    folders, names = [folder for _, folder in named], [name for name, _ in named]
    standings = read_runs(folders, names, measures=args.measure)
    leaderboard_page(standings).write_all(args.work_dir)
    table = overall(standings)
    formats = dict.fromkeys(table.columns[2:], "{:g}") | {"mean rank": "{:.2f}"}
    print(to_terminal(format_cells(table, formats)))
    for standing in standings:
        print(f"{standing.run} is ranked by {standing.measure}")
    print(f"\nReport: {args.work_dir / PAGE}")
    return 0


def _named(text: str) -> tuple[str, Path]:
    """Read NAME=FOLDER, or the folder alone."""
    name, sign, folder = text.partition("=")
    if sign and not Path(text).exists():
        return name, Path(folder)
    return Path(text).resolve().name, Path(text)
