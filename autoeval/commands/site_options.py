"""The options of a site without labels, and the one call that estimates it."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands.detector_options import named_detector
from autoeval.commands.execution_options import launched, make_executor
from autoeval.commands.image_options import named_images
from autoeval.commands.predictions_options import named_predictions
from autoeval.errors import InputError
from autoeval.runtime.shards import Shards
from autoeval.targets import IOUS, named_target

if TYPE_CHECKING:
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import AccuracyEstimator


def add_category_option(group: argparse._ActionsContainer) -> None:
    """Declare which categories are to be expected, and which site of the fit it is."""
    group.add_argument(
        "--category",
        action="append",
        metavar="NAME[=WORD,...]",
        help="a category to be expected in all images, with the detector's words for it; may be "
        "given several times (default: those of the estimator's task, or every category that is "
        "detected)",
    )
    group.add_argument(
        "--site",
        metavar="NAME",
        help="labelled set, or source of a task, of the fit of which these are new images: the "
        "estimate is its labelled accuracy, changed as its scores are",
    )


def add_threshold_options(
    group: argparse._ActionsContainer, what: str = "estimate precision, recall and F1 there, too"
) -> None:
    """Declare the score threshold at which a detector is used, and the IoU of a true positive."""
    group.add_argument("--score-thr", type=float, metavar="S", help=f"score threshold: {what}")
    group.add_argument(
        "--iou", type=float, default=IOUS[0], help="of a true positive there (%(default)s)"
    )


def add_target_options(group: argparse._ActionsContainer) -> None:
    """Declare what is estimated, where that need not be what was fitted."""
    group.add_argument(
        "--target",
        metavar="NAME",
        help="mAP, mAP50, mAP75, or with --score-thr precision, recall or f1 (default: that of the "
        "fit)",
    )
    add_threshold_options(group)


def load_for_target(args: argparse.Namespace) -> AccuracyEstimator:
    """Load the estimator that the options name, for the target that they name."""
    from autoeval.estimation.estimator import AccuracyEstimator

    estimator = AccuracyEstimator.load(args.estimator)
    if args.target is None:
        return estimator
    return estimator.for_target(named_target(args.target, args.score_thr, args.iou))


def named_categories(given: list[str] | None) -> dict[str, list[str]]:
    """Read ``vehicle=car,bus`` as a category and the detector's words for it.

    Words of a category that is given several times are joined.
    """
    categories: dict[str, list[str]] = {}
    for name, _, words in (text.partition("=") for text in given or []):
        known = categories.setdefault(name, [])
        known += [w for w in words.split(",") or [name] if w and w not in known]
    return {name: words or [name] for name, words in categories.items()}


def site_facts(
    args: argparse.Namespace, estimator: AccuracyEstimator | None = None, **more: object
) -> dict[str, str]:
    """Say what the page of a site is about; see `autoeval.results.estimate.about.about`."""
    from autoeval.results.estimate.about import about

    spec = estimator.loading_.get("detector") or {} if estimator else {}
    return about(
        args.command_line,
        images=args.images or args.images_list,
        predictions=args.predictions,
        detector=args.detector or args.config or spec.get("name"),
        checkpoint=args.checkpoint or spec.get("checkpoint"),
        estimator=args.estimator,
        **more,
    )


def predict_site(
    args: argparse.Namespace,
    estimator: AccuracyEstimator,
    *,
    teacher: Any = None,
    shards: Shards | None = None,
    **options: Any,
) -> Estimate | None:
    """Estimate the site that the options name; None in a process that only helps to observe.

    Raises `InputError` as `AccuracyEstimator.predict`.

    Parameters
    ----------
    shards : Shards, optional
        Where the caller has joined other processes already.
    **options
        Further ones of `AccuracyEstimator.predict`.
    """
    from autoeval.estimation.observation.kept_observer import Keeping
    from autoeval.estimation.observation.teacher_boxes import load_teacher

    categories = named_categories(getattr(args, "category", None)) or None
    options |= {"score_thr": args.score_thr, "iou": args.iou, "site": getattr(args, "site", None)}
    files = named_predictions(args)
    if files is not None:
        images = getattr(args, "images_list", None) or args.images
        own = {name: options[name] for name in ("score_thr", "iou", "site")}
        return estimator.predict(files, images=images, categories=categories, **own)
    images = named_images(args)
    if images is None:
        raise InputError("Expected images, or --predictions FILE.")
    spec = named_detector(args, estimator.loading_.get("detector"))
    executor = make_executor(args)
    with nullcontext(shards) if shards else launched(args) as mine:
        estimate = estimator.predict(
            images=images,
            detector=estimator.detector_ or (spec() if spec else None),
            categories=categories,
            teacher=load_teacher(teacher),
            keep=Keeping(Path(args.work_dir), executor, spec),
            shards=mine,
            batch_size=args.batch_size,
            **options,
        )
        return estimate if mine.leads else None
