"""COCO's evaluation of boxes, many images at once: matching, ranking and mean average precision.

Labels may also be probable ones, such as the boxes of another detector: see `match_weighted`.
Source: `pycocotools.cocoeval.COCOeval`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from autoeval.accuracy.measures import RankedDetections
from autoeval.boxes import Boxes, LabelledImage, box_area, overlapping_pairs
from autoeval.detections import Detections

IOU_THRESHOLDS = np.linspace(0.5, 0.95, 10)
AT_HALF = 0  # index of an IoU of .5 among them
MAX_DETECTIONS = 100
_CROWD = 2.0**-10  # exact in floating point, and less than the lowest threshold
# An IoU is at most 1, so it decides between equal weights and never between others that differ by
# more than this.
_TIE = 2.0**-20


class Matches(NamedTuple):
    """What becomes of N detections at each of `IOU_THRESHOLDS`; those that are neither are false.

    Parameters
    ----------
    hits : ndarray of shape (10, N), bool
        True positives.
    ignored : ndarray of shape (10, N), bool
        Detections that count neither as right nor as wrong; see `match_detections`.
    """

    hits: np.ndarray  # true positives
    ignored: np.ndarray

    def of(self, chosen: np.ndarray) -> Matches:
        """Return the matches of some of the detections.

        Parameters
        ----------
        chosen : ndarray of shape (N,), bool, or (k,), int
            A mask, or positions in the order wanted.
        """
        return Matches(self.hits[:, chosen], self.ignored[:, chosen])


def top_detections(
    image: np.ndarray, label: np.ndarray, scores: np.ndarray, limit: int = MAX_DETECTIONS
) -> np.ndarray:
    """Select the best `limit` of N detections of each category in each image.

    Parameters
    ----------
    image, label : ndarray of shape (N,), int
        Image and category of each detection.
    scores : ndarray of shape (N,)
    limit : int
        By default the 100 of COCO's evaluation.

    Returns
    -------
    ndarray of shape (k,), int64
        Positions of the detections by image and category, by descending score in each; equal scores
        keep their order.

    Examples
    --------
    >>> top_detections(np.array([1, 0, 0]), np.zeros(3, int), np.array([.5, .1, .9]), limit=1)
    array([2, 0])
    """
    order = np.lexsort((-scores, label, image))
    image, label = image[order], label[order]
    new = np.append(True, (np.diff(image) != 0) | (np.diff(label) != 0))[: len(order)]
    first = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    return order[np.arange(len(order)) - first < limit]


def match_detections(
    boxes: np.ndarray,
    cell: np.ndarray,
    labelled: np.ndarray,
    labelled_cell: np.ndarray,
    *,
    crowd: np.ndarray | None = None,
    present: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Match detections to labelled boxes of their cell, those with the highest score first.

    A detection takes the free labelled box of highest IoU, if that reaches the threshold; of equal
    IoU the last. Without one it may lie in a crowd region, where it is ignored: any number of
    detections may, and the share of the detection inside the region takes the place of the IoU.
    Detections of negative area that match nothing are ignored, too. Source:
    `pycocotools.cocoeval.COCOeval.evaluateImg`.

    Parameters
    ----------
    boxes : ndarray of shape (N, 4)
        Detections as xyxy, pixels; those of a cell by descending score.
    cell : ndarray of shape (N,), int
        A number for each image and category.
    labelled, labelled_cell : ndarray of shape (M, 4) and (M,), int
        Labelled boxes as xyxy, pixels, and the cell of each.
    crowd : ndarray of shape (M,), bool, optional
        Which labelled boxes mark crowds; by default none.
    present : ndarray of shape (..., M), bool, optional
        Which labelled boxes exist, in each of several versions of the labels; by default one
        version with all of them.

    Returns
    -------
    matched, ignored : ndarray of shape (..., 10, N), bool
        True positives, and detections that are ignored, at each of `IOU_THRESHOLDS`; others are
        false positives. By default of shape (10, N).

    Examples
    --------
    >>> box, low = np.array([[0., 0., 10., 10.]]), np.array([[0., 0., 10., 7.]])
    >>> matched, ignored = match_detections(low, np.array([0]), box, np.array([0]))
    >>> matched[:, 0].astype(int)
    array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0])
    """
    present = np.ones(len(labelled), bool) if present is None else present
    crowd = np.zeros(len(labelled), bool) if crowd is None else crowd
    versions = present.reshape(math.prod(present.shape[:-1]), len(labelled))
    taken = _take_boxes(boxes, cell, labelled, labelled_cell, versions, crowd=crowd)
    in_crowd = np.append(crowd, False)[taken]  # -1, without a labelled box, is the last
    matched, ignored = (taken >= 0) & ~in_crowd, in_crowd
    ignored |= ~matched & (box_area(boxes) < 0)
    shape = (*present.shape[:-1], len(IOU_THRESHOLDS), len(boxes))
    return matched.reshape(shape), ignored.reshape(shape)


