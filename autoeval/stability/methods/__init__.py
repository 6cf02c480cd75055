"""Regressors from scores to mAP, by name, and the estimator that is made of one.

`make_method` makes a regressor (``linear.py``; ``registry.py`` names them). `SourceRegression`
(``source_regression.py``) fits one for each dropout repeat on a score table, with an interval;
`PublishedEstimator` (``published_estimator.py``) runs the detector on new images, too, by the pass
of ``scored_pass.py``. ``leave_one_out.py`` evaluates methods by leaving groups out,
``categories.py`` estimates single categories, ``score_rows.py`` says what a score table has.
"""

from autoeval.stability.methods.linear import BestThreshold, Constant, Fused, Linear
from autoeval.stability.methods.registry import (
    Method,
    compared_methods,
    make_method,
    methods,
    readable,
)

__all__ = [
    "BestThreshold",
    "Constant",
    "Fused",
    "Linear",
    "Method",
    "compared_methods",
    "make_method",
    "methods",
    "readable",
]
