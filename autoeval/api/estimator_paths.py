"""Estimators by their paths."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from autoeval.errors import InputError
from autoeval.estimation.artefact import ESTIMATOR
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.io.wording import short_names
from autoeval.runtime.files import PathLike


def named_estimators(
    estimators: Mapping[str, AccuracyEstimator | PathLike] | Sequence[AccuracyEstimator | PathLike],
) -> dict[str, AccuracyEstimator]:
    """Load estimators, named after the last parts of their paths that tell them apart.

    Raises
    ------
    InputError
        If one is given twice, or cannot be loaded.
    """
    if isinstance(estimators, Mapping):
        return {name: load_estimator(estimator) for name, estimator in estimators.items()}
    paths = [
        Path(estimator) if isinstance(estimator, str | os.PathLike) else Path(f"detector {k}")
        for k, estimator in enumerate(estimators, 1)
    ]
    whole = [path.parent if path.name == ESTIMATOR else path for path in paths]
    if len({path.resolve() for path in whole}) < len(whole):
        raise InputError("One estimator is given twice: name each detector once.")
    named = zip(short_names(whole), estimators, strict=True)
    return {name: load_estimator(estimator) for name, estimator in named}


def load_estimator(estimator: AccuracyEstimator | PathLike) -> AccuracyEstimator:
    """Load an estimator, where it is not one already."""
    if isinstance(estimator, AccuracyEstimator):
        return estimator
    return AccuracyEstimator.load(estimator)
