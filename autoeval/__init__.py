"""Label-free accuracy of detectors, and honest measures of counting."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from autoeval.version import __version__

if TYPE_CHECKING:
    from autoeval.api import compare, estimate_with_labels, fit, plan_labels
    from autoeval.data.labels.any_format import load_labels
    from autoeval.data.predictions.reading import read_predictions as load_predictions
    from autoeval.detectors.black_box import BlackBoxDetector
    from autoeval.detectors.detector_spec import DetectorSpec
    from autoeval.detectors.loading import load_detector
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.metasets.task import load_task

_HOMES = {
    "AccuracyEstimator": "estimation.estimator:AccuracyEstimator",
    "BlackBoxDetector": "detectors.black_box:BlackBoxDetector",
    "DetectorSpec": "detectors.detector_spec:DetectorSpec",
    "Estimate": "estimation.estimate:Estimate",
    "compare": "api:compare",
    "estimate_with_labels": "api:estimate_with_labels",
    "fit": "api:fit",
    "load_detector": "detectors.loading:load_detector",
    "load_labels": "data.labels.any_format:load_labels",
    "load_predictions": "data.predictions.reading:read_predictions",
    "load_task": "metasets.task:load_task",
    "plan_labels": "api:plan_labels",
}

__all__ = [
    "AccuracyEstimator",
    "BlackBoxDetector",
    "DetectorSpec",
    "Estimate",
    "__version__",
    "compare",
    "estimate_with_labels",
    "fit",
    "load_detector",
    "load_labels",
    "load_predictions",
    "load_task",
    "plan_labels",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is used: this package itself is light."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(f"{__name__}.{module}"), attribute)


def __dir__() -> list[str]:
    """Name what can be imported."""
    return sorted(__all__)
