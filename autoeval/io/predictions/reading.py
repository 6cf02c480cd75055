"""Reading a predictions file of any detector: COCO results, JSON lines, Parquet, text files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.errors import InputError
from autoeval.io.image_identity import Named
from autoeval.io.in_memory import content_in_memory, name_of
from autoeval.io.labels.content import LabelledImage, normal_id
from autoeval.io.predictions.box_columns import FoundBoxes
from autoeval.io.predictions.category_words import find_words, numbering_conflict, undecided_numbers
from autoeval.io.predictions.detector_run import DetectorRun
from autoeval.io.predictions.entries import NoBoxError, read_entries
from autoeval.io.predictions.file_formats import Content, read_columns
from autoeval.io.predictions.placing import place_images, uncovered_images
from autoeval.io.predictions.prediction_checks import unusual_boxes
from autoeval.io.predictions.text_folder import read_text_folder

SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet", ".json.gz", ".jsonl.gz", ".ndjson.gz")


def _nothing_found(
    path: Path,
    images: Sequence[LabelledImage] | None,
    words: tuple[str, ...],
    run: DetectorRun | None,
) -> FoundBoxes:
    if not images:
        raise NoBoxError(
            f"{path} holds no box and names no image: list all images that the detector was run on "
            "(--images), so that it is known in how many it found nothing."
        )
    none = np.zeros(0, np.int64)
    boxes, scores = np.zeros((0, 4)), np.zeros(0)
    return FoundBoxes(tuple(images), words, none, none, boxes, scores, {}, run=run)


def file_of(place: str, folder: Path) -> Path:
    """Return the one predictions file, ``PLACE.json`` or another of `SUFFIXES`, in a folder.

    It may lie at any depth. Raises `InputError` if there is no such file, or several.
    """
    files = sorted(path for suffix in SUFFIXES for path in folder.rglob(f"{place}{suffix}"))
    if len(files) != 1:
        raise InputError(
            f"Expected one file {place}.json (or {', '.join(SUFFIXES[1:])}) under {folder}, with a "
            f"second detector's boxes, but found {len(files)}."
        )
    return files[0]


def files_by_place(folder: Path) -> dict[str, Path]:
    """Return a folder's predictions files by place, or raise `InputError` if a place has two."""
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
    images: Sequence[LabelledImage] | None = None,
    where: str = "the list of images",
    numbers: Mapping[str, str] | None = None,
    words: Sequence[str] | None = None,
    columns: Sequence[str] = (),
    numbering: str = "",
    usual: str = "",
    undecided: bool = False,
) -> FoundBoxes:
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
        ``x``, ``y``, ``w`` and ``h`` for ``bbox``; one of `autoeval.detect` lists all its images.
        All but the object are read in a stream. Or a
        folder of text files, one an image; see `read_text_folder`. Or an object in memory; see
        `autoeval.io.in_memory`.
    images : sequence of LabelledImage, optional
        All images that the detector was run on; by default those that the file names, and no image
        is without a box unless the file lists its ``images``.
    where : str
        What lists them, for messages.
    numbers : mapping of str to str, optional
        Word for each number of a category, where the file has neither words nor `categories`.
    words : sequence of str, optional
        The words of the detector: with them a file without a box, of images that are known, is read
        as nothing found.
    columns : sequence of str
        The names of the columns of text files, where they are known; see `column_names`.
    numbering, usual : str
        How numbers of categories count, or mostly do: one of `NUMBERINGS`; see `find_words`.
    undecided : bool
        Whether numbers that several ways fit are left to whoever reads; refused by default.

    Returns
    -------
    FoundBoxes
        On all `images`; those of which the predictions say nothing are `uncovered`. `left_out`
        counts what was left out; a warning where its own `categories` are not `numbers`.

    Raises
    ------
    InputError
        If the file is missing, malformed, without a usable box, of other images than `images`, or
        its categories have no words; if it holds each object twice.
    """
    path = name_of(given)
    is_file = isinstance(given, str | os.PathLike)
    text = is_file and path.is_dir()
    if text:
        known_words = [*dict.fromkeys([*(numbers or {}).values(), *(words or ())])]
        rows, beside, said = read_text_folder(
            path, images, known_words=known_words, columns=columns
        )
        content = Content(rows, numbers=beside, warnings=said)
    elif columns:
        raise InputError(
            f"--columns is for a folder of text files, and {path} is none: leave it out."
        )
    elif not is_file:
        content = content_in_memory(given, images)
    else:
        content = read_columns(path)
    entry_columns, own_images, own_words, left_out, run = content
    by_own_list = own_images if images is not None else None
    if images is None and own_images is not None:
        images, where = own_images, "its own list of images"
    elif run is not None:
        run = run.of_other_images()
    try:
        entries = read_entries(path, entry_columns)
    except NoBoxError:
        words = run.categories if words is None and run is not None else words
        if words is None:
            raise
        return _nothing_found(path, images, tuple(words), run)
    named = [_named(*key) for key in entries.images]
    placement = None
    if images is None:
        keys = {key: k for k, key in enumerate(dict.fromkeys(named))}
        images = tuple(LabelledImage(n.text, n.file_name or n.text, None) for n in keys)
        place = np.array([keys[key] for key in named], np.int64)
    else:
        placement = place_images(named, images, where, own=by_own_list)
        place = placement.index
        images = placement.sized(images, by_own_list or ())
    named_words = find_words(
        path,
        entries.categories,
        own_words or numbers or {},
        text=text,
        numbering=numbering,
        usual=usual,
    )
    if not (named_words.numbering.decided or undecided):
        raise undecided_numbers(path, named_words)
    by_number = any(word is None for _, word in entries.categories)
    read = FoundBoxes(
        tuple(images),
        named_words.categories,
        place[entries.image],
        named_words.label[entries.category],
        entries.boxes,
        entries.scores,
        named_words.numbers,
        left_out + entries.warnings,
        named_words.warnings
        + (numbering_conflict(path, own_words, numbers or {}) if by_number else ()),
        numbering=named_words.numbering,
        lists_images=own_images is not None,
        run=run,
    )
    del entries
    if (place < 0).any():
        read = read.where(read.image >= 0)
    if placement is not None:
        n_boxes = np.bincount(read.image, minlength=len(images))
        uncovered, notes = uncovered_images(placement, images, n_boxes, read.floor, where)
        read = replace(read, uncovered=tuple(uncovered.tolist()), left_out=(*notes, *read.left_out))
    return replace(read, left_out=read.left_out + unusual_boxes(path, read))


def _named(image_id: object, file_name: object) -> Named:
    return Named(
        None if image_id is None else normal_id(str(image_id)),
        None if file_name is None else str(file_name),
    )
