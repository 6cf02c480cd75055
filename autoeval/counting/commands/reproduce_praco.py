"""Make tables and figures of PrACo from prediction files, printed figures beside.

--data-root is FSC-147's folder (its images are not needed), --predictions are folders with the
files Inference_Test1_MODEL_SPLIT.csv, which the authors' code writes and `autoeval count praco`, or
with a folder of them for each model. Table 3 reads DAVE's files in folders named after its
settings: DAVE_thr_0.17, DAVE_thr_0.10, DAVE_mod_thr_0.17 and DAVE_mod_thr_0.10.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from autoeval.counting.commands.common_options import (
    EXCLUDE,
    add_reproduce_options,
    prediction_folders,
    reproduce,
)

if TYPE_CHECKING:
    from autoeval.counting.reproduce.printed_praco import Models
    from autoeval.report.compared_with_print import Chapter

PAPER = "praco"
MAIN = "1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_reproduce_options(
        parser,
        PAPER,
        EXCLUDE,
        tables="1 (test), 2 (validation), 3 (DAVE's settings)",
        figures="4 (drift), 6 (negative classes)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from autoeval.counting.reproduce.printed_praco import (
        drift_figure,
        negative_class_figure,
        praco_table,
        read_models,
    )
    from autoeval.io.config_file import read_paper

    printed_models = read_paper(PAPER, [MAIN])[0][MAIN]["rows"]
    folders = prediction_folders(args)

    def models(entry: Mapping[str, Any]) -> tuple[Models, list[str]]:
        return read_models(
            args.data_root,
            folders,
            entry["split"],
            printed=entry.get("rows", printed_models),
            by_folder=entry.get("by_folder"),
            exclude=args.exclude,
            mode=args.mode,
        )

    def table(name: str, entry: Mapping[str, Any]) -> tuple[Chapter, Sequence[str]]:
        results, missing = models(entry)
        return praco_table(name, entry, results, mode=args.mode), missing

    def figure(name: str, entry: Mapping[str, Any]) -> tuple[Chapter, Sequence[str]]:
        results, missing = models(entry)
        if "classes" in entry:
            return negative_class_figure(name, entry, results), missing
        return drift_figure(name, entry, results, mode=args.mode), missing

    return reproduce(args, PAPER, "PrACo, printed and own", table=table, figure=figure)
