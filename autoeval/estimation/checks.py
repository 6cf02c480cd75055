"""Checks of an estimate: functions of what is known of a site and a fit to notices.

`estimate_site` and `estimate_rows` in `autoeval.estimation.estimate` call them, fits
`reference_of_fit`, readers of images `unreadable_warning`. Each notice has a code, a severity and a
text; docs/reference/warnings.md lists the codes. A function that looks for something odd returns a
tuple, empty where it finds nothing (`width` an empty text); one whose caller has found it, the
notice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from autoeval.accuracy.measures import OperatingPoint, find_target
from autoeval.model.mixed_model import WIDEST, PredictionInterval
from autoeval.model.pair_table import REFERENCE_AP, Table
from autoeval.model.priors import PRECISION_OF, reads_precision
from autoeval.model.regression import Regression
from autoeval.words import Notice, counted, listed

MIN_IMAGES = 50  # paper, section 5.3 and figure 4c
FEW_UNITS = 10  # blocks of time, whose variance is itself uncertain
N_NAMED = 2  # unreadable images that a warning names
TOO_WIDE = 0.15  # half-width, 15 points
NEAREST = 8  # pairs of the fit, whose tightness stands for that of the new labels
FEWEST = 3  # of these pairs
LOWEST = 0.02  # under it the ratio of two precisions says nothing
MATTERS = 0.05  # change of mAP to each side, 5 points
TAILS = (10, 90)

VALIDATED_BACKBONES = {
    "ResNet": "the paper, table 4",
    "SwinTransformer": "the paper, table 4",
    "CSPDarknet": "docs/results/real_vehicle_yolox_nano.md",
    "MobileNetV2": "docs/results/second_detector.md",
    "black box": "docs/results/predictions.md",
}
"""Where the method was validated on a backbone, by its class."""

REPLACED = ("box_size", "reference_")
"""How scores begin that the regression has a value in place of, where they are unknown."""

MEANINGS = {
    "expected_ap": "the average precision that the confidences predict",
    "likely_share": "the share of boxes that are likely to be right",
    "box_size": "the size of boxes (logarithm)",
    "reference_ap": "the agreement with the reference detector",
}

PRECISION_HARDLY_KNOWN = Notice(
    "precision-hardly-known",
    "precision without labels is hardly better known than from a constant, since objects that "
    "nobody labelled count as false: label a few images to measure it",
)


def of_scores(
    value: float,
    features: Mapping[str, float],
    training_range: Mapping[str, tuple[float, float]],
    *,
    n_images: int,
    backbone: str,
    target: str,
) -> tuple[Notice, ...]:
    """List why an estimate may be wrong by its value, its scores and the images behind them.

    Parameters
    ----------
    value : float
        The estimate, in the range of its target; NaN where none is given.
    features : mapping of str to float
        Scores by name; NaN where one is undefined.
    training_range : mapping of str to tuple of float
        Smallest and largest value of each feature in training, as far as it is known.
    n_images : int
        Images that the scores rest on.
    backbone : str
        Class of the detector's backbone, compared with `VALIDATED_BACKBONES`.
    target : str
        What is estimated.

    Returns
    -------
    tuple of Notice
        Empty where nothing is odd.

    Examples
    --------
    >>> known = {"n_images": 60, "backbone": "ResNet", "target": "mAP"}
    >>> of_scores(.4, {"bos": .9}, {"bos": (.2, .8)}, **known)
    ('bos is 0.900, outside the 0.200 to 0.800 seen in training: the estimate is an extrapolation',)
    >>> of_scores(math.nan, {"bos": .5}, {}, **known)
    ('no estimate: its interval would be wider than ±42 points',)
    """
    notices, doubtful = list[Notice](), find_target(target).doubtful
    for name, score in features.items():
        low, high = training_range.get(name, (-math.inf, math.inf))
        if math.isnan(score):
            notices.append(Notice("score-undefined", f"{name} is undefined on these images"))
        elif (score < low or score > high) and low != high:  # one pair, or a constant: no range
            text = (
                f"{MEANINGS.get(name, name)} is {score:.3f}, outside the {low:.3f} to {high:.3f} "
                "seen in training: the estimate is an extrapolation"
            )
            notices.append(Notice("extrapolation", text))
    if math.isnan(value):
        text = f"no estimate: its interval would be wider than ±{100 * WIDEST:.0f} points"
        unknown = [name for name, score in features.items() if math.isnan(score)]
        if any(not name.startswith(REPLACED) for name in unknown):
            text = "no estimate: the scores cannot be computed on these images"
        notices.append(Notice("no-estimate", text, severity="refused"))
    elif value < doubtful:
        text = (
            f"the estimate is under {doubtful:.0%}, where scores are known to lose their "
            "correlation with mAP"
        )
        notices.append(Notice("low-estimate", text))
    if n_images < MIN_IMAGES:
        text = (
            f"the scores rest on only {counted(n_images, 'image')}: under {MIN_IMAGES} they are "
            "noisy"
        )
        notices.append(Notice("few-images", text))
    if backbone not in VALIDATED_BACKBONES:
        text = f"the method was never validated on a {backbone} backbone"
        notices.append(Notice("backbone-not-validated", text, severity="note"))
    return tuple(notices)


def width(interval: PredictionInterval, target: str = "mAP") -> Notice | Literal[""]:
    """Advise where an interval is too wide to act on, with what helps, as it was measured.

    The figures are those of ``generality.md`` and ``labels_from_files.md`` in ``docs/results``.

    Parameters
    ----------
    interval : PredictionInterval
        Too wide where its `reach` is over `TOO_WIDE`.
    target : str
        What is estimated.

    Returns
    -------
    Notice or str
        An empty text where the interval is not too wide.
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


