"""Make tables and figures of the paper on binned counting, printed figures beside.

--predictions are folders with files such as jhu_unbinned_tar_pred_error.txt (data set, then
unbinned, rr or rs), or with a folder of them for each network. In the authors' evaluation folder,
files ending in _tar_pred_error are BL's and nwpu_unbinned.txt, nwpu_rr.txt and nwpu_rs.txt
DM-Count's. --data-root is a folder with Train_DATASET.txt, from whose counts the bins follow. Table
3 compares density maps: MODEL/maps/DATASET_SCHEME/IMAGE.npy in --predictions with
maps/DATASET/IMAGE.npy in --data-root.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from autoeval.counting.commands.common_options import (
    add_reproduce_options,
    prediction_folders,
    reproduce,
)

if TYPE_CHECKING:
    from autoeval.report.compared_with_print import Chapter

PAPER = "binned"
POOLED, GAME, BINS = "2", "3", "bins"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_reproduce_options(parser, PAPER, tables="2, 3, 4, 5, bins", figures="10, 11 (TPER)")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from autoeval.counting.reproduce.printed_binned import (
        FORM,
        ablation_table,
        binned_table,
        bins_table,
        find_count_files,
        game_table,
        pooled_figures,
        tper_figure,
    )
    from autoeval.io.config_file import read_paper

    printed = read_paper(PAPER, [POOLED])[0][POOLED]
    folders = prediction_folders(args)
    files = find_count_files(folders, (row.partition(" ")[2] for row in printed["rows"]))
    figures, warnings = pooled_figures(files, mode=args.mode)

    def table(name: str, entry: Mapping[str, Any]) -> tuple[Chapter, Sequence[str]]:
        if name == BINS:
            return bins_table(name, entry, args.data_root)
        if name == GAME:
            return game_table(name, entry, args.data_root, folders, mode=args.mode)
        if name == POOLED:
            section = binned_table(name, entry, figures, mode=args.mode, notes=warnings)
            return section, [] if files else [f"No predictions: expected files {FORM}."]
        return ablation_table(name, entry, figures, mode=args.mode), [entry["missing"]]

    return reproduce(
        args,
        PAPER,
        "Binned counting, printed and own",
        table=table,
        figure=lambda name, entry: tper_figure(name, entry, files, mode=args.mode),
    )
