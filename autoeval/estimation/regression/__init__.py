"""Regression of accuracy on scores over (place, category) pairs: pure functions on arrays.

`BayesianRegression` (``bayesian.py``, which states the model) is fitted on `Pairs` and predicts a
`Mixture`, which `tell` turns into values and intervals; `without_each_family` leaves families out.
Needs numpy and scipy alone.
"""

from autoeval.estimation.regression.bayesian import BayesianRegression
from autoeval.estimation.regression.beliefs import Prior
from autoeval.estimation.regression.interval import Told, tell
from autoeval.estimation.regression.left_out import without_each_family
from autoeval.estimation.regression.mixture import Mixture
from autoeval.estimation.regression.pairs import Pairs
from autoeval.estimation.regression.scaling import Scaling
from autoeval.estimation.regression.variances import Variances, possible_variances

__all__ = [
    "BayesianRegression",
    "Mixture",
    "Pairs",
    "Prior",
    "Scaling",
    "Told",
    "Variances",
    "possible_variances",
    "tell",
    "without_each_family",
]
