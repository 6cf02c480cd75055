"""Label-free accuracy of detectors, and honest measures of counting."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from autoeval.version import __version__

if TYPE_CHECKING:
    from autoeval.detectors.loading import load_detector
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import MapEstimator
    from autoeval.estimation.fitting import fit
    from autoeval.estimation.labels.planning import plan_labels
    from autoeval.metasets.task import load_task

_HOMES = {
    "Estimate": "estimation.estimate",
    "MapEstimator": "estimation.estimator",
    "fit": "estimation.fitting",
    "load_detector": "detectors.loading",
    "load_task": "metasets.task",
    "plan_labels": "estimation.labels.planning",
}

__all__ = [
    "Estimate",
    "MapEstimator",
    "__version__",
    "fit",
    "load_detector",
    "load_task",
    "plan_labels",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: this package itself is light."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Name what can be asked for."""
    return sorted(__all__)
