"""Checks of predictions: units of boxes, images that they cover."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from autoeval.boxes import has_area, overlapping_pairs
from autoeval.detections import CONFIDENT
from autoeval.errors import InputError
from autoeval.io.predictions.box_columns import FoundBoxes
from autoeval.notices import Notice

SAME_OBJECT = 0.9
MANY_TWICE = 0.2
ENOUGH_BOXES = 20
OUTSIDE, MANY_CENTRES = 0.5, 0.15  # of boxes that reach beyond, and of centres there
BEYOND = 1.02
FARTHER, NEARLY_AS_FAR, ENOUGH_NEAR, ROUNDING = 0.005, 0.5, 10, 1e-3
AT_ONCE = 1_000_000
LOW_FLOOR = 0.05
SOME, MANY = 0.03, 1 / 3


def unusual_boxes(path: Path, read: FoundBoxes) -> tuple[str, ...]:
    """Say what is odd about predictions.

    Raises `InputError` if objects are found twice, as where the boxes of two detectors are joined,
    or boxes are in other units or of another form than pixels and [left, top, width, height].
    """
    if len(read) >= ENOUGH_BOXES and read.boxes.max() <= BEYOND:
        raise InputError(
            f"{path}: all boxes lie in [0, 1]. Expected pixels: multiply them by the width and the "
            "height of each image."
        )
    beyond = boxes_beyond(path, read)
    sized = all(image.size is not None for image in read.images)
    if look_like_corners(read.boxes) and (beyond or not sized):
        raise InputError(
            f"{path}: the third number of each bbox is larger than the first, and the fourth "
            "larger than the second, as in corners [x1, y1, x2, y2]. Expected [left, top, width, "
            "height]: write [x1, y1, x2 - x1, y2 - y1]. If they are widths and heights, give a "
            "COCO file with the sizes of the images as their list."
        )
    _refuse_twice(path, read)
    n_flat = int(np.count_nonzero(~has_area(read.boxes)))
    if not n_flat:
        return beyond
    flat = Notice(
        "boxes-without-area",
        f"boxes of the predictions with a width or height of 0: {n_flat}; they are false "
        "positives, as in COCO's evaluation",
        severity="note",
    )
    return (*beyond, flat)


def look_like_corners(boxes: np.ndarray) -> bool:
    """Whether boxes (N, 4), read as left, top, width and height, were corners.

    A right corner is never left of its left one, so with corners the ratio of the first number to
    the third, left / width, ends at 1: many boxes are just under it and none is over it. Ratios of
    widths go on: in 185 real files 10 % of the boxes or more have one over 1, even of those over a
    score of .7.

    Examples
    --------
    >>> x1 = np.arange(1, 31)
    >>> look_like_corners(np.stack([x1, x1, x1 + (x1 + 5), x1 + (x1 + 5)], axis=1))
    True
    >>> look_like_corners(np.stack([x1, x1, x1 + 5, x1 + 5], axis=1))
    False
    """
    if len(boxes) < ENOUGH_BOXES:
        return False
    boxes = boxes[:AT_ONCE]
    sides = np.maximum(boxes[:, 2:] - boxes[:, :2], np.finfo(np.float32).eps)
    ratios = boxes[:, :2] / sides
    farther = ratios > 1 + ROUNDING
    n_near = np.count_nonzero((ratios > NEARLY_AS_FAR) & ~farther)
    return bool(farther.any(axis=1).mean() <= FARTHER and n_near >= ENOUGH_NEAR)


def boxes_beyond(path: Path, read: FoundBoxes) -> tuple[str, ...]:
    """Count boxes that reach more than 2 % beyond their images, where the size of these is known.

    Raises `InputError` if more than half of the boxes on images of known size do, and the centres
    of more than 15 % lie beyond. Where objects fill the image, networks that do not cut their boxes
    at the edge let many reach beyond, but few centres.
    """
    sized = np.array([image.size is not None for image in read.images], bool)
    n_known = int(sized[read.image].sum())
    if not n_known:
        return ()
    unknown = (float("inf"),) * 2
    sizes = np.array([image.size or unknown for image in read.images], float)[:, ::-1]
    outside = n_centres = 0
    for start in range(0, len(read), AT_ONCE):
        boxes, limits = read.boxes[start:][:AT_ONCE], sizes[read.image[start:][:AT_ONCE]]
        outside += int(reach_beyond(boxes, limits).sum())
        n_centres += int(centred_beyond(boxes, limits).sum())
    if outside > OUTSIDE * n_known and n_centres > MANY_CENTRES * n_known:
        raise InputError(
            f"{path}: {outside / n_known:.0%} of the boxes reach out of their images. Expected "
            "bbox as [left, top, width, height] in pixels of the image as it is on disk: are these "
            "corners [x1, y1, x2, y2], or pixels of a resized image?"
        )
    odd = Notice(
        "boxes-beyond-images",
        f"boxes of the predictions that reach more than 2 % beyond their images: {outside}",
    )
    return (odd,) if outside else ()


def reach_beyond(boxes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Whether boxes (N, 4) reach over 2 % beyond images of (width, height) (N, 2), in pixels."""
    right, bottom = (boxes[:, 2:] > BEYOND * sizes).T
    return right | bottom


