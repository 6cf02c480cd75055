"""Regression of accuracy on scores over (place, category) pairs: pure functions on arrays.

`MixedModel` (``mixed_model.py``, which states the model) is fitted on `Pairs` and predicts a
`Mixture`, which `predict_intervals` turns into values and intervals; `leave_one_group_out` leaves
families out.
Needs numpy and scipy alone.
"""

from autoeval.regression.mixed_model import MixedModel, leave_one_group_out, split_groups
from autoeval.regression.pairs import Pairs, Scaling
from autoeval.regression.prediction_interval import Mixture, PredictionInterval, predict_intervals
from autoeval.regression.variances import Prior, Variances, possible_variances

__all__ = [
    "MixedModel",
    "Mixture",
    "Pairs",
    "PredictionInterval",
    "Prior",
    "Scaling",
    "Variances",
    "leave_one_group_out",
    "possible_variances",
    "predict_intervals",
    "split_groups",
]
