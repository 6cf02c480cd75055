"""The options of a counting error as the target of an estimate."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from autoeval.errors import InputError
from autoeval.targets import TARGETS

if TYPE_CHECKING:
    from autoeval.estimation.observation.presets import MeasureSettings

COUNT_THR = 0.3  # as in `CountingErrorSettings`, which takes a second to import
COUNT_TARGETS = tuple(name for name in TARGETS if name.startswith("count_"))
COUNT_METHODS = ("count_stability", "bos", "bos_strict", "ac", "boxes_per_image", "median")


def add_counting_options(parser: argparse.ArgumentParser) -> None:
    """Declare how a detector counts, for the targets of `COUNT_TARGETS`."""
    group = parser.add_argument_group("counting", f"with --target {', '.join(COUNT_TARGETS)}")
    group.add_argument(
        "--count-thr",
        type=float,
        metavar="S",
        help=f"a box counts where its score exceeds this (default: {COUNT_THR})",
    )
    group.add_argument(
        "--bins",
        metavar="FILE|NAME",
        help="edges for pooled errors: JSON, or published ones such as nwpu; default: those of the "
        "published algorithm for counts to 1000",
    )
    group.add_argument("--bins-name", metavar="NAME", help="which of several lists in --bins")


def check_counting_options(args: argparse.Namespace) -> None:
    """Raise `InputError` where they are given for another target, or cannot be served."""
    given = [name for name in ("count_thr", "bins", "bins_name") if getattr(args, name) is not None]
    if given and args.target not in COUNT_TARGETS:
        raise InputError(
            f"--{given[0].replace('_', '-')} is for a counting error, and --target is "
            f"{args.target}: give a target such as {COUNT_TARGETS[0]}, or leave it out."
        )
    if args.predictions and args.target in COUNT_TARGETS:
        raise InputError(
            f"--target {args.target} needs a detector: from --predictions only the mAP can be "
            "estimated."
        )


def counting_measures(args: argparse.Namespace) -> tuple[MeasureSettings, ...]:
    """Return what measures counting errors, where the target is one."""
    if args.target not in COUNT_TARGETS:
        return ()
    from autoeval.counting.binning import find_bins
    from autoeval.counting.label_free import EDGES, CountingErrorSettings

    edges = find_bins(args.bins, args.bins_name).edges if args.bins else EDGES
    threshold = COUNT_THR if args.count_thr is None else args.count_thr
    return (CountingErrorSettings(threshold, edges),)
