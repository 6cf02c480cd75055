"""The images of a plan in a folder, ready to be labelled."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from autoeval.data.image_header import read_header
from autoeval.data.labels.content import LabelledBox, LabelledImage, LabelSet
from autoeval.data.labels.writing import coco_document
from autoeval.data.unlabelled import UnlabelledImage
from autoeval.labels.annotation_file import name_images
from autoeval.labels.plan import LabelPlan
from autoeval.labels.plan_file import save_plan
from autoeval.runtime.files import atomic_path
from autoeval.runtime.writers import write_json

SURE = 0.3  # boxes of the detector over it are offered
IMAGES, EMPTY = "images", "annotations.json"


def write_to_label(
    plan: LabelPlan, images: Mapping[str, UnlabelledImage], folder: Path, *, prelabel: bool = False
) -> list[Path]:
    """Copy the drawn images into a folder, with an annotation file that names them.

    What the annotation file of an earlier, smaller plan holds by now is kept.

    Parameters
    ----------
    plan : LabelPlan
    images : mapping of str to UnlabelledImage
        By their names.
    folder : Path
    prelabel : bool
        Offer the detector's boxes, too: ``prelabels_coco.json`` (CVAT: COCO 1.0) and
        ``prelabels_label_studio.json`` (Label Studio: tasks with predictions). People who are
        shown boxes leave more of them as they are than they should.

    Returns
    -------
    list of Path
        What was written.
    """
    drawn = [plan.found.images[k] for k in plan.drawn]
    named = [
        LabelledImage(
            i.image_id, _file_name(images[i.image_id]), i.size or _size(images[i.image_id])
        )
        for i in drawn
    ]
    for image in named:
        _copy(images[image.image_id], folder / IMAGES / image.file_name)
    empty = LabelSet(folder / EMPTY, tuple(named), plan.found.categories)
    written = [folder / IMAGES, name_images(empty, folder / EMPTY)]
    if prelabel:
        boxes = _sure_boxes(plan, named)
        with_boxes = LabelSet(folder / EMPTY, tuple(named), plan.found.categories, tuple(boxes))
        written += [
            write_json(folder / "prelabels_coco.json", coco_document(with_boxes)),
            write_json(folder / "prelabels_label_studio.json", label_studio(plan, named)),
        ]
    return written


def write_plan(
    plan: LabelPlan,
    folder: Path,
    images: Iterable[UnlabelledImage] = (),
    *,
    prelabel: bool = False,
) -> list[Path]:
    """Write a plan, and the folder to label where the images are at hand.

    Parameters
    ----------
    plan : LabelPlan
    folder : Path
    images : iterable of UnlabelledImage
        The drawn ones among them are copied; without them the annotation file names the images.
    prelabel : bool
        See `write_to_label`.

    Returns
    -------
    list of Path
        What was written.
    """
    written = save_plan(plan, folder)
    files = {image.image_id: image for image in images}
    if all(plan.found.images[k].image_id in files for k in plan.drawn):
        return written + write_to_label(plan, files, folder, prelabel=prelabel)
    drawn = [plan.found.images[k] for k in plan.drawn]
    named = tuple(LabelledImage(i.image_id, i.file_name, i.size) for i in drawn)
    empty = LabelSet(folder / EMPTY, named, plan.found.categories)
    return [*written, name_images(empty, folder / EMPTY)]


def label_studio(plan: LabelPlan, named: list[LabelledImage]) -> list[dict[str, Any]]:
    """Return the detector's boxes as tasks with predictions, coordinates in percent.

    The labelling interface is one with ``<Image name="image">`` and
    ``<RectangleLabels name="label" toName="image">``. Source: Label Studio's documentation,
    "Import pre-annotated data".
    """
    tasks = []
    for image, (size, rows) in zip(named, _rows(plan), strict=True):
        height, width = size
        scale = 100 / np.array([width, height, width, height])
        results = [
            {
                "type": "rectanglelabels",
                "from_name": "label",
                "to_name": "image",
                "original_width": width,
                "original_height": height,
                "score": float(plan.found.scores[row]),
                "value": {
                    **dict(zip(("x", "y", "width", "height"), xywh * scale, strict=True)),
                    "rotation": 0,
                    "rectanglelabels": [plan.found.categories[plan.found.label[row]]],
                },
            }
            for row, xywh in rows
        ]
        predictions = [{"model_version": plan.detector, "result": results}]
        data = {"image": f"/data/local-files/?d={IMAGES}/{image.file_name}"}
        tasks.append({"data": data, "predictions": predictions})
    return tasks


def _sure_boxes(plan: LabelPlan, named: list[LabelledImage]) -> list[LabelledBox]:
    found = plan.found
    return [
        LabelledBox(image.image_id, found.categories[found.label[row]], tuple(xywh.tolist()))
        for image, (_, rows) in zip(named, _rows(plan), strict=True)
        for row, xywh in rows
    ]


def _rows(plan: LabelPlan) -> list[tuple[tuple[int, int], list[tuple[int, np.ndarray]]]]:
    """For each drawn image its size, and the number and box xywh of each sure box."""
    found, parts = plan.found, []
    for k in plan.drawn:
        rows = np.flatnonzero((found.image == k) & (found.scores > SURE))
        boxes = found.boxes[rows].astype(np.float64)
        boxes[:, 2:] -= boxes[:, :2]
        size = found.images[k].size or (1, 1)
        parts.append((size, list(zip(rows.tolist(), boxes, strict=True))))
    return parts


def _file_name(image: UnlabelledImage) -> str:
    name = PurePosixPath(image.image_id)
    path = getattr(image, "path", None)
    own = path is not None and getattr(image, "time_s", None) is None
    return name.as_posix() if own and name.suffix else f"{name.as_posix()}{_suffix(path, own)}"


def _size(image: UnlabelledImage) -> tuple[int, int] | None:
    """Read height and width, where the predictions do not come with them."""
    path = getattr(image, "path", None)
    header = read_header(path) if path is not None else None
    return (header.height, header.width) if header else None


def _suffix(path: Path | None, own: bool) -> str:
    return path.suffix if own and path is not None else ".png"


def _copy(image: UnlabelledImage, target: Path) -> None:
    path = getattr(image, "path", None)
    with atomic_path(target) as temporary:
        if path is not None and getattr(image, "time_s", None) is None:
            shutil.copyfile(path, temporary)
        else:
            import cv2

            cv2.imwrite(str(temporary), image.read())
