"""Fit an estimator: from labels and predictions of any detector, or from labels and a detector."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands.detector_options import add_detector_options
from autoeval.commands.fit_join import ESTIMATOR, run_join
from autoeval.commands.predictions_options import (
    add_predictions_options,
    files_by_source,
    files_of,
)
from autoeval.commands.teacher_options import add_teacher_options, load_named_teacher
from autoeval.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoeval.estimation.predictions.prediction_fit import PredictionsFit

WORK_DIR = Path("work_dirs/fit")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    labels = parser.add_argument_group("labels", "one labelled set, or the places of a task")
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
        metavar="DIR",
        help="instead: work dirs of fits of one detector, on any number of labelled sets and tasks",
    )
    add_detector_options(parser)
    add_teacher_options(parser)
    add_predictions_options(
        parser,
        "COCO results, JSON lines or Parquet; with --task a folder of them, one a source",
    )
    parser.add_argument("--target", default="mAP", choices=("mAP", "mAP50", "mAP75"))
    parser.add_argument("--level", type=float, default=0.9, help="of intervals (%(default)s)")
    parser.add_argument(
        "--work-dir", type=Path, default=WORK_DIR, metavar="DIR", help="default: %(default)s"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Fit, tell how far off the estimator is on what it has not seen, and save it."""
    if args.join:
        return run_join(args)
    if args.labels and args.task:
        raise InputError("One at a time: fit --labels and --task by themselves, then --join both.")
    if args.family and args.task:
        raise InputError("--family is that of --labels; a task names those of its sources itself.")
    if args.detector or args.config:
        return _run_labelled(args) if args.labels else _run_detector(args)
    from autoeval.report.sections import told
    from autoeval.results.predictions.predictions_report import fit_report
    from autoeval.runtime.writers import write_table

    fit = _fit(args)
    args.work_dir.mkdir(parents=True, exist_ok=True)
    files = [args.work_dir / ESTIMATOR, args.work_dir / "scores.parquet"]
    fit.estimator.save(files[0])
    write_table(files[1], fit.estimator.pairs_.rows_)
    report = fit_report(f"Fit on {Path(args.predictions).name}", fit)
    written = [*files, *report.write(args.work_dir)]
    print(told(report, written, as_json=args.json))
    return 0


def _run_labelled(args: argparse.Namespace) -> int:
    """Fit on every category of a labelled set, which the detector observes once."""
    from autoeval.commands.detector_options import detector_name, load_named_detector
    from autoeval.commands.remembered_detector import remember_detector
    from autoeval.estimation.fit_labelled import fit_labelled
    from autoeval.report.sections import told
    from autoeval.results.estimate.pairs_report import pairs_report
    from autoeval.runtime.writers import write_table

    detector = load_named_detector(args)
    fit = fit_labelled(
        detector,
        args.labels,
        args.img_dir,
        family=args.family,
        teacher=load_named_teacher(args),
        target=args.target,
        level=args.level,
        work_dir=args.work_dir,
    )
    files = [args.work_dir / ESTIMATOR, args.work_dir / "scores.parquet"]
    args.work_dir.mkdir(parents=True, exist_ok=True)
    fit.estimator.save(files[0])
    remember_detector(files[0], args)
    write_table(files[1], fit.table)
    title = f"{detector_name(args)} on the categories of {Path(args.labels).name}"
    seen = _seen_in_training(detector, args.labels, fit.file_names)
    report = pairs_report(title, fit.estimator, doubts=seen, problems=fit.problems)
    written = [*files, *report.write(args.work_dir)]
    for problem in fit.problems:
        print(f"note: {problem}", file=sys.stderr)
    for reason in seen:
        print(f"caution: {reason}", file=sys.stderr)
    print(told(report, written, as_json=args.json))
    return 0


def _seen_in_training(detector: Any, labels: str, file_names: Sequence[str]) -> list[str]:
    """Say why the labelled images seem to be training images, and what follows."""
    from autoeval.detectors.building.training_images import trained_on

    if not hasattr(detector, "config"):  # a black box
        return []
    return [
        f"{reason}: images that it has seen judge a detector too well, fit on others"
        for reason in trained_on(detector.config, labels, file_names)
    ]


def _run_detector(args: argparse.Namespace) -> int:
    """Fit as ``estimate-map`` does, by its defaults."""
    from autoeval.commands import estimate_map

    parser = argparse.ArgumentParser()
    estimate_map.add_arguments(parser)
    defaults = parser.parse_args(["--task", args.task])
    return estimate_map.run(argparse.Namespace(**{**vars(defaults), **vars(args)}))


def _fit(args: argparse.Namespace) -> PredictionsFit:
    from autoeval.estimation.predictions.fit_predictions import fit_labels, fit_sources

    if bool(args.labels) == bool(args.task):
        raise InputError("Expected either --labels PATH or --task FILE.")
    if not args.predictions:
        raise InputError("Expected --predictions PATH, or --detector ALIAS.")
    options = {"target": args.target, "level": args.level}
    if args.labels:
        return fit_labels(
            args.labels, files_of(args), img_dir=args.img_dir, family=args.family, **options
        )
    from autoeval.metasets.task import load_task

    return fit_sources(load_task(args.task, args.data_root), files_by_source(args), **options)
