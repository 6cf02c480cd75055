"""Estimate mAP from a few labels, the predicted influence of all images, and label-free scores."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands.detector_options import add_detector_options
from autoeval.commands.image_options import add_image_options, named_images
from autoeval.commands.label_options import (
    add_labels_options,
    add_pseudo_label_options,
    named_labels,
    translation,
)
from autoeval.commands.remembered_detector import load_remembered
from autoeval.commands.teacher_options import add_teacher_options
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.data.labels.content import LabelSet
    from autoeval.estimation.labels.with_labels import LabelledEstimate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    labels = parser.add_argument_group("labels")
    add_labels_options(labels, required=True)
    labels.add_argument("--plan", type=Path, metavar="DIR", help="what `label plan` wrote")
    labels.add_argument(
        "--until",
        type=float,
        metavar="POINTS",
        help="wanted half-width: say whether it is reached, and how many to label next if not",
    )
    add_detector_options(parser)
    add_teacher_options(parser)
    free = parser.add_argument_group("labels that no plan drew (instead of --plan)")
    free.add_argument("--estimator", metavar="FILE", help="estimator.parquet of estimate-map")
    add_image_options(free, "estimate on, the labelled ones among them")
    add_pseudo_label_options(free, "COCO results on those images")
    free.add_argument("--batch-size", type=int, default=4, help="changes no number")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="for the report (default: estimate/ in the plan)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Read the labels, estimate, and tell."""
    from autoeval.report.sections import written_files
    from autoeval.results.labels.estimate_report import label_report

    estimate = _estimate(args, named_labels(args))
    report = label_report(estimate)
    folder = args.out or (args.plan / "estimate" if args.plan else Path("work_dirs/labels"))
    written = report.write(folder)
    if args.json:
        print(json.dumps(report.to_dict(), indent=2))
        return 0
    until = f"\n\n{_until(estimate, args.until / 100)}" if args.until else ""
    print(f"{report.text()}{until}\n\n{written_files(written)}")
    return 0


def _estimate(args: argparse.Namespace, labels: LabelSet) -> LabelledEstimate:
    from autoeval.estimation.estimator import MapEstimator
    from autoeval.estimation.labels.plan_file import load_plan
    from autoeval.estimation.labels.planning import estimate_labelled
    from autoeval.estimation.labels.with_labels import estimate_with_labels

    words = translation(args.words)
    if args.plan:
        _refuse_beside_plan(args)
        return estimate_with_labels(load_plan(args.plan), labels, words=words)
    images = named_images(args)
    if images is None or not args.estimator:
        raise InputError(
            "Expected --plan DIR; or, for labels that no plan drew, --estimator FILE and "
            "--images PATH."
        )
    estimator = MapEstimator.load(args.estimator)
    detector, teacher = load_remembered(args.estimator, args)
    return estimate_labelled(
        estimator,
        images,
        detector,
        labels,
        words=words,
        teacher=teacher,
        pseudo_labels=args.pseudo_labels,
        pseudo_words=translation(args.pseudo_words, "--pseudo-words"),
        batch_size=args.batch_size,
    )


def _refuse_beside_plan(args: argparse.Namespace) -> None:
    """Refuse another detector or pool: a plan is about its own."""
    names = ("estimator", "images", "pseudo_labels", "teacher", "detector", "config")
    given = [name.replace("_", "-") for name in names if getattr(args, name)]
    if given:
        raise InputError(
            f"--{given[0]} beside --plan: the plan holds what its own detector found on its own "
            "images, and needs neither. Leave it out, or estimate without --plan."
        )


def _until(estimate: LabelledEstimate, wanted: float) -> str:
    from autoeval.estimation.labels.sequential import next_batch

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
    return (
        f"±{100 * wanted:g} is not reached: {half}, made wider for being looked at after every "
        f"batch. Next: `autoeval label plan ... --n {n}`, which keeps what is labelled."
    )
