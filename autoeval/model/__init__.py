"""The estimator's statistics: calibration, features of boxes, and the mixed model over pairs.

Pure functions on arrays: numbers in, numbers out. `MixedModel` (``mixed_model.py``, which states
the model) is fitted on `Pairs`, one row for each site and category, and predicts a `Mixture`, which
`predict_intervals` turns into values and intervals. Published scores, which are computed image by
image and by name, are in `autoeval.stability.scores`.
"""

from autoeval.model.domain_shift import DomainShift
from autoeval.model.mixed_model import (
    MixedModel,
    Mixture,
    Pairs,
    PredictionInterval,
    Prior,
    Variances,
    possible_variances,
    predict_intervals,
)

__all__ = [
    "DomainShift",
    "MixedModel",
    "Mixture",
    "Pairs",
    "PredictionInterval",
    "Prior",
    "Variances",
    "possible_variances",
    "predict_intervals",
]
