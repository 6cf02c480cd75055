"""Make the tables of CAPTURe, printed figures beside.

--data-root is a folder with real_metadata.json, real_validation_metadata.json and
synthetic_metadata.json; table 1 needs no more. --predictions are folders with real or synthetic,
and in these .jsonl files of `autoeval count capture run`, or TASK/MODEL.json files of the authors'
scripts (TASK as `autoeval count capture run --help` names them).
"""

from __future__ import annotations

import argparse

from autoeval.counting.capture.records import CaptureItem
from autoeval.counting.commands.reproducing import add_common, deliver
from autoeval.counting.reproduce.printed_capture import (
    model_table,
    read_metadata,
    statistics_table,
)
from autoeval.data.paper_tables import read_paper

STATISTICS = "1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_common(parser, "1 (the data), 2, 3, 4, 5, 7", "work_dirs/reproduce_capture")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    entries, downloads = read_paper("capture", args.table)
    items: dict[str, list[CaptureItem]]
    items, lacking = read_metadata(args.data_root)
    tables, missing = [], {"metadata": lacking}
    for name, entry in entries.items():
        if name == STATISTICS:
            tables.append(statistics_table(name, entry, items))
        else:
            table, missing[f"table {name}"] = model_table(name, entry, items, args.predictions)
            tables.append(table)
    return deliver(args, "CAPTURe, printed and own", tables, missing, downloads)
