"""Estimate how accurate a detector is on images that nobody has labelled, by a saved estimator."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands import run_options, site_options
from autoeval.commands.next_step import ESTIMATOR, after_estimate
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.report.sections import Section

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
    from autoeval.report.sections import Report  # after what can fail: pages take a second to load
    from autoeval.report.terminal import next_command, print_report
    from autoeval.results.estimate.estimate_page import estimate_page
    from autoeval.results.estimate.tool_files import export

    source = Path(args.predictions or args.images).name
    given = site_options.site_facts(args, estimator, labels=args.labels)
    report = estimate_page(f"Estimate on {source}", estimator, estimate=estimate, given=given)
    if args.labels:
        sections = [*_label_sections(args, estimator, estimate), *report.sections]
        report = Report(f"{report.title}, with labels", sections)
    step = "" if args.labels else after_estimate(args, estimator, estimate)
    print_report(
        report,
        args.work_dir,
        as_json=args.json,
        verbose=args.verbose,
        of_fit=estimator.statistics_.warnings,
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


def _label_sections(
    args: argparse.Namespace, estimator: AccuracyEstimator, estimate: Estimate
) -> Sequence[Section]:
    """Estimate from labels that no plan drew, as a simple random sample, and show that."""
    from autoeval.api import estimate_with_labels
    from autoeval.results.labels.estimate_report import label_sections

    plan = estimator.plan_labels(estimate, n=1)
    labelled = estimate_with_labels(
        plan,
        args.labels,
        img_dir=args.img_dir,
        words=args.words,
        planned=False,
        score_thr=args.score_thr,
    )
    return label_sections(labelled)
