"""Estimate how accurate a detector is on images that nobody has labelled, by a saved estimator."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands import run_options, site_options
from autoeval.commands.next_step import ESTIMATOR, after_estimate
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.labels.labelled_estimate import LabelledEstimate
    from autoeval.report.page import Page

RARE = (
    *("cfg_options", "device", "reference", "site", "group", "target", "export"),
    *("present", "batch_size", "launcher", "detector", "checkpoint"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    site_options.add_image_options(
        parser, "estimate on", "; with --predictions all of them, those without a box, too"
    )
    parser.add_argument(
        "--estimator",
        default=ESTIMATOR,
        metavar="PATH",
        help="what `autoeval fit` wrote: a work dir, or estimator.parquet (default: %(default)s)",
    )
    run_options.add_detector_options(parser)
    run_options.add_reference_options(parser)
    run_options.add_predictions_options(
        parser, "boxes on the new images: COCO results, JSON lines, Parquet"
    )
    site_options.add_category_option(parser)
    site_options.add_site_options(parser)
    site_options.add_target_options(parser)
    labels = parser.add_argument_group("labels of some of the images")
    site_options.add_labels_options(
        labels, ", taken as a simple random draw of the images (see `label plan`)"
    )
    parser.add_argument(
        "--export",
        type=Path,
        metavar="DIR",
        help="CSV of the estimate and the images, COCO results with both",
    )
    run_options.add_run_options(parser, "work_dirs/estimate")


def run(args: argparse.Namespace) -> int:
    """Load the estimator, estimate, and print."""
    _check(args)
    estimator = site_options.load_for_target(args)
    estimate = site_options.predict_site(args, estimator)
    # after what can fail: pages take a second to load
    from autoeval.report.estimate import (
        estimate_page,
        estimate_text,
        estimate_values,
        export,
        site_curve,
    )
    from autoeval.report.text import next_command, print_result

    title = f"Estimate on {Path(args.predictions or args.images).name}"
    given = site_options.site_facts(args, estimator, labels=args.labels)
    printed: dict[str, Any] = {"verbose": args.verbose, "of_fit": estimator.statistics_.warnings}
    draw: Callable[[], Page]
    if args.labels:
        from autoeval.report.labels import unplanned_page, unplanned_text, unplanned_values

        labelled = _estimate_with_labels(args, estimator, estimate)
        text = unplanned_text(labelled, estimate, estimator, **printed)
        values = unplanned_values(labelled, estimate, estimator, given)
        draw = partial(unplanned_page, title, labelled, estimate, estimator, given)
        step = ""
    else:
        curve = site_curve(estimate, estimator)
        text = estimate_text(estimate, estimator, curve=curve, **printed)
        values = estimate_values(estimate, estimator, curve=curve, about=given)
        draw = partial(estimate_page, title, estimator, estimate, curve=curve, about=given)
        step = after_estimate(args, estimator, estimate)
    print_result(
        text,
        values,
        args.work_dir,
        draw,
        as_json=args.json,
        more=lambda: export(args.export, estimate) if args.export else [],
        next_step=next_command("images to label", step),
    )
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse options that exclude each other, or lack what they are about."""
    from autoeval.labels.plan_file import PLAN

    if not args.predictions and not args.images:
        raise InputError("Expected --images PATH, or --predictions FILE.")
    site_options.refuse_of_other_inputs(args)
    if args.labels and (Path(args.labels).parent / PLAN).exists():
        folder = Path(args.labels).parent
        raise InputError(
            f"{args.labels} lies in the folder of a plan, which did not draw images at random: "
            f"`autoeval label estimate --plan {folder} --labels {args.labels}` reads it as drawn."
        )


def _estimate_with_labels(
    args: argparse.Namespace, estimator: AccuracyEstimator, estimate: Estimate
) -> LabelledEstimate:
    """Estimate from labels that no plan drew, as a simple random sample."""
    from autoeval.api import estimate_with_labels

    plan = estimator.plan_labels(estimate, n=1)
    return estimate_with_labels(
        plan,
        args.labels,
        img_dir=args.img_dir,
        words=args.words,
        planned=False,
        score_thr=args.score_thr,
    )
