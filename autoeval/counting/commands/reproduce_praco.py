"""Make tables 1 and 2 of PrACo from prediction files, printed figures beside.

--data-root is FSC-147's folder (its images are not needed), --predictions are folders with the
files Inference_Test1_MODEL_SPLIT.csv, which the authors' code writes and `autoeval count praco`, or
with a folder of them for each model.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from autoeval.counting.commands.reproducing import add_common, add_mode, deliver
from autoeval.counting.reproduce.printed_praco import praco_table
from autoeval.data.paper_tables import read_paper


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_common(parser, "1 (test), 2 (validation)", "work_dirs/reproduce_praco")
    parser.add_argument(
        "--exclude",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="list of the images of several classes, which print leaves out; repeatable",
    )
    add_mode(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    entries, downloads = read_paper("praco", args.table)
    tables, missing = [], {}
    for name, entry in entries.items():
        table, lacking = praco_table(
            name, entry, args.data_root, args.predictions, exclude=args.exclude, mode=args.mode
        )
        tables.append(table)
        missing[f"table {name}"] = lacking
    return deliver(args, "PrACo, printed and own", tables, missing, downloads)
