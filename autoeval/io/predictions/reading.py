"""Reading a predictions file of any detector, in any of the formats of `formats`.

`read_predictions` is the whole way of a file: its entries as columns (`formats`, `text_folder`),
those that can be used, the images that they are on (`image_identity`), the words of their
categories (`category_words`), and what is odd about them. It is `autoeval.load_predictions`;
`autoeval.estimation.given.Predictions` calls `read_boxes`, which is the same.
"""

from __future__ import annotations

import glob
import gzip
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from autoeval.boxes import (
    AT_ONCE,
    BEYOND,
    ENOUGH_BOXES,
    Boxes,
    LabelledImage,
    check_pixels,
    has_area,
    over_threshold,
    overlapping_pairs,
)
from autoeval.detections import CONFIDENT
from autoeval.errors import InputError
from autoeval.io.image_identity import Named, match_images, normal_id, normal_name
from autoeval.io.image_lists import FARTHEST, read_image_list
from autoeval.io.predictions.category_words import ReadAs, Words, find_words, read_names
from autoeval.io.predictions.covered_images import joined_files, place_images, uncovered_images
from autoeval.io.predictions.formats import (
    LONGEST_LINE,
    SUFFIXES,
    Coded,
    RawColumns,
    read_columns,
)
from autoeval.io.predictions.text_folder import read_text_folder
from autoeval.runtime.files import PathLike, name_of
from autoeval.words import Notice, listed

FEWEST_USABLE = 0.5  # of the entries
MOST_BEYOND = 0.01  # of the scores, outside [0, 1]
LARGEST_FACTOR = 10.0  # of scores that exceed 1; beyond it they are percentages
SAME_OBJECT = 0.9
MANY_TWICE = 0.2
NEAR_EDGES = 0.8
NEAR_ONE = 0.7
ENOUGH_FOR_EDGES = 100  # boxes, of which some come nearer
FARTHER = 0.005
NEARLY_AS_FAR = 0.5
NEARLY_HALF = 1.2  # of half a side
ENOUGH_NEAR = 10
ROUNDING = 1e-3


class NoBoxError(InputError):
    """A predictions file without a box."""


def file_of(place: str, folder: Path) -> Path:
    """Return the one predictions file, ``PLACE.json`` or another of `SUFFIXES`, in a folder.

    Parameters
    ----------
    place : str
        Name of the site.
    folder : Path
        The file may lie at any depth in it.

    Raises
    ------
    InputError
        If there is no such file, or several.
    """
    name = glob.escape(place)
    files = sorted(path for suffix in SUFFIXES for path in folder.rglob(f"{name}{suffix}"))
    if len(files) != 1:
        raise InputError(
            f"Expected one file {place}.json (or {', '.join(SUFFIXES[1:])}) under {folder}, with a "
            f"second detector's boxes, but found {len(files)}."
        )
    return files[0]


def files_by_site(folder: Path) -> dict[str, Path]:
    """Return the predictions files of a folder by site; other files are passed over.

    Parameters
    ----------
    folder : Path
        With one file a site.

    Raises
    ------
    InputError
        If a site has two.
    """
    file_of: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        suffix = next((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), None)
        if suffix is None:
            continue
        place = path.name.removesuffix(suffix)
        if place in file_of:
            raise InputError(
                f"{folder} holds two files of {place}: {file_of[place].name} and {path.name}. "
                "Expected one."
            )
        file_of[place] = path
    return file_of


