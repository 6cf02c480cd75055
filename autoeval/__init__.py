"""Label-free accuracy of detectors, and honest measures of counting."""

from __future__ import annotations

from importlib import import_module

from autoeval.version import __version__

TYPE_CHECKING = False  # as of `typing`, which takes longer to import than all else here
if TYPE_CHECKING:
    from typing import Any

    from autoeval.api import (
        compare,
        detect,
        estimate,
        estimate_with_labels,
        fit,
        fit_task,
        join,
        monitor,
        plan_labels,
        threshold,
    )
    from autoeval.detectors.black_box import BlackBoxDetector
    from autoeval.detectors.detector_spec import DetectorSpec
    from autoeval.detectors.loading import load_detector
    from autoeval.errors import InputError
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.estimation.given import Predictions
    from autoeval.estimation.run_detector import Detector
    from autoeval.io.labels.any_format import load_labels
    from autoeval.io.predictions.reading import read_predictions as load_predictions
    from autoeval.io.tasks.task import load_task

_HOMES = {
    "AccuracyEstimator": "estimation.estimator:AccuracyEstimator",
    "BlackBoxDetector": "detectors.black_box:BlackBoxDetector",
    "Detector": "estimation.run_detector:Detector",
    "DetectorSpec": "detectors.detector_spec:DetectorSpec",
    "Estimate": "estimation.estimate:Estimate",
    "InputError": "errors:InputError",
    "Predictions": "estimation.given:Predictions",
    "compare": "api:compare",
    "detect": "api:detect",
    "estimate": "api:estimate",
    "estimate_with_labels": "api:estimate_with_labels",
    "fit": "api:fit",
    "fit_task": "api:fit_task",
    "join": "api:join",
    "load_detector": "detectors.loading:load_detector",
    "load_labels": "io.labels.any_format:load_labels",
    "load_predictions": "io.predictions.reading:read_predictions",
    "load_task": "io.tasks.task:load_task",
    "monitor": "api:monitor",
    "plan_labels": "api:plan_labels",
    "threshold": "api:threshold",
}

__all__ = [
    "AccuracyEstimator",
    "BlackBoxDetector",
    "Detector",
    "DetectorSpec",
    "Estimate",
    "InputError",
    "Predictions",
    "__version__",
    "compare",
    "detect",
    "estimate",
    "estimate_with_labels",
    "fit",
    "fit_task",
    "join",
    "load_detector",
    "load_labels",
    "load_predictions",
    "load_task",
    "monitor",
    "plan_labels",
    "threshold",
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
