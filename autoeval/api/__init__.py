"""What users call: detect, fit, join, plan and use labels, compare; for Python and shell.

The names of this module are those of the package; see `autoeval.__init__`.
"""

from autoeval.api.compare_detectors import compare
from autoeval.api.detect_objects import detect
from autoeval.api.estimator_paths import load_estimator, named_estimators
from autoeval.api.fit_functions import SCORES, fit, fit_task, join
from autoeval.api.site_functions import estimate_with_labels, plan_labels, threshold

__all__ = [
    "SCORES",
    "compare",
    "detect",
    "estimate_with_labels",
    "fit",
    "fit_task",
    "join",
    "load_estimator",
    "named_estimators",
    "plan_labels",
    "threshold",
]
