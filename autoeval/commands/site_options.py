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

    Parameters
    ----------
    args : Namespace
    estimator : AccuracyEstimator
    teacher : DetectorSpec or path-like, optional
    shards : Shards, optional
        Where the caller has joined other processes already.
    **options
        Further ones of `AccuracyEstimator.predict`.

    Raises
    ------
    InputError
        As `AccuracyEstimator.predict`.
    """
    from autoeval.estimation.observation.kept_observer import Keeping
    from autoeval.estimation.observation.teacher_boxes import load_teacher

    categories = named_categories(getattr(args, "category", None)) or None
    known = getattr(args, "site", None)
    files = named_predictions(args)
    if files is not None:
        images = getattr(args, "images_list", None) or args.images
        return estimator.predict(files, images=images, site=known, categories=categories)
    images = named_images(args)
    if images is None:
        raise InputError("Expected images, or --predictions FILE.")
    spec = named_detector(args, estimator.loading_.get("detector"))
    executor = make_executor(args)
    with nullcontext(shards) if shards else launched(args) as mine:
        estimate = estimator.predict(
            images=images,
            detector=estimator.detector_ or (spec() if spec else None),
            site=known,
            categories=categories,
            teacher=load_teacher(teacher),
            keep=Keeping(Path(args.work_dir), executor, spec),
            shards=mine,
            batch_size=args.batch_size,
            **options,
        )
        return estimate if mine.leads else None