def read_predictions(
    given: Any,
    *,
    images: PathLike | Sequence[LabelledImage] | None = None,
    where: str = "the list of images",
    numbers: Mapping[Any, str] | Sequence[str] | PathLike | None = None,
    words: Sequence[str] | None = None,
    columns: Sequence[str] = (),
    numbering: str = "",
) -> Boxes:
    """Read what a detector has found on a set of images.

    Parameters
    ----------
    given : path-like or object in memory
        COCO results: a JSON file with a list of boxes, each with ``image_id`` or ``file_name``,
        ``category_id`` or a word for it (``category``, ``category_name``, ``label`` or ``name``),
        ``bbox`` as left, top, width and height in pixels, and ``score``. Or an object that holds
        such a list as ``annotations``, with ``images`` and ``categories`` as in a COCO annotation
        file. Or a file with one such box a line (``.jsonl``, ``.ndjson``). Lists and lines may be
        compressed by gzip. Or a Parquet file with one row a box, of the same columns or with
        ``x``, ``y``, ``w`` and ``h``, or the corners ``x1``, ``y1``, ``x2`` and ``y2``, for
        ``bbox`` (other names: `formats.COLUMNS`); one of `autoeval.detect` lists all its images.
        All but the object are read in a stream. Or a folder of text files, one an image; see
        `read_text_folder`. Or an object in memory; see `autoeval.io.in_memory`.
    images : path-like or sequence of LabelledImage, optional
        All images that the detector was run on, such as those of `autoeval.load_labels`, or what
        lists them: a folder, a COCO JSON, a pattern or a text file; estimates of the result are of
        these, too. By default those that the file
        names, and no image is without a box unless the file lists its ``images``.
    where : str
        What lists them, for messages.
    numbers : mapping or sequence of str, or path-like, optional
        Word for each number of a category, where the file has neither words nor `categories`; see
        `read_names`. By default those of a COCO JSON as `images`.
    words : sequence of str, optional
        The words of the detector: with them a file without a box, of images that are known, is read
        as nothing found, and a word that is spelt otherwise is one of them.
    columns : sequence of str
        The names of the columns of text files, where they are known; see `column_names`.
    numbering : str
        How numbers of categories count, one of `NUMBERINGS`; see `find_words`.

    Returns
    -------
    Boxes
        On all `images`; those of which the predictions say nothing are `uncovered`. `left_out`
        counts what was left out; a warning where its own `categories` are not `numbers`.

    Raises
    ------
    InputError
        If the file is missing, malformed, without a usable box, of other images than `images`, or
        its categories have no words; if it holds each object twice; if `images` is neither a path
        nor a sequence of LabelledImage.
    """
    of_list: dict[str, str] = {}
    if isinstance(images, str | os.PathLike):
        where, images = str(images), read_image_list(images, numbers=of_list)
    elif images is not None and not all(isinstance(image, LabelledImage) for image in images):
        raise InputError(
            "Expected `images` as a path (a folder, a COCO JSON, a pattern or a text file) or a "
            "sequence of LabelledImage, such as `autoeval.load_labels(...).images`."
        )
    read_as = ReadAs(read_names(numbers or of_list), words, columns, numbering)
    boxes = read_boxes(given, read_as, images, where)
    return boxes if images is None else replace(boxes, listed=True)


