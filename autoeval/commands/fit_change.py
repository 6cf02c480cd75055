"""Fit how changes of scores and of the camera's signals go with changes of mAP.

The detector observes labelled places as they come and under corruptions; what that teaches is
written to a file for autoeval monitor --changes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from autoeval.commands.change_options import add_change_options, observe_named_changes
from autoeval.commands.detector_options import detector_name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_change_options(parser)
    parser.add_argument("--seed", type=int, default=0, help="of every draw (default: %(default)s)")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("changes.json"),
        metavar="FILE",
        help="the slopes (%(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Observe, fit, write, and say how far off the slopes are on what they have not seen."""
    from autoeval.monitoring.changes.change_file import write_change_model
    from autoeval.monitoring.fitting.fit_change import fit_change
    from autoeval.monitoring.fitting.known_changes import known_changes
    from autoeval.report.sections import written_files
    from autoeval.studies.change_errors import change_figures, judged_changes

    observed, categories, problems = observe_named_changes(args)
    changes, levels = known_changes(observed, categories)
    rows = changes.rows
    n_kinds, n_places = (
        rows["kind"].nunique(),
        rows[["place", "category"]].drop_duplicates().shape[0],
    )
    origin = (
        f"{Path(detector_name(args)).stem} under {n_kinds} kinds of corruption at {n_places} "
        f"labelled places of {rows['family'].nunique()} families"
    )
    model = fit_change(changes, origin=origin)
    told = change_figures(judged_changes(changes, levels))
    for problem in problems:
        print(f"note: {problem}", file=sys.stderr)
    print(
        f"fitted on {origin}\n"
        "changes of mAP, family and kind of change left out: off by "
        f"{100 * told['error']:.1f} points on average ('no change': {100 * told['nothing']:.1f}), "
        f"sign right in {told['sign']:.0%} of those over 3 points, "
        f"{told['coverage']:.0%} inside the 90 % interval\n\n"
        f"{written_files([write_change_model(args.out, model)])}"
    )
    return 0
