"""Fit how changes of scores and of the camera's signals go with changes of mAP.

The detector observes labelled sites as they come and under corruptions; the fitted slopes are
written to changes.json in the work dir, for autoeval monitor --changes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from autoeval.commands.change_options import add_change_options, observe_named_changes
from autoeval.commands.run_options import required_detector

FILE = "changes.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_change_options(parser)
    parser.add_argument("--seed", type=int, default=0, help="of every draw (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Observe, fit, write, and print the errors on groups and kinds left out."""
    from autoeval.monitoring.changes.change_model import write_change_model
    from autoeval.monitoring.fitting.change_errors import change_figures, evaluated_changes
    from autoeval.monitoring.fitting.fit_change import CLEAN_BOXES, fit_change
    from autoeval.monitoring.fitting.known_changes import known_changes
    from autoeval.report.sections import written_files

    observed, categories, warnings = observe_named_changes(args)
    changes, levels = known_changes(observed, categories, calibrate=not args.no_calibration)
    rows = changes.rows
    n_kinds, n_sites = (
        rows["kind"].nunique(),
        rows[["site", "category"]].drop_duplicates().shape[0],
    )
    name = Path(required_detector(args).name).stem
    origin = (
        f"{Path(required_detector(args).name).stem} under {n_kinds} kinds of corruption at "
        f"{n_sites} labelled sites of {rows['family'].nunique()} groups"
    )
    model = fit_change(changes, origin=origin)
    clean_boxes = fit_change(changes, CLEAN_BOXES, origin=origin)
    figures = {
        "boxes at full and half size": change_figures(evaluated_changes(changes, levels)),
        "boxes at full size alone": change_figures(
            evaluated_changes(changes, levels, CLEAN_BOXES.slopes)
        ),
    }
    for warning in warnings:
        print(f"note: {warning}", file=sys.stderr)
    print(f"fitted on {origin}\nchanges of mAP, group and kind of change left out:")
    for name, of in figures.items():
        print(
            f"  {name}: MAE {100 * of['error']:.1f} points ('no change': "
            f"{100 * of['nothing']:.1f}), sign right in {of['sign']:.0%} of those over 3 points, "
            f"coverage {of['coverage']:.0%} (nominal 90 %)"
        )
    print(f"\n{written_files([write_change_model(args.work_dir / FILE, model, clean_boxes)])}")
    return 0
