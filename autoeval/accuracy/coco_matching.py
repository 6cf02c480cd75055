"""Matching of detections to labelled boxes as in COCO's evaluation, many images at once.

Source: `pycocotools.cocoeval.COCOeval.evaluateImg`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from autoeval.accuracy.average_precision import RankedDetections
from autoeval.boxes import box_area, overlapping_pairs

IOU_THRESHOLDS = np.linspace(0.5, 0.95, 10)
AT_HALF = 0  # index of an IoU of .5 among them
MAX_DETECTIONS = 100
_CROWD = 2.0**-10  # exact in floating point, and less than the lowest threshold


class Matches(NamedTuple):
    """What becomes of N detections at ten IoU thresholds, (10, N) bool each."""

    hits: np.ndarray  # true positives
    ignored: np.ndarray

    def of(self, chosen: np.ndarray) -> Matches:
        """Return those of some detections, by a mask or indices."""
        return Matches(self.hits[:, chosen], self.ignored[:, chosen])


def top_detections(
    image: np.ndarray, label: np.ndarray, scores: np.ndarray, limit: int = MAX_DETECTIONS
) -> np.ndarray:
    """Select the best `limit` of N detections of each category in each image.

    `image`, `label` and `scores` are (N,). Returns indices by image and category, by descending
    score in each; equal scores keep their order.

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
    group: np.ndarray,
    labelled: np.ndarray,
    labelled_group: np.ndarray,
    *,
    crowd: np.ndarray | None = None,
    present: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Match detections to labelled boxes of their group, those with the highest score first.

    A detection takes the free labelled box of highest IoU, if that reaches the threshold; of equal
    IoU the last. Without one it may lie in a crowd region, where it is ignored: any number of
    detections may, and the share of the detection inside the region takes the place of the IoU.
    Detections of negative area that match nothing are ignored, too.

    Detections (N, 4), those of a group by descending score, and labelled boxes (M, 4) are xyxy,
    pixels; a group is a number for each image and category. `crowd` (M,) marks a crowd, none by
    default; `present` (..., M) says which labelled boxes exist, in each of several versions of the
    labels. Returns true positives and ignored detections (..., 10, N) at each of `IOU_THRESHOLDS`;
    others are false positives.

    Examples
    --------
    >>> box, low = np.array([[0., 0., 10., 10.]]), np.array([[0., 0., 10., 7.]])
    >>> matched, ignored = match_detections(low, np.array([0]), box, np.array([0]))
    >>> matched[:, 0].astype(int)
    array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0])
    """
    crowd = np.zeros(len(labelled), bool) if crowd is None else crowd
    present = np.ones(len(labelled), bool) if present is None else present
    order = np.argsort(group, kind="stable")
    group = group[order]
    rows, columns, overlaps = overlapping_pairs(
        boxes[order].astype(np.float64),
        group,
        labelled.astype(np.float64),
        labelled_group,
        least=IOU_THRESHOLDS[0],
        crowd=crowd,
    )
    versions = present.reshape(math.prod(present.shape[:-1]), len(labelled))
    free = np.repeat(versions, len(IOU_THRESHOLDS), axis=0)
    least = np.tile(IOU_THRESHOLDS, len(versions))[:, None]
    matched = np.zeros((len(free), len(boxes)), bool)
    ignored = np.zeros_like(matched)
    for turn in turns(rows, group):
        box, target, overlap = rows[turn], columns[turn], overlaps[turn]
        offers = free[:, target] & (overlap >= least)
        worth = np.where(crowd[target], overlap * _CROWD, overlap)
        level, best = best_offers(np.where(offers, worth, 0.0), box)
        taken, is_crowd = target[best], crowd[target[best]]
        matched[level, order[box[best]]] = ~is_crowd
        ignored[level, order[box[best]]] = is_crowd
        free[level, taken] = is_crowd
    ignored |= ~matched & (box_area(boxes) < 0)
    shape = (*present.shape[:-1], len(IOU_THRESHOLDS), len(boxes))
    return matched.reshape(shape), ignored.reshape(shape)


def turns(rows: np.ndarray, group: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the pairs of the first detection of every group, then of the second, and so on.

    Detections without a pair take no turn. `rows` (P,) is the detection of each pair, sorted;
    `group` (N,) is sorted, too.
    """
    if not len(rows):
        return
    new_row = np.append(True, np.diff(rows) > 0)
    of_row = group[rows[new_row]]
    rank = np.arange(len(of_row)) - np.searchsorted(of_row, of_row)
    turn = rank[np.cumsum(new_row) - 1]
    order = np.argsort(turn, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(turn[order])) + 1)


