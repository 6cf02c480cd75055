"""Make table II of the paper on binned counting, and its bins, printed figures beside.

--predictions are folders with files such as jhu_unbinned_tar_pred_error.txt (data set, then
unbinned, rr or rs), or with a folder of them for each model; files in the folder itself are taken
as BL's, which are the ones in the authors' repository. --data-root is a folder with
Train_DATASET.txt and Val_DATASET.txt, from whose counts the bins follow.
"""

from __future__ import annotations

import argparse

from autoeval.counting.commands.reproducing import add_common, add_mode, deliver
from autoeval.counting.reproduce.printed_binned import binned_table, bins_table
from autoeval.data.paper_tables import read_paper

BINS = "bins"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_common(parser, "2, bins", "work_dirs/reproduce_binned")
    add_mode(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    entries, downloads = read_paper("binned", args.table)
    counts = [] if args.data_root is None else [args.data_root]
    tables, missing = [], {}
    for name, entry in entries.items():
        if name == BINS:
            table, missing[name] = bins_table(name, entry, counts)
        else:
            table, lacking = binned_table(name, entry, args.predictions, mode=args.mode)
            missing[f"table {name}"] = lacking
        tables.append(table)
    return deliver(args, "Binned counting, printed and own", tables, missing, downloads)
