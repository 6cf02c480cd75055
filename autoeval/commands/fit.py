"""Fit an estimator: from labels and predictions of any detector, or from labels and a detector."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from autoeval.commands import (
    given_words,
    run_options,
    site_options,
    task_options,
)
from autoeval.commands.given_input import Detail, add_input
from autoeval.commands.next_step import after_fit
from autoeval.commands.typed_options import refuse_all_but, refuse_beside
from autoeval.errors import InputError
from autoeval.runtime.files import alone_in
from autoeval.targets import AP_TARGETS, MEASURES, named_target

OF_JOIN = ("join", "target", "score_thr", "iou", "level", "work_dir", "json", "verbose")
RARE = (
    "category",
    "cfg_options",
    "device",
    "reference",
    "level",
    "batch_size",
    "launcher",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    labels = parser.add_argument_group("labels", "one labelled set, or the sources of a task")
    add_input(
        labels,
        "--labels",
        (
            site_options.IMG_DIR,
            Detail(
                "group",
                "origin of the labelled set, if others that it is joined with share it",
                metavar="NAME",
            ),
            Detail(
                "trained_here",
                "the detector was trained on other images of this site",
                bool,
                False,
            ),
        ),
        metavar="PATH",
        help="COCO JSON, or a folder of YOLO or VOC",
    )
    task_options.add_task_option(labels)
    labels.add_argument(
        "--join",
        nargs="+",
        default=(),
        metavar="DIR",
        help="instead: work dirs of fits of one detector, on any number of labelled sets and tasks",
    )
    site_options.add_category_option(labels, "every category of the labels", presence=False)
    run_options.add_detector_options(parser)
    run_options.add_reference_options(parser)
    run_options.add_predictions_options(
        parser, "COCO results, JSON lines or Parquet; with --task a folder of them, one a source"
    )
    parser.add_argument("--target", default="mAP", choices=(*AP_TARGETS, *MEASURES))
    site_options.add_threshold_options(parser, "of --target precision, recall or f1")
    parser.add_argument("--level", type=float, default=0.9, help="of intervals (%(default)s)")
    run_options.add_run_options(parser, "work_dirs/fit")


def run(args: argparse.Namespace) -> int:
    """Fit, evaluate on what was left out, and save."""
    from autoeval.api import fit, fit_task, join

    if args.join:
        refuse_all_but(
            args, OF_JOIN, "is for a fit, and --join takes what was fitted: leave it out."
        )
    site_options.refuse_of_other_inputs(args)
    if args.score_thr is not None and args.target not in MEASURES:
        raise InputError(
            "--score-thr goes with --target precision, recall or f1. A fit learns all thresholds: "
            "name one when you estimate."
        )
    detector = run_options.named_detector(args)
    target = named_target(args.target, args.score_thr, args.iou)
    options: dict[str, Any] = {"target": target, "level": args.level, "work_dir": args.work_dir}
    if args.join:
        estimator = join(args.join, **options)
    else:
        _check_sources(args)
        boxes = run_options.named_boxes(args)
        if args.labels:
            origin: dict[str, Any] = {"img_dir": args.img_dir, "group": args.group}
            origin["categories"] = given_words.named_categories(args.category)
            options["trained_here"] = args.trained_here
            estimator = fit(args.labels, boxes, **origin, **options)
        else:
            refuse_beside(args, ["category"], "is for --labels: a task names its categories.")
            estimator = fit_task(args.task, boxes, data_root=args.data_root, **options)
    # after what can fail: pages take a second to load
    from autoeval.api.fit_functions import seen_in_training, write_fit_outputs
    from autoeval.report.fit import fit_page, fit_text, fit_values
    from autoeval.report.text import about, next_command, print_result

    result = estimator.fit_result_
    assert result is not None
    if args.labels and detector:
        warnings = tuple(seen_in_training(estimator, args.labels))
        estimator.fit_result_ = replace(result, warnings=(*result.warnings, *warnings))
    name = detector.name if detector else ""
    given = about(
        args.command_line,
        labels=args.labels,
        task=args.task,
        joined=", ".join(map(str, args.join or ())),
        predictions=args.predictions,
        detector=name,
        checkpoint=args.checkpoint,
    )
    title = f"Joined: {', '.join(Path(path).name for path in args.join)}"
    if not args.join:
        what = args.predictions or args.detector
        title = f"{Path(what).name} on {Path(args.labels or args.task).name}"
    from_files = estimator.loading_.get("detector") is None
    with alone_in(args.work_dir):
        # again: another fit may have written its own into this folder since
        write_fit_outputs(estimator, args.work_dir)
        print_result(
            fit_text(estimator, verbose=args.verbose),
            fit_values(estimator, detector=name, about=given),
            args.work_dir,
            lambda: fit_page(title, estimator, detector=name, about=given),
            as_json=args.json,
            before=result.files,
            next_step=next_command("new images", after_fit(args, from_files=from_files)),
        )
    return 0


def _check_sources(args: argparse.Namespace) -> None:
    """Refuse labels beside a task, or neither."""
    if args.labels and args.task:
        raise InputError(
            "One at a time: fit the labels and the task by themselves, then join both (--join)."
        )
    if not args.labels and not args.task:
        raise InputError("Expected either labels (--labels PATH) or a task (--task FILE).")
