"""Warnings of labels that miss objects, lie beside them, or belong to other images.

Each test reads the ranking of the boxes alone, so that it needs no calibrated scores: a detector
that is rarely right is still right where it is surest.
"""

from __future__ import annotations

import numpy as np

from autoeval.box_pairs import overlapping_pairs
from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions

CONFIDENT, SURE = 0.3, 0.5
TOUCHING = 0.1
SHARE_OF_OBJECTS, MANY_UNLABELLED = 0.25, 0.125
MANY_ELSEWHERE = 0.07
FEWEST_ODD = 5
FEWEST_PAIRS, MOST_PIXELS, MOST_ERRORS = 10, 2.0, 5.0


def unlabelled_objects(found: Predictions, truth: Truth) -> tuple[str, ...]:
    """Count the most confident boxes, a quarter as many as labelled objects, that are on no label.

    Parameters
    ----------
    found : Predictions
    truth : Truth
        Of the same images and categories.

    Returns
    -------
    tuple of str
        One warning where more than an eighth of those over .5, and five or more, overlap no label
        of any category by an IoU of .1.
    """
    n_objects = int((~truth.crowd).sum())
    sure = _surest(found, int(SHARE_OF_OBJECTS * n_objects))
    rows, _, _ = overlapping_pairs(
        sure.boxes.astype(np.float64),
        sure.image,
        truth.boxes,
        truth.image,
        least=TOUCHING,
        crowd=truth.crowd,
    )
    n_odd = len(sure) - len(np.unique(rows))
    if n_odd < FEWEST_ODD or n_odd <= MANY_UNLABELLED * len(sure):
        return ()
    return (
        f"{n_odd} of the {len(sure)} most confident boxes are on no labelled object: are objects "
        "left unlabelled, or are the labels of other images? If not, the detector is wrong here "
        "where it is surest",
    )


def labels_elsewhere(found: Predictions, truth: Truth) -> tuple[str, ...]:
    """Count images with confident boxes and labels of one category, none of which overlap.

    Parameters
    ----------
    found : Predictions
    truth : Truth
        Of the same images and categories.

    Returns
    -------
    tuple of str
        One warning where they are more than 7 %, and five or more. Confident are the boxes over .5,
        at most half as many as there are labelled objects.
    """
    sure = _surest(found, int((~truth.crowd).sum()) // 2)
    n_categories = len(truth.categories)
    group, labelled = (of.image * n_categories + of.label for of in (sure, truth))
    rows, _, _ = overlapping_pairs(
        sure.boxes.astype(np.float64), group, truth.boxes, labelled, least=np.finfo(float).tiny
    )
    both = np.intersect1d(group, labelled[~truth.crowd])
    n_odd = len(np.setdiff1d(both, group[rows]))
    if n_odd < FEWEST_ODD or n_odd <= MANY_ELSEWHERE * len(both):
        return ()
    what = "images" if n_categories == 1 else "pairs of image and category"
    return (
        f"in {n_odd} of {len(both)} {what} with labels and confident boxes, no box overlaps a "
        "label: do some labels belong to other images, or are their boxes drawn elsewhere?",
    )


def shifted_labels(found: Predictions, truth: Truth) -> tuple[str, ...]:
    """Measure how far labelled boxes lie beside the detector's.

    Boxes over .3 and labels of one image and category are paired where each is the other's best
    overlap, by an IoU of .1 or more. The median offset of their centres has the standard error
    1.25 s / sqrt(n), with s the scaled median absolute deviation.

    Parameters
    ----------
    found : Predictions
    truth : Truth
        Of the same images and categories.

    Returns
    -------
    tuple of str
        One warning where the median offset is over 2 pixels and over 5 standard errors, of 10 pairs
        or more.
    """
    offset, n_pairs = _offsets(found, truth)
    if n_pairs < FEWEST_PAIRS:
        return ()
    median = np.median(offset, axis=0)
    deviation = 1.4826 * np.median(np.abs(offset - median), axis=0)
    error = 1.2533 * deviation / np.sqrt(n_pairs)
    odd = (np.abs(median) > MOST_PIXELS) & (np.abs(median) > MOST_ERRORS * error)
    if not odd.any():
        return ()
    right, down = median
    return (
        f"labelled boxes lie {right:+.1f} px (to the right) and {down:+.1f} px (down) of the "
        f"detector's, median of {n_pairs} pairs: are labels and predictions of images of one size "
        "and crop?",
    )


def _surest(found: Predictions, most: int) -> Predictions:
    """Keep the most confident boxes over .5."""
    sure = np.flatnonzero(found.scores > np.float32(SURE))
    return found.where(sure[np.argsort(-found.scores[sure], kind="stable")[:most]])


def _offsets(found: Predictions, truth: Truth) -> tuple[np.ndarray, int]:
    """Return centre of label minus centre of box for each pair, (n, 2), and their number."""
    sure, single = found.where(found.scores > np.float32(CONFIDENT)), truth.where(~truth.crowd)
    group, labelled = (of.image * len(truth.categories) + of.label for of in (sure, single))
    boxes = sure.boxes.astype(np.float64)
    rows, columns, overlaps = overlapping_pairs(
        boxes, group, single.boxes, labelled, least=TOUCHING
    )
    best_of_row, best_of_column = np.zeros(len(boxes)), np.zeros(len(single))
    np.maximum.at(best_of_row, rows, overlaps)
    np.maximum.at(best_of_column, columns, overlaps)
    mutual = (overlaps == best_of_row[rows]) & (overlaps == best_of_column[columns])
    difference = single.boxes[columns[mutual]] - boxes[rows[mutual]]
    return (difference[:, :2] + difference[:, 2:]) / 2, int(mutual.sum())