def match_weighted(
    boxes: np.ndarray,
    cell: np.ndarray,
    labelled: np.ndarray,
    labelled_cell: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Match detections to labelled boxes that are only probable, for the weight of each match.

    A detection takes the free box of its cell with the highest weight, of those whose IoU reaches
    the threshold; of equal weights that of the highest IoU. With weights of 1 the result is the
    true positives of `match_detections`.

    Parameters
    ----------
    boxes : ndarray of shape (N, 4)
        Detections as xyxy, pixels; those of a cell by descending score.
    cell : ndarray of shape (N,), int
        A number for each image and category.
    labelled, labelled_cell : ndarray of shape (M, 4) and (M,), int
        Labelled boxes as xyxy, pixels, and the cell of each.
    weights : ndarray of shape (M,)
        In [0, 1], such as the probability that the box is an object.

    Returns
    -------
    ndarray of shape (10, N)
        Weight of the box that each detection takes at each of `IOU_THRESHOLDS`; 0 without one.

    Examples
    --------
    >>> box = np.array([[0., 0., 10., 10.]])
    >>> match_weighted(box, np.array([0]), box, np.array([0]), np.array([.7]))[:, 0].min()
    np.float64(0.7)
    """
    every = np.ones((1, len(labelled)), bool)
    taken = _take_boxes(boxes, cell, labelled, labelled_cell, every, weights=weights)
    return np.append(weights, 0.0)[taken]


def _take_boxes(
    boxes: np.ndarray,
    cell: np.ndarray,
    labelled: np.ndarray,
    labelled_cell: np.ndarray,
    present: np.ndarray,
    *,
    crowd: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Give detections, those with the highest score first, the labelled box worth most.

    The worth of a box is its IoU, or its weight where there are `weights`. A box is taken once, a
    crowd region any number of times, but after every other box.

    present (V, M): the boxes that there are, in each of V versions of the labels.
    Returned: the position of the box that each detection takes at each threshold in each version,
        (10 V, N), int32; -1 without one.
    """
    crowd = np.zeros(len(labelled), bool) if crowd is None else crowd
    order = np.argsort(cell, kind="stable")
    cell = cell[order]
    rows, columns, overlaps = overlapping_pairs(
        boxes[order].astype(np.float64),
        cell,
        labelled.astype(np.float64),
        labelled_cell,
        least=IOU_THRESHOLDS[0],
        crowd=crowd,
    )
    free = np.repeat(present, len(IOU_THRESHOLDS), axis=0)
    taken = np.full((len(free), len(boxes)), -1, np.int32)
    if not len(rows):
        return taken
    least = np.tile(IOU_THRESHOLDS, len(present))[:, None]
    worth = np.where(crowd[columns], overlaps * _CROWD, overlaps)
    if weights is not None:
        worth = weights[columns] + _TIE * overlaps
    # The first detection of every cell takes its box, then the second of every cell, and so on;
    # those that overlap nothing take no turn.
    new_row = np.append(True, np.diff(rows) > 0)
    cell_of_row = cell[rows[new_row]]
    rank = np.arange(len(cell_of_row)) - np.searchsorted(cell_of_row, cell_of_row)
    turn = rank[np.cumsum(new_row) - 1]
    by_turn = np.argsort(turn, kind="stable")
    for pairs in np.split(by_turn, np.flatnonzero(np.diff(turn[by_turn])) + 1):
        box, target = rows[pairs], columns[pairs]
        offers = np.where(free[:, target] & (overlaps[pairs] >= least), worth[pairs], 0.0)
        # of the pairs of a detection the last of those of the highest worth over 0
        new_box = np.append(True, np.diff(box) > 0)
        starts = np.flatnonzero(new_box)
        highest = np.maximum.reduceat(offers, starts, axis=1)[:, np.cumsum(new_box) - 1]
        best = (offers == highest) & (offers > 0)
        last = np.maximum.reduceat(np.where(best, np.arange(len(box)), -1), starts, axis=1)
        level, detection = np.nonzero(last >= 0)
        chosen = last[level, detection]
        taken[level, order[box[chosen]]] = target[chosen]
        free[level, target[chosen]] = crowd[target[chosen]]
    return taken


def image_ranks(names: Sequence[str]) -> np.ndarray:
    """Return the place of each image by ascending id or name.

    By ids pycocotools ranks equal scores. What is drawn at random goes by file names, which stay
    where tools number images anew.

    Parameters
    ----------
    names : sequence of str
        Ids or file names of M images. Those that are all whole numbers are compared as numbers,
        others as text.

    Returns
    -------
    ndarray of shape (M,), int64
        From 0; equal ones keep their order.

    Examples
    --------
    >>> image_ranks(["10", "9"]), image_ranks(["b.jpg", "a10.jpg", "a9.jpg"])
    (array([1, 0]), array([2, 0, 1]))
    """
    keys: Sequence[Any] = names
    if all(name.isdecimal() for name in names):
        keys = [int(name) for name in names]
    ranks = np.empty(len(keys), np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return ranks


def match_categories(detections: Boxes, truth: Boxes) -> Matches:
    """Match the 100 best detections of each image and category to labelled boxes of the same.

    Parameters
    ----------
    detections, truth : Boxes
        N detections, and labels, on the same images and in the same categories.

    Returns
    -------
    Matches
        As of `match_detections`, in the order of the detections; those beyond the 100 are ignored.
    """
    top = top_detections(detections.image, detections.label, detections.scores)
    several = 1 + max(detections.label.max(initial=0), truth.label.max(initial=0))
    cell = detections.image * several + detections.label
    labelled_cell = truth.image * several + truth.label
    matched = np.zeros((len(IOU_THRESHOLDS), len(cell)), bool)
    ignored = ~matched
    matched[:, top], ignored[:, top] = match_detections(
        detections.boxes[top], cell[top], truth.boxes, labelled_cell, crowd=truth.crowd
    )
    return Matches(matched, ignored)


def rank_categories(
    detections: Boxes, truth: Boxes, matches: Matches | None = None
) -> list[RankedDetections]:
    """Match detections to labelled boxes and rank those of each category by their scores.

    Parameters
    ----------
    detections, truth : Boxes
        Detections, and labels, on the same images and in the same K categories.
    matches : Matches, optional
        What `match_categories` returns for both, where that is known already.

    Returns
    -------
    list of RankedDetections
        One for each category, at `IOU_THRESHOLDS`. Equal scores are in the order of the ids of
        their images, see `image_ranks`, and then of the file. Crowds are no labelled objects.
    """
    matched, ignored = matches or match_categories(detections, truth)
    ranks = image_ranks([image.image_id for image in truth.images])[detections.image]
    order = np.lexsort((ranks, -detections.scores, detections.label))
    ends = np.searchsorted(detections.label[order], np.arange(len(truth.categories) + 1))
    ranked = []
    for k, (start, end) in enumerate(pairwise(ends)):
        rows, labelled = order[start:end], truth.image[(truth.label == k) & ~truth.crowd]
        n_true = np.bincount(labelled, minlength=len(truth.images))
        ranked.append(
            RankedDetections(
                detections.image[rows],
                matched[:, rows],
                ~ignored[:, rows],
                n_true,
                detections.scores[rows],
            )
        )
    return ranked


class MeanAP:
    """Mean average precision over a set of images.

    Source: COCO's box evaluation (IoU .50 to .95 by .05, 101 recall points, 100 detections an image
    and category), unrounded.

    Parameters
    ----------
    categories : sequence of str
        Names of the K categories; the labels of boxes index into them.

    Examples
    --------
    >>> boxes, scores, labels = np.array([[0., 0., 9., 9.]]), np.array([.9]), np.array([0])
    >>> metric = MeanAP(["car"])
    >>> metric.update(Detections(boxes, scores, labels), boxes, labels, np.array([False]))
    >>> {name: round(value, 6) for name, value in metric.compute().items()}
    {'mAP': 1.0, 'mAP50': 1.0, 'mAP75': 1.0}
    """

    def __init__(self, categories: Sequence[str]) -> None:
        self.categories = tuple(categories)
        self._truth: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._found: list[Detections] = []

    def update(
        self, detections: Detections, boxes: np.ndarray, labels: np.ndarray, iscrowd: np.ndarray
    ) -> None:
        """Take in one image.

        Parameters
        ----------
        detections : Detections
            What was detected on it.
        boxes, labels : ndarray of shape (M, 4) and (M,), int
            Labelled boxes as xyxy, pixels, and the category of each.
        iscrowd : ndarray of shape (M,), bool
            Which of them are regions in which detections are ignored.
        """
        self._found.append(detections)
        labels, iscrowd = np.asarray(labels, np.int64), np.asarray(iscrowd, bool)
        self._truth.append((labels, np.asarray(boxes, np.float64), iscrowd))

    @property
    def n_boxes(self) -> int:
        """Number of labelled boxes seen."""
        return sum(len(labels) for labels, _, _ in self._truth)

    def compute(self) -> dict[str, float]:
        """Return the mean over the categories that have a labelled box.

        Returns
        -------
        dict of str to float
            ``mAP``, ``mAP50`` and ``mAP75`` in [0, 1]; NaN without labelled boxes. With several
            categories each of them also per category, as ``mAP/<category>``.
        """
        every = self._average_precisions()
        labelled = every[~np.isnan(every[:, 0])]
        mean = labelled.mean(axis=0) if len(labelled) else np.full(len(IOU_THRESHOLDS), np.nan)
        values = coco_summary(mean)
        if len(self.categories) > 1:
            for category, levels in zip(self.categories, every, strict=True):
                summary = coco_summary(levels)
                values |= {f"{name}/{category}": value for name, value in summary.items()}
        return {name: float(value) for name, value in values.items()}

    def _average_precisions(self) -> np.ndarray:
        """Average precision of each category at each IoU threshold, (K, 10)."""
        if not self._found:
            return np.full((len(self.categories), len(IOU_THRESHOLDS)), np.nan)
        numbers = np.arange(len(self._found))
        images = tuple(LabelledImage(str(k), "", None) for k in numbers)
        detections = Boxes(
            images,
            self.categories,
            image=np.repeat(numbers, [len(image_boxes) for image_boxes in self._found]),
            label=np.concatenate([image_boxes.labels for image_boxes in self._found]),
            boxes=np.concatenate([image_boxes.boxes for image_boxes in self._found]),
            scores=np.concatenate([image_boxes.scores for image_boxes in self._found]),
        )
        labels, boxes, crowd = (np.concatenate(column) for column in zip(*self._truth, strict=True))
        image = np.repeat(numbers, [len(of_image) for of_image, _, _ in self._truth])
        truth = Boxes(images, self.categories, image, labels, boxes, crowd=crowd)
        return np.array(
            [ranked.average_precision() for ranked in rank_categories(detections, truth)]
        )


def coco_summary(levels: np.ndarray) -> dict[str, np.ndarray]:
    """Summarise a quantity that is known at each of `IOU_THRESHOLDS`, such as average precision.

    Parameters
    ----------
    levels : ndarray of shape (10, ...)

    Returns
    -------
    dict of str to ndarray of shape (...)
        ``mAP``, the mean over the thresholds; ``mAP50`` and ``mAP75``, those at IoU .5 and .75.
    """
    return {"mAP": levels.mean(axis=0), "mAP50": levels[0], "mAP75": levels[5]}
