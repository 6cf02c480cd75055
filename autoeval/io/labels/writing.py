"""Writing labels as a COCO annotation file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autoeval.errors import InputError
from autoeval.io.labels.content import ANY, LabelledBox, LabelSet
from autoeval.runtime.files import PathLike, write_text


def write_coco(labels: LabelSet, path: PathLike) -> None:
    """Write labels in COCO's object detection format, atomically.

    Unlabelled images are left out. Ids that are numbers stay; others become the images' positions
    from 1. File names stay relative to the image folder of the labels.
    """
    write_text(Path(path), json.dumps(coco_document(labels)))


def coco_document(labels: LabelSet, *, with_sizes: bool = True) -> dict[str, Any]:
    """Return the content of the file that `write_coco` writes.

    Unless `with_sizes`, height and width are left out where they are unknown.
    """
    ids = _ids(labels)
    categories = {name: number for number, name in enumerate(labels.categories, 1)}
    images = []
    for image in labels.images:
        if image.size is None and with_sizes:
            raise InputError(f"{labels.path}: image {image.image_id} has no height and width.")
        size = dict(zip(("height", "width"), image.size or (), strict=False))
        images.append({"id": ids[image.image_id], "file_name": image.file_name, **size})
    annotations = [
        {
            "id": number,
            "image_id": ids[box.image_id],
            "category_id": category,
            "bbox": list(box.xywh),
            "area": box.xywh[2] * box.xywh[3],
            "iscrowd": int(box.iscrowd),
        }
        for number, (box, category) in enumerate(_each_category(labels, categories), 1)
    ]
    return {
        "images": images,
        "annotations": annotations,
        "categories": [{"id": number, "name": name} for name, number in categories.items()],
    }


def _each_category(
    labels: LabelSet, categories: dict[str, int]
) -> Iterator[tuple[LabelledBox, int]]:
    """Write an area that is ignored for any category once for each of them."""
    for box in labels.boxes:
        for number in categories.values() if box.category == ANY else (categories[box.category],):
            yield box, number


def _ids(labels: LabelSet) -> dict[str, int]:
    names = [image.image_id for image in labels.images]
    if all(name.isdecimal() for name in names):
        return {name: int(name) for name in names}
    return {name: number for number, name in enumerate(names, 1)}
