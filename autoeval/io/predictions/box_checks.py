"""Checks of predictions: units of boxes, images that they cover, images that are there twice."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from autoeval.boxes import Boxes, LabelledImage, has_area, overlapping_pairs
from autoeval.detections import CONFIDENT
from autoeval.errors import InputError
from autoeval.io.image_folder import natural_order
from autoeval.io.image_identity import is_file_name, match_images
from autoeval.io.labels.content import LabelSet
from autoeval.io.same_files import content_digest
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
ODD, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)  # of 2**64 by the golden ratio
_LAST_NUMBER = re.compile(r"\d+(?=\D*$)")


def unusual_boxes(path: Path, read: Boxes) -> tuple[str, ...]:
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
    share = (farther[:, 0] | farther[:, 1]).mean()
    return bool(share <= FARTHER and n_near >= ENOUGH_NEAR)


def boxes_beyond(path: Path, read: Boxes) -> tuple[str, ...]:
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


def _refuse_twice(path: Path, read: Boxes) -> None:
    sure = np.flatnonzero(read.scores > CONFIDENT)
    if len(sure) < ENOUGH_BOXES:
        return
    sure = sure[np.argsort(read.image[sure], kind="stable")]
    image = read.image[sure]
    ends = np.unique(np.searchsorted(image, image[::AT_ONCE]))[1:]
    twice = 0
    for rows in np.split(sure, ends):  # parts of whole images
        group = read.image[rows] * len(read.categories) + read.label[rows]
        boxes = read.boxes[rows]
        first, second, _ = overlapping_pairs(boxes, group, boxes, group, least=SAME_OBJECT)
        twice += len(np.unique(first[first != second]))
    if twice > MANY_TWICE * len(sure):
        raise InputError(
            f"{path}: {twice} of {len(sure)} boxes over {CONFIDENT} lie on another one of their "
            "category: are two detectors, or two runs of one, mixed in this file, or is it without "
            "non-maximum suppression? Give the boxes of one detector, each object once."
        )


def unseen_images(
    boxes: Boxes,
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
    their images (`Boxes.lists_images`) say themselves which were seen.

    Parameters
    ----------
    boxes : Boxes
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


# Images that are in a set twice: the same boxes, and nothing that tells them apart.


def copies(
    read: Boxes,
    labels: Mapping[int, object] | None = None,
    files: Mapping[str, Path] | None = None,
) -> np.ndarray:
    """Return the images (n,) that are copies of an earlier one, int64 in rising order.

    A copy has the boxes, words and scores of the other image, and neither its size nor its time,
    its labels, the bytes of its file (where both have them) or its name tell them apart. Names do
    that for neighbouring frames, such as those of a still camera: files whose names differ in a
    number alone, with none between them. Images without a box are no copies: nothing distinguishes
    them.

    labels: of each labelled image, by its position; equal ones are equal labels. See
        `labels_of_truth` and `labels_of_images`.
    files: of images by their ids, as far as they are at hand.
    """
    contents = _contents(read)
    groups: dict[tuple, list[int]] = {}
    for k, content in contents.items():
        image = read.images[k]
        groups.setdefault((content, image.size, image.taken), []).append(k)
    several = [group for group in groups.values() if len(group) > 1]
    if not several:
        return np.zeros(0, np.int64)
    if files:
        several = [part for group in several for part in _by_bytes(group, read.images, files)]
    ranks = _ranks(read.images)
    later = [k for group in several for k in _later(group, read.images, ranks, labels or {})]
    return np.array(sorted(later), np.int64)


def copies_left_out(n: int) -> tuple[str, ...]:
    """Say how many images were left out as copies."""
    text = f"images with exactly the boxes of another, left out: {n}"
    return (Notice("copies-left-out", text, severity="note"),) if n else ()


def _contents(read: Boxes) -> dict[int, bytes]:
    """Return the boxes of each image that another one seems to share, in one order."""
    alike = _with_a_like(read)
    part = read.where(alike[read.image])
    columns = (part.scores[:, None], part.label[:, None], part.boxes)
    return _of_images(part, np.concatenate([np.float64(column) for column in columns], axis=1))


def labels_of_truth(truth: Boxes) -> dict[int, object]:
    """Return the labels of each image as `copies` compares them."""
    columns = (truth.label[:, None], truth.crowd[:, None], truth.boxes)
    rows = np.concatenate([np.float64(column) for column in columns], axis=1)
    return {**dict.fromkeys(range(len(truth.images)), b""), **_of_images(truth, rows)}


def labels_of_images(content: LabelSet, images: Sequence[LabelledImage]) -> dict[int, object]:
    """Return what a label file says of each of some images that it labels, as above."""
    places = match_images(content.images, images).places()
    place_of = {
        image.image_id: place
        for image, place in zip(content.images, places, strict=True)
        if place is not None
    }
    boxes: dict[int, list] = {place: [] for place in place_of.values()}
    for box in content.boxes:
        if box.image_id in place_of:
            boxes[place_of[box.image_id]].append((box.category, box.xywh, box.iscrowd))
    return {place: tuple(sorted(of_image)) for place, of_image in boxes.items()}


def _of_images(boxes: Boxes, rows: np.ndarray) -> dict[int, bytes]:
    """Return the sorted rows of the boxes of each image that has any, as bytes."""
    order = np.lexsort((*rows.T, boxes.image))
    image, rows = boxes.image[order], rows[order]
    starts = np.flatnonzero(np.append(True, np.diff(image) > 0)[: len(image)])
    parts = np.split(rows, starts[1:]) if len(starts) else []
    return {k: part.tobytes() for k, part in zip(image[starts].tolist(), parts, strict=True)}


def _by_bytes(
    group: Sequence[int], images: Sequence[LabelledImage], files: Mapping[str, Path]
) -> list[list[int]]:
    """Divide images by the content of their files; those without one stay together."""
    parts: dict[bytes, list[int]] = {}
    for k in group:
        file = files.get(images[k].image_id)
        parts.setdefault(b"" if file is None else content_digest(file), []).append(k)
    return [part for part in parts.values() if len(part) > 1]


def _ranks(images: Sequence[LabelledImage]) -> dict[int, int]:
    """Return the place of each image in the natural order of file names; ids have none."""
    named = [k for k, image in enumerate(images) if is_file_name(image.file_name)]
    named.sort(key=lambda k: natural_order(images[k].file_name))
    return {k: rank for rank, k in enumerate(named)}


def _later(
    group: Sequence[int],
    images: Sequence[LabelledImage],
    ranks: Mapping[int, int],
    label_of: Mapping[int, object],
) -> list[int]:
    """Return the copies among images with the same boxes."""
    frames = _frames_with(group[0], group, images, ranks)
    rest = [k for k in group if k not in frames]
    # A labelled image is kept rather than an unlabelled one.
    kept_labels = {label_of[k] for k in frames if k in label_of}
    later = []
    for k in sorted(rest, key=lambda k: (k not in label_of, k)):
        if k in label_of and label_of[k] not in kept_labels:
            kept_labels.add(label_of[k])
        else:
            later.append(k)
    if label_of and len(frames) == 1 and group[0] not in label_of and kept_labels:
        later.append(group[0])
    return later


def _frames_with(
    first: int, group: Sequence[int], images: Sequence[LabelledImage], ranks: Mapping[int, int]
) -> set[int]:
    """Return the images of a group that are frames next to each other, the first among them."""
    frames = {first}
    if first not in ranks:
        return frames
    of_rank = {ranks[k]: k for k in group if k in ranks}
    series = _LAST_NUMBER.sub("", images[first].file_name)
    for step in (1, -1):
        rank = ranks[first] + step
        while rank in of_rank and _LAST_NUMBER.sub("", images[of_rank[rank]].file_name) == series:
            frames.add(of_rank[rank])
            rank += step
    return frames


def _with_a_like(read: Boxes) -> np.ndarray:
    """Mask the images (M,) whose sum over boxes of a hash occurs twice: copies, hardly others."""
    total = np.zeros(len(read.images), np.uint64)
    for start in range(0, len(read), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        hashed = read.label[part].astype(np.uint64)
        for column in (*read.boxes[part].T, read.scores[part]):
            hashed = (hashed ^ column.astype(np.float64).view(np.uint64)) * ODD
            hashed ^= hashed >> SHIFT
        np.add.at(total, read.image[part], hashed * ODD)
    some = np.zeros(len(total), bool)
    some[read.image] = True
    _, place, times = np.unique(total[some], return_inverse=True, return_counts=True)
    some[some] = times[place] > 1
    return some
