"""Matching the boxes of all images and categories to the labelled ones at once, as COCO does."""

from __future__ import annotations

import numpy as np

from autoeval.box_pairs import overlapping_pairs
from autoeval.data.predictions import Predictions
from autoeval.estimation.predictions.truth import Truth
from autoeval.pair_rounds import best_of_each, rounds
from autoeval.scores.average_precision import IOU_THRESHOLDS

MOST_BOXES = 100
LEVELS = np.array(IOU_THRESHOLDS)


def best_of_each_image(found: Predictions) -> Predictions:
    """Keep the 100 most confident boxes of each category in each image, best first."""
    group = _groups(found.image, found.label, len(found.categories))
    order = np.lexsort((-found.scores, group))
    group = group[order]
    rank = np.arange(len(group)) - np.searchsorted(group, group)
    return found.where(order[rank < MOST_BOXES])


def match_all(found: Predictions, truth: Truth) -> tuple[np.ndarray, np.ndarray]:
    """Match boxes to labelled ones of their image and category, the most confident first.

    A box takes the free labelled box that it overlaps most, if that is enough; where there is none
    it may lie in a crowd, and is then neither right nor wrong. Source: COCO's evaluation
    (`pycocotools.cocoeval.COCOeval.evaluateImg`).

    Parameters
    ----------
    found : Predictions
        As `best_of_each_image` gives them.
    truth : Truth
        Of the same images and categories.

    Returns
    -------
    matched, ignored : ndarray of shape (10, N), bool
        Which of the N boxes are right, and which lie in a crowd, at each of `IOU_THRESHOLDS`.
    """
    n_categories = len(truth.categories)
    group = _groups(found.image, found.label, n_categories)
    rows, columns, overlaps = overlapping_pairs(
        found.boxes.astype(np.float64),
        group,
        truth.boxes,
        _groups(truth.image, truth.label, n_categories),
        least=LEVELS[0],
        crowd=truth.crowd,
    )
    matched = np.zeros((len(LEVELS), len(found)), bool)
    ignored = np.zeros_like(matched)
    free = np.ones((len(LEVELS), len(truth)), bool)
    for part in rounds(rows, group):
        box, target, crowd = rows[part], columns[part], truth.crowd[columns[part]]
        offer = (overlaps[part] >= LEVELS[:, None]) & (free[:, target] | crowd)
        # Whatever else they overlap, boxes prefer what is no crowd; of equals COCO takes the last.
        worth = np.where(offer, overlaps[part] + 2.0 * ~crowd, 0.0)
        level, chosen = best_of_each(worth, box)
        ignored[level, box[chosen]] = crowd[chosen]
        matched[level, box[chosen]] = ~crowd[chosen]
        free[level, target[chosen]] = False
    return matched, ignored


def _groups(image: np.ndarray, label: np.ndarray, n_categories: int) -> np.ndarray:
    return image * n_categories + label
