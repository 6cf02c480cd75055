"""Draw images to label: few, spread, by stored probabilities, and say how precise that will be."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands import given_words, run_options, site_options
from autoeval.commands.given_input import Detail, add_input
from autoeval.commands.next_step import after_plan

if TYPE_CHECKING:
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.labels.plan import LabelPlan
    from autoeval.labels.sample_size import Outlook


RARE = (
    *("site", "group", "target", "frames", "prelabel", "reference", "present"),
    *("cfg_options", "device", "batch_size", "ray", "seed", "detector", "checkpoint"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--estimator",
        required=True,
        metavar="PATH",
        help="what `autoeval fit` wrote: a work dir, or estimator.parquet",
    )
    plan = parser.add_argument_group("plan")
    site_options.add_image_options(
        plan,
        "draw from: the pool that the estimate is about",
        "; with --predictions all of them, those without a box, too",
    )
    site_options.add_category_option(plan)
    site_options.add_site_options(plan)
    site_options.add_target_options(plan)
    plan.add_argument(
        "--n", type=int, default=site_options.N_LABELS, help="images to label (%(default)s)"
    )
    plan.add_argument("--seed", type=int, help="of the draw (0, or that of the plan in --work-dir)")
    plan.add_argument(
        "--frames",
        type=int,
        metavar="N",
        help="numbered files are frames of a camera: spread the draw over time, and count labelled "
        "frames within blocks of N as one",
    )
    plan.add_argument(
        "--prelabel",
        action="store_true",
        help="offer the detector's boxes to CVAT and Label Studio; they bias who labels",
    )
    add_input(
        parser.add_argument_group("the difference of two detectors (see `autoeval compare`)"),
        "--compare",
        (Detail("compare_predictions", "boxes of that detector on the pool", metavar="PATH"),),
        metavar="WORK_DIR",
        help="draw images that show the difference to this one",
    )
    run_options.add_predictions_options(parser, "COCO results on the pool, instead of a detector")
    run_options.add_detector_options(parser)
    run_options.add_reference_options(parser)
    about = (
        "the folder to label, and the plan; planning there again with a larger --n keeps what was "
        "drawn (%(default)s)"
    )
    run_options.add_run_options(parser, "work_dirs/labels", about, json=False)


def run(args: argparse.Namespace) -> int:
    """Make or enlarge the plan, write the folder, say what to expect."""
    site_options.refuse_of_other_inputs(args)
    estimator = site_options.load_for_target(args)
    estimate = site_options.predict_site(args, estimator)
    # after what can fail: pages take a second to load
    from autoeval.estimation.plan_folder import plan_in_folder
    from autoeval.report.labels import plan_page, plan_text, plan_values
    from autoeval.report.text import next_command, print_result

    difference = None
    if args.compare:
        plan, written, difference = _plan_difference(args, estimator, estimate)
    else:
        plan, written = plan_in_folder(
            estimator,
            estimate,
            args.work_dir,
            n=args.n,
            prelabel=args.prelabel,
            seed=args.seed,
            frames=args.frames,
        )
    images = estimate.site.images if estimate.site else ()
    given = site_options.site_facts(args, estimator)
    print_result(
        plan_text(plan, difference, verbose=args.verbose),
        plan_values(plan, difference, given),
        args.work_dir,
        lambda: plan_page(plan, difference, images, given),
        before=written,
        next_step=next_command("their labels", after_plan(args.work_dir, bool(args.compare))),
    )
    return 0


def _plan_difference(
    args: argparse.Namespace, estimator: AccuracyEstimator, estimate: Estimate
) -> tuple[LabelPlan, list[Path], Outlook]:
    """Draw images that show the difference to another detector."""
    from autoeval.api import load_estimator
    from autoeval.comparison.planning import plan_difference

    assert estimate.site is not None
    other = load_estimator(args.compare).for_target(estimator.target)
    by_files = args.compare_predictions is not None
    site = other.read_site(
        args.compare_predictions,
        images=args.images if by_files else site_options.named_images(args),
        categories=given_words.named_categories(args.category),
        present=args.present,
    )
    return plan_difference(
        {"the detector": estimator, args.compare: other},
        {"the detector": estimate.site, args.compare: site},
        args.work_dir,
        n=args.n,
        seed=args.seed,
        frames=args.frames,
        prelabel=args.prelabel,
    )
