"""Regressors from scores to mAP, by name."""

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
