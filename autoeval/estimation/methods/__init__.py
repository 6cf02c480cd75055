"""Regressors from scores to mAP, by name."""

from autoeval.estimation.methods.base import Method, readable
from autoeval.estimation.methods.constant import Constant
from autoeval.estimation.methods.fused import Fused
from autoeval.estimation.methods.linear import Linear
from autoeval.estimation.methods.registry import compared_methods, make_method, methods
from autoeval.estimation.methods.threshold import BestThreshold

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
