"""Estimators by their paths."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.estimation.estimator import AccuracyEstimator
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
    from autoeval.estimation.fit_file import ESTIMATOR
    from autoeval.words import short_names

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
    """Load an estimator, where it is not one already; a file that did not change is read once."""
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.estimation.fit_file import artefact_path

    if isinstance(estimator, AccuracyEstimator):
        return estimator
    path = artefact_path(estimator)
    if not path.is_file():
        return AccuracyEstimator.load(estimator)  # which says what is wrong
    return copy.copy(_loaded(str(path.resolve()), path.stat().st_mtime_ns))


@lru_cache(maxsize=2)  # of one command: what it computes by, and what its page shows
def _loaded(path: str, changed_ns: int) -> AccuracyEstimator:
    from autoeval.estimation.estimator import AccuracyEstimator

    return AccuracyEstimator.load(path)
