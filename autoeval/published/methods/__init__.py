"""Regressors from scores to mAP, by name."""

from autoeval.published.methods.fused import Fused
from autoeval.published.methods.linear import BestThreshold, Constant, Linear
from autoeval.published.methods.registry import (
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