def outside_range(intervals: Mapping[str, PredictionInterval]) -> tuple[Notice, ...]:
    """Note where the regression predicts an accuracy below 0 or above 1.

    Parameters
    ----------
    intervals : mapping of str to PredictionInterval
        Of each category, or of one that has no name.
    """
    outside = {
        name: interval
        for name, interval in intervals.items()
        if interval.raw < 0 or interval.raw > 1
    }
    if not outside:
        return ()
    values = [f"{name} {100 * interval.raw:.0f}".strip() for name, interval in outside.items()]
    text = (
        f"the regression predicts less than 0 or more than 100 points ({listed(values, 10)}): "
        "these images are unlike the labelled ones, so such a value is set to the edge and its "
        "interval is wider by the distance"
    )
    return (Notice("outside-range", text, severity="note"),)


def few_blocks(n_images: int, n_units: int) -> tuple[Notice, ...]:
    """Note images that are so close in time that few of them are independent.

    Their number is what the sampling error in the interval of the default method rests on.

    Parameters
    ----------
    n_images : int
        Of the site.
    n_units : int
        Images, or blocks of neighbouring frames, that count as independent.
    """
    if n_units < min(n_images, FEW_UNITS):
        text = (
            "the images are neighbours in time, and count as "
            f"{counted(n_units, 'independent block')}: the sampling error itself is uncertain"
        )
        return (Notice("few-blocks", text, severity="note"),)
    return ()


def tightness(pairs: Table, estimates: Mapping[str, float]) -> tuple[Notice, ...]:
    """Warn of how far mAP may be from its estimate because of how tightly objects are labelled.

    Loosely drawn labels lower the precision at high overlaps and leave that at .5 as it is: by how
    much is seen in the ratio of mAP to mAP50 at the `pairs` of the fit nearest in mAP50, the tenth
    from below and from above. One warning, where that moves mAP by `MATTERS` or more to each side,
    or cannot be known.

    Parameters
    ----------
    pairs : Table
        Of the fit, with ``mAP`` and ``mAP50``.
    estimates : mapping of str to float
        By target: ``mAP`` and ``mAP50``. Nothing is said without a finite ``mAP50``.

    Examples
    --------
    >>> pairs = {"mAP50": [.5, .6, .7, .8], "mAP": [.2, .4, .3, .6]}
    >>> (notice,) = tightness(pairs, {"mAP": .4, "mAP50": .6})
    >>> notice.code, "mAP is 41 to 72 % of mAP50: 25 to 44 at" in notice
    ('tightness-of-labels', True)
    >>> tightness({"mAP50": [.5, .6, .7], "mAP": [.25, .3, .35]}, {"mAP": .3, "mAP50": .6})
    ()
    """
    if not {"mAP", "mAP50"} <= set(pairs) or not np.isfinite(estimates.get("mAP50", np.nan)):
        return ()
    loose, strict = np.asarray(pairs["mAP50"], float), np.asarray(pairs["mAP"], float)
    usable = np.flatnonzero(loose > LOWEST)
    about = (
        "mAP depends on how tightly boxes were labelled, which no score shows; mAP50 hardly does"
    )
    if len(usable) < FEWEST:
        text = f"{about}. Fewer than three sites do not show by how much: rely on mAP50"
        return (Notice("tightness-of-labels", text, severity="note"),)
    at = estimates["mAP50"]
    near = usable[np.argsort(np.abs(loose[usable] - at), kind="stable")[:NEAREST]]
    # Not by a regression: tightness is a property of each set of labels, and the tails of what
    # similar ones show are its range.
    low_share, high_share = np.percentile(strict[near] / loose[near], TAILS)
    low, high = at * low_share, at * high_share
    if high - low < 2 * MATTERS:
        return ()
    value = estimates["mAP"]
    where = "below" if value < low else "above" if value > high else "inside"
    lies = f". The estimated mAP of {100 * value:.0f} lies {where} this range"
    text = (
        f"{about}. At the {len(near)} sites with the most similar mAP50, mAP is "
        f"{100 * low_share:.0f} to {100 * high_share:.0f} % of mAP50: {100 * low:.0f} to "
        f"{100 * high:.0f} at the estimated mAP50 of {100 * at:.0f}"
        f"{lies if math.isfinite(value) else ''}"
    )
    return (Notice("tightness-of-labels", text, severity="note"),)


