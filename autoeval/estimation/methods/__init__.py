"""Regressors from scores to mAP, by name."""

from autoeval.estimation.methods.fused import Fused
from autoeval.estimation.methods.linear import BestThreshold, Constant, Linear
from autoeval.estimation.methods.registry import (
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
