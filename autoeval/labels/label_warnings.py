"""Warnings of labels that the predictions, or other labels, contradict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autoeval.box_pairs import overlapping_pairs
from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions
from autoeval.data.wording import listed
from autoeval.labels.displaced_labels import labels_elsewhere, shifted_labels, unlabelled_objects
from autoeval.metrics.average_precision import RankedDetections
from autoeval.metrics.coco_matching import top_detections

SAME_OBJECT, MANY_TWICE = 0.9, 0.02
FEWEST_OF_WORD, FEWEST_CONFIDENT = 8, 20
CONFIDENT, TOO_CONFIDENT = 0.3, 0.1


def label_warnings(
    found: Predictions, truth: Truth, ranked: Sequence[RankedDetections]
) -> tuple[str, ...]:
    """Return all warnings of labels that the boxes on their images, or other labels, contradict.

    Parameters
    ----------
    found : Predictions
    truth : Truth
        Of the same images and categories.
    ranked : sequence of RankedDetections
        What `rank_categories` returns for them, one a category.
    """
    return (
        *overconfident(found, ranked),
        *unlabelled_objects(found, truth),
        *labels_elsewhere(found, truth),
        *shifted_labels(found, truth),
        *labelled_twice(truth),
    )


def labelled_twice(truth: Truth) -> tuple[str, ...]:
    """Count labelled boxes that overlap another of their image and category by an IoU of .9.

    Returns
    -------
    tuple of str
        One warning where they are more than 2 %: the second of each pair counts as missed.
    """
    single = truth.where(~truth.crowd)
    group = single.image * len(single.categories) + single.label
    rows, columns, _ = overlapping_pairs(
        single.boxes, group, single.boxes, group, least=SAME_OBJECT
    )
    twice = len(np.unique(rows[rows != columns]))
    if twice <= MANY_TWICE * len(single):
        return ()
    return (
        f"{twice} of {len(single)} labelled boxes lie on another one of their category: is each "
        "object labelled once? Those that are labelled twice count as missed",
    )


def mismatched_words(found: Predictions, truth: Truth) -> tuple[str, ...]:
    """Name categories with labels and no prediction where others have predictions and no labels.

    Parameters
    ----------
    found : Predictions
        In the detector's own words.
    truth : Truth
        In those of the labels.

    Returns
    -------
    tuple of str
        One warning, or none.
    """
    labelled = _used(truth.categories, truth.label)
    predicted = _used(found.categories, found.label)
    lost = [f"{word} ({labelled[word]} boxes)" for word in labelled if word not in predicted]
    unknown = [
        f"{word} ({n} boxes)" for word, n in predicted.items() if word not in truth.categories
    ]
    if not lost or not unknown:
        return ()
    return (
        f"labelled but never predicted: {listed(lost)}; predicted but no word of the labels: "
        f"{listed(unknown)}. Are these the same things by other words?",
    )


def _used(words: tuple[str, ...], label: np.ndarray) -> dict[str, int]:
    counts = np.bincount(label, minlength=len(words)).tolist()
    return {word: n for word, n in zip(words, counts, strict=True) if n >= FEWEST_OF_WORD}


def overconfident(found: Predictions, ranked: Sequence[RankedDetections]) -> tuple[str, ...]:
    """Compare the mean confidence of boxes over .3 with how many are right at an IoU of .5.

    Parameters
    ----------
    found : Predictions
    ranked : sequence of RankedDetections
        What `rank_categories` returns for them, one a category.

    Returns
    -------
    tuple of str
        One warning where confidence exceeds precision by more than .1 and by more than two standard
        errors, over 20 boxes or more.
    """
    best = found.where(top_detections(found.image, found.label, found.scores))
    sure = best.where(best.scores > np.float32(CONFIDENT))
    right, scores = [], []
    for k, of in enumerate(ranked):
        mine = np.sort(sure.scores[sure.label == k])[::-1]
        counts = of.counted[0, : len(mine)].astype(bool)
        right.append(of.hits[0, : len(mine)][counts])
        scores.append(mine[counts])
    n_boxes = sum(map(len, scores))
    if n_boxes < FEWEST_CONFIDENT:
        return ()
    precision, confidence = (float(np.concatenate(of).mean()) for of in (right, scores))
    error = np.sqrt(confidence * (1 - confidence) / n_boxes)
    if confidence - precision <= max(TOO_CONFIDENT, 2 * error):
        return ()
    return (
        f"{precision:.0%} of the {n_boxes} boxes over {CONFIDENT} are true positives (IoU .5), "
        f"while their mean score is {confidence:.2f}: do the labels miss objects, or are they "
        "drawn elsewhere, or of other images? If not, the detector is overconfident, and "
        "its scores cannot be relied on",
    )
