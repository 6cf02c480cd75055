"""Estimate accuracy from a few labels, the boxes of all images, and label-free scores."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands import run_options, site_options
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.labels.plan import LabelPlan
    from autoeval.labels.with_labels import LabelledEstimate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    labels = parser.add_argument_group("labels")
    site_options.add_labels_options(labels, required=True)
    labels.add_argument("--plan", type=Path, metavar="DIR", help="what `label plan` wrote")
    labels.add_argument(
        "--until",
        type=float,
        metavar="POINTS",
        help="wanted half-width: say whether it is reached, and how many to label next if not",
    )
    free = parser.add_argument_group("labels that no plan drew (instead of --plan)")
    free.add_argument("--estimator", metavar="FILE", help="estimator.parquet of `autoeval fit`")
    site_options.add_image_options(free, "estimate on, the labelled ones among them")
    site_options.add_category_option(free)
    site_options.add_target_options(free)
    run_options.add_image_list_option(free)
    run_options.add_predictions_options(
        parser, "COCO results on those images, instead of a detector"
    )
    run_options.add_detector_options(parser)
    run_options.add_teacher_options(parser)
    site_options.add_pseudo_label_options(parser, "COCO results on those images")
    run_options.add_run_options(parser, None, "for the report (default: estimate/ in the plan)")


def run(args: argparse.Namespace) -> int:
    """Read the labels, estimate, and print."""
    from autoeval.api import estimate_with_labels
    from autoeval.report.sections import Report, Tables, print_report
    from autoeval.results.labels.estimate_report import label_report

    if not args.work_dir:
        args.work_dir = args.plan / "estimate" if args.plan else Path("work_dirs/labels")
    plan: Path | LabelPlan | None = args.plan
    if plan is None:
        plan, given = _simple_plan(args)
        if plan is None:
            return 0
    else:
        _refuse_with_plan(args)
        page = args.plan / "result.json"  # of the plan
        facts = json.loads(page.read_bytes()).get("about", {}) if page.exists() else {}
        of_plan = {name: facts[name] for name in facts if name not in ("date", "command")}
        given = {"plan": str(plan)} | of_plan | site_options.site_facts(args, labels=args.labels)
    estimate = estimate_with_labels(
        plan,
        args.labels,
        img_dir=args.label_images,
        words=site_options.translation(args.words),
        planned=args.plan is not None,
        score_thr=args.score_thr,
    )
    report = label_report(estimate, given)
    if args.until and not args.json:  # the first section is the last on the terminal
        until = Tables([], words=_until(estimate, args.until / 100))
        report = Report(report.title, [until, *report.sections])
    print_report(report, args.work_dir, as_json=args.json)
    return 0


def _simple_plan(args: argparse.Namespace) -> tuple[LabelPlan | None, dict[str, str]]:
    """Estimate without labels; labels that no plan drew are taken as a simple random sample."""
    if not args.estimator or not (args.images or args.predictions):
        raise InputError(
            "Expected --plan DIR; or, for labels that no plan drew, --estimator FILE and "
            "--images PATH or --predictions FILE."
        )
    estimator = site_options.load_for_target(args)
    estimate = site_options.predict_site(args, estimator)
    if estimate is None:
        return None, {}
    plan = estimator.plan_labels(
        estimate,
        n=1,
        pseudo_labels=args.pseudo_labels,
        pseudo_words=site_options.translation(args.pseudo_words, "--pseudo-words"),
    )
    return plan, site_options.site_facts(args, estimator, labels=args.labels)


def _refuse_with_plan(args: argparse.Namespace) -> None:
    """Refuse another detector or pool: a plan holds its own."""
    pool = ("estimator", "images", "predictions", "pseudo_labels", "teacher", "detector")
    names = (*pool, "site", "target")
    given = [name.replace("_", "-") for name in names if getattr(args, name)]
    if given:
        raise InputError(
            f"--{given[0]} beside --plan: the plan holds what its own detector found on its own "
            "images, and needs neither. Leave it out, or estimate without --plan."
        )


def _until(estimate: LabelledEstimate, wanted: float) -> str:
    from autoeval.labels.sample_size import next_batch

    stop = next_batch(
        estimate.recommended,
        wanted,
        n_labelled=estimate.n_labelled,
        needed=estimate.outlook.needed(wanted),
        level=estimate.level,
    )
    half = f"±{100 * stop.half_width:.1f}"
    if stop.reached:
        return f"±{100 * wanted:g} is reached: {half}, made wider for having been looked at."
    n = min(estimate.n_labelled + stop.more, estimate.n_pool)
    if n <= estimate.n_labelled:
        return f"±{100 * wanted:g} is not reached: {half}, and all {n} images are labelled."
    return (
        f"±{100 * wanted:g} is not reached: {half}, made wider for being looked at after every "
        f"batch. Next: `autoeval label plan ... --n {n}`, which keeps what is labelled."
    )
