"""Warnings of an estimate."""

from __future__ import annotations

import math
from collections.abc import Mapping

from autoeval.report.tables import counted
from autoeval.targets import LOWEST_MAP

MIN_IMAGES = 50  # paper, section 5.3 and figure 4c
MANY_SKIPPED = 0.2

# Backbone class -> where the method was validated on it.
VALIDATED_BACKBONES = {
    "ResNet": "the paper, table 4",
    "SwinTransformer": "the paper, table 4",
    "CSPDarknet": "docs/results/real_vehicle_yolox_nano.md",
    "MobileNetV2": "docs/results/second_detector.md",
    "black box": "docs/results/predictions.md",
}


def estimate_warnings(
    value: float,
    features: Mapping[str, float],
    training_range: Mapping[str, tuple[float, float]],
    *,
    n_images: int,
    skipped_share: float,
    backbone: str,
    doubtful: float = LOWEST_MAP,
) -> tuple[str, ...]:
    """List why an estimate may be wrong.

    Parameters
    ----------
    value : float
        Estimate, NaN where there is none.
    features : mapping
        Features the regressor used.
    training_range : mapping
        Smallest and largest value of each feature in training; equal where there is one pair.
    n_images : int
        Images that were read.
    skipped_share : float
        Share of (image, repeat) with no box on at least one side.
    backbone : str
        Class name of the detector's backbone.
    doubtful : float
        An estimate below it is warned of.

    Examples
    --------
    >>> known = {"n_images": 60, "skipped_share": 0, "backbone": "ResNet"}
    >>> estimate_warnings(.4, {"bos": .9}, {"bos": (.2, .8)}, **known)
    ('bos is 0.900, outside the 0.200 to 0.800 seen in training: the estimate is an extrapolation',)
    """
    reasons = [_out_of_range(name, features[name], training_range[name]) for name in features]
    if math.isnan(value):
        reasons.append("no estimate: the scores cannot be computed on these images")
    elif value < doubtful:
        reasons.append(
            f"the estimate is under {doubtful:.0%}, where scores are known to lose their "
            "correlation with mAP"
        )
    if n_images < MIN_IMAGES:
        reasons.append(
            f"only {counted(n_images, 'image')}: under {MIN_IMAGES} the scores are noisy"
        )
    if skipped_share > MANY_SKIPPED:
        reasons.append(
            f"{skipped_share:.0%} of the images have no box before or after dropout: not counted"
        )
    if backbone not in VALIDATED_BACKBONES:
        reasons.append(f"the method was never validated on a {backbone} backbone")
    return tuple(reason for reason in reasons if reason)


def _out_of_range(name: str, value: float, seen: tuple[float, float]) -> str:
    low, high = seen
    if math.isnan(value):
        return f"{name} is undefined on these images"
    if low <= value <= high or low == high:  # one pair, or a constant: there is no range
        return ""
    return (
        f"{name} is {value:.3f}, outside the {low:.3f} to {high:.3f} seen in training: "
        "the estimate is an extrapolation"
    )
