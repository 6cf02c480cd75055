"""Choose the score threshold that reaches a wanted recall or precision, or the best F1.

At a new site without labels (--estimator with --images or --predictions), with the labels of a plan
(--plan with --labels), or exactly on a labelled set (--labels with --predictions).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from autoeval.commands import run_options, site_options
from autoeval.commands.given_words import named_categories
from autoeval.commands.typed_options import refuse_all_but, refuse_beside
from autoeval.errors import InputError
from autoeval.targets import IOUS

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


LEVEL = 0.9  # of a labelled set, whose curve is exact
OUTPUT = ("recall", "precision", "iou", "work_dir", "json", "verbose")
OF_LABELS = ("labels", "words", "plan")
OF_LABELLED_SET = (
    *("labels", "img_dir", "predictions", "names", "complete"),
    *("columns", "numbering", "category"),
)
RARE = (
    *("cfg_options", "device", "reference", "batch_size", "launcher"),
    *("present", "detector", "checkpoint"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    wanted = parser.add_argument_group("wanted", "one of them; by default the best F1")
    wanted.add_argument("--recall", type=float, metavar="R", help="at least, such as .9")
    wanted.add_argument("--precision", type=float, metavar="P", help="at least, such as .9")
    wanted.add_argument("--iou", type=float, default=IOUS[0], help="of a true positive")
    site_options.add_image_options(
        parser, "choose a threshold for", "; with --predictions all of them"
    )
    parser.add_argument(
        "--estimator",
        metavar="PATH",
        help="what `autoeval fit` wrote: a work dir, or estimator.parquet",
    )
    labels = parser.add_argument_group("labels")
    site_options.add_labels_options(labels)
    labels.add_argument("--plan", type=Path, metavar="DIR", help="what `label plan` wrote")
    run_options.add_detector_options(parser)
    run_options.add_reference_options(parser)
    run_options.add_predictions_options(parser, "COCO results on the images, instead of a detector")
    site_options.add_category_option(parser)
    run_options.add_run_options(parser, "work_dirs/threshold")


def run(args: argparse.Namespace) -> int:
    """Make the curve, choose, and print."""
    from autoeval.estimation.threshold_choice import check_wanted, choose_from

    check_wanted(args.precision, args.recall)
    curve = _curve(args)
    if curve is None:
        return 0
    choice = choose_from(
        curve.at,
        start=curve.start,
        precision=args.precision,
        recall=args.recall,
        level=curve.level,
        warnings=curve.warnings,
    )
    from autoeval.report.text import about, print_result
    from autoeval.report.threshold import choice_page, choice_text, choice_values

    given = about(
        args.command_line,
        images=args.images,
        predictions=args.predictions,
        labels=args.labels,
        plan=args.plan,
        estimator=args.estimator,
        detector=args.detector,
    )
    print_result(
        choice_text(choice, verbose=args.verbose, of_fit=curve.warnings_of_fit),
        choice_values(choice, given),
        args.work_dir,
        lambda: choice_page(choice, given),
        as_json=args.json,
    )
    return 0


class _Curve(NamedTuple):
    """A curve by threshold, and what is said of it."""

    at: Callable[[np.ndarray], pd.DataFrame]  # some thresholds; see `expected_curve`
    warnings: Sequence[str]  # of the boxes and labels that it rests on
    level: float  # nominal coverage of its intervals
    warnings_of_fit: Sequence[str] = ()  # those of `warnings` that the fit has printed already
    start: np.ndarray | None = None  # thresholds that it is evaluated at first


def _curve(args: argparse.Namespace) -> _Curve | None:
    """Make the curve from a plan with labels, an estimator, or a labelled set; None if no site."""
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.estimation.labelled_files import labels_with_files, read_labels
    from autoeval.estimation.operating_curve import (
        curve_warnings,
        exact_curve,
        expected_curve,
        labelled_curve,
        score_thresholds,
    )
    from autoeval.estimation.site import words_of
    from autoeval.labels.plan_file import load_plan
    from autoeval.labels.with_labels import warnings_with_labels

    if args.plan:
        if not args.labels:
            raise InputError("--plan needs --labels PATH: the labels of its images.")
        refuse_all_but(
            args, (*OUTPUT, *OF_LABELS, "img_dir"), "has no use with --plan: leave it out."
        )
        labels, plan = read_labels(Path(args.labels), args.img_dir), load_plan(args.plan)
        if args.iou != plan.iou:
            raise InputError(f"This plan is for an IoU of {plan.iou:g}, not {args.iou:g}.")
        warnings = warnings_with_labels(plan, labels, words=args.words)
        return _Curve(
            lambda thresholds: labelled_curve(
                plan, labels, words=args.words, thresholds=thresholds
            ),
            warnings,
            plan.level,
        )
    if args.estimator:
        refuse_beside(args, OF_LABELS, "beside --estimator, which needs no labels: leave it out.")
        site_options.refuse_of_other_inputs(args)
        estimator = AccuracyEstimator.load(args.estimator)
        estimate = site_options.predict_site(args, estimator)
        if estimate.site is None:
            return None
        if estimate.site.nothing_found:
            raise InputError(f"There is no threshold to choose: {estimate.width_warning}.")
        return _Curve(
            lambda thresholds: expected_curve(estimator, estimate, args.iou, thresholds),
            curve_warnings(estimator, estimate),
            estimator.level,
            estimator.statistics_.warnings,
        )
    files = run_options.named_predictions(args)
    if not args.labels or files is None:
        raise InputError(
            "Expected --estimator FILE with a new site, --plan DIR with its --labels, or the "
            "--labels and --predictions of a labelled set."
        )
    refuse_all_but(
        args,
        (*OUTPUT, *OF_LABELLED_SET),
        "has no use with the --labels and --predictions of a labelled set: leave it out.",
    )
    named = named_categories(args.category)
    words = None if named is None else words_of(named)
    labelled = labels_with_files(
        args.labels, files, img_dir=args.img_dir, words=words, unpredicted=True
    )
    warnings = (*labelled.left_out, *labelled.statistics.warnings)
    return _Curve(
        lambda thresholds: exact_curve(labelled.rankings, args.iou, thresholds),
        warnings,
        LEVEL,
        start=score_thresholds(labelled.rankings),
    )
