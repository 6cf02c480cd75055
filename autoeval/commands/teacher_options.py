"""The options that name a teacher, for every command that scores with one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.estimation.observation.teacher_boxes import Teacher


def add_teacher_options(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    teacher = parser.add_argument_group(
        "second opinion", "a stronger detector: agreement with it becomes a score"
    )
    teacher.add_argument(
        "--teacher",
        metavar="ALIAS|PATH",
        help="one of configs/detectors/, FILE.py:NAME, or its COCO results on the same images: a "
        "file, or with --task a folder with NAME.json for each source",
    )
    teacher.add_argument("--teacher-checkpoint", metavar="FILE", help="its weights")


def load_named_teacher(args: argparse.Namespace) -> Teacher | None:
    """Load the teacher that the options name, None if they name none.

    Raises
    ------
    InputError
        As `load_named_detector`; if there are weights without a teacher.
    """
    from autoeval.commands.detector_options import load_named_detector
    from autoeval.estimation.observation.teacher_boxes import DetectorTeacher, PredictionsTeacher

    name = getattr(args, "teacher", None)
    weights = getattr(args, "teacher_checkpoint", None)
    if not name:
        if weights:
            raise InputError("Weights of a teacher need the teacher: --teacher ALIAS.")
        return None
    if is_predictions(name):
        return PredictionsTeacher(Path(name))
    options = {"detector": name, "config": None, "checkpoint": weights}
    plain = {"cfg_options": None, "classes": None, "stages": None, "trust_checkpoint": False}
    loading = argparse.Namespace(**{**vars(args), **plain, **options})
    return DetectorTeacher(load_named_detector(loading))


def is_predictions(name: str) -> bool:
    """Whether a teacher is named by its predictions."""
    return name.endswith(".json") or Path(name).is_dir()