def centred_beyond(boxes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Whether the centres of boxes (N, 4) lie right of, or below, images of such sizes (N, 2)."""
    right, below = ((boxes[:, :2] + boxes[:, 2:]) / 2 > sizes).T
    return right | below


def _refuse_twice(path: Path, read: FoundBoxes) -> None:
    sure = np.flatnonzero(read.scores > CONFIDENT)
    if len(sure) < ENOUGH_BOXES:
        return
    sure = sure[np.argsort(read.image[sure], kind="stable")]
    image = read.image[sure]
    ends = np.unique(np.searchsorted(image, image[::AT_ONCE]))[1:]
    twice = 0
    for rows in np.split(sure, ends):  # parts of whole images
        group = read.image[rows] * len(read.categories) + read.label[rows]
        boxes = read.boxes[rows].astype(np.float64)
        first, second, _ = overlapping_pairs(boxes, group, boxes, group, least=SAME_OBJECT)
        twice += len(np.unique(first[first != second]))
    if twice > MANY_TWICE * len(sure):
        raise InputError(
            f"{path}: {twice} of {len(sure)} boxes over {CONFIDENT} lie on another one of their "
            "category: are two detectors, or two runs of one, mixed in this file, or is it without "
            "non-maximum suppression? Give the boxes of one detector, each object once."
        )


def unseen_images(
    boxes: FoundBoxes,
    images: np.ndarray,
    name: str,
    *,
    what: str = "images",
    complete: bool = True,
    refuse: bool = False,
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Find the images that a detector was not run on, where too many are without a box.

    With scores from near 0 on, a detector finds something in nearly every image, and where it does
    not, it finds a single box in others. With n0 of n images without a box and n1 with one, the
    excess is n0 - 2 n1. Over 3 % where scores begin at .05 or less, the images without a box were
    not seen, and with `refuse` an excess over a third is an `InputError`. Predictions that list
    their images (`FoundBoxes.lists_images`) say themselves which were seen.

    Parameters
    ----------
    boxes : FoundBoxes
    images : array of shape (n,), int64
        Positions of those that should have a box.
    name, what : str
        Name of the file, and what the images are called, for messages.
    complete : bool
        False where somebody says that all images were seen: then there is a warning alone.
    refuse : bool
        Whether a large excess is refused.

    Returns
    -------
    unseen : array of shape (k,), int64
        Positions of all images without a box, where there are too many.
    warnings : tuple of str
    """
    none = np.zeros(0, np.int64)
    if not len(boxes) or boxes.floor > LOW_FLOOR or boxes.lists_images:
        return none, ()
    n_boxes = np.bincount(boxes.image, minlength=len(boxes.images))
    n_empty, n_single = (int(np.count_nonzero(n_boxes[images] == k)) for k in (0, 1))
    excess = n_empty - 2 * n_single
    if excess <= SOME * len(images):
        return none, ()
    counted = (
        f"{n_empty} of {len(images)} {what} have no box in {name}, although its scores begin at "
        f"{boxes.floor:.2g}"
    )
    if refuse and complete and excess > MANY * len(images):
        raise InputError(
            f"{counted}: was the detector run on all of them? Run it on all, or give the labels of "
            "those that it has seen; if it has seen them all, add --incomplete to "
            "go on."
        )
    if not complete:
        assumed = (
            "the detector is taken to have found nothing there (--incomplete): with labels their "
            "objects count as missed, and an estimate without labels is of the images that show a "
            "category"
        )
        return none, (Notice("images-not-covered", f"{counted}: {assumed}"),)
    assumed = (
        "the detector is taken not to have seen them, and they are left out with their labels; if "
        "it has seen them all, add --incomplete"
    )
    return np.flatnonzero(n_boxes == 0), (Notice("images-not-covered", f"{counted}: {assumed}"),)
