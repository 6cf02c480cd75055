"""Boxes on images as one table, and the overlap of boxes with their one-to-one matching.

Boxes are xyxy with x2 >= x1 and y2 >= y1; for the functions in any unit, as long as both sides
share it. They take numpy arrays or torch tensors, and any leading batch dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.words import Notice, listed

Array = Any  # numpy.ndarray or torch.Tensor
Categories = Mapping[str, Sequence[str]]
"""Categories, each with the detector's words for it."""
MOST_PAIRS = 4_000_000
AT_ONCE = 1_000_000
ENOUGH_BOXES = 20  # to decide their units and their form by
BEYOND = 1.02
OUTSIDE = 0.5  # of the boxes reach beyond their image
MANY_CENTRES = 0.15  # of the boxes have their centre beyond it
EXAMPLES = 3  # words in a message that names some
MOST_NAMED = 20  # words in a message that names all
DECIMALS = 6  # of the sides of boxes in files; more are hardly written, or are all of a double


def box_area(boxes: Array) -> Array:
    """Return the area of boxes, (..., N), in the square of their unit.

    Parameters
    ----------
    boxes : ndarray or tensor of shape (..., N, 4)
        xyxy, in any unit.
    """
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def as_xywh(boxes: np.ndarray) -> np.ndarray:
    """Return boxes as left, top, width and height, the form of COCO files, (N, 4).

    Parameters
    ----------
    boxes : ndarray of shape (N, 4)
        xyxy, in any unit.
    """
    return np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)


def over_threshold(scores: np.ndarray, threshold: float) -> np.ndarray:
    """Whether scores are over a threshold, compared in single precision, as networks give them.

    Of a network a score of .3 is .30000001 in double precision, and of a file it is .3: compared in
    that, one of two equal boxes would be over .3.

    Parameters
    ----------
    scores : ndarray of shape (N,)
        Of single or double precision.
    threshold : float
        In [0, 1].

    Returns
    -------
    ndarray of shape (N,), bool

    Examples
    --------
    >>> over_threshold(np.array([0.3, np.float32(0.3), 0.31]), 0.3)
    array([False, False,  True])
    """
    return np.asarray(scores, np.float32) > np.float32(threshold)


def has_area(boxes: np.ndarray) -> np.ndarray:
    """Whether boxes have a width and a height, (N,), bool; others overlap nothing.

    Parameters
    ----------
    boxes : ndarray of shape (N, 4)
        xyxy, in any unit; one with NaN has none.

    Examples
    --------
    >>> has_area(np.array([[0, 0, 2, 2], [5, 5, 5, 9]]))
    array([ True, False])
    """
    # side by side: NumPy reduces short rows many times slower than it compares columns
    return np.asarray((boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]))


def box_iou(a: Array, b: Array) -> Array:
    """Return the intersection over union of boxes with boxes.

    Parameters
    ----------
    a, b : ndarray or tensor of shape (..., N, 4) and (..., M, 4)
        xyxy, in one unit, floating.

    Returns
    -------
    ndarray or tensor of shape (..., N, M)
        In [0, 1], and 0 where both boxes have no area.

    Examples
    --------
    >>> box_iou(np.array([[0., 0., 2., 2.]]), np.array([[1., 0., 3., 2.]])).round(3)
    array([[0.333]])
    """
    intersection, union = _intersection_and_union(a, b)
    return _ratio(intersection, union)


def box_giou(a: Array, b: Array) -> Array:
    """Return the generalised IoU: IoU less the share of the enclosing box that neither box covers.

    A common scaling of either axis changes nothing. Source: Rezatofighi et al. 2019, algorithm 1.

    Parameters
    ----------
    a, b : ndarray or tensor of shape (..., N, 4) and (..., M, 4)
        xyxy, in one unit, floating.

    Returns
    -------
    ndarray or tensor of shape (..., N, M)
        In [-1, 1]; 0 where the enclosing box has no area.

    Examples
    --------
    >>> box_giou(np.array([[0., 0., 1., 1.]]), np.array([[2., 0., 3., 1.]])).round(3)
    array([[-0.333]])
    """
    xp = _namespace(a)
    intersection, union = _intersection_and_union(a, b)
    a, b = a[..., :, None, :], b[..., None, :, :]
    width = xp.maximum(a[..., 2], b[..., 2]) - xp.minimum(a[..., 0], b[..., 0])
    height = xp.maximum(a[..., 3], b[..., 3]) - xp.minimum(a[..., 1], b[..., 1])
    enclosing = width * height
    return _ratio(intersection, union) - _ratio(enclosing - union, enclosing)


