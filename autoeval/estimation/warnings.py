"""Warnings about an estimate, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from autoeval.data.predictions import FoundBoxes
from autoeval.estimation.list_starts import ENOUGH_BOXES, lowest_of_images
from autoeval.notices import Notice
from autoeval.regression import PredictionInterval
from autoeval.report.tables import counted
from autoeval.report.warning_lines import WIDE
from autoeval.targets import LOWEST_MAP, OperatingPoint

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
SCORE_THR = 0.05  # boxes with a lower score count in no score
CONFIDENT = 0.3
ENOUGH_CONFIDENT = 20
MOSTLY = 0.5
NOTICEABLE = 0.05
NO_LOWER = 1e-3
HIGHEST_FLOOR = 0.55  # of files that a fit can be known at
ANOTHER_FLOOR, OF_FEW_BOXES = 1.5, 3.0
ANOTHER_TOP = 0.6
TOO_WIDE = 0.15


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

    training_range: smallest and largest value of each feature in training.
    skipped_share: share of (image, repeat) with no box on at least one side.

    >>> known = {"n_images": 60, "skipped_share": 0, "backbone": "ResNet"}
    >>> estimate_warnings(.4, {"bos": .9}, {"bos": (.2, .8)}, **known)
    ('bos is 0.900, outside the 0.200 to 0.800 seen in training: the estimate is an extrapolation',)
    """
    found = []
    for name, of in features.items():
        low, high = training_range[name]
        if math.isnan(of):
            found.append(Notice("score-undefined", f"{name} is undefined on these images"))
        elif not low <= of <= high and low != high:  # one pair, or a constant: there is no range
            found.append(
                Notice(
                    "extrapolation",
                    f"{name} is {of:.3f}, outside the {low:.3f} to {high:.3f} seen in training: "
                    "the estimate is an extrapolation",
                )
            )
    if math.isnan(value):
        found.append(
            Notice("no-estimate", "no estimate: the scores cannot be computed on these images")
        )
    elif value < doubtful:
        found.append(
            Notice(
                "low-estimate",
                f"the estimate is under {doubtful:.0%}, where scores are known to lose their "
                "correlation with mAP",
            )
        )
    if n_images < MIN_IMAGES:
        found.append(
            Notice(
                "few-images",
                f"only {counted(n_images, 'image')}: under {MIN_IMAGES} the scores are noisy",
            )
        )
    if skipped_share > MANY_SKIPPED:
        found.append(
            Notice(
                "images-skipped",
                f"{skipped_share:.0%} of the images have no box before or after dropout: not "
                "counted",
            )
        )
    if backbone not in VALIDATED_BACKBONES:
        found.append(
            Notice(
                "backbone-not-validated", f"the method was never validated on a {backbone} backbone"
            )
        )
    return tuple(found)


def another_scale(found: FoundBoxes, floor: float, highest: float) -> Iterator[str]:
    """Say where the scores of new predictions begin or end elsewhere than those of the fit.

    Only the ends show a scale: between them, less confidence is what a worse site looks like.

    floor, highest: lowest and highest score in the fit; 0 for a highest that is not known.
    """
    low, high = sorted((max(found.floor, NO_LOWER), max(floor, NO_LOWER)))
    another = high > (ANOTHER_FLOOR if len(found) >= ENOUGH_BOXES else OF_FEW_BOXES) * low
    if another and high > SCORE_THR:
        yield (
            Notice(
                "another-threshold",
                f"the lowest score is {found.floor:.3g}, in the fit it was {floor:.3g}: "
                "export both with one threshold, or the scores do not compare",
            )
        )
    elif another and len(found) >= ENOUGH_BOXES:
        yield (
            Notice(
                "another-threshold",
                f"the lowest score is {found.floor:.2g}, in the fit it was {floor:.2g}: another "
                "threshold does no harm there, but scores on another scale (another temperature, "
                "another version of the detector) are misread",
            )
        )
    low, high = sorted((found.highest, highest))
    if highest and low < ANOTHER_TOP * high and len(found) >= ENOUGH_BOXES:
        yield (
            Notice(
                "another-scale",
                f"the highest score is {found.highest:.2f}, in the fit it was {highest:.2f}: "
                "unless the detector is sure of nothing in one of them, its scores are on "
                "another scale here and are misread",
            )
        )


