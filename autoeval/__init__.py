"""Label-free accuracy of detectors, and honest measures of counting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autoeval.estimation.estimator import MapEstimator

__version__ = "0.1.0"
__all__ = ["MapEstimator", "__version__"]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: this package itself is light."""
    if name == "MapEstimator":
        from autoeval.estimation.estimator import MapEstimator

        return MapEstimator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
