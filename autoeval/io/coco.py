"""COCO annotation files: reading them, saying what is wrong and where, and writing them.

`read_coco` makes a `LabelSet` of a file or a document in memory; `autoeval.io.labels.any_format`
calls it for label files, `autoeval.io.in_memory` for objects. `write_coco` is what `convert-labels`
and plans write. Boxes of COCO are left, top, width and height in pixels; the left edge of the image
is 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.image_identity import normal_id
from autoeval.io.image_lists import coco_categories, coco_entries, coco_images
from autoeval.io.labels.content import (
    ANY,
    EVERYWHERE,
    BoxColumns,
    LabelledBox,
    LabelSet,
    around_shapes,
    around_turned,
    in_pixels,
    of_images,
)
from autoeval.runtime.files import MALFORMED, PathLike, read_json, write_text
from autoeval.words import Notice, listed, printable

ABSENT = "neg_category_ids"  # of LVIS
NOT_ALL = "not_exhaustive_category_ids"  # of LVIS
BATCH = "autoeval_batch"
"""Field of an image that a larger plan added to a file of labels: how many it has drawn then."""
MOSTLY = 0.5  # of the annotations have a score
# Bits of a character of a compressed mask.
BITS = 5  # of its value
MORE = 0x20  # another character follows
SIGN = 0x10  # the value is negative
FIRST_CHARACTER = 48
IN_MEMORY = Path("labels in memory")


def read_coco(source: PathLike | Mapping[str, Any]) -> LabelSet:
    """Read an annotation file in COCO's object detection format, or its content.

    It is JSON with ``images`` and, where it is labelled, ``annotations`` and ``categories``. What
    is malformed in these lists, and an annotation of an image or a category that they do not hold,
    is left out and counted in the warnings. Of a box that was turned, and of an annotation with a
    segmentation alone, the box around it is read.

    Parameters
    ----------
    source : path-like or mapping
        A file, also compressed by gzip, or its content.

    Returns
    -------
    LabelSet
        Categories by their words, with the numbers of the file; what LVIS says of categories that
        were not looked for is in `checked`.

    Raises
    ------
    InputError
        If the file cannot be read or is no such document, ids repeat, more than half of a list is
        malformed, or boxes are not in pixels of their images.

    Examples
    --------
    >>> labels = read_coco(
    ...     {
    ...         "images": [{"id": 7, "file_name": "7.jpg", "height": 480, "width": 640}],
    ...         "categories": [{"id": 3, "name": "car"}],
    ...         "annotations": [{"image_id": 7, "category_id": 3, "bbox": [10, 20, 30, 40]}],
    ...     }
    ... )
    >>> labels.images[0].size, labels.categories, labels.numbers, labels.boxes[0].xywh
    ((480, 640), ('car',), ('3',), (10.0, 20.0, 30.0, 40.0))
    """
    warnings = list[Notice]()
    if isinstance(source, Mapping):
        path, document = IN_MEMORY, source
    else:
        path, document = Path(source), read_json(source, "annotation file")
    images = coco_images(path, document, warnings)
    categories = coco_categories(path, document, warnings)
    annotations = document.get("annotations")
    boxes: BoxColumns | None = None
    n_turned = 0
    if isinstance(annotations, list):
        n_turned = sum(map(_is_turned, annotations))
        n_scored = sum(isinstance(e, dict) and e.get("score") is not None for e in annotations)
        if n_scored > MOSTLY * len(annotations):
            text = (
                f"{n_scored} of {len(annotations)} labelled boxes have a score, as boxes of a "
                "detector have: are they its predictions? Boxes are right where people have "
                "labelled objects"
            )
            warnings.append(Notice("labels-with-scores", text))
    if isinstance(annotations, list) and not n_turned:
        boxes = _regular_boxes(annotations, images, categories)
    if boxes is None:  # one by one, which says what is wrong with which
        image_ids = frozenset(image.image_id for image in images)
        boxes = BoxColumns.of(
            coco_entries(
                path, document, "annotations", lambda e: _box(e, image_ids, categories), warnings
            )
        )
    content = in_pixels(
        LabelSet(
            path,
            images,
            tuple(categories.values()),
            boxes,
            warnings=(*warnings, *around_shapes(n_turned)),
            numbers=tuple(categories),
            lists_categories=True,
        )
    )
    entries = [entry for entry in document["images"] or [] if isinstance(entry, dict)]
    if any(BATCH in entry for entry in entries):
        content = _without_empty_batches(content, entries)
    if any(ABSENT in entry for entry in entries):
        return _as_in_lvis(content, entries, categories)
    return content


def _without_empty_batches(content: LabelSet, entries: list[dict[str, Any]]) -> LabelSet:
    """Take images that a larger plan added as not labelled while none of them holds a box.

    A file without a box is refused as one that nobody has labelled yet; where earlier images have
    labels, those that came later would count as empty.

    Parameters
    ----------
    content : LabelSet
        As of any COCO file.
    entries : list of dict
        The ``images`` of the document.
    """
    batch_of = {printable(normal_id(e.get("id"))): str(e[BATCH]) for e in entries if BATCH in e}
    holding = {content.boxes.image_ids[k] for k in np.unique(content.boxes.image).tolist()}
    begun = {batch for image_id, batch in batch_of.items() if image_id in holding}
    pending = {image_id for image_id, batch in batch_of.items() if batch not in begun}
    images = [image for image in content.images if image.image_id not in pending]
    names = [image.file_name for image in content.images if image.image_id in pending]
    if not names:
        return content
    text = (
        "images that a larger plan added, none of which holds a box yet, are not labelled: "
        f"{len(names)} ({listed(names)}). If somebody looked at them, and they hold nothing, "
        f"delete {BATCH} of them in the file"
    )
    return replace(
        of_images(content, images),
        unlabelled=tuple(names),
        warnings=(*content.warnings, Notice("images-without-labels", text, severity="note")),
    )


def _as_in_lvis(
    content: LabelSet, entries: list[dict[str, Any]], categories: dict[str, str]
) -> LabelSet:
    """Add which categories were looked for in each image, which LVIS says of each.

    LVIS lists by image the categories that are not there (``neg_category_ids``); of those that are,
    not all objects are labelled where they are in ``not_exhaustive_category_ids``: such an image
    gets an area of that category that evaluation ignores.

    Parameters
    ----------
    content : LabelSet
        As of any COCO file.
    entries : list of dict
        The ``images`` of the document.
    categories : dict of str to str
        Word of each number.

    Raises
    ------
    InputError
        If what an image has there is no list.
    """

    def words(entry: dict[str, Any], field: str) -> frozenset[str]:
        listed_there = entry.get(field) or []
        if not isinstance(listed_there, list | tuple):
            raise InputError(
                f"{printable(content.path)}: expected '{field}' of an image to be a list of "
                f"category numbers, got {type(listed_there).__name__}."
            )
        numbers = map(normal_id, listed_there)
        return frozenset(categories[number] for number in numbers if number in categories)

    of_image = {printable(normal_id(entry.get("id"))): entry for entry in entries}
    labelled: dict[str, set[str]] = {image.image_id: set() for image in content.images}
    for box in content.boxes:
        labelled[box.image_id].add(box.category)
    named = {image: of_image[image] for image in labelled if image in of_image}
    checked = {image: words(e, ABSENT) | labelled[image] for image, e in named.items()}
    areas = [
        LabelledBox(image, word, EVERYWHERE, iscrowd=True)
        for image, entry in named.items()
        for word in sorted(words(entry, NOT_ALL))
    ]
    return replace(content, checked=checked, boxes=BoxColumns.of([*content.boxes, *areas]))


def _regular_boxes(
    entries: Sequence[Any], images: Sequence[LabelledImage], categories: Mapping[str, str]
) -> BoxColumns | None:
    """Read annotations a column at a time.

    Parameters
    ----------
    entries : sequence
        The ``annotations`` of the document.
    images : sequence of LabelledImage
        Its images.
    categories : mapping of str to str
        Word of each number.

    Returns
    -------
    BoxColumns or None
        None where some annotation is not as most are, or malformed.
    """
    place = {image.image_id: k for k, image in enumerate(images)}
    number = {category_id: k for k, category_id in enumerate(categories)}
    try:
        of_image = [entry["image_id"] for entry in entries]
        of_category = [entry["category_id"] for entry in entries]
        crowd = [entry.get("iscrowd") or 0 for entry in entries]
        # ids repeat, and reading one as text takes longer than to look it up
        place_of = {value: place[printable(normal_id(value))] for value in set(of_image)}
        number_of = {value: number[normal_id(value)] for value in set(of_category)}
        is_crowd = {value: bool(int(value)) for value in set(crowd)}
        xywh = np.array([entry["bbox"] for entry in entries] or np.zeros((0, 4)), np.float64)
    except MALFORMED:
        return None
    if xywh.shape != (len(entries), 4) or not np.isfinite(xywh).all():
        return None
    return BoxColumns(
        tuple(place),
        np.array([place_of[value] for value in of_image], np.int64),
        tuple(categories.values()),
        np.array([number_of[value] for value in of_category], np.int64),
        xywh,
        np.array([is_crowd[value] for value in crowd], bool),
    )


def _box(
    entry: dict[str, Any], image_ids: frozenset[str], categories: dict[Any, str]
) -> LabelledBox:
    """Read one annotation.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is malformed, or of an image or a category that there is not.
    """
    image_id = printable(normal_id(entry["image_id"]))
    if image_id not in image_ids:
        raise ValueError(f"image_id {image_id} is not in the list of images")
    number = normal_id(entry["category_id"])
    if number not in categories:
        raise ValueError(f"category_id {number} is not in the list of categories")
    coordinates = entry.get("bbox")  # an array, perhaps, of a document in memory
    outline = None if coordinates is not None and len(coordinates) else entry.get("segmentation")
    bbox = box_of_segmentation(outline) if outline else entry["bbox"]
    xywh = tuple(map(float, bbox))
    if len(xywh) != 4 or not all(map(math.isfinite, xywh)):
        raise ValueError(f"expected bbox [x, y, width, height], got {bbox}")
    if _is_turned(entry):
        xywh = around_turned(xywh, float(entry["attributes"]["rotation"]))
    return LabelledBox(image_id, categories[number], xywh, _is_crowd(entry))


def _is_turned(entry: Any) -> bool:
    """Whether a box was turned in CVAT, which writes it upright, and the angle as an attribute.

    A box around a polygon or a mask has no angle of its own.
    """
    attributes = entry.get("attributes") if isinstance(entry, dict) else None
    angle = attributes.get("rotation") if isinstance(attributes, dict) else None
    return bool(angle) and not entry.get("segmentation")


def _is_crowd(entry: dict[str, Any]) -> bool:
    """Read ``iscrowd``, which some programs write as text: "0" is none."""
    crowd = entry.get("iscrowd") or 0
    try:
        return bool(int(crowd))
    except (TypeError, ValueError):
        raise ValueError(f"expected iscrowd 0 or 1, got {crowd!r}") from None


def box_of_segmentation(segmentation: Any) -> list[float]:
    """Return left, top, width and height of the box around a ``segmentation`` of COCO.

    Parameters
    ----------
    segmentation : list or dict
        A list of polygons ``[x, y, x, y, ...]`` in pixels, one such polygon, or a mask in run
        lengths, ``{"size": [height, width], "counts": ...}``, compressed or not; the box around a
        mask ends with its last pixels, as `pycocotools.mask.toBbox` has it.

    Raises
    ------
    ValueError, TypeError
        For anything else and for an empty mask.

    Examples
    --------
    >>> box_of_segmentation([[1, 2, 5, 2, 5, 8]])
    [1.0, 2.0, 4.0, 6.0]
    >>> box_of_segmentation({"size": [4, 3], "counts": [5, 2, 5]})
    [1, 1, 1, 2]
    """
    if isinstance(segmentation, dict):
        return _box_of_mask(segmentation["size"], segmentation["counts"])
    nested = bool(segmentation) and isinstance(segmentation[0], list | tuple)
    polygons = segmentation if nested else [segmentation]
    xs = [float(x) for polygon in polygons for x in polygon[::2]]
    ys = [float(y) for polygon in polygons for y in polygon[1::2]]
    if not xs or len(xs) != len(ys):
        raise ValueError("expected a segmentation as polygons [x, y, x, y, ...] or run lengths")
    return [min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)]


def _box_of_mask(size: Sequence[int], counts: Any) -> list[float]:
    """Return the box around a mask in run lengths.

    Parameters
    ----------
    size : sequence of int
        Height and width.
    counts : str, bytes or sequence of int
        Lengths of runs of pixels outside and inside, in turn, down one column after the other.
    """
    height = int(size[0])
    runs = list(_decompressed(counts)) if isinstance(counts, str | bytes) else list(counts)
    ends = accumulate(runs, initial=0)
    columns: list[int] = []
    rows: list[int] = []
    for k, (start, end) in enumerate(pairwise(ends)):  # pixels go down the columns
        if k % 2 and end > start:
            first, last = divmod(start, height), divmod(end - 1, height)
            columns += [first[0], last[0]]
            rows += [first[1], last[1]] if first[0] == last[0] else [0, height - 1]
    if not columns:
        raise ValueError("the mask is empty")
    left, top = min(columns), min(rows)
    return [left, top, max(columns) - left + 1, max(rows) - top + 1]


def _decompressed(counts: str | bytes) -> Iterator[int]:
    """Yield the run lengths of a compressed mask.

    Source: `rleFrString` in pycocotools' ``maskApi.c``: five bits a character, the least first;
    from the third run on, differences to the last but one.
    """
    text = counts.encode() if isinstance(counts, str) else counts
    runs: list[int] = []
    value, shift = 0, 0
    for character in text:
        bits = character - FIRST_CHARACTER
        value |= (bits & (MORE - 1)) << shift
        shift += BITS
        if bits & MORE:
            continue
        if bits & SIGN:
            value -= 1 << shift
        runs.append(value + runs[-2] if len(runs) > 2 else value)
        yield runs[-1]
        value, shift = 0, 0


def write_coco(labels: LabelSet, path: PathLike) -> None:
    """Write labels in COCO's object detection format, atomically.

    Unlabelled images are left out. Ids that are numbers stay, as texts where two are one number,
    such as 7 and 007; others become the images' positions from 1. File names stay relative to
    the image folder of the labels.

    Parameters
    ----------
    labels : LabelSet
        Of images whose sizes are known.
    path : path-like
        The file to write.

    Raises
    ------
    InputError
        If the size of an image is not known.
    """
    write_text(Path(path), json.dumps(coco_document(labels)))


def coco_document(labels: LabelSet, *, with_sizes: bool = True) -> dict[str, Any]:
    """Return the content of the file that `write_coco` writes.

    Parameters
    ----------
    labels : LabelSet
        What is written.
    with_sizes : bool
        Otherwise height and width are left out where they are unknown, and that is not refused.

    Raises
    ------
    InputError
        If an image has no height and width, `with_sizes`.
    """
    image_ids = [image.image_id for image in labels.images]
    ids: dict[str, int | str] = {name: k for k, name in enumerate(image_ids, 1)}
    if all(name.isdecimal() for name in image_ids):
        ids = {name: int(name) for name in image_ids}
        if len({*ids.values()}) < len(ids):
            ids = {name: name for name in image_ids}
    numbers: Sequence[int] = range(1, len(labels.categories) + 1)
    if labels.numbers and all(map(str.isdecimal, labels.numbers)):  # those that predictions have
        numbers = [int(number) for number in labels.numbers]
    categories = dict(zip(labels.categories, numbers, strict=True))
    images = []
    for image in labels.images:
        if image.size is None and with_sizes:
            raise InputError(
                f"{labels.path}: image {image.image_id} has no height and width. Name the folder "
                "of the images, whose files have them: `img_dir`, in a command --img-dir FOLDER."
            )
        entry: dict[str, Any] = {"id": ids[image.image_id], "file_name": image.file_name}
        if image.size is not None:
            entry["height"], entry["width"] = image.size
        if (checked := labels.checked.get(image.image_id)) is not None:
            entry[ABSENT] = sorted(categories[word] for word in checked)
        images.append(entry)
    annotations: list[dict[str, Any]] = []
    for box in labels.boxes:
        # an area that is ignored for any category is written once for each of them
        for word in categories if box.category == ANY else [box.category]:
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": ids[box.image_id],
                    "category_id": categories[word],
                    "bbox": list(box.xywh),
                    "area": box.xywh[2] * box.xywh[3],
                    "iscrowd": int(box.iscrowd),
                }
            )
    return {
        "images": images,
        "annotations": annotations,
        "categories": [{"id": number, "name": name} for name, number in categories.items()],
    }
