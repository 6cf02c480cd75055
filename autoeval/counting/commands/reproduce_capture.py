"""Make the tables of CAPTURe and its figures of the data, printed figures beside.

--data-root is a folder with real_metadata.json, real_validation_metadata.json and
synthetic_metadata.json; FSC-147's annotation_FSC147_384.json and Train_Test_Val_FSC_147.json beside
them give the objects that the real split hides and the images of its test split. Table 1 and the
figures need no more. --predictions are folders with real or synthetic, and in these .jsonl files of
`autoeval count capture run` (of runs with --backoff for Table 6), or with the files of the authors'
scripts, such as occ_results/gpt_real_results.json and unocc_results/gpt_syn_results.json.
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

PAPER = "capture"
STATISTICS = "1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_reproduce_options(
        parser,
        PAPER,
        tables="1 (the data), 2 to 7",
        figures="3 (objects), 4 (occluded objects)",
        modes=False,  # the formulas and the authors' code agree
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from autoeval.counting.reproduce.printed_capture import (
        histogram_figure,
        model_table,
        read_all_answers,
        read_capture_data,
        statistics_table,
    )

    data = read_capture_data(args.data_root)
    answers = read_all_answers(prediction_folders(args))

    def table(name: str, entry: Mapping[str, Any]) -> tuple[Chapter, Sequence[str]]:
        if name == STATISTICS:
            return statistics_table(name, entry, data), []
        return model_table(name, entry, data, answers)

    return reproduce(
        args,
        PAPER,
        "CAPTURe, printed and own",
        table=table,
        figure=lambda name, entry: histogram_figure(name, entry, data),
        missing={"data": data.missing},
    )