def read_boxes(
    predictions: Any, read_as: ReadAs, images: Sequence[LabelledImage] | None, where: str
) -> Boxes:
    """Read predictions as `read_predictions`, with what is known of them as one record.

    Parameters
    ----------
    predictions : path-like or object in memory
        As in `read_predictions`.
    read_as : ReadAs
        What is known of the words and numbers of categories.
    images : sequence of LabelledImage, optional
        As in `read_predictions`.
    where : str
        What lists them, for messages.

    Raises
    ------
    NoBoxError
        If there is no box, and neither words nor a run of `autoeval detect` say what was looked
        for, or no image is known.
    InputError
        As `read_predictions`.
    """
    path = name_of(predictions)
    is_file = isinstance(predictions, str | os.PathLike)
    text = is_file and path.is_dir()
    if read_as.columns and not text:
        raise InputError(
            f"--columns is for a folder of text files, and {path} is none: leave it out."
        )
    if text:
        known_words = [*dict.fromkeys([*read_as.numbers.values(), *(read_as.words or ())])]
        content = read_text_folder(path, images, known_words=known_words, columns=read_as.columns)
    elif is_file:
        content = read_columns(path)
    else:
        from autoeval.io.in_memory import content_in_memory  # it imports the formats here

        content = content_in_memory(predictions, images)
    run, own_images = content.run, content.images
    by_own_list = own_images if images is not None else None
    if images is None and own_images is not None:
        images, where = own_images, "its own list of images"

    entries = _read_entries(path, content.columns)
    words = read_as.words
    if not entries.images:  # nothing was found, where it is known of what and in which images
        words = run.categories if words is None and run is not None else words
        if words is None:
            raise NoBoxError(f"{path} holds no box: expected one or more, to estimate from.")
        if not images:
            raise NoBoxError(
                f"{path} holds no box and names no image: list all images that the detector was "
                "run on (--images), so that it is known in how many it found nothing."
            )

    placement = None
    if images is None:
        of_name: dict[Named, Named] = {}  # as the file names each image first
        forms = [
            named._replace(file_name=named.file_name and normal_name(named.file_name))
            for named in entries.images
        ]
        for form, named in zip(forms, entries.images, strict=True):
            of_name.setdefault(form, named)
        ids = [named.text for named in of_name.values()]
        names = [named.file_name or named.text for named in of_name.values()]
        ids = ids if len({*ids}) == len(ids) else names  # 1 of two folders
        images = tuple(LabelledImage(*pair, None) for pair in zip(ids, names, strict=True))
        keys = {form: k for k, form in enumerate(of_name)}
        place = np.array([keys[form] for form in forms], np.int64)
    else:
        placement = place_images(
            entries.images,
            images,
            where,
            file_images=by_own_list,
            unlabelled=read_as.unlabelled,
        )
        place = placement.index
        images = placement.images

    category_words = Words(tuple(words or ()), entries.category, {})
    if entries.images:
        positions = text or content.positions
        category_words = find_words(
            path, entries.categories, read_as, own=content.numbers, positions=positions
        )
    read = Boxes(
        tuple(images),
        category_words.categories,
        place[entries.image],
        category_words.label[entries.category],
        entries.boxes,
        entries.scores,
        numbers=category_words.numbers,
        left_out=(*content.warnings, *entries.warnings, *category_words.left_out),
        warnings=category_words.warnings,
        numbering=category_words.numbering,
        lists_images=own_images is not None,
        run=run,
    )
    del entries
    if (place < 0).any():
        read = read.where(read.image >= 0)
    if placement is not None:
        n_images = len(images)
        if run is not None and placement.listed_there is not None:  # else its own list was given
            run = run.on_list(placement.matches.index, n_images)
        n_boxes = np.bincount(read.image, minlength=n_images)
        uncovered, notes = uncovered_images(placement, n_boxes, read.floor, where)
        if isinstance(predictions, Boxes) and predictions.uncovered:  # as was found before
            places = match_images(predictions.images, images).index
            unsaid = places[list(predictions.uncovered)]
            uncovered = np.union1d(uncovered, unsaid[unsaid >= 0])
        read = replace(
            read, run=run, uncovered=tuple(uncovered.tolist()), left_out=(*notes, *read.left_out)
        )
    joined = () if run is not None else joined_files(read.image, read.label)
    return replace(read, left_out=read.left_out + joined + unusual_boxes(path, read))


@dataclass(frozen=True, eq=False)
class _Entries:
    """The N usable entries of a file; it may hold none.

    Parameters
    ----------
    images : list of Named
        Each image once.
    image, category : ndarray of shape (N,), int64
        Indices into `images` and `categories`.
    categories : list of tuple
        Pairs of ``category_id`` and word, None for what is not there; each once.
    boxes : ndarray of shape (N, 4), float64
        xyxy, pixels.
    scores : ndarray of shape (N,), float64
        In [0, 1].
    warnings : tuple of Notice
        Which entries were left out and why.
    """

    images: list[Named]
    image: np.ndarray
    categories: list[tuple[Any, Any]]
    category: np.ndarray
    boxes: np.ndarray
    scores: np.ndarray
    warnings: tuple[Notice, ...]


