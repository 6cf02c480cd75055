"""The file of a fit: its score table and its settings, from which it is fitted again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autoeval.errors import InputError
from autoeval.estimation.artefact import artefact_path, read_artefact, write_artefact
from autoeval.estimation.calibrating import split_floors, with_floors
from autoeval.estimation.estimate import DEFAULT_METHOD
from autoeval.estimation.fit_state import FitState
from autoeval.estimation.fitted_sites import FittedSites
from autoeval.labels.assistance import LabelAssistance
from autoeval.model.calibration import ScoreCalibration
from autoeval.runtime.files import PathLike


def write_fit(path: PathLike, fit: FitState) -> None:
    """Write a fit to one Parquet file, and its labelled sites to another beside it."""
    metadata: dict[str, Any] = {
        "estimator": {"target": fit.target, "level": fit.level},
        "context": fit.context,
        "loading": fit.loading,
    }
    if fit.calibration is not None:
        metadata["calibration"] = fit.calibration.to_dict()
    if fit.reference_calibration is not None:
        metadata["reference_calibration"] = fit.reference_calibration.to_dict()
    if fit.label_assistance is not None:
        metadata["labels"] = fit.label_assistance.to_dict()
    if fit.floors:
        metadata["floors"] = {
            f"{floor:g}": floor_fit.to_dict() for floor, floor_fit in fit.floors.items()
        }
    fit.sites.write(Path(path))
    write_artefact(path, with_floors(fit.table, fit.floors), metadata)


def read_fit(path: PathLike) -> FitState:
    """Read what `write_fit` wrote; InputError if the file is missing or is something else."""
    table, metadata = read_artefact(path)
    settings = metadata["estimator"]
    method = settings.get("method", DEFAULT_METHOD)
    if method != DEFAULT_METHOD:
        raise InputError(
            f"{path} is of the published method '{method}': use it with `autoeval estimate-map "
            "--estimator`, or make one of the default method with `autoeval fit`."
        )
    try:
        labels, calibration = metadata.get("labels"), metadata.get("calibration")
        reference = metadata.get("reference_calibration")
        table, floors = split_floors(table, metadata.get("floors", {}))
        return FitState(
            table,
            settings["target"],
            settings["level"],
            context=metadata["context"],
            calibration=ScoreCalibration.from_dict(calibration) if calibration else None,
            reference_calibration=ScoreCalibration.from_dict(reference) if reference else None,
            label_assistance=LabelAssistance.from_dict(labels) if labels else None,
            loading=metadata.get("loading") or {},
            floors=floors,
            sites=FittedSites.beside(artefact_path(path)),
        )
    except InputError as error:
        raise InputError(f"{path} holds an estimator that cannot be used. {error}") from error
