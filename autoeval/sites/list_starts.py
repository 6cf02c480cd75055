"""Where the lists of boxes of new images begin, compared with those of a fit.

A file may begin at a higher score than the fit since a threshold was set, since each image lists
its best boxes only, since there are few boxes, or since its scores are on another scale. These look
different: under a threshold, or on another scale, the lists of all images begin at about the same
score; cut lists each begin at a score of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autoeval.boxes import Boxes

LEAST_LIMIT, FEWEST_FULL = 10, 3
"""Lists are full where so many images have the most boxes of any, and that is so many."""
LOW_SHARE = 0.05  # of the boxes of a file that count as its lowest
MOST_ERRORS = 4.0
"""Standard errors by which more lists begin over the lowest boxes than under one threshold. In
complete files of four detectors it was at most 2.1, in files with cut lists 6 and more; the limit
was set on these files."""
ENOUGH_BOXES = 100
SURELY_NOT, TINY = 1e-3, 1e-9  # probability under which nothing is by chance
NEVER = 1e-4  # the same where a wrong answer would change a number, if little


@dataclass(frozen=True)
class ListStart:
    """Why the boxes of a file begin where they do.

    floor: threshold under which boxes were left out; 0 for that of the fit.
    cut: whether each image lists its best boxes only.
    unlikely: whether there are few boxes, and yet too many to begin so high by chance.
    by_chance: whether the few boxes begin so high by chance.
    """

    floor: float = 0.0
    cut: bool = False
    unlikely: bool = False
    by_chance: bool = False


def open_lists(boxes: Boxes) -> Boxes:
    """Return the boxes of the images that list fewer boxes than the limit, where there is one."""
    n_boxes = np.bincount(boxes.image, minlength=len(boxes.images))
    full = n_boxes == boxes.most_boxes
    if boxes.most_boxes < LEAST_LIMIT or np.count_nonzero(full) < FEWEST_FULL:
        return boxes
    return boxes.where(~full[boxes.image])


def begin_apart(boxes: Boxes) -> bool:
    """Whether the lists begin at scores of their own, so that no threshold explains them.

    Where boxes are drawn independently over one threshold, a list of n boxes holds none of the
    lowest share q of all boxes with probability (1 - q)^n. More lists do so where each was cut.
    """
    n_boxes = np.bincount(boxes.image, minlength=len(boxes.images))
    lowest = lowest_of_images(boxes)
    there = n_boxes > 0
    expected = (1 - LOW_SHARE) ** n_boxes[there]
    seen = np.count_nonzero(lowest[there] > np.quantile(boxes.scores, LOW_SHARE))
    error = math.sqrt(float(np.sum(expected * (1 - expected))))
    return bool(seen - expected.sum() > MOST_ERRORS * max(error, 1.0))


def lowest_of_images(boxes: Boxes) -> np.ndarray:
    """Return the lowest score of each image, (M,); inf for those without a box."""
    lowest = np.full(len(boxes.images), np.inf, boxes.scores.dtype)
    np.minimum.at(lowest, boxes.image, boxes.scores)
    return lowest


def log_chance(n: int, score: float, shares: Sequence[tuple[float, float]]) -> float:
    """Return the log of the probability that n scores of the fit are all over a score.

    shares: thresholds, rising, each with the share of the scores of the fit over it. Between them
        the logarithm of the share is linear, beyond the last one it goes on as before it.

    >>> known = [(.1, .5), (.2, .25)]
    >>> [round(math.exp(log_chance(1, score, known)), 3) for score in (.05, .1, .15, .3)]
    [0.707, 0.5, 0.354, 0.125]
    """
    if not shares:
        return -math.inf
    at, over = np.array([(0.0, 1.0), *shares]).T
    logs = np.log(np.maximum(over, TINY))
    if score <= at[-1]:
        return n * float(np.interp(score, at, logs))
    slope = (logs[-1] - logs[-2]) / (at[-1] - at[-2])
    return n * float(logs[-1] + slope * (score - at[-1]))