def _read_entries(path: Path, content: Iterable[RawColumns]) -> _Entries:
    """Check and gather entries, some at a time.

    Parameters
    ----------
    path : Path
        Of the file, for messages.
    content : iterable of RawColumns
        Entries.

    Raises
    ------
    InputError
        If no more than half of them can be used, or scores are no confidences in [0, 1].
    """
    n = n_beyond = 0
    lowest, highest = np.inf, -np.inf
    faults: dict[str, list[int]] = {}
    images: dict[tuple, int] = {}
    categories: dict[tuple, int] = {}
    parts = {name: [np.zeros(0, np.int32)] for name in ("image", "category")}
    parts |= {"boxes": [np.zeros((0, 4))], "scores": [np.zeros(0)]}
    for raw in content:
        finite = raw.scores[np.isfinite(raw.scores)]
        n_beyond += int(np.count_nonzero((finite < 0) | (finite > 1)))
        lowest = min(lowest, finite.min(initial=np.inf))
        highest = max(highest, finite.max(initial=-np.inf))
        usable = np.ones(len(raw.scores), bool)
        x, y, w, h = raw.xywh.T
        is_number = np.isfinite(x) & np.isfinite(y) & np.isfinite(w) & np.isfinite(h)
        is_negative = (w < 0) | (h < 0)
        x, y, w, h = np.abs(raw.xywh).T
        near = (x < FARTHEST) & (y < FARTHEST) & (w < FARTHEST) & (h < FARTHEST)
        masks = {
            "without image_id and file_name": (raw.image_id.codes < 0) & (raw.file_name.codes < 0),
            "without category_id and category": (raw.category_id.codes < 0) & (raw.word.codes < 0),
            "whose bbox is not four finite numbers": ~is_number,
            f"whose bbox is beyond {FARTHEST:.0e} pixels": ~near,
            "whose bbox has a negative width or height": is_negative,
            "without a score in [0, 1]": ~((raw.scores >= 0) & (raw.scores <= 1)),
        }
        for fault, bad in masks.items():  # an entry has one fault at most
            faults.setdefault(fault, []).extend((n + np.flatnonzero(bad & usable)).tolist())
            usable &= ~bad
        n += len(usable)
        kept = slice(None) if usable.all() else usable
        parts["image"].append(_numbered(images, raw.image_id, raw.file_name, kept))
        parts["category"].append(_numbered(categories, raw.category_id, raw.word, kept))
        boxes = np.array(raw.xywh[kept])
        boxes[:, 2:] += boxes[:, :2]
        parts["boxes"].append(boxes)
        parts["scores"].append(raw.scores[kept])
    if n_beyond > max(MOST_BEYOND * n, 1):
        raise _no_confidences(path, f"{n_beyond} of {n}", lowest, highest)
    warnings = tuple(
        Notice(
            "entries-malformed", f"entries {fault}, left out: {len(bad)} (numbers {listed(bad)})"
        )
        for fault, bad in faults.items()
        if bad
    )
    n_usable = n - sum(map(len, faults.values()))
    if n and n_usable <= FEWEST_USABLE * n:
        fields = _first_fields(path)
        hint = f"; the first has {listed(fields, 10)}" if fields else ""
        raise InputError(
            f"{path} is not a COCO results file: {n_usable} of its {n} entries can be "
            f"used. {' '.join(warnings)} Expected a list of objects with image_id or file_name, "
            f"category_id or category, bbox [left, top, width, height] and score{hint}."
        )
    joined: dict[str, np.ndarray] = {}
    for name, arrays in parts.items():
        joined[name] = np.concatenate(arrays)
        arrays.clear()  # of a million images a column and its parts are much memory
    named = [
        Named(
            None if image_id is None else normal_id(image_id),
            None if file_name is None else str(file_name),
        )
        for image_id, file_name in images
    ]
    return _Entries(
        named,
        joined["image"].astype(np.int64),
        list(categories),
        joined["category"].astype(np.int64),
        joined["boxes"],
        joined["scores"],
        warnings,
    )


