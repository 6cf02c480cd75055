"""Fit an estimator: from labels and predictions of any detector, or from labels and a detector."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from autoeval.commands.run_options import (
    add_detector_options,
    add_predictions_options,
    add_run_options,
    add_teacher_options,
    launched,
    make_executor,
    named_detector,
    named_teacher,
)
from autoeval.commands.site_options import add_threshold_options
from autoeval.errors import InputError
from autoeval.targets import AP_TARGETS, MEASURES, named_target

INSTEAD = ("labels", "img_dir", "family", "task", "detector", "config", "predictions")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    labels = parser.add_argument_group("labels", "one labelled set, or the sources of a task")
    labels.add_argument("--labels", metavar="PATH", help="COCO JSON, or a folder of YOLO or VOC")
    labels.add_argument("--img-dir", metavar="DIR", help="its images, where its format needs them")
    labels.add_argument(
        "--family", metavar="NAME", help="origin of --labels, if other sources share it"
    )
    labels.add_argument("--task", metavar="FILE", help="such as configs/tasks/vehicle.py")
    labels.add_argument("--data-root", metavar="DIR", help="folder with the data of the task")
    labels.add_argument(
        "--join",
        nargs="+",
        default=(),
        metavar="DIR",
        help="instead: work dirs of fits of one detector, on any number of labelled sets and tasks",
    )
    add_detector_options(parser)
    add_teacher_options(parser)
    add_predictions_options(
        parser, "COCO results, JSON lines or Parquet; with --task a folder of them, one a source"
    )
    parser.add_argument("--target", default="mAP", choices=(*AP_TARGETS, *MEASURES))
    add_threshold_options(parser, "of --target precision, recall or f1")
    parser.add_argument("--level", type=float, default=0.9, help="of intervals (%(default)s)")
    parser.add_argument(
        "--no-calibration",
        dest="calibrate",
        action="store_false",
        help="read confidences by the mean calibration of a panel of detectors: for comparison, "
        "errors are larger and intervals too narrow",
    )
    add_run_options(parser, "work_dirs/fit")


def run(args: argparse.Namespace) -> int:
    """Fit, evaluate on what was left out, and save."""
    from autoeval.api import fit
    from autoeval.results.estimate.about import about
    from autoeval.results.estimate.estimate_page import estimate_page
    from autoeval.results.labels.plan_report import seen_in_training
    from autoeval.results.printing import print_report

    given = [name for name in INSTEAD if getattr(args, name)] if args.join else []
    if given:
        option = f"--{given[0].replace('_', '-')}"
        raise InputError(f"{option} is for a fit, and --join takes what was fitted: leave it out.")
    if args.score_thr is not None and args.target not in MEASURES:
        raise InputError(
            "--score-thr goes with --target precision, recall or f1. A fit learns all thresholds: "
            "name one when you estimate."
        )
    detector, executor = named_detector(args), make_executor(args)
    with launched(args) as shards:
        estimator = fit(
            args.labels,
            predictions=args.predictions,
            detector=detector,
            task=args.task,
            join=args.join,
            img_dir=args.img_dir,
            family=args.family,
            half_size_predictions=args.half_size_predictions,
            names=args.names,
            truncated=args.truncated,
            teacher=named_teacher(args),
            data_root=args.data_root,
            target=named_target(args.target, args.score_thr, args.iou),
            level=args.level,
            calibrate=args.calibrate,
            work_dir=args.work_dir,
            executor=executor,
            batch_size=args.batch_size,
        )
        if not shards.leads:
            return 0
    if args.labels and detector:
        assert estimator.fit_result_ is not None
        warnings = tuple(seen_in_training(estimator, args.labels))
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)
        warnings = (*estimator.fit_result_.warnings, *warnings)
        estimator.fit_result_ = replace(estimator.fit_result_, warnings=warnings)
    name = detector.name if detector else ""
    known = about(
        args.command_line,
        labels=args.labels,
        task=args.task,
        joined=", ".join(map(str, args.join or ())),
        predictions=args.predictions,
        detector=name,
        checkpoint=args.checkpoint,
    )
    report = estimate_page(_title(args), estimator, detector=name, given=known)
    print_report(report, args.work_dir, estimator.fit_result_, as_json=args.json)
    return 0


def _title(args: argparse.Namespace) -> str:
    if args.join:
        return f"Joined: {', '.join(Path(path).name for path in args.join)}"
    what: Any = args.predictions or args.detector or args.config
    return f"{Path(what).name} on {Path(args.labels or args.task).name}"