def nothing_found_text(n_images: int, target: str) -> Notice:
    """State what it means that nothing was found in so many images, and what helps.

    Parameters
    ----------
    n_images : int
        Of the site.
    target : str
        What is estimated; of precision other things follow.

    Examples
    --------
    >>> nothing_found_text(1, "recall@0.3").split(". ")[1][:24]
    'The recall@0.3 is near 0'
    """
    point = OperatingPoint.of(target)
    meaning = (
        f"The {target} is near 0 if there are objects of the detector's categories, and not "
        "defined if there are none; which of these it is cannot be known without labels"
    )
    if point and point.measure == "precision":  # of the boxes alone
        meaning = (
            f"The {target} is near 0 if a box is over the threshold, and not defined if none is"
        )
    text = (
        f"nothing found in {counted(n_images, 'image')}: no box is likely to be right. {meaning}. "
        "Images to label are drawn as ever (`autoeval label plan`)"
    )
    return Notice("nothing-found", text, severity="refused")


def no_box_in_fit(target: str) -> Notice:
    """State why precision is not estimated where boxes of the site are over the threshold.

    Parameters
    ----------
    target : str
        Such as ``precision@0.9``.
    """
    text = (
        f"{target}: no estimate, since no box of the labelled images of the fit is over the "
        "threshold"
    )
    return Notice("no-box-over-threshold-in-fit", text, severity="note")


def nothing_over_text(target: str) -> Notice:
    """State what follows where no box is over the threshold of a target.

    Parameters
    ----------
    target : str
        One at a threshold, such as ``recall@0.3``.
    """
    point = OperatingPoint.of(target)
    assert point is not None
    return Notice(
        "no-box-over-threshold",
        f"no box on these images has a score over {point.score_thr:g}: recall and F1 are 0 where "
        "there are objects, and precision is not defined",
    )


def reference_of_fit(pairs: Table, regression: Regression) -> tuple[Notice, ...]:
    """Warn where the agreement with a reference detector is not read, of all or of some pairs.

    Parameters
    ----------
    pairs : Table
        Those of the fit, with `REFERENCE_TRUE`.
    regression : Regression
        Fitted on them.
    """
    point = OperatingPoint.of(regression.target)
    usual_words = reads_precision(pairs["category"]).any()
    if point and not (point.measure == "precision" and usual_words):
        usual = listed(PRECISION_OF)
        reason = (
            f"it is evidence of average precision, and at a threshold of the precision of {usual}"
        )
        return (_not_read(f"{reason} alone"),)
    strength = regression.reference_strength_
    if strength is None:
        return (
            _not_read(
                "it has no box in any labelled category. Are its boxes of these images, and are "
                "its words those of the labels (--reference-names FILE)?"
            ),
        )
    if not regression.reference_weight_:
        reason = (
            "it agrees with the detector more than with the labels, as detectors of one family do"
        )
        if not strength.stronger:
            reason = "it is no stronger than the detector"
        return (_not_read(f"{reason} ({strength})"),)
    lacking = np.flatnonzero(np.isnan(pairs[REFERENCE_AP]))
    called = [f"{pairs['category'][k]} of {pairs['source'][k]}" for k in lacking]
    return (_without(called, len(pairs["category"])),) if called else ()


def reference_at_site(rows: Table, features: Sequence[str]) -> tuple[Notice, ...]:
    """Warn of categories of a site in which the reference detector has no box.

    Parameters
    ----------
    rows : Table
        One row a category that counts.
    features : sequence of str
        Those that the regression reads.
    """
    read = [name for name in features if name.startswith(REFERENCE_AP)]
    if not read or "category" not in rows:
        return ()
    lacking = ~np.isfinite(rows[read[0]])
    called = rows["category"][lacking].tolist()
    return (_without(called, len(lacking)),) if called else ()


def _not_read(reason: str) -> Notice:
    """Note that the reference detector is not read, and why."""
    text = f"the reference detector (--reference) is not read: {reason}"
    return Notice("reference-not-read", text, severity="note")


def _without(called: Sequence[str], n: int) -> Notice:
    """Note that `called`, of n categories, are estimated without the reference detector."""
    text = (
        f"the reference detector has no box of {len(called)} of {n} categories, which are "
        f"estimated without it: {listed(called, 10)}"
    )
    return Notice("reference-without-boxes", text, severity="note")


def unreadable_warning(lost: Sequence[str], n_images: int | None = None) -> tuple[Notice, ...]:
    """Warn of images that could not be read, and name two of them.

    Parameters
    ----------
    lost : sequence of str
        Name and reason of each.
    n_images : int, optional
        All images, those that were read among them.
    """
    if not lost:
        return ()
    how_many = (
        counted(len(lost), "image") if n_images is None else f"{len(lost)} of {n_images} images"
    )
    text = f"{how_many} could not be read and were left out: {listed(lost, N_NAMED)}"
    return (Notice("images-unreadable", text),)
