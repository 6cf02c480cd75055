"""How a saved estimator's detector is loaded, kept with it, so that images alone are enough."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands.detector_options import load_named_detector
from autoeval.commands.teacher_options import is_predictions, load_named_teacher
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.estimation.observation.teacher_boxes import Teacher

KEPT = (
    *("detector", "config", "checkpoint", "classes", "stages", "cfg_options"),
    *("teacher", "teacher_checkpoint"),
)
NOTE = "loading"


def remember_detector(path: Path, args: argparse.Namespace) -> None:
    """Note in an estimator's file how its detector was loaded."""
    from autoeval.estimation.artefact import read_artefact, write_artefact

    table, metadata = read_artefact(path)
    kept = {name: _whole(name, getattr(args, name, None)) for name in KEPT}
    write_artefact(path, table, {**metadata, NOTE: kept})


def recall_detector(path: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Return the options that load an estimator's detector.

    Parameters
    ----------
    path : Path
    args : Namespace
        What was given now goes before what is remembered.

    Raises
    ------
    InputError
        If nothing is remembered, a file is no longer where it was, or there was no detector but
        its predictions alone.
    """
    from autoeval.estimation.artefact import read_artefact, refuse_predictions

    metadata = read_artefact(path)[1]
    refuse_predictions(metadata, path)
    kept = metadata.get(NOTE) or {}
    given = {name: value for name in KEPT if (value := getattr(args, name, None))}
    if given.keys() & {"detector", "config"}:
        kept = {**kept, "detector": None, "config": None}
    options = {**dict.fromkeys(KEPT), **kept, **given}
    if not options["detector"] and not options["config"]:
        raise InputError(f"{path} does not know its detector: name it with --detector or --config.")
    lost = [n for n in ("config", "checkpoint", "teacher_checkpoint") if _is_lost(options[n])]
    if lost:
        what = lost[0].replace("_", "-")
        raise InputError(
            f"The {what} of this estimator's detector is no longer at {options[lost[0]]}: say "
            f"where {Path(options[lost[0]]).name} is with --{what} FILE."
        )
    return options


def load_remembered(path: str, args: argparse.Namespace) -> tuple[Any, Teacher | None]:
    """Load the detector of an estimator, and its teacher if it has one; see `recall_detector`."""
    loading = argparse.Namespace(**{**vars(args), **recall_detector(Path(path), args)})
    return load_named_detector(loading), load_named_teacher(loading)


def _whole(name: str, value: Any) -> Any:
    """Make the path of a file independent of the working directory; predictions are of no other."""
    if name == "teacher" and value and is_predictions(value):
        return None
    files = ("config", "checkpoint", "classes", "teacher_checkpoint")
    if name in files and value and os.path.exists(value):
        return os.path.abspath(value)
    return value


def _is_lost(path: str | None) -> bool:
    return bool(path) and os.path.isabs(str(path)) and not os.path.exists(str(path))
