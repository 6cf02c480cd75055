"""`estimate-map --images X --labels L`: labels that no plan drew, as a simple random draw."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands.counting_options import COUNT_TARGETS
from autoeval.commands.label_options import named_labels, translation
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.detectors import Detector
    from autoeval.estimation.estimator import MapEstimator
    from autoeval.estimation.fitting import Fit
    from autoeval.estimation.observation.teacher_boxes import Teacher


def check_labels(args: argparse.Namespace) -> None:
    """Refuse what labels cannot go with, before anything is run.

    Raises
    ------
    InputError
        Saying what is missing or in the way.
    """
    if not args.labels:
        return
    if not args.images:
        raise InputError("--labels needs --images PATH: the pool that the estimate is about.")
    if args.predictions:
        raise InputError("--labels needs the detector itself: leave --predictions out.")
    if args.target in COUNT_TARGETS:
        raise InputError(f"--labels tell precision, not {args.target}: leave --target out.")
    named_labels(args)


def tell_with_labels(
    args: argparse.Namespace,
    title: str,
    estimator: MapEstimator,
    images: Sequence[Any],
    detector: Detector,
    *,
    teacher: Teacher | None,
    fit: Fit | None,
    folder: Path,
) -> None:
    """Estimate with the labels, and write and print what they say, and the fit."""
    from autoeval.estimation.labels.planning import estimate_labelled
    from autoeval.report.sections import Report, told
    from autoeval.results.estimate.map_report import map_report
    from autoeval.results.labels.estimate_report import label_report

    estimate = estimate_labelled(
        estimator,
        images,
        detector,
        named_labels(args),
        words=translation(args.words),
        teacher=teacher,
        work_dir=folder,
        batch_size=args.batch_size,
    )
    sections = list(label_report(estimate).sections)
    if fit:
        sections += map_report(title, estimator, fit=fit).sections
    report = Report(title, sections)
    written = [*(fit.files if fit else ()), *report.write(folder, args.report)]
    print(told(report, written, as_json=args.json))
