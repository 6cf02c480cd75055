"""Loading a saved estimator of whatever kind: those of other programs register by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Protocol

from autoeval.estimation.estimate import DEFAULT_METHOD, Estimate
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fit_file import read_artefact
from autoeval.estimation.observation.observing import ImageDetector
from autoeval.runtime.files import PathLike

OF_METHODS = ("autoeval.stability.methods.published_estimator", "PublishedEstimator")


class AnyEstimator(Protocol):
    """What the estimators of the default and of published methods have in common."""

    @property
    def target(self) -> str:
        """What is estimated."""

    @property
    def level(self) -> float:
        """Nominal coverage of its intervals."""

    @property
    def predict(self) -> Callable[..., Estimate]:
        """Estimate the accuracy on new images."""

    def check_detector(self, detector: ImageDetector) -> None:
        """Make sure that a detector is the one of the fit."""


def load_any_estimator(path: PathLike) -> AnyEstimator:
    """Load an `AccuracyEstimator`, or the estimator of a published method.

    Raises InputError as their ``load``.
    """
    _, metadata = read_artefact(path)
    if metadata["estimator"].get("method", DEFAULT_METHOD) == DEFAULT_METHOD:
        return AccuracyEstimator.load(path)
    module, name = OF_METHODS
    estimator: AnyEstimator = getattr(import_module(module), name).load(path)
    return estimator
