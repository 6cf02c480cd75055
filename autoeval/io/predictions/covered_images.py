"""Which listed images count: those that predictions are on, that were seen, and no image twice.

`place_images` finds the images of the predictions in the list, `uncovered_images` those of the list
that the predictions say nothing of, `unseen_images` those that the detector was probably not run
on, and `copies` those that are another one again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.io.image_identity import (
    AMBIGUOUS,
    MISSING,
    ImageMatches,
    Named,
    match_images,
    names_before_upload,
    split_of,
    without_suffix,
)
from autoeval.io.image_lists import content_digest, natural_order, times_in_names
from autoeval.io.labels.content import LabelSet, labelled_boxes
from autoeval.words import Notice, listed

FEWEST_PLACED = 0.5
ROUNDED = 1.02  # ratio of two sides, as rounding makes when images shrink
LOW_FLOOR = 0.05  # score from which on a detector finds something in nearly every image
SOME = 0.03  # of the images: so many more are empty than a detector leaves empty
FEWEST_UNSEEN = 2  # so many more, too: in a small set one image is empty by chance
MANY = 1 / 3  # so many more, and predictions with labels are refused
# Images without a box that end a list, where scores begin higher; see `_empty_end`.
FEWEST_AT_END = 5
FEWEST_BEFORE = 20
SHARE_AT_END = 0.05
EMPTY_BEFORE = 0.1
LONGER = 3
# Images that a file comes back to, where files were joined; see `joined_files`.
MOST_PARTS = 8
FEWEST_AGAIN = 5
SHARE_AGAIN = 0.1
HARDLY_BY_CHANCE = 1e-6  # that images drawn at random stand once in each of some parts
AT_ONCE = 1_000_000  # boxes
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio
SHIFT = np.uint64(29)
_LAST_NUMBER = re.compile(r"\d+(?=\D*$)")
NUMBERED = re.compile(r"([^.]+)-(?:[2-9]|[1-9]\d+)")  # a stem that came back, by Ultralytics


@dataclass(frozen=True, eq=False)
class Placement:
    """Where the n images of a predictions file stand among m that are listed.

    Parameters
    ----------
    index : ndarray of shape (n,), int64
        Position, -1 for an image that is not listed, or could be several.
    images : sequence of LabelledImage
        The m that are listed, with the sizes that the file's own list alone knows.
    matches : ImageMatches
        As `match_images` returned them, of the file's own list where it has one.
    lost, several : tuple of str
        Names of the images of the file that are not listed, and of those that could be several.
    listed_there : ndarray of shape (m,), bool, optional
        Whether the file itself lists the image, with boxes or without; None where it has no list of
        its own.
    warnings : tuple of Notice
        Of sizes that differ in both lists, and of images that the file's own list lacks.
    """

    index: np.ndarray
    images: Sequence[LabelledImage]
    matches: ImageMatches
    lost: tuple[str, ...]
    several: tuple[str, ...]
    listed_there: np.ndarray | None = None
    warnings: tuple[Notice, ...] = ()


def place_images(
    named: Sequence[Named],
    images: Sequence[LabelledImage],
    where: str,
    *,
    file_images: Sequence[LabelledImage] | None = None,
    unlabelled: Sequence[str] = (),
) -> Placement:
    """Find each image of a predictions file among those that are listed; see `match_images`.

    Where the file has a list of its own images, its ids are numbers of that list: its file names
    say which images they are.

    Parameters
    ----------
    named : sequence of Named
        The n images that boxes of the file are on.
    images : sequence of LabelledImage
        The m that are listed.
    where : str
        What lists them, for messages.
    file_images : sequence of LabelledImage, optional
        The file's own list.
    unlabelled : sequence of str
        File names of images that are known and not listed: none of these is lost.

    Returns
    -------
    Placement

    Raises
    ------
    InputError
        If most images could be several of those listed, if not half of them are listed, nor half of
        the list is among them (predictions of a whole folder, labels of a part), or if most images
        have another size in the file's own list.

    Examples
    --------
    >>> names = {"139": "street/000139.jpg", "7": "street/b.jpg"}
    >>> known = [LabelledImage(number, name, None) for number, name in names.items()]
    >>> place_images([Named("b", None), Named("139", None)], known, "val.json").index
    array([1, 0])
    """
    listed_there, warnings = None, tuple[Notice, ...]()
    if file_images is None:
        in_file = named
        matches = match_images(in_file, images)
        # Ultralytics writes the boxes of a/1.jpg and b/1.jpg as 1.txt and 1-2.txt: where the list
        # has no such name, either may be of its 1.jpg.
        unplaced = np.flatnonzero(matches.index == MISSING).tolist()
        numbered = {k: found[1] for k in unplaced if (found := NUMBERED.fullmatch(in_file[k].text))}
        if numbered and not any(NUMBERED.fullmatch(Path(one.file_name).stem) for one in images):
            at = {
                str(Path(one.text).with_suffix("")): k for k, one in enumerate(in_file) if one.text
            }
            twins = [(k, at[stem]) for k, stem in numbered.items() if stem in at]
            matches = replace(matches, index=matches.index.copy())
            matches.index[np.ravel(twins).astype(int)] = AMBIGUOUS
        index = matches.index
    else:
        # A document without file names has nothing but its ids; those of the very list that is
        # given tell two images of one file name apart.
        of_file, of_list = (
            [Named(image.image_id, image.file_name) for image in side]
            for side in (file_images, images)
        )
        in_file = of_file
        if of_file != of_list:
            in_file = [
                image if image.image_id == image.file_name else image._replace(image_id=None)
                for image in of_file
            ]
        matches = match_images(in_file, images)
        at = match_images(named, file_images).index
        strangers = [named[k].text for k in np.flatnonzero(at < 0).tolist()]
        if len(strangers) > FEWEST_PLACED * len(named):
            raise InputError(
                f"{len(strangers)} of {len(named)} images of the predictions are not in their own "
                f"list of images ({listed(strangers)}): expected boxes with an image_id of that "
                "list, or a file without one."
            )
        index = np.where(at >= 0, matches.index[at], at)
        listed_there = np.zeros(len(images), bool)
        listed_there[matches.index[matches.index >= 0]] = True
        warnings = _check_sizes(file_images, images, matches, where)
        if strangers:
            text = (
                "images of boxes that are not in the predictions' own list of images: "
                f"{len(strangers)} ({listed(strangers)})"
            )
            warnings += (Notice("images-not-placed", text),)
        places = matches.index.tolist()
        sizes = {k: image.size for k, image in zip(places, file_images, strict=True) if image.size}
        images = [
            replace(image, size=sizes.get(k)) if image.size is None else image
            for k, image in enumerate(images)
        ]
    several = tuple(in_file[k].text for k in np.flatnonzero(matches.index == AMBIGUOUS).tolist())
    missing = [in_file[k] for k in np.flatnonzero(matches.index == MISSING).tolist()]
    if missing and unlabelled:
        known = [LabelledImage(name, name, None) for name in unlabelled]
        places = match_images(missing, known).index
        missing = [one for one, k in zip(missing, places, strict=True) if k == MISSING]
    lost = tuple(one.text for one in missing)
    if len(several) > FEWEST_PLACED * len(in_file):
        raise InputError(
            f"{len(several)} of {len(in_file)} images of the predictions could each be several of "
            f"{where} ({listed(several)}): file names repeat in its folders. Write the path of the "
            "image as 'file_name' (`autoeval detect` does on the folder that holds them all), or "
            "run the detector on one split or folder alone, and give the labels or images of that."
        )
    placed = np.unique(matches.index[matches.index >= 0])
    covered = len(placed) >= FEWEST_PLACED * len(images)
    if not covered and len(lost) + len(several) > FEWEST_PLACED * len(in_file):
        examples = listed([f"{image.image_id} ({image.file_name})" for image in images], 3)
        lost += several
        own_list = " (by its own list of images)" if file_images is not None else ""
        raise InputError(
            f"The predictions are of other images than {where}: {len(lost)} of their "
            f"{len(in_file)} images{own_list} are not there ({listed(lost)}), neither by file "
            "name, with any suffix and in any folder but one of another split, camera or day, nor "
            f"by id, nor by the stem of a file name. There are: {examples}."
        )
    index = np.maximum(index, -1)
    return Placement(index, images, matches, lost, several, listed_there, warnings)


def _check_sizes(
    file_images: Sequence[LabelledImage],
    images: Sequence[LabelledImage],
    matches: ImageMatches,
    where: str,
) -> tuple[Notice, ...]:
    """Refuse boxes in pixels of images of other sizes by both lists, where most differ.

    Returned is a warning where some do by more than 2 %, such as those upright photographs that
    a program reads on their side.
    """
    pairs = [(file_images[k], images[place]) for k, place in enumerate(matches.index) if place >= 0]
    sized = [(a.file_name, a.size, b.size) for a, b in pairs if a.size and b.size]
    differing = [(name, a, b) for name, a, b in sized if a != b]
    if len(differing) > FEWEST_PLACED * len(sized):
        name, (height, width), (other_height, other_width) = differing[0]
        raise InputError(
            f"The predictions are of images of other sizes than {where}: {len(differing)} of "
            f"{len(sized)} differ, such as {name}, {width} x {height} pixels there and "
            f"{other_width} x {other_height} here. Expected boxes in pixels of the same images."
        )
    resized = [
        f"{name}: {size[1]} x {size[0]}, not {other[1]} x {other[0]}"
        for name, size, other in differing
        if any(max(a / b, b / a) > ROUNDED for a, b in zip(size, other, strict=True))
    ]
    if not resized:
        return ()
    text = (
        f"in {len(resized)} of {len(sized)} images the predictions state another size than {where} "
        f"({listed(resized, 3)}): boxes are in pixels of images that were resized or turned there. "
        "Expected pixels of the images as they are shown"
    )
    return (Notice("boxes-of-other-size", text),)


def uncovered_images(
    placement: Placement,
    n_boxes: np.ndarray,
    floor: float,
    where: str,
) -> tuple[np.ndarray, tuple[Notice, ...]]:
    """Return the listed images of which the predictions say nothing, and warnings.

    They are the images of whole splits (``train``, ``val``) that the predictions are not of, by
    their boxes and their own list of images; those that this list lacks; and, where images of the
    predictions could not be placed, the ones without a box that these may be. A detector did not
    miss the objects there.
    They may be those without a box where at least as many of them are listed as could not be
    placed, or more than a detector leaves empty; see `unseen_images`.

    Parameters
    ----------
    placement : Placement
        Of the images of the predictions among the m that are listed.
    n_boxes : ndarray of shape (m,)
        Of each listed image.
    floor : float
        The lowest score.
    where : str
        What lists the images, for messages.

    Returns
    -------
    tuple of ndarray of shape (k,), int64, and tuple of Notice
        Positions of such images; warnings.
    """
    images = placement.images
    outside = np.zeros(len(images), bool)
    of_split: tuple[Notice, ...] = ()
    covered = n_boxes > 0
    if placement.listed_there is not None:  # also those in which nothing was found
        covered = covered | placement.listed_there
    if not covered.all():
        outside, of_split = _other_splits(images, covered)
    lost, several = placement.lost, placement.several
    empty = (n_boxes == 0) & ~outside
    possible = np.zeros(len(images), bool)
    if placement.listed_there is not None:
        possible = ~placement.listed_there & ~outside
    elif lost or several:
        n = int((~outside).sum())
        excess = empty.sum() - 2 * np.count_nonzero(n_boxes == 1)
        many = floor <= np.float32(LOW_FLOOR) and excess > SOME * n
        if len(lost) + len(several) <= empty.sum() or many:
            possible = empty
        else:
            possible[list(placement.matches.possible)] = True
            possible &= empty
    uncovered = np.flatnonzero(outside | possible)
    kinds = {
        f"images of the predictions that are not in {where}": lost,
        f"images of the predictions that could be several of {where}": several,
    }
    reasons = [f"{kind}: {len(names)} ({listed(names)})" for kind, names in kinds.items() if names]
    if possible.any():
        out = [images[k].file_name for k in np.flatnonzero(possible).tolist()]
        reason = (
            "the list of images in the predictions does not have them"
            if placement.listed_there is not None
            else "they have no box, and may be images of the predictions that were not placed"
        )
        reasons = [
            f"{len(out)} of {len(images)} images of {where} are left out with their labels "
            f"({listed(out)}): {reason}",
            *reasons,
        ]
    notices = of_split
    if reasons:
        notices += (Notice("images-not-placed", "; ".join(reasons)),)
    return uncovered, (*notices, *placement.warnings, *placement.matches.by_rules(where))


def _other_splits(
    images: Sequence[LabelledImage], covered: np.ndarray
) -> tuple[np.ndarray, tuple[Notice, ...]]:
    """Mask the images of splits of which none is covered, (m,) bool, where one of another is."""
    splits = np.array([split_of(image) for image in images])
    taken = sorted(set(splits[covered].tolist()))
    left = sorted(set(splits.tolist()) - set(taken))
    if not left or not taken:
        return np.zeros(len(images), bool), ()
    outside = np.isin(splits, left)
    splits_text = listed(
        [f"{name or 'no split'} ({np.count_nonzero(splits == name)} images)" for name in left]
    )
    note = Notice(
        "splits-left-out",
        f"the predictions are of the split {listed(taken)} ({np.count_nonzero(~outside)} images)"
        f", and only its images and labels are used; not of {splits_text}",
    )
    return outside, (note,)


def unseen_images(
    boxes: Boxes,
    images: np.ndarray,
    name: str,
    *,
    images_name: str = "images",
    complete: bool = True,
    refuse: bool = False,
) -> tuple[np.ndarray, tuple[Notice, ...]]:
    """Find the images that a detector was not run on, where too many are without a box.

    With scores from near 0 on, a detector finds something in nearly every image, and where it does
    not, it finds a single box in others. With n0 of n images without a box and n1 with one, the
    excess is n0 - 2 n1. Over 3 % and at least two images where scores begin at .05 or less, the
    images without a box were not seen, and with `refuse` an excess over a third is an `InputError`.
    Where scores begin higher, a detector may have found nothing in them: there is a note with their
    number, and a warning if they are the last of all. Predictions that list their images
    (`Boxes.lists_images`) say themselves which were seen.

    Parameters
    ----------
    boxes : Boxes
        Of the detector.
    images : ndarray of shape (n,), int64
        Positions of those that should have a box.
    name, images_name : str
        Name of the file, and what the images are called, for messages.
    complete : bool
        False where all images count, or somebody says that all were seen: then there is a warning
        alone, and nothing where scores begin over `LOW_FLOOR`.
    refuse : bool
        Whether a large excess is refused.

    Returns
    -------
    unseen : ndarray of shape (k,), int64
        Positions of all images without a box, where there are too many.
    warnings : tuple of Notice
        What is said of them.

    Raises
    ------
    InputError
        For a large excess, with `refuse`.
    """
    none = np.zeros(0, np.int64)
    if not len(boxes) or boxes.lists_images:
        return none, ()
    n_boxes = np.bincount(boxes.image, minlength=len(boxes.images))
    n_empty = int(np.count_nonzero(n_boxes[images] == 0))
    n_single = int(np.count_nonzero(n_boxes[images] == 1))
    excess = n_empty - 2 * n_single
    many = excess > SOME * len(images) and excess >= FEWEST_UNSEEN
    counted = f"{n_empty} of {len(images)} {images_name} have no box in {name}"
    if boxes.floor > np.float32(LOW_FLOOR):  # compared as of a network, whatever the format
        text = (
            f"{counted}, whose scores begin at {boxes.floor:.2g}: they count as images in which "
            "the detector found nothing. If it was not run on all of them, list those that it has "
            "seen, or export boxes from .01 on, which show it"
        )
        note = (Notice("images-not-covered", text, "note"),) if many else ()
        return none, (_empty_end(n_boxes[images], name, images_name) or note) if complete else ()
    if not many:
        return none, ()
    counted = f"{counted}, although its scores begin at {boxes.floor:.2g}"
    if refuse and complete and excess > MANY * len(images):
        raise InputError(
            f"{counted}: was the detector run on all of them? Run it on all, or give the labels of "
            "those that it has seen; if it has seen them all, add --incomplete to "
            "go on."
        )
    if not complete:
        assumed = (
            "the detector is taken to have found nothing there: with labels their objects count as "
            "missed, and an estimate without labels is of the images that show a category. If it "
            "was not run on them, leave them out of the list of images"
        )
        return none, (Notice("images-not-covered", f"{counted}: {assumed}"),)
    assumed = (
        "the detector is taken not to have seen them, and they are left out with their labels; if "
        "it has seen them all, add --incomplete, or list them as the images of a COCO document "
        "with its boxes"
    )
    return np.flatnonzero(n_boxes == 0), (Notice("images-not-covered", f"{counted}: {assumed}"),)


def _empty_end(n_boxes: np.ndarray, name: str, images_name: str) -> tuple[Notice, ...]:
    """Warn where a list ends with images without a box, and has hardly any other of them.

    So it is with the predictions of a part, and with those of another, shorter set of numbered
    images, though not all of these are seen. The limits were set on real files of four detectors,
    cut at several scores and by category, none of which ends so.

    Parameters
    ----------
    n_boxes : ndarray of shape (n,)
        Of each image, in the order of the list.
    name, images_name : str
        See `unseen_images`.
    """
    has_box = np.flatnonzero(n_boxes > 0)
    n_before = int(has_box.max(initial=-1)) + 1
    n_end = len(n_boxes) - n_before
    longest = int(np.diff(has_box, prepend=-1).max(initial=1)) - 1
    if (
        n_end < max(FEWEST_AT_END, SHARE_AT_END * len(n_boxes), LONGER * longest)
        or n_before < FEWEST_BEFORE
        or n_before - len(has_box) > EMPTY_BEFORE * n_before
    ):
        return ()
    n_other = n_before - len(has_box)
    text = (
        f"the last {n_end} of {len(n_boxes)} {images_name} have no box in {name}, and {n_other} "
        "of the others: was the detector run on all of them, and are the predictions of these "
        "images? If so, add --incomplete"
    )
    return (Notice("images-not-covered", text),)


def joined_files(image: np.ndarray, label: np.ndarray) -> tuple[Notice, ...]:
    """Warn where a file looks like several that were joined, whose images have the same ids.

    A detector writes the boxes of an image one after the other; sorted by category, those of an
    image and a category. A file that comes back to its images, in few parts in which each image
    stands once, and finds the same categories there, is of several runs. In 154 real files of four
    detectors there is none, however they are sorted, and the first two of each task joined are
    all found (a test in `tests/io/predictions/test_unusual_boxes.py`). Of files that were sorted
    by score or by category after they were joined nothing shows it.

    Parameters
    ----------
    image : ndarray of shape (N,), int
        Image of each box, in the order of the file.
    label : ndarray of shape (N,), int
        Category of each box.
    """
    new = np.append(True, np.diff(image) != 0)[: len(image)]
    first = np.flatnonzero(new)  # of the boxes of one image in a row
    of_row = image[first]
    order = np.argsort(of_row, kind="stable")
    same = np.append(False, np.diff(of_row[order]) == 0)[: len(order)]
    before = np.full(len(first), -1)  # the row in which the image stood last
    before[order[same]] = order[np.flatnonzero(same) - 1]
    parts = [0]
    while (again := np.flatnonzero(before[parts[-1] :] >= parts[-1])).size:
        parts.append(parts[-1] + int(again[0]))
        if len(parts) > MOST_PARTS:
            return ()
    if len(parts) < 2:
        return ()
    n = len(np.unique(of_row))
    by_chance = sum(
        math.lgamma(n + 1) - math.lgamma(n - n_rows + 1) - n_rows * math.log(n)
        for n_rows in np.diff([*parts, len(first)]).tolist()
    )
    # the parts are those that fit: one of as many ways to cut the file (a union bound)
    by_chance += math.log(math.comb(len(first) - 1, len(parts) - 1))
    if by_chance > math.log(HARDLY_BY_CHANCE):
        return ()
    part = np.searchsorted(first[parts], np.arange(len(image)), side="right")
    cell = image * (1 + label.max()) + label
    cells, n_parts = np.unique(
        np.unique(cell * (1 + MOST_PARTS) + part) // (1 + MOST_PARTS), return_counts=True
    )
    n_again = len(np.unique(cells[n_parts > 1] // (1 + label.max())))
    if n_again < max(FEWEST_AGAIN, SHARE_AGAIN * n):
        return ()
    text = (
        f"the file comes back to {n_again} of its {n} images, in {len(parts)} parts "
        "in which each image stands once: were files joined whose images have the same ids? Their "
        "boxes are taken as those of one image. Give each image an id or a file name of its own"
    )
    return (Notice("images-merged", text),)


# Images that are in a set twice: the same boxes, and nothing that tells them apart.


def copies(
    read: Boxes,
    truth: Boxes | None = None,
    files: Mapping[str, Path] | None = None,
) -> np.ndarray:
    """Return the images that are copies of an earlier one.

    A copy has the boxes, words and scores of the other image, and neither its size nor its time,
    its labels, the bytes of its file (where both have them) or its name tell them apart. Names do
    that by a time that they hold, see `times_in_names`, and for neighbouring frames, such as those
    of a still camera: files whose names differ in a number alone, with none between them. Images
    without a box are no copies: nothing distinguishes them.

    Parameters
    ----------
    read : Boxes
        Predictions.
    truth : Boxes, optional
        Labels on the same images; those that nobody labelled are `uncovered`.
    files : mapping of str to Path, optional
        Of images by their ids, as far as they are at hand.

    Returns
    -------
    ndarray of shape (n,), int64
        Positions, rising.

    Examples
    --------
    >>> image = [LabelledImage(name, name, None) for name in ("a.jpg", "b.jpg")]
    >>> corners, zero = np.array([[1.0, 2, 3, 4]] * 2), np.zeros(2, int)
    >>> copies(Boxes(tuple(image), ("car",), np.array([0, 1]), zero, corners, np.array([0.5, 0.5])))
    array([1])
    """
    # The sum of a hash over the boxes of an image occurs twice for copies, and hardly for others.
    total = np.zeros(len(read.images), np.uint64)
    for start in range(0, len(read), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        hashed = read.label[part].astype(np.uint64)
        for column in (*read.boxes[part].T, read.scores[part]):
            hashed = (hashed ^ column.astype(np.float64).view(np.uint64)) * ODD
            hashed ^= hashed >> SHIFT
        np.add.at(total, read.image[part], hashed * ODD)
    has_twin = np.zeros(len(total), bool)
    has_twin[read.image] = True
    _, place, times = np.unique(total[has_twin], return_inverse=True, return_counts=True)
    has_twin[has_twin] = times[place] > 1
    if not has_twin.any():
        return np.zeros(0, np.int64)
    of_content: dict[tuple, list[int]] = {}
    in_names = times_in_names(image.file_name for image in read.images)
    for k, content in content_of_images(read.where(has_twin[read.image])).items():
        image = read.images[k]
        taken = image.taken or in_names[k]
        of_content.setdefault((content, image.size, taken), []).append(k)
    several = [same for same in of_content.values() if len(same) > 1]
    if not several:
        return np.zeros(0, np.int64)
    if files:
        several = [part for same in several for part in _by_bytes(same, read.images, files)]
    labels: dict[int, bytes] = {}
    if truth is not None:
        labels = {**dict.fromkeys(truth.covered.tolist(), b""), **content_of_images(truth)}
    files_called = [image.file_name for image in read.images]
    names = names_before_upload(files_called)
    # of files alone: ids are in no order
    named = [k for k, name in enumerate(files_called) if without_suffix(name) != name]
    named.sort(key=lambda k: natural_order(names[k]))
    ranks = {k: rank for rank, k in enumerate(named)}
    later = [k for same in several for k in _later(same, names, ranks, labels)]
    return np.array(sorted(later), np.int64)


def copies_left_out(n: int) -> tuple[Notice, ...]:
    """Note how many images were left out as copies; empty for none.

    Parameters
    ----------
    n : int
        Their number.
    """
    text = f"images with exactly the boxes of another, left out: {n}"
    return (Notice("copies-left-out", text, severity="note"),) if n else ()


def truth_on_images(content: LabelSet, images: Sequence[LabelledImage]) -> Boxes:
    """Return what a label file says of some images; those that it does not label are uncovered.

    Parameters
    ----------
    content : LabelSet
        The labels.
    images : sequence of LabelledImage
        Found among its images by `match_images`.
    """
    truth = labelled_boxes(content)
    places = match_images(content.images, images).index
    uncovered = np.setdiff1d(np.arange(len(images)), places).tolist()
    truth = truth.where(places[truth.image] >= 0)
    return replace(
        truth, images=tuple(images), image=places[truth.image], uncovered=tuple(uncovered)
    )


def content_of_images(boxes: Boxes) -> dict[int, bytes]:
    """Return the boxes of each image that has any, as bytes, whatever their order.

    Parameters
    ----------
    boxes : Boxes
        Of predictions or labels.

    Returns
    -------
    dict of int to bytes
        By the position of the image: scores, categories, crowds and boxes.
    """
    columns = (boxes.scores[:, None], boxes.label[:, None], boxes.crowd[:, None], boxes.boxes)
    rows = np.concatenate([np.float64(column) for column in columns], axis=1)
    order = np.lexsort((*rows.T, boxes.image))
    image, rows = boxes.image[order], rows[order]
    starts = np.flatnonzero(np.append(True, np.diff(image) > 0)[: len(image)])
    parts = np.split(rows, starts[1:]) if len(starts) else []
    return {k: part.tobytes() for k, part in zip(image[starts].tolist(), parts, strict=True)}


def _by_bytes(
    same: Sequence[int], images: Sequence[LabelledImage], files: Mapping[str, Path]
) -> list[list[int]]:
    """Divide images by the content of their files; those without one stay together."""
    parts: dict[bytes, list[int]] = {}
    for k in same:
        file = files.get(images[k].image_id)
        parts.setdefault(b"" if file is None else content_digest(file), []).append(k)
    return [part for part in parts.values() if len(part) > 1]


def _later(
    same: Sequence[int],
    names: Sequence[str],
    ranks: Mapping[int, int],
    label_of: Mapping[int, bytes],
) -> list[int]:
    """Return the copies among images with the same boxes.

    Of labelled images with other labels each is kept, and rather a labelled image than an
    unlabelled one.

    Parameters
    ----------
    same : sequence of int
        Positions of images with the same boxes, rising.
    names : sequence of str
        Of all images, see `names_before_upload`.
    ranks : mapping of int to int
        Place of each image in the natural order of these, as far as it has a file.
    label_of : mapping of int to bytes
        Labels of the labelled images.
    """
    frames = _frames_with(same[0], same, names, ranks)
    rest = [k for k in same if k not in frames]
    # A labelled image is kept rather than an unlabelled one.
    kept_labels = {label_of[k] for k in frames if k in label_of}
    later = []
    for k in sorted(rest, key=lambda k: (k not in label_of, k)):
        if k in label_of and label_of[k] not in kept_labels:
            kept_labels.add(label_of[k])
        else:
            later.append(k)
    if label_of and len(frames) == 1 and same[0] not in label_of and kept_labels:
        later.append(same[0])
    return later


def _frames_with(
    first: int, same: Sequence[int], names: Sequence[str], ranks: Mapping[int, int]
) -> set[int]:
    """Return the images of equal content that are frames in a row, the first among them."""
    frames = {first}
    if first not in ranks:
        return frames
    of_rank = {ranks[k]: k for k in same if k in ranks}
    series, seen = _LAST_NUMBER.sub("", names[first]), {names[first]}
    for step in (1, -1):
        rank = ranks[first] + step
        while rank in of_rank and _LAST_NUMBER.sub("", names[of_rank[rank]]) == series:
            name = names[of_rank[rank]]
            if name not in seen:  # else one file that is listed twice
                frames.add(of_rank[rank])
                seen.add(name)
            rank += step
    return frames
