"""What the package offers in Python: one function a command.

`autoeval` itself exports most of them (`autoeval.fit`, `autoeval.estimate`, ...), and
`autoeval.command_table` makes the command line of them: its options are their parameters, its help
their docstrings. They check what goes together, load what is given as a path, and call the packages
below; no number is computed here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autoeval.api.compare_detectors import compare, named_estimators
    from autoeval.api.detect_objects import detect
    from autoeval.api.fit_functions import fit, fit_task, join
    from autoeval.api.monitor_sites import monitor
    from autoeval.api.options import load_estimator
    from autoeval.api.site_functions import (
        estimate,
        estimate_with_labels,
        plan_labels,
        threshold,
    )

__all__ = [
    "compare",
    "detect",
    "estimate",
    "estimate_with_labels",
    "fit",
    "fit_task",
    "join",
    "load_estimator",
    "monitor",
    "named_estimators",
    "plan_labels",
    "threshold",
]

_HOMES = {
    "compare": "compare_detectors",
    "detect": "detect_objects",
    "load_estimator": "options",
    "named_estimators": "compare_detectors",
    "fit": "fit_functions",
    "monitor": "monitor_sites",
    "fit_task": "fit_functions",
    "join": "fit_functions",
    "estimate": "site_functions",
    "estimate_with_labels": "site_functions",
    "plan_labels": "site_functions",
    "threshold": "site_functions",
}


def __getattr__(name: str) -> Any:
    """Import a function when it is used: help of the commands reads single ones."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