OVERLAPS = {"iou": box_iou, "giou": box_giou}


def match_boxes(
    a: np.ndarray, b: np.ndarray, *, cost: str = "giou"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Match min(N, M) pairs so that the sum of overlaps is the largest (Hungarian algorithm).

    Parameters
    ----------
    a, b : ndarray of shape (N, 4) and (M, 4)
        xyxy, in one unit.
    cost : str
        Name of the overlap, one of `OVERLAPS`.

    Returns
    -------
    rows, columns : ndarray of shape (min(N, M),), int64
        Indices into `a` and `b` of each pair, in the order of `a`.
    overlaps : ndarray of shape (min(N, M),), float64
        Of the pairs, which need not overlap.

    Raises
    ------
    ValueError
        If there is no such overlap.

    Examples
    --------
    >>> a = np.array([[0., 0., 2., 2.], [5., 5., 6., 6.]])
    >>> rows, columns, overlaps = match_boxes(a, a[::-1])
    >>> columns, overlaps
    (array([1, 0]), array([1., 1.]))
    """
    if cost not in OVERLAPS:
        raise ValueError(f"Expected `cost` to be one of {sorted(OVERLAPS)} but got {cost!r}.")
    overlaps = OVERLAPS[cost](np.asarray(a, np.float64), np.asarray(b, np.float64))
    from scipy.optimize import linear_sum_assignment  # half a second that most commands can save

    rows, columns = linear_sum_assignment(overlaps, maximize=True)
    return rows, columns, overlaps[rows, columns]


def _namespace(array: Array) -> Any:
    if isinstance(array, np.ndarray):
        return np
    import torch

    return torch


def _intersection_and_union(a: Array, b: Array) -> tuple[Array, Array]:
    # one side after the other: NumPy is several times slower on pairs of pairs
    xp, lengths = _namespace(a), []
    for side in (0, 1):
        low = xp.maximum(a[..., :, None, side], b[..., None, :, side])
        high = xp.minimum(a[..., :, None, side + 2], b[..., None, :, side + 2])
        lengths.append(xp.maximum(high - low, xp.zeros_like(low)))
    intersection = lengths[0] * lengths[1]
    union = box_area(a)[..., :, None] + box_area(b)[..., None, :] - intersection
    return intersection, union


def _ratio(numerator: Array, denominator: Array) -> Array:
    xp = _namespace(numerator)
    positive = denominator > 0
    safe = xp.where(positive, denominator, 1.0)
    return xp.where(positive, numerator / safe, 0.0)


def overlapping_pairs(
    a: np.ndarray,
    a_cell: np.ndarray,
    b: np.ndarray,
    b_cell: np.ndarray,
    *,
    least: float,
    crowd: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the pairs of boxes of one cell, such as an image and category, that overlap enough.

    Parameters
    ----------
    a, b : ndarray of shape (N, 4) and (M, 4), float64
        xyxy, in one unit.
    a_cell, b_cell : ndarray of shape (N,) and (M,), int
        Cell of each box.
    least : float
        Smallest intersection over union, over 0 and at most 1.
    crowd : ndarray of shape (M,), bool, optional
        Boxes of `b` with which the share of the box of `a` that is inside them counts, as COCO's
        evaluation has it; by default none.

    Returns
    -------
    rows, columns : ndarray of shape (P,), int64
        Indices into `a` and `b` of each pair, in the order of `a`, then of `b`.
    overlaps : ndarray of shape (P,), float64
        In [least, 1].

    Examples
    --------
    >>> boxes = np.array([[0., 0., 2., 2.], [0., 0., 2., 1.], [0., 0., 2., 2.]])
    >>> overlapping_pairs(boxes, np.array([1, 1, 2]), boxes[:1], np.array([1]), least=.4)
    (array([0, 1]), array([0, 0]), array([1. , 0.5]))
    """
    order = np.argsort(b_cell, kind="stable")
    first = np.searchsorted(b_cell[order], a_cell)
    counts = np.searchsorted(b_cell[order], a_cell, side="right") - first
    sides = [np.ascontiguousarray(side) for side in (*a.T, *b.T)]
    a_area = np.multiply(*_written_sides(a).T)
    b_area = a_area if b is a else np.multiply(*_written_sides(b).T)
    pairs = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    # in parts of few more than `MOST_PAIRS` pairs, so that memory is bounded
    part_of_row = np.cumsum(counts) // MOST_PAIRS
    starts = [0, *(np.flatnonzero(np.diff(part_of_row)) + 1).tolist(), len(counts)]
    for start_row, end_row in pairwise(starts):
        part = slice(start_row, end_row)
        rows = np.repeat(np.arange(start_row, end_row), counts[part])
        ends = np.cumsum(counts[part])
        within = np.arange(len(rows)) - np.repeat(ends - counts[part], counts[part])
        columns = order[first[rows] + within]
        for low in (0, 1):  # most pairs are apart, which one side after the other shows soonest
            start = np.maximum(sides[low][rows], sides[low + 4][columns])
            meet = np.minimum(sides[low + 2][rows], sides[low + 6][columns]) > start
            rows, columns = rows[meet], columns[meet]
        low = np.maximum(a[rows, :2], b[columns, :2])
        high = np.minimum(a[rows, 2:], b[columns, 2:])
        meeting = np.maximum(high - low, 0)
        intersection = meeting[:, 0] * meeting[:, 1]
        whole = a_area[rows] + b_area[columns] - intersection
        if crowd is not None:
            whole = np.where(crowd[columns], a_area[rows], whole)
        overlaps = np.divide(intersection, whole, out=np.zeros(len(rows)), where=whole > 0)
        kept = overlaps >= least
        pairs.append((rows[kept], columns[kept], overlaps[kept]))
    rows, columns, overlaps = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return rows, columns, overlaps


def _written_sides(boxes: np.ndarray) -> np.ndarray:
    """Return width and height of boxes of files that write them, to the last bit.

    In double precision ``(x + w) - x`` differs from w by its rounding, which decides where an
    overlap equals a threshold, as those of boxes with few decimals often do. Of numbers with up to
    `DECIMALS` decimals the nearest double is w; others are left as they are.

    boxes (N, 4): xyxy, made of left, top, width and height
    Returned (N, 2): width and height

    >>> box = np.array([[5.3, 0.0, 5.3 + 0.7, 1.0]])
    >>> box[0, 2] - box[0, 0], _written_sides(box)[0, 0]
    (np.float64(0.7000000000000002), np.float64(0.7))
    """
    sides = boxes[:, 2:] - boxes[:, :2]
    rounded = np.round(sides, DECIMALS)
    # x + w is rounded to the spacing of doubles there, and so is the difference
    left, top, right, bottom = np.abs(boxes).T
    largest = np.maximum(np.maximum(left, top), np.maximum(right, bottom))
    possible = np.abs(rounded - sides) <= np.spacing(largest)[:, None]
    return np.where(possible, rounded, sides)


# The one table of boxes.


@dataclass(frozen=True, slots=True)
class LabelledImage:
    """An image of a set, labelled or not, be it with boxes or without; its pixels are elsewhere.

    Parameters
    ----------
    image_id : str
        Its name within its set: the id of a COCO file, else `file_name`.
    file_name : str
        Path relative to the image folder.
    size : tuple of int, optional
        Height and width in pixels; None where they are not known.
    taken : datetime, optional
        When it was taken, without a time zone; None where the file does not say.
    split : str
        Split of a ``data.yaml``, such as ``val``; empty for other formats.
    """

    image_id: str
    file_name: str
    size: tuple[int, int] | None
    taken: datetime | None = None
    split: str = ""


class Reach(NamedTuple):
    """Where N boxes on images of known size end.

    Parameters
    ----------
    n : int
        Number of boxes on such images.
    n_beyond : int
        Those that reach beyond an edge of their image by more than 2 % of its side (`BEYOND`).
    farthest : ndarray of shape (2,), float64
        Largest right and bottom edge, as shares of the width and the height of the image; 0 without
        boxes.
    in_shares : tuple of Notice
        A warning of boxes in [0, 1], where there are some.
    """

    n: int
    n_beyond: int
    farthest: np.ndarray
    in_shares: tuple[Notice, ...] = ()


def check_pixels(
    path: Path,
    boxes_name: str,
    boxes: np.ndarray,
    image: np.ndarray,
    images: Sequence[LabelledImage],
    *,
    of_run: bool = False,
) -> Reach:
    """Refuse boxes of a file that are not in pixels of their images, and measure the others.

    Where objects fill the image, networks that do not cut their boxes at the edge let many reach
    beyond, but few centres. Boxes in [0, 1] beside others are shares of some images among pixels of
    others: no box of 154 real files of predictions and of 42 of labels is as small.

    Parameters
    ----------
    path : Path
        The file, for messages.
    boxes_name : str
        What the boxes are called, for messages.
    boxes, image : ndarray of shape (N, 4) and (N,)
        xyxy, and the image of each.
    images : sequence of LabelledImage
        All images of the file; on those of unknown size boxes are not beyond.
    of_run : bool
        Whether a detector that was run found them: then they are pixels of the images, and nothing
        is refused. Networks that do not cut their boxes find many in what pads an image.

    Raises
    ------
    InputError
        If all boxes lie in [0, 1], or more than half of those on images of known size end to the
        right of them or below, as corners for sides and pixels of larger images do, and the centres
        of more than 15 % lie there.

    Examples
    --------
    >>> boxes = np.array([[10.0, 20, 30, 40], [0.1, 0.2, 0.3, 0.4]])
    >>> images = [LabelledImage(name, name, (480, 640)) for name in ("a.jpg", "b.jpg")]
    >>> reach = check_pixels(Path("boxes.json"), "boxes", boxes, np.array([0, 1]), images)
    >>> reach.n_beyond, [notice.code for notice in reach.in_shares]
    (0, ['boxes-in-shares'])
    """
    # By left, top and sides: shares with the centre in front, and uncut ones, end beyond 1.
    if (
        not of_run
        and len(boxes) >= ENOUGH_BOXES
        and boxes[:, :2].max() <= BEYOND
        and (boxes[:, 2:] - boxes[:, :2]).max() <= BEYOND
    ):
        raise InputError(
            f"{path}: all {boxes_name} lie in [0, 1]. Expected pixels: multiply them by the width "
            "and the height of each image."
        )
    unknown = (float("inf"),) * 2
    sizes = np.array([one.size or unknown for one in images], float).reshape(-1, 2)[:, ::-1]
    n, n_beyond, n_ends, n_centres = int(np.isfinite(sizes[image, 0]).sum()), 0, 0, 0
    farthest = np.zeros(2)
    for start in range(0, len(boxes), AT_ONCE):
        part, limits = boxes[start:][:AT_ONCE], sizes[image[start:][:AT_ONCE]]
        farthest = np.maximum(farthest, (part[:, 2:] / limits).max(axis=0))
        x_end, y_end = (part[:, 2:] > BEYOND * limits).T
        x_start, y_start = (part[:, :2] < (1 - BEYOND) * limits).T
        n_beyond += int((x_end | y_end | x_start | y_start).sum())
        n_ends += int((x_end | y_end).sum())
        x_beyond, y_beyond = ((part[:, :2] + part[:, 2:]) / 2 > limits).T
        n_centres += int((x_beyond | y_beyond).sum())
    if not of_run and n_ends > OUTSIDE * n and n_centres > MANY_CENTRES * n:
        raise InputError(
            f"{path}: {n_ends / n:.0%} of the {boxes_name} reach out of their images. Expected "
            "bbox as [left, top, width, height] in pixels of the image as it is on disk: are these "
            "corners [x1, y1, x2, y2], or pixels of a resized image?"
        )
    inside = (boxes[:, 2:] <= BEYOND) & (boxes[:, :2] >= 1 - BEYOND)
    within, in_shares = has_area(boxes) & inside.all(axis=1), tuple[Notice, ...]()
    if within.any() and not of_run:
        file_names = [images[k].file_name for k in np.unique(image[within]).tolist()]
        text = (
            f"{boxes_name} that lie in [0, 1], as shares of their images: "
            f"{np.count_nonzero(within)}, in {len(file_names)} images ({listed(file_names)}). "
            "Expected pixels in all images: multiply them by the width and the height of each image"
        )
        in_shares = (Notice("boxes-in-shares", text),)
    return Reach(n, n_beyond, farthest, in_shares)


@dataclass(frozen=True, eq=False)
class Numbering:
    """How the category numbers of a file were read, and how else they could be.

    Parameters
    ----------
    used : str
        One of `autoeval.io.predictions.category_words.NUMBERINGS`; empty where boxes have words.
    others : mapping of str to ndarray of shape (K,), int
        By the same names, ways in which all numbers have a word too, and some another one: the
        category by that way of each category of the boxes, -1 where no number is its own.
    numbers : mapping of str to dict
        By the same names, the word of each number.
    positions : bool
        Whether numbers mostly are positions in a list from 0: of text files, and of objects in
        memory whose framework counts so.
    decided : bool
        Whether the way that was used is more than the first of those that fit.
    own : bool
        Whether it is by the words of the file itself; those of a list beside text files may be of
        other files.
    """

    used: str = ""
    others: Mapping[str, np.ndarray] = field(default_factory=dict)
    numbers: Mapping[str, dict[str, str]] = field(default_factory=dict)
    positions: bool = False
    decided: bool = True
    own: bool = False

    def examples(self, way: str, boxes: Any) -> str:
        """Name the words that a way gives the commonest numbers, `EXAMPLES` at most.

        Parameters
        ----------
        way : str
            `used`, or a key of `others`.
        boxes : Boxes
            What was read so, or another object with its ``label`` and ``categories``.
        """
        n_boxes = np.bincount(boxes.label, minlength=len(boxes.categories))
        often = np.argsort(-n_boxes, kind="stable")[:EXAMPLES]
        often = often[n_boxes[often] > 0]
        shown = often if way == self.used else self.others[way][often]
        return ", ".join(boxes.categories[k] for k in shown)


NO_NUMBERS = Numbering()
"""Of boxes with words."""


@dataclass(frozen=True, eq=False)
class DetectorRun:
    """Which detector was run, how, and over which images.

    Parameters
    ----------
    name : str
        As the detector was given.
    settings : mapping
        What its boxes depend on, such as hashes of its weights; compared by an estimator.
    fingerprint : str
        A short name of `settings`.
    is_identified : bool
        Whether the settings of another detector, such as a retrained one, would differ.
    backbone : str
        Class name of its backbone.
    versions : mapping of str to str
        Of the packages it was run with, to look up.
    categories : tuple of str
        All its words, whether they were found or not.
    unreadable : tuple of str
        Why each image that is not here could not be observed.
    copies : ndarray of shape (M,), bool
        Whether each image is byte by byte an earlier one.
    blocks : ndarray of shape (M,), int64
        Number of the block of time of each image, from 0 without gaps; frames of one block are
        dependent.
    """

    name: str
    settings: dict[str, Any]
    fingerprint: str
    is_identified: bool
    backbone: str
    versions: dict[str, str] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    copies: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    blocks: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def knows_copies(self) -> bool:
        """Whether it is known which of the images at hand are copies."""
        return bool(len(self.copies))

    def on_images(self, chosen: Sequence[int] | np.ndarray) -> DetectorRun:
        """Keep what is known of some images.

        Copies are not known where other images are left out, of which they may be copies.

        Parameters
        ----------
        chosen : ndarray or sequence of int
            Positions of the images, in the order that they are to have.
        """
        copies = self.copies[chosen] if self.knows_copies else self.copies
        if copies.any() and np.count_nonzero(~copies) < np.count_nonzero(~self.copies):
            copies = np.zeros(0, bool)
        numbers = np.unique(self.blocks[chosen], return_inverse=True)[1]
        return replace(self, copies=copies, blocks=numbers)

    def on_list(self, places: np.ndarray, n: int) -> DetectorRun:
        """Return the same for another list of the images, of which copies are not known.

        An image of the list that the run does not have is a block of its own.

        Parameters
        ----------
        places : ndarray of shape (M,), int64
            Position of each image of the run in the list; negative where it is not there.
        n : int
            Images of the list.
        """
        there, last = places >= 0, int(self.blocks.max(initial=-1))
        blocks = last + 1 + np.arange(n)
        blocks[places[there]] = self.blocks[there]
        numbers = np.unique(blocks, return_inverse=True)[1]
        return replace(self, copies=np.zeros(0, bool), blocks=numbers)


@dataclass(frozen=True, eq=False)
class Boxes:
    """N boxes on M images, those without a box included: detected ones, or labels.

    Parameters
    ----------
    images : tuple of LabelledImage
        The M images.
    categories : tuple of str
        The K words of the categories.
    image, label : ndarray of shape (N,), int64
        Image and category of each box.
    boxes : ndarray of shape (N, 4)
        xyxy, pixels; in double precision, as scores are, whatever is given.
    scores : ndarray of shape (N,), optional
        In [0, 1]; by default 1, as of labels.
    crowd : ndarray of shape (N,), bool, optional
        Labelled areas that evaluation ignores; by default none.
    features : ndarray of shape (N, F), optional
        What each box is among the others of its image; see `autoeval.sites.site.with_features`.
    numbers : mapping of str to str
        The word for each number of a category, as far as the file has or uses numbers.
    left_out, warnings : tuple of Notice
        What was left out or is odd; why boxes may be misread.
    uncovered : tuple of int
        Images of which the file says nothing: their objects were not missed.
    numbering : Numbering
        How numbers of categories were read.
    lists_images : bool
        Whether the file itself lists the images that the detector was run on, those without a box
        among them.
    listed : bool
        Whether a user gave `images` to `load_predictions`: an estimate without others is of these.
    run : DetectorRun, optional
        Which detector was run, where `autoeval detect` wrote the file.
    """

    images: tuple[LabelledImage, ...]
    categories: tuple[str, ...]
    image: np.ndarray
    label: np.ndarray
    boxes: np.ndarray
    scores: np.ndarray = None  # type: ignore[assignment]
    _: KW_ONLY
    crowd: np.ndarray = None  # type: ignore[assignment]
    features: np.ndarray = None  # type: ignore[assignment]
    numbers: dict[str, str] = field(default_factory=dict)
    left_out: tuple[Notice, ...] = ()
    warnings: tuple[Notice, ...] = ()
    uncovered: tuple[int, ...] = ()
    numbering: Numbering = NO_NUMBERS
    lists_images: bool = False
    listed: bool = False
    run: DetectorRun | None = None

    def __post_init__(self) -> None:
        scores = np.ones(len(self.label)) if self.scores is None else self.scores
        object.__setattr__(self, "boxes", np.asarray(self.boxes, np.float64))
        object.__setattr__(self, "scores", np.asarray(scores, np.float64))
        if self.crowd is None:
            object.__setattr__(self, "crowd", np.zeros(len(self.label), bool))

    def __len__(self) -> int:
        return len(self.label)

    def where(self, mask: np.ndarray | Sequence[int]) -> Boxes:
        """Keep the boxes that a mask or an index array selects, and all images.

        Parameters
        ----------
        mask : ndarray of shape (N,), bool, or sequence of int
            Which boxes stay, or their rows, in the order that they are to have.

        Examples
        --------
        >>> image, corners = LabelledImage("7", "7.jpg", (480, 640)), np.array([[1.0, 2, 3, 4]])
        >>> boxes = Boxes((image,), ("car",), np.array([0]), np.array([0]), corners)
        >>> none = boxes.where(boxes.scores < 0.5)  # scores are 1 by default
        >>> len(boxes), len(none), len(none.images), len(boxes.where([]))
        (1, 0, 1, 0)
        """
        mask = np.asarray(mask) if len(mask) else np.zeros(0, np.int64)  # a list of none is float
        if mask.dtype == bool and mask.all():
            return self
        return replace(
            self,
            image=self.image[mask],
            label=self.label[mask],
            boxes=self.boxes[mask],
            scores=self.scores[mask],
            crowd=self.crowd[mask],
            features=None if self.features is None else self.features[mask],
        )

    def on_images(self, chosen: Sequence[int] | np.ndarray) -> Boxes:
        """Keep the images of an index array without repetition, and their boxes.

        Parameters
        ----------
        chosen : ndarray or sequence of int
            Positions in `images`, in the order that they are to have; or of M bools, which stay.

        Raises
        ------
        IndexError
            If there are not as many bools as images.
        """
        chosen = np.arange(len(self.images))[np.asarray(chosen) if len(chosen) else []]
        place = np.full(len(self.images), -1)
        place[chosen] = np.arange(len(chosen))
        kept = self.where(place[self.image] >= 0)
        uncovered = place[list(self.uncovered)]
        return replace(
            kept,
            images=tuple(self.images[k] for k in chosen),
            image=place[kept.image],
            uncovered=tuple(uncovered[uncovered >= 0].tolist()),
            run=self.run and self.run.on_images(chosen),
        )

    @property
    def covered(self) -> np.ndarray:
        """The positions of all images but the `uncovered` ones, int64."""
        return np.setdiff1d(np.arange(len(self.images)), self.uncovered)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Height and width of each image in pixels, (M, 2), float64; NaN where they are unknown."""
        unknown = (np.nan, np.nan)
        return np.array([image.size or unknown for image in self.images], float).reshape(-1, 2)

    @cached_property
    def floor(self) -> float:
        """The lowest score of all boxes, NaN without any."""
        return float(self.scores.min()) if len(self) else float("nan")

    def as_categories(self, names: Sequence[str], words: Mapping[str, str] | None = None) -> Boxes:
        """Translate words of categories into other categories; boxes of other words are dropped.

        Parameters
        ----------
        names : sequence of str
            The new categories, in their order.
        words : mapping of str to str, optional
            The new category of each word that counts; by default each category is its own word.

        Raises
        ------
        InputError
            If no category has a word that counts.
        """
        words = {name: name for name in names} if words is None else words
        index = {name: k for k, name in enumerate(names)}
        lookup = np.array(  # a category may have an empty name
            [index.get(words[w], -1) if w in words else -1 for w in self.categories], int
        )
        if not (lookup >= 0).any():
            raise InputError(
                f"The predictions know none of {listed(words, MOST_NAMED)}. They know: "
                f"{listed(self.categories, MOST_NAMED)}."
            )
        labels = lookup[self.label]
        numbering = replace(self.numbering, others={}, numbers={})  # of these words no more
        moved = replace(self, categories=tuple(names), label=labels, numbering=numbering)
        return moved.where(labels >= 0)

    def numbered(self, way: str) -> Boxes:
        """Read the numbers of categories in another of the ways of `numbering`, which is decided.

        Parameters
        ----------
        way : str
            The way that was used, or a key of ``numbering.others``.
        """
        numbering = replace(self.numbering, used=way, others={}, numbers={}, decided=True)
        if way == self.numbering.used:
            return replace(self, numbering=numbering)
        labels = self.numbering.others[way][self.label]
        numbers = self.numbering.numbers[way]
        return replace(self, label=labels, numbers=numbers, numbering=numbering)

    def detections(self, image: int) -> Detections:
        """Return the boxes of one image, in the order of the file.

        Parameters
        ----------
        image : int
            Position in `images`.
        """
        rows, ends = self._by_image
        rows = rows[ends[image] : ends[image + 1]]
        return Detections(self.boxes[rows], self.scores[rows], self.label[rows])

    @cached_property
    def rows_of(self) -> list[np.ndarray]:
        """The rows of the boxes of each category, int64, in the order of the file."""
        # NumPy sorts integers of 16 bits or less by their digits, in linear time.
        small = self.label.astype(np.min_scalar_type(len(self.categories)))
        ends = np.cumsum(np.bincount(self.label, minlength=len(self.categories)))
        return np.split(np.argsort(small, kind="stable"), ends[:-1])

    @cached_property
    def _by_image(self) -> tuple[np.ndarray, np.ndarray]:
        counts = np.bincount(self.image, minlength=len(self.images))
        return np.argsort(self.image, kind="stable"), np.append(0, np.cumsum(counts))


def same_boxes(first: Boxes, second: Boxes) -> bool:
    """Whether two detectors found the same boxes on the same images, and at least one.

    Images, categories, corners and scores are equal to the last bit, in any order.

    Parameters
    ----------
    first, second : Boxes
        On the same list of images, in the same categories.

    Examples
    --------
    >>> image = LabelledImage("1", "1.jpg", None)
    >>> zero, corners = np.zeros(2, np.int64), np.array([[0.0, 0, 2, 2], [0, 0, 4, 4]])
    >>> boxes = Boxes((image,), ("car",), zero, zero, corners, np.array([0.9, 0.2]))
    >>> swapped = Boxes((image,), ("car",), zero, zero, corners, np.array([0.2, 0.9]))
    >>> same_boxes(boxes, boxes.where(np.array([1, 0]))), same_boxes(boxes, swapped)
    (True, False)
    """
    return len(first) == len(second) > 0 and not differing_images(first, second).any()


def differing_images(a: Boxes, b: Boxes) -> np.ndarray:
    """Return on which images two detectors have not found the same boxes of a category.

    Boxes with equal corners and scores, to the last bit, are the same, in any order.

    Parameters
    ----------
    a, b : Boxes
        Of the same N images and K categories.

    Returns
    -------
    ndarray of shape (K, N), bool

    Examples
    --------
    >>> images = tuple(LabelledImage(name, name, None) for name in "123")
    >>> corners, at, car = np.array([[0.0, 0, 2, 2], [0, 0, 4, 4]]), np.arange(2), np.zeros(2, int)
    >>> a = Boxes(images, ("car",), at, car, corners, np.array([0.9, 0.8]))
    >>> b = Boxes(images, ("car",), at, car, corners, np.array([0.9, 0.7]))
    >>> differing_images(a, b)
    array([[False,  True, False]])
    """
    rows = np.concatenate(
        [np.column_stack([of.label, of.image, of.boxes, of.scores]) for of in (a, b)]
    )
    differ = np.zeros((len(a.categories), len(a.images)), bool)
    if not len(rows):
        return differ
    order = np.lexsort(rows.T)
    rows, more = rows[order], np.where(order < len(a), 1, -1)
    first = np.flatnonzero(np.r_[True, (rows[1:] != rows[:-1]).any(axis=1)])
    unequal = rows[first[np.add.reduceat(more, first) != 0], :2].astype(int)
    differ[unequal[:, 0], unequal[:, 1]] = True
    return differ


def words_of(categories: Categories) -> dict[str, str]:
    """Return the category of each word of the detector.

    Parameters
    ----------
    categories : mapping of str to sequence of str
        A category without words is its own word.

    Raises
    ------
    InputError
        If a word is given to two categories.
    """
    categories_of: dict[str, str] = {}
    for name, words in categories.items():
        for word in words or [name]:
            if categories_of.setdefault(word, name) != name:
                raise InputError(
                    f"The word '{word}' is given to two categories, {categories_of[word]} and "
                    f"{name}: a box counts for one."
                )
    return categories_of
