"""Regression of accuracy on scores over (place, category) pairs: pure functions on arrays.

`MixedModel` (``mixed_model.py``, which states the model) is fitted on `Pairs` and predicts a
`Mixture`, which `predict_intervals` turns into values and intervals. Needs numpy and scipy alone.
"""

from autoeval.regression.away import Away
from autoeval.regression.mixed_model import MixedModel
from autoeval.regression.pairs import Pairs, Scaling
from autoeval.regression.prediction_interval import Mixture, PredictionInterval, predict_intervals
from autoeval.regression.variances import Prior, Variances, possible_variances

__all__ = [
    "Away",
    "MixedModel",
    "Mixture",
    "Pairs",
    "PredictionInterval",
    "Prior",
    "Scaling",
    "Variances",
    "possible_variances",
    "predict_intervals",
]
