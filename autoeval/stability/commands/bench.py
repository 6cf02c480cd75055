"""Compare all methods on score tables: one row a method, one column a source, and a paired test.

Takes work dirs of estimate-map (or their scores.parquet), and compares by leave-one-group-out
cross-validation.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from autoeval.commands.run_options import add_work_dir


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("scores", nargs="+", type=Path, metavar="SCORES", help="work dir or file")
    parser.add_argument("--method", nargs="+", metavar="NAME", help="default: all")
    parser.add_argument("--target", default="mAP", metavar="NAME", help="such as mAP50 or mAP/car")
    parser.add_argument("--level", type=float, default=0.9, help="of the intervals (%(default)s)")
    add_work_dir(parser, "work_dirs/bench", "for bench.md and a CSV file a table (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Evaluate every method on every table; print and write."""
    from autoeval.report.text import written_files
    from autoeval.stability.methods import compared_methods
    from autoeval.stability.methods.score_rows import read_scores
    from autoeval.stability.reports.method_comparison import compare_methods

    tables = {
        path.name if path.is_dir() else f"{path.parent.name}_{path.stem}": read_scores(path)
        for path in args.scores
    }
    methods = args.method or list(compared_methods())
    comparison = compare_methods(tables, methods, target=args.target, level=args.level)
    print(f"{comparison.text}\n{written_files(comparison.write(args.work_dir))}")
    return 0