def best_offers(worth: np.ndarray, box: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the last pair of the highest worth over 0, for each level of `worth` (L, P) and box.

    Returns levels and pairs, (n,). `box` (P,) is sorted.
    """
    new_box = np.append(True, np.diff(box) > 0)
    starts = np.flatnonzero(new_box)
    highest = np.maximum.reduceat(worth, starts, axis=1)[:, np.cumsum(new_box) - 1]
    best = (worth == highest) & (worth > 0)
    last = np.maximum.reduceat(np.where(best, np.arange(len(box)), -1), starts, axis=1)
    level, place = np.nonzero(last >= 0)
    return level, last[level, place]


def image_ranks(image_ids: Sequence[str]) -> np.ndarray:
    """Return the place of each image (M,) by ascending id: pycocotools ranks equal scores by it.

    Ids that are all whole numbers are compared as numbers, others as text.

    Examples
    --------
    >>> image_ranks(["10", "9"]), image_ranks(["b.jpg", "a10.jpg", "a9.jpg"])
    (array([1, 0]), array([2, 0, 1]))
    """
    keys: Sequence[Any] = image_ids
    if all(image_id.isdecimal() for image_id in image_ids):
        keys = [int(image_id) for image_id in image_ids]
    ranks = np.empty(len(keys), np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return ranks


class _Image(Protocol):
    @property
    def image_id(self) -> str: ...


class _Boxes(Protocol):
    """N boxes of many images as columns, such as `Boxes`.

    `image` and `label` (N,) index into `images`, which may be without a box, and `categories`;
    `boxes` (N, 4) are xyxy, pixels.
    """

    @property
    def images(self) -> Sequence[_Image]: ...
    @property
    def categories(self) -> Sequence[str]: ...
    @property
    def image(self) -> np.ndarray: ...
    @property
    def label(self) -> np.ndarray: ...
    @property
    def boxes(self) -> np.ndarray: ...


class _Scored(_Boxes, Protocol):
    @property
    def scores(self) -> np.ndarray: ...


class _Labelled(_Boxes, Protocol):
    @property
    def crowd(self) -> np.ndarray: ...


def match_categories(detections: _Scored, truth: _Labelled) -> Matches:
    """Match the 100 best detections of each image and category to labelled boxes of the same.

    See `match_detections`; detections beyond the 100 are ignored.
    """
    top = top_detections(detections.image, detections.label, detections.scores)
    several = 1 + max(detections.label.max(initial=0), truth.label.max(initial=0))
    group, labelled_group = (boxes.image * several + boxes.label for boxes in (detections, truth))
    matched = np.zeros((len(IOU_THRESHOLDS), len(group)), bool)
    ignored = ~matched
    matched[:, top], ignored[:, top] = match_detections(
        detections.boxes[top], group[top], truth.boxes, labelled_group, crowd=truth.crowd
    )
    return Matches(matched, ignored)


def rank_categories(
    detections: _Scored, truth: _Labelled, matches: Matches | None = None
) -> list[RankedDetections]:
    """Match detections to labelled boxes and rank those of each category by their scores.

    `matches` is what `match_categories` returns for both, where that is known already. Equal scores
    are in the order of the ids of their images, see `image_ranks`, and of the file.
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
