"""Methods by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from autoeval.errors import InputError
from autoeval.estimation.methods.base import Method
from autoeval.estimation.methods.constant import Constant
from autoeval.estimation.methods.fused import Fused
from autoeval.estimation.methods.linear import Linear
from autoeval.estimation.methods.threshold import BestThreshold
from autoeval.scores.agreement import ScaleAP, StabilityAP
from autoeval.scores.thresholds import feature_names

SINGLE = (
    "bos",
    "bos_strict",
    "cs",
    "detection_ratio",
    "ac",
    "atc_source",
    "contrastive_confidence",
    "pcr_consistency",
    "pcr_reliability",
    "energy",
    "energy_mde",
    "energy_spread",
    "fd",
    "view_consistency",
    "boxes_per_image",
    "count_stability@0.05",
)
THRESHOLDED = ("ps", "es", "es_mean", "atc", "box_share")

METHODS: dict[str, Callable[[], Method]] = {
    "constant": Constant,
    "median": partial(Constant, np.median),
    **{name: partial(Linear, name) for name in SINGLE},
    **{name: partial(BestThreshold, feature_names(name)) for name in THRESHOLDED},
    **{score.name: partial(BestThreshold, score.features()) for score in (StabilityAP, ScaleAP)},
    "pcr": partial(Linear, "pcr_consistency", "pcr_reliability"),
    "count_stability": partial(Linear, "count_stability@0.30"),
    "count_stability_pooled": partial(Linear, "count_stability_pooled@0.30"),
    "bos_ps": partial(BestThreshold, feature_names("ps"), "bos"),
    "fused": Fused,
}


def make_method(name: str) -> Method:
    """Make an unfitted method.

    Raises
    ------
    InputError
        If no method has that name.
    """
    if name not in METHODS:
        raise InputError(f"Expected a method out of {', '.join(METHODS)} but got '{name}'.")
    return METHODS[name]()
