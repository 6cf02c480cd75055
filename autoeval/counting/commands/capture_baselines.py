"""Measure the counters without a model on the synthetic split, and write the tables as Markdown.

The way to choose among several completions is compared on boxes of another seed (--development)
than the ones that are reported. Takes about ten minutes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.counting.commands.common_options import add_work_dir

if TYPE_CHECKING:
    import pandas as pd

CHOSEN, FILE = "most", "capture_baselines.md"
ABOUT = """Written by `autoeval count capture baselines --seed {seed} --development {development}
--every {every} --released FILE --work-dir DIR`. sMAPE, `low` and `high` in % (95 % bootstrap
interval over images), lower is better. Counters: a perfect count of what the frame holds, of what
the box leaves untouched, and pattern completion with oracle and with detected centres."""
LAYOUTS = {"published layout": False, "--fit-canvas": True}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--seed", type=int, default=0, help="of the boxes that are reported")
    parser.add_argument("--development", type=int, default=1, metavar="SEED")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="take every K-th item")
    parser.add_argument(
        "--released", type=Path, metavar="FILE", help="released synthetic_metadata.json"
    )
    add_work_dir(parser, "capture_baselines")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from autoeval.counting.capture.baselines import (
        CENTRES,
        IN_CANVAS,
        VisibleOnly,
        answer_all,
        by_pattern,
        column,
        released_answers,
        summarise,
    )
    from autoeval.counting.capture.capture_measures import published_human, published_table
    from autoeval.counting.capture.records import read_items
    from autoeval.counting.capture.synthetic import SyntheticSpec
    from autoeval.runtime.files import write_text

    parts = ["# Counting behind a box without a model", ABOUT.format(**vars(args))]
    for title, fit in LAYOUTS.items():
        spec = SyntheticSpec(seed=args.seed, fit_canvas=fit)
        answers = answer_all(spec, every=args.every)
        names = [IN_CANVAS, VisibleOnly.name, *(column(source, CHOSEN) for source in CENTRES)]
        parts += _section(f"Occluded images, {title}", len(answers), summarise(answers, names))
        parts += _section(f"sMAPE by pattern, {title}", None, by_pattern(answers, names))
    if args.released:
        answers = released_answers(read_items(args.released))
        found = summarise(answers, [IN_CANVAS, "not-occluded"])
        parts += _section("The released items", len(answers), found)
    parts += _section("Published, 1150 items", None, published_table("synthetic"))
    parts += _development(args)
    written = args.work_dir / FILE
    write_text(written, "\n\n".join(parts) + "\n")
    print(f"Written: {written}. Humans: {published_human('synthetic')} % on 100 items.")
    return 0


def _development(args: argparse.Namespace) -> list[str]:
    from autoeval.counting.capture.baselines import CENTRES, answer_all, column, summarise
    from autoeval.counting.capture.completion.complete import POLICIES
    from autoeval.counting.capture.synthetic import SyntheticSpec

    parts = []
    for title, fit in LAYOUTS.items():
        spec = SyntheticSpec(seed=args.development, fit_canvas=fit)
        answers = answer_all(spec, every=args.every)
        names = [column(source, policy) for source in CENTRES for policy in POLICIES]
        found = summarise(answers, names)
        parts += _section(f"Ways to choose, seed {args.development}, {title}", len(answers), found)
    return parts


def _section(title: str, n: int | None, table: pd.DataFrame) -> list[str]:
    from autoeval.report.tables import format_cells, to_markdown

    numbers = dict.fromkeys(table.columns[1:], "{:.2f}")
    heading = f"## {title}" + (f", {n} items" if n else "")
    return [heading, to_markdown(format_cells(table, numbers))]
