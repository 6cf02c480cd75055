"""Show the method at work on a rendered road world: no data, no download, a few minutes on a CPU.

Renders ten environments, holds one back, fits an estimator on the other nine, and estimates the mAP
of a small vehicle detector on the tenth: from its boxes alone, then with twenty labels. The last
paragraph compares both with the truth; the tables are on the page and in tables.txt.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from autoeval.commands.typed_options import refuse_beside


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/demo"), metavar="DIR")
    parser.add_argument("--held-back", default="dusk_city", metavar="NAME", help="environment")
    parser.add_argument(
        "--published",
        action="store_true",
        help="compare with published scores in the tables, too; takes three times as long",
    )
    parser.add_argument(
        "--sample",
        type=Path,
        metavar="DIR",
        help="write a small sample of labels and predictions instead",
    )


def run(args: argparse.Namespace) -> int:
    """Render, score, fit, estimate, compare."""
    if args.sample:
        reason = "is about the demo, and --sample renders none of it: leave it out."
        refuse_beside(args, ["work_dir", "held_back", "published"], reason)
        from autoeval.demo.sample import write_sample

        print(*write_sample(args.sample), sep="\n")
        return 0
    from autoeval.demo.showing import show_method

    print(show_method(args.work_dir, held_back=args.held_back, published=args.published))
    return 0
