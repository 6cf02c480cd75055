"""Loading a saved estimator of whatever kind: those of other programs register by name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from autoeval.estimation.artefact import read_artefact
from autoeval.estimation.bayesian_regression import DEFAULT_METHOD
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.sites.site_boxes import PathLike

OF_METHODS = ("autoeval.published.methods.published_estimator", "PublishedEstimator")


def load_any_estimator(path: PathLike) -> Any:
    """Load an `AccuracyEstimator`, or the estimator of a published method.

    Both have ``predict``, ``check_detector`` and ``load``. Raises InputError as their ``load``.
    """
    _, metadata = read_artefact(path)
    if metadata["estimator"].get("method", DEFAULT_METHOD) == DEFAULT_METHOD:
        return AccuracyEstimator.load(path)
    module, name = OF_METHODS
    return getattr(import_module(module), name).load(path)
