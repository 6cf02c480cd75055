"""Estimate how accurate a detector is on images that nobody has labelled, by a saved estimator."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from autoeval.commands import run_options, site_options
from autoeval.commands.given_input import as_typed
from autoeval.errors import InputError
from autoeval.targets import IOUS

INPUTS = ("images", "detector", "predictions")
SAME_SITE = ("checkpoint", "images_list", "category", "site", "target", "score_thr", "iou")
"""Options that `label plan` has, too, and that say which images and boxes are meant."""
ESTIMATOR = Path("work_dirs/fit/estimator.parquet")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    site_options.add_image_options(
        parser, "estimate on, by an estimator of a detector that is at hand", "images"
    )
    parser.add_argument(
        "--estimator",
        default=ESTIMATOR,
        metavar="FILE",
        help="what `autoeval fit` wrote (default: %(default)s)",
    )
    run_options.add_detector_options(parser)
    run_options.add_teacher_options(parser)
    run_options.add_predictions_options(
        parser, "boxes on the new images: COCO results, JSON lines, Parquet"
    )
    run_options.add_image_list_option(parser)
    site_options.add_category_option(parser)
    site_options.add_target_options(parser)
    parser.add_argument(
        "--export",
        type=Path,
        metavar="DIR",
        help="CSV of the estimate and the images, COCO results with both",
    )
    run_options.add_run_options(parser, "work_dirs/estimate")


def run(args: argparse.Namespace) -> int:
    """Load the estimator, estimate, and print."""
    from autoeval.report.sections import print_report
    from autoeval.results.estimate.estimate_page import estimate_page
    from autoeval.results.estimate.tool_files import export

    if bool(args.predictions) == bool(args.images):
        raise InputError("Expected either IMAGES or --predictions FILE.")
    estimator = site_options.load_for_target(args)
    estimate = site_options.predict_site(args, estimator)
    if estimate is None:
        return 0
    source = Path(args.predictions or args.images).name
    given = site_options.site_facts(args, estimator)
    report = estimate_page(f"Estimate on {source}", estimator, estimate=estimate, given=given)
    print_report(
        report,
        args.work_dir,
        as_json=args.json,
        more=lambda: export(args.export, estimate) if args.export else [],
    )
    if estimate.width_warning and estimator.label_assistance_ is not None and not args.json:
        print(f"\nnext step, images to label:\n  {_label_plan(args, estimate.n_images)}")
    return 0


def _label_plan(args: argparse.Namespace, n_images: int) -> str:
    """Return the command that plans labels for the same images, by the same route."""
    words = ["autoeval", "label", "plan", "--estimator", args.estimator]
    for name in INPUTS:
        typed = as_typed(args, name)
        words += [f"--{name}", *typed] if typed else []
    for name in SAME_SITE:
        value = getattr(args, name)
        if name == "category":
            words += [word for each in value or () for word in ("--category", each)]
        elif value and (name, value) != ("iou", IOUS[0]):
            words += [f"--{name.replace('_', '-')}", value]
    words += ["--n", n_images] if n_images < site_options.N_LABELS else []  # no more can be drawn
    return shlex.join(map(str, words))