def _first_fields(path: Path) -> list[str]:
    """Return the names of the fields of the first entry of a JSON file; empty for another file."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            text = stream.read(LONGEST_LINE).decode(errors="replace").lstrip("\ufeff \t\r\n[")
        first, _ = json.JSONDecoder().raw_decode(text)
    except (OSError, EOFError, ValueError, RecursionError):
        return []
    return [*first] if isinstance(first, dict) else []


def _no_confidences(path: Path, n_scores: str, lowest: float, highest: float) -> InputError:
    """Make the refusal of scores that are not in [0, 1], with what to do about them.

    Parameters
    ----------
    path : Path
        Of the file.
    n_scores : str
        How many of how many, in words.
    lowest, highest : float
        Of all scores.
    """
    if lowest < 0:
        remedy = "put logits through a sigmoid."
    elif highest > LARGEST_FACTOR:
        remedy = "divide percentages by 100."
    else:
        remedy = (
            "a detector of several scores can exceed 1. Clip them, min(score, 1), where few "
            f"do, or rescale all by the highest, score / {highest:.3g}; the labelled set and "
            "new images in the same way."
        )
    return InputError(
        f"{path}: {n_scores} scores are not in [0, 1] ({lowest:.3g} to {highest:.3g}). "
        f"Expected confidences: {remedy}"
    )


def _numbered(
    number_of: dict[tuple, int], first: Coded, second: Coded, kept: np.ndarray | slice
) -> np.ndarray:
    """Give each pair of values a number, in the order of the file.

    Parameters
    ----------
    number_of : dict
        Numbers so far; takes new pairs.
    first, second : Coded
        Two columns of N values; None where there is none.
    kept : ndarray of shape (N,), bool, or slice
        Which entries count.

    Returns
    -------
    ndarray of shape (n,), int32
    """
    width = len(second.values) + 1
    pairs = (first.codes[kept] + 1) * width + second.codes[kept] + 1
    # `pa.array` imports pandas, which reading a file has no other need of
    column = pa.Array.from_buffers(pa.int64(), len(pairs), [None, pa.py_buffer(pairs)])
    coded = column.dictionary_encode()
    firsts, seconds = [None, *first.values], [None, *second.values]
    keys = [(firsts[p // width], seconds[p % width]) for p in coded.dictionary.to_pylist()]
    numbers = [number_of.setdefault(key, len(number_of)) for key in keys]
    return np.array(numbers, np.int32)[np.from_dlpack(coded.indices)]


# What is odd about predictions.


def unusual_boxes(path: Path, read: Boxes) -> tuple[Notice, ...]:
    """Say what is odd about predictions.

    Counts boxes that reach more than 2 % beyond their images, and boxes without area. Says where
    all boxes leave the right and the lower fifth of all images empty, or one of them by 30 %, as
    pixels of a smaller copy of the images do: in 154 real files of a hundred boxes or more, some
    box comes within 1 % of each edge (within 2 % in the 118 that have a hundred over a score of
    .5). Of 2,387 cuts of these files with a hundred boxes, by score and category, one leaves a
    fifth empty and none 30 %.

    Parameters
    ----------
    path : Path
        Of the file, for messages.
    read : Boxes
        As they were read.

    Raises
    ------
    InputError
        If objects are found twice, as where the boxes of two detectors are joined,
        or boxes are in other units or of another form than pixels and [left, top, width, height].
    """
    # A detector that was run is one, and its boxes are in pixels of the images.
    unknown = read.run is None
    reach = check_pixels(path, "boxes", read.boxes, read.image, read.images, of_run=not unknown)
    sized = all(image.size is not None for image in read.images)
    # Corners and centres that are taken for left and top edges end beyond the right or the bottom.
    form_unknown = unknown and ((reach.farthest > BEYOND).any() or not sized)
    if form_unknown and look_like_corners(read.boxes):
        raise InputError(
            f"{path}: the third number of each bbox is larger than the first, and the fourth "
            "larger than the second, as in corners [x1, y1, x2, y2]. Expected [left, top, width, "
            "height]: write [x1, y1, x2 - x1, y2 - y1]. If they are widths and heights, give a "
            "COCO file with the sizes of the images as their list."
        )
    if form_unknown and look_like_centres(read.boxes):
        raise InputError(
            f"{path}: the first number of each bbox is at least half of the third, and the second "
            "half of the fourth, as in [centre x, centre y, width, height]. Expected [left, top, "
            "width, height]: write [x - w / 2, y - h / 2, w, h]. If they are left and top edges, "
            "give a COCO file with the sizes of the images as their list."
        )
    sure = np.flatnonzero(over_threshold(read.scores, CONFIDENT))
    if unknown and len(sure) >= ENOUGH_BOXES:
        sure = sure[np.argsort(read.image[sure], kind="stable")]
        image = read.image[sure]
        ends = np.unique(np.searchsorted(image, image[::AT_ONCE]))[1:]
        twice = 0
        for rows in np.split(sure, ends):  # parts of whole images
            cell = read.image[rows] * len(read.categories) + read.label[rows]
            boxes = read.boxes[rows]
            first, second, _ = overlapping_pairs(boxes, cell, boxes, cell, least=SAME_OBJECT)
            twice += len(np.unique(first[first != second]))
        if twice > MANY_TWICE * len(sure):
            raise InputError(
                f"{path}: {twice} of {len(sure)} boxes over {CONFIDENT} lie on another one of "
                "their category: are two detectors, or two runs of one, mixed in this file, or is "
                "it without non-maximum suppression? Give the boxes of one detector, each object "
                "once."
            )
    odd, farthest = list[Notice](), reach.farthest
    in_corner = (farthest < NEAR_EDGES).all() or (farthest < NEAR_ONE).any()
    # of a run a fixed camera may see a part alone
    if unknown and reach.n >= ENOUGH_FOR_EDGES and in_corner:
        text = (
            f"no box reaches beyond {farthest[0]:.0%} of the width and {farthest[1]:.0%} of the "
            "height of its image: are they in pixels of resized images, or the sizes of the images "
            "wrong?"
        )
        odd.append(Notice("boxes-in-a-corner", text))
    if reach.n_beyond:
        text = (
            "boxes of the predictions that reach more than 2 % beyond their images: "
            f"{reach.n_beyond}"
        )
        odd.append(Notice("boxes-beyond-images", text))
    odd += reach.in_shares
    n_flat = int(np.count_nonzero(~has_area(read.boxes)))
    if n_flat:
        text = (
            f"boxes of the predictions with a width or height of 0: {n_flat}; they are false "
            "positives, as in COCO's evaluation"
        )
        odd.append(Notice("boxes-without-area", text, "note"))
    return tuple(odd)


def look_like_corners(boxes: np.ndarray) -> bool:
    """Whether boxes, read as left, top, width and height, were corners.

    A right corner is never left of its left one, so with corners the ratio of the first number to
    the third, left / width, ends at 1: many boxes are just under it and none is over it. Ratios of
    widths go on: in 185 real files 10 % of the boxes or more have one over 1, even of those over a
    score of .7.

    Parameters
    ----------
    boxes : ndarray of shape (N, 4)
        xyxy, as the numbers were taken for left, top, width and height.

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