def unseen_share(found: FoundBoxes, fit_floor: float | None = None) -> float:
    r"""Say how much of the range of confidence that scores read is missing.

    Scores compare boxes over .3 with all over .05. Where an image's list begins at a confidence f,
    because low ones were cut off, only the best few were kept, or all confidences are inflated,

    .. math:: w = \min(\max((f - .05) / (.3 - .05), 0), 1)

    of that range is unseen. Images count by their boxes, as they do in average precision. Where
    the whole file begins at a score over .05 and up to `HIGHEST_FLOOR`, the tables of the panel
    know what that costs: the range begins there.

    fit_floor: score from which on the fit has boxes, at least .05, where the list of every image
        of a file is cut: the range begins there, in place of at the start of the file.
    Returned: in [0, 1]: 0 for a full list, 1 where a file begins over `HIGHEST_FLOOR`, or more than
        half of the boxes over .3 have the same confidence, so that it ranks nothing.
    """
    if not len(found):
        return 0.0
    if same_score(found) > MOSTLY or found.floor > HIGHEST_FLOOR:
        return 1.0
    start = max(SCORE_THR, found.floor) if fit_floor is None else fit_floor
    if start >= CONFIDENT:
        return 0.0
    n_boxes = np.bincount(found.image, minlength=len(found.images))
    lowest = lowest_of_images(found)
    cut = np.isfinite(lowest)
    if fit_floor is None:
        cut &= n_boxes == found.most_boxes
    first = np.where(cut, lowest.astype(np.float64), found.floor)
    shares = np.clip((first - start) / (CONFIDENT - start), 0, 1)
    return float(np.average(shares, weights=n_boxes))


def same_score(found: FoundBoxes) -> float:
    """Return the share of boxes over .3 that have the most common confidence; 0 for under 20."""
    confident = found.scores[found.scores > np.float32(CONFIDENT)]
    if len(confident) < ENOUGH_CONFIDENT:
        return 0.0
    return float(np.unique(confident, return_counts=True)[1].max() / len(confident))


def unseen_warning(share: float) -> tuple[str, ...]:
    """Warn of what an unseen share does to the interval; not under 5 %, which hardly moves it."""
    if share < NOTICEABLE:
        return ()
    return (
        Notice(
            "low-scores-missing",
            f"{share:.0%} of the confidence that scores read (.05 to .3) is not in these "
            "predictions or in those of the fit: low scores or all but the best boxes were left "
            "out, or all scores are high or alike, or say little of which boxes are right. The "
            "interval is wider by that share of how far accuracies differ; export all boxes from "
            ".01 on",
        ),
    )


def width_warning(interval: PredictionInterval, target: str = "mAP") -> str:
    """Warn of an interval that is too wide to act on, with what helps, as it was measured.

    The figures are those of ``docs/results/generality.md`` and ``docs/results/labels.md``.
    """
    if interval.reach <= TOO_WIDE:
        return ""
    if OperatingPoint.of(target):
        return (
            f"{WIDE}: ±{100 * interval.reach:.0f} points. Twenty labelled images of "
            "this site help most (`autoeval label plan`; measured: recall ±6 to 9)"
        )
    return (
        f"{WIDE}: ±{100 * interval.reach:.0f} points. More labelled sites help little "
        "(measured: ±15 to 19 from one labelled set, ±15 to 17 from 37 sites); twenty labelled "
        "images of this site help most (`autoeval label plan`). Which of several sites is better, "
        "and whether a site has changed, is known more precisely"
    )
