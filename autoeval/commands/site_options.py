"""The options of a site without labels, and the one call that estimates it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands.execution_options import make_executor
from autoeval.commands.given_input import Detail, add_input
from autoeval.commands.given_words import named_categories, word_pairs
from autoeval.commands.run_options import named_detector, named_predictions, named_reference
from autoeval.commands.typed_options import refuse_beside
from autoeval.errors import InputError
from autoeval.targets import IOUS, named_target

if TYPE_CHECKING:
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.io.image_folder import ImageFile
    from autoeval.io.video import VideoFrame


N_LABELS = 20  # images that a plan draws by default
OF_A_RUN = (
    *(
        "detector",
        "classes",
        "trust_checkpoint",
        "network_precision",
        "checkpoint",
        "cfg_options",
        "device",
    ),
    *("reference_checkpoint", "every", "batch_size"),
    *("ray", "ray_workers", "ray_gpus", "ray_cpus"),
)
"""Options that nothing reads where boxes come from files."""

IMG_DIR = Detail(
    "img_dir", "folder of the images that labels, a COCO JSON or a list name", metavar="DIR"
)
IMAGE_DETAILS = (
    IMG_DIR,
    Detail(
        "every", "frames of videos: 2s for one in so many seconds, or every Nth", metavar="STEP"
    ),
)


def add_image_options(group: argparse._ActionsContainer, purpose: str, listed: str = "") -> None:
    """Declare where images come from, what is done with them, and what `listed` ones are."""
    add_input(
        group,
        "--images",
        IMAGE_DETAILS,
        metavar="PATH",
        help="folder, COCO JSON, video, image, pattern ('site/**/*.jpg'), text file of paths, or - "
        f"for paths on standard input: images to {purpose}{listed}",
    )


def named_images(args: argparse.Namespace) -> Sequence[ImageFile | VideoFrame] | None:
    """Find the images that the options name, None without any, and name what is passed over.

    Those in ``args.found_images`` were found before.
    """
    if "found_images" in args:
        return args.found_images
    from autoeval.api.options import found_images

    if not args.images:
        return None
    given = {name: vars(args)[name] for name in ("images", "img_dir", "every")}
    listed: Sequence[ImageFile | VideoFrame] = found_images(
        given, labels=bool(getattr(args, "labels", None))
    )
    return listed


def add_labels_options(
    group: argparse._ActionsContainer, what: str = "", *, required: bool = False
) -> None:
    """Declare which images are labelled, with what, and where labels have other words."""
    add_input(
        group,
        "--labels",
        (
            IMG_DIR,
            Detail(
                "words",
                "words of the labels that count, where they are not those of the estimator",
                word_pairs,
                metavar="WORD=CATEGORY,...",
            ),
        ),
        metavar="PATH",
        help=f"COCO, YOLO or VOC, as they were made{what}",
        required=required,
    )


def add_category_option(
    group: argparse._ActionsContainer,
    otherwise: str = "those of the fit, or all words",
    *,
    presence: bool = True,
) -> None:
    """Declare the categories, by default `otherwise`, and which of them are said to be there."""
    found = "; what is found counts, a single one always" if presence else ""
    group.add_argument(
        "--category",
        action="append",
        metavar="NAME[=WORD,...]",
        help="a category, with the detector's words for it if the fit lacks them; repeated for "
        f"several (default: {otherwise}){found}",
    )
    if presence:
        group.add_argument(
            "--present",
            action="append",
            default=[],
            metavar="NAME",
            help="a category that is there and counts, found or not; may be given several times",
        )


def add_site_options(group: argparse._ActionsContainer) -> None:
    """Declare which site of the fit it is, or of which group."""
    group.add_argument(
        "--site",
        metavar="NAME",
        help="labelled set, or source of a task, of the fit of which these are new images: the "
        "estimate is its labelled accuracy, changed as its scores are",
    )
    group.add_argument(
        "--group",
        metavar="NAME",
        help="group of the fit that the new site belongs to, such as cameras of one make: how far "
        "its labelled sets are off says how far this site is (`fit --labels PATH --group NAME`)",
    )


def add_threshold_options(
    group: argparse._ActionsContainer, what: str = "estimate precision, recall and F1 there, too"
) -> None:
    """Declare the score threshold at which a detector is used, and the IoU of a true positive."""
    add_input(
        group,
        "--score-thr",
        (Detail("iou", f"of a true positive there ({IOUS[0]:g})", float, IOUS[0]),),
        metavar="S",
        type=float,
        help=f"score threshold: {what}",
    )


def add_target_options(group: argparse._ActionsContainer, *beside: str) -> None:
    """Declare what is estimated, where that need not be what was fitted."""
    group.add_argument(
        "--target",
        metavar="NAME",
        help="mAP, mAP50, mAP75, or with --score-thr precision, recall or f1 (default: that of the "
        "fit)",
    )
    add_threshold_options(group, *beside)


def load_for_target(args: argparse.Namespace) -> AccuracyEstimator:
    """Load the estimator that the options name, for the target that they name."""
    from autoeval.estimation.estimator import AccuracyEstimator

    estimator = AccuracyEstimator.load(args.estimator)
    if args.target is None:
        return estimator
    return estimator.for_target(named_target(args.target, args.score_thr, args.iou))


def site_facts(
    args: argparse.Namespace, estimator: AccuracyEstimator | None = None, **more: object
) -> dict[str, str]:
    """Say what the page of a site is about; see `autoeval.report.text.about`."""
    from autoeval.report.text import about

    spec = estimator.loading_.get("detector") or {} if estimator else {}
    return about(
        args.command_line,
        images=args.images,
        predictions=args.predictions,
        detector=args.detector or spec.get("name"),
        checkpoint=args.checkpoint or spec.get("checkpoint"),
        estimator=args.estimator,
        **more,
    )


def refuse_of_other_inputs(args: argparse.Namespace) -> None:
    """Raise `InputError` for options about running a detector beside predictions, and the reverse.

    Facts about predictions need no check: without their file they are no arguments.
    """
    if not args.predictions:
        return
    reason = "is about running a detector, and --predictions need none: leave it out."
    refuse_beside(args, OF_A_RUN, reason)


def predict_site(
    args: argparse.Namespace,
    estimator: Any,
    **options: Any,
) -> Estimate:
    """Estimate the site that the options name.

    `estimator` is an `AccuracyEstimator`, or with detectors also one of a published method.
    `options` are further ones of `AccuracyEstimator.predict`.
    """
    from autoeval.api.options import with_images
    from autoeval.estimation.given import Detector
    from autoeval.estimation.observation.kept_observer import Keeping

    categories = named_categories(getattr(args, "category", None))
    names = ("site", "group", *(("score_thr", "iou") if "score_thr" in args else ()))
    facts = {name: vars(args)[name] for name in names if name in args}
    if getattr(args, "present", None):
        facts["present"] = args.present
    files = named_predictions(args)
    if files is not None:
        estimate = estimator.predict(files, images=args.images, categories=categories, **facts)
        return with_images(estimate, args.img_dir if args.images else None)
    images = named_images(args)
    if images is None:
        raise InputError("Expected --images PATH, or --predictions FILE.")
    spec = named_detector(args, estimator.loading_.get("detector"))
    executor = make_executor(args)
    detector = estimator.detector_ or (spec() if spec else None)
    run = detector and Detector(
        detector, reference=named_reference(args), batch_size=args.batch_size
    )
    made: Estimate = estimator.predict(
        run,
        images=images,
        categories=categories,
        keep=Keeping(Path(args.work_dir), executor, spec),
        **facts,
        **options,
    )
    return made
