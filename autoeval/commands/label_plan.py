"""Draw images to label: few, spread, by stored probabilities, and say how exact that will be."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands.detector_options import add_detector_options
from autoeval.commands.image_options import add_image_options, named_images
from autoeval.commands.label_options import add_pseudo_label_options, translation
from autoeval.commands.remembered_detector import load_remembered
from autoeval.commands.teacher_options import add_teacher_options
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.estimation.labels.plan import LabelPlan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_detector_options(parser)
    add_teacher_options(parser)
    plan = parser.add_argument_group("plan")
    plan.add_argument(
        "--estimator", required=True, metavar="FILE", help="estimator.parquet of estimate-map"
    )
    add_image_options(plan, "draw from: the pool that the estimate is about")
    add_pseudo_label_options(
        plan, "COCO results on the pool, where the estimator was fitted with --pseudo-labels"
    )
    plan.add_argument("--n", type=int, default=20, help="images to label (%(default)s)")
    plan.add_argument("--seed", type=int, default=0, help="of the draw (%(default)s)")
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
    plan.add_argument(
        "--out",
        type=Path,
        default=Path("work_dirs/labels"),
        metavar="DIR",
        help="the folder to label, and the plan; planning there again with a larger --n keeps what "
        "was drawn (%(default)s)",
    )
    parser.add_argument("--batch-size", type=int, default=4, help="changes no number")


def run(args: argparse.Namespace) -> int:
    """Make or enlarge the plan, write the folder, tell what to expect."""
    from autoeval.estimation.labels.plan_file import PLAN, load_plan, save_plan
    from autoeval.report.sections import written_files
    from autoeval.results.labels.plan_report import plan_report
    from autoeval.results.labels.to_label import EMPTY, write_to_label

    images = named_images(args)
    if images is None:
        raise InputError("Expected --images PATH: the pool that the estimate is about.")
    old = load_plan(args.out) if (args.out / PLAN).exists() else None
    if old is None and (args.out / EMPTY).exists():
        raise InputError(
            f"{args.out} holds {EMPTY}, which no plan wrote. Name another folder with --out."
        )
    plan = _plan(args, images) if old is None else _enlarged(args, images, old)
    by_name = {image.image_id: image for image in images}
    written = save_plan(plan, args.out)
    written += write_to_label(plan, by_name, args.out, prelabel=args.prelabel)
    report = plan_report(plan)
    written += report.write(args.out)
    print(f"{report.text()}\n\n{written_files(written)}")
    return 0


def _plan(args: argparse.Namespace, images: Sequence[Any]) -> LabelPlan:
    from autoeval.estimation.estimator import MapEstimator
    from autoeval.estimation.labels.planning import plan_labels

    detector, teacher = load_remembered(args.estimator, args)
    plan, _ = plan_labels(
        MapEstimator.load(args.estimator),
        images,
        detector,
        n=args.n,
        seed=args.seed,
        frames=args.frames,
        teacher=teacher,
        pseudo_labels=args.pseudo_labels,
        pseudo_words=translation(args.pseudo_words, "--pseudo-words"),
        work_dir=args.out,
        batch_size=args.batch_size,
    )
    return plan


def _enlarged(args: argparse.Namespace, images: Sequence[Any], old: LabelPlan) -> LabelPlan:
    """Draw more of the same pool for the same detector, without another pass."""
    names = {image.image_id for image in images}
    missing = [i.image_id for i in old.found.images if i.image_id not in names]
    detector, _ = load_remembered(args.estimator, args)
    if missing or detector.fingerprint != old.detector:
        why = "another detector" if detector.fingerprint != old.detector else "other images"
        raise InputError(
            f"{args.out} holds a plan for {why}. Name another folder with --out, or take that away."
        )
    return old.larger(args.n)
