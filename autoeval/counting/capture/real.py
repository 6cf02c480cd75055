"""The real split: FSC-147 images, the released boxes, and a black rectangle (appendix B)."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.counting.capture.render import clip_box, paint_box
from autoeval.counting.capture.split import (
    OCCLUDED,
    ORIGINAL,
    CaptureSplit,
    annotated_points,
    box_record,
    open_split,
    read_records,
    to_items,
    write_image,
    write_metadata,
)
from autoeval.counting.praco.published_sets import read_classes
from autoeval.counting.true_counts import GroundTruth, read_truth
from autoeval.errors import InputError
from autoeval.io.image_lists import image_path
from autoeval.io.images import read_image
from autoeval.runtime.files import PathLike, atomic_path, write_text
from autoeval.runtime.progress import progress_bar

WARNINGS = "warnings.txt"


def build_real(
    metadata: PathLike,
    images: PathLike,
    folder: PathLike,
    *,
    classes: PathLike | None = None,
    annotations: PathLike | None = None,
) -> CaptureSplit:
    """Build the occluded images of the real split.

    `metadata` is released, `images` FSC-147's ``images_384_VarV2``, in whose pixels the boxes are.
    Object names that differ from `classes` and true counts that differ from `annotations` (both of
    FSC-147) become warnings; the points of `annotations` go to items without. Items that cannot be
    built are left out, boxes beyond the image clipped; both are named.
    """
    records, warnings = read_records(metadata), list[str]()
    to_items(records)
    names = read_classes(Path(classes)) if classes else {}
    if annotations is not None:
        records, warnings = with_points(records, read_truth(annotations))
    kept: list[dict[str, Any]] = []
    with progress_bar(len(records), "Occluding") as bar:
        for record in records:
            name, called = record["image_file"], record["object"] if names else None
            if names and name not in names:
                warnings.append(f"{name}: not an image of FSC-147")
            elif names and names[name] != called:
                warnings.append(f"{name}: called '{called}' here and '{names[name]}' in FSC-147")
            try:
                kept.append(_build(record, Path(images), Path(folder), warnings))
            except InputError as error:
                warnings.append(f"{name}: left out: {error}")
            bar.update()
    if not kept:
        raise InputError(f"None of the {len(records)} items could be built. {warnings[0]}")
    write_text(Path(folder) / WARNINGS, "".join(f"{line}\n" for line in warnings))
    write_metadata(folder, kept)
    return replace(open_split(folder), warnings=tuple(warnings))


def with_points(
    records: Sequence[dict[str, Any]], truth: GroundTruth
) -> tuple[list[dict[str, Any]], list[str]]:
    """Give points to the records that have none, and say where true counts differ."""
    completed, warnings = [], []
    for record in records:
        name = str(record["image_file"])
        image = truth.images.get(name)
        if image is None or image.points is None:
            warnings.append(f"{name}: not in the annotations")
        elif image.count != record["ground_truth"]:
            warnings.append(
                f"{name}: its true count is {record['ground_truth']}, but the annotations have "
                f"{image.count:.0f} points"
            )
        if image is not None and image.points is not None and annotated_points(record) is None:
            record = {**record, "positions": image.points.tolist()}
        completed.append(record)
    return completed, warnings


def _build(
    record: dict[str, Any], images: Path, folder: Path, warnings: list[str]
) -> dict[str, Any]:
    name = record["image_file"]
    source = image_path(images, name)
    image = read_image(source)
    height, width = image.shape[:2]
    item = to_items([record])[0]
    if item.box is None:
        raise InputError("it has no bbox")
    box = clip_box(item.box, width, height)
    if np.any(box[2:] <= box[:2]):
        raise InputError(f"its box {item.box.tolist()} lies outside the {width}x{height} image")
    if np.any(box != item.box):
        warnings.append(f"{name}: its box reached beyond the {width}x{height} image; clipped")
    if item.points is None:
        warnings.append(f"{name}: it has no object points, so the oracle tasks leave it out")
    with atomic_path(folder / ORIGINAL / name) as temporary:
        shutil.copyfile(source, temporary)
    write_image(folder / OCCLUDED / name, paint_box(image, box))
    return {**record, "bbox": box_record(box)}
