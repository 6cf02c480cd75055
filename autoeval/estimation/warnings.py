"""Warnings about an estimate, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Mapping

from autoeval.model import PredictionInterval
from autoeval.notices import Notice
from autoeval.targets import LOWEST_MAP, OperatingPoint
from autoeval.words import counted

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
TOO_WIDE = 0.15
FEWEST_OF_RANGE = 20
"""Pairs whose range says something: a new one like n others is outside theirs, by chance alone, in
2 of n + 1 cases."""
WORDS = {
    "expected_ap": "the average precision that the confidences predict",
    "likely_share": "the share of boxes that are likely to be right",
    "box_size": "the size of boxes (logarithm)",
    "reference_ap": "the agreement with the reference detector",
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

    training_range: smallest and largest value of each feature in training, as far as it is known.
    skipped_share: share of (image, repeat) with no box on at least one side.

    >>> known = {"n_images": 60, "skipped_share": 0, "backbone": "ResNet"}
    >>> estimate_warnings(.4, {"bos": .9}, {"bos": (.2, .8)}, **known)
    ('bos is 0.900, outside the 0.200 to 0.800 seen in training: the estimate is an extrapolation',)
    """
    messages = []
    for name, score in features.items():
        low, high = training_range.get(name, (-math.inf, math.inf))
        if math.isnan(score):
            messages.append(Notice("score-undefined", f"{name} is undefined on these images"))
        elif not low <= score <= high and low != high:  # one pair, or a constant: there is no range
            messages.append(
                Notice(
                    "extrapolation",
                    f"{WORDS.get(name, name)} is {score:.3f}, outside the {low:.3f} to {high:.3f} "
                    "seen in training: the estimate is an extrapolation",
                )
            )
    if math.isnan(value):
        messages.append(
            Notice(
                "no-estimate",
                "no estimate: the scores cannot be computed on these images",
                severity="refused",
            )
        )
    elif value < doubtful:
        messages.append(
            Notice(
                "low-estimate",
                f"the estimate is under {doubtful:.0%}, where scores are known to lose their "
                "correlation with mAP",
            )
        )
    if n_images < MIN_IMAGES:
        messages.append(
            Notice(
                "few-images",
                f"the scores rest on only {counted(n_images, 'image')}: under {MIN_IMAGES} they "
                "are noisy",
            )
        )
    if skipped_share > MANY_SKIPPED:
        messages.append(
            Notice(
                "images-skipped",
                f"{skipped_share:.0%} of the images have no box before or after dropout: not "
                "counted",
                severity="note",
            )
        )
    if backbone not in VALIDATED_BACKBONES:
        messages.append(
            Notice(
                "backbone-not-validated",
                f"the method was never validated on a {backbone} backbone",
                severity="note",
            )
        )
    return tuple(messages)


def width_warning(interval: PredictionInterval, target: str = "mAP") -> str:
    """Advise where an interval is too wide to act on, with what helps, as it was measured.

    The figures are those of ``docs/results/generality.md`` and ``docs/results/labels.md``.
    """
    if interval.reach <= TOO_WIDE:
        return ""
    text = (
        f"too wide to act on: ±{100 * interval.reach:.0f} points. More labelled sites help little "
        "(measured: ±15 to 19 from one labelled set, ±15 to 17 from 37 sites); twenty labelled "
        "images of this site help most (`autoeval label plan`). Which of several sites is better, "
        "and whether a site has changed, is known more precisely"
    )
    if OperatingPoint.of(target):
        text = (
            f"too wide to act on: ±{100 * interval.reach:.0f} points. Twenty labelled images of "
            "this site help most (`autoeval label plan`; measured: recall ±6 to 9)"
        )
    return Notice("interval-too-wide", text, severity="note")
