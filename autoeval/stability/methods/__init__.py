"""Regressors from scores to mAP, by name."""

from autoeval.stability.methods.fused import Fused
from autoeval.stability.methods.linear import BestThreshold, Constant, Linear
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