def look_like_centres(boxes: np.ndarray) -> bool:
    """Whether boxes, read as left, top, width and height, have their centres in front.

    A centre is half a side or more from the left and the upper edge of the image, and that of a box
    at the edge exactly so far; of left and top edges many lie nearer. In 3,688 cuts of 154 real
    files by score and category that have thirty boxes or more none looks so, and 153 of these files
    do with centres in front.

    Parameters
    ----------
    boxes : ndarray of shape (N, 4)
        xyxy, as the numbers were taken for left, top, width and height.

    Examples
    --------
    >>> x = np.arange(1, 31)
    >>> look_like_centres(np.stack([x, x, x + 2 * x, x + 2 * x], axis=1))  # at the edges
    True
    >>> look_like_centres(np.stack([x, x, x + 9, x + 9], axis=1))
    False
    """
    if len(boxes) < ENOUGH_BOXES:
        return False
    boxes = boxes[:AT_ONCE]
    halves = np.maximum(boxes[:, 2:] - boxes[:, :2], np.finfo(np.float32).eps) / 2
    ratios = boxes[:, :2] / halves
    nearer = ratios < 1 - ROUNDING
    n_near = np.count_nonzero(((ratios < NEARLY_HALF) & ~nearer).any(axis=1))
    share = (nearer[:, 0] | nearer[:, 1]).mean()
    return bool(share <= FARTHER and n_near >= ENOUGH_NEAR)


def unknown_sizes(boxes: Boxes) -> tuple[Notice, ...]:
    """Warn where the sizes of images with boxes are not known.

    Parameters
    ----------
    boxes : Boxes
        Predictions.
    """
    n_boxes = np.bincount(boxes.image, minlength=len(boxes.images))
    unknown = [
        image.file_name
        for image, n in zip(boxes.images, n_boxes, strict=True)
        if image.size is None and n
    ]
    if not unknown:
        return ()
    text = (
        f"height and width of {len(unknown)} of {np.count_nonzero(n_boxes)} images with boxes "
        f"are unknown ({listed(unknown, 3)}): how large boxes are relative to these images is "
        "not used. Name the folder of the images, or list them in a COCO file with sizes"
    )
    return (Notice("image-sizes-unknown", text),)
