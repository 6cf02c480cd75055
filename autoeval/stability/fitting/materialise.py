"""Writing a sample set to disk: a COCO data set and a contact sheet."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import cv2
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from tqdm import tqdm

from autoeval.boxes import as_xywh
from autoeval.errors import InputError
from autoeval.io.images import UnreadableImageError
from autoeval.io.tasks.seed_set import Sample, SeedSet
from autoeval.runtime.files import atomic_path, write_json
from autoeval.stability.fitting.meta_set import seed_set_digest
from autoeval.stability.metasets.recipe import Recipe, SampleSet, own_images

_COLOURS = ((255, 220, 0), (0, 220, 255), (255, 80, 200), (120, 255, 80))
_WIDTH = 3.2  # of a cell, inches
_HEIGHT = 2.7
_CAPTION = 0.6  # height of the text in it
LONGEST_NAME = 200  # characters of a file name, of which file systems take 255


def materialise(sample_set: SampleSet, folder: Path, bar: tqdm | None = None) -> tuple[str, ...]:
    """Write the images of a sample set and ``annotations.json``.

    Images are PNG, so that no pixel changes. Ids are numbers where all are written as such, else
    texts: pycocotools sorts them. The annotations come last: where they exist the sample
    set is complete and nothing is done, unless images, labels or categories of the seed set have
    changed since, when all is made again; where they do not, all images are written: those that are
    there may be of files that have changed since.

    Parameters
    ----------
    sample_set : SampleSet
        The images and labels to make.
    folder : Path
        Where they go.
    bar : tqdm, optional
        Advanced by each image.

    Returns
    -------
    tuple of str
        Images that could not be read and are left out, and why.

    Raises
    ------
    InputError
        If no image can be read.
    """
    ann_file = folder / "annotations.json"
    words = enumerate(sample_set.seed_set.categories, 1)
    categories = [{"id": number, "name": name} for number, name in words]
    data = seed_set_digest(replace(sample_set.seed_set, images=tuple(sample_set.records)))
    if ann_file.exists():
        made = json.loads(ann_file.read_text(encoding="utf-8"))
        if made["info"].get("data") == data and made["categories"] == categories:
            if bar is not None:
                bar.update(len(sample_set))
            return tuple(made["info"].get("warnings", ()))
        for name in ("annotations.json", *(image["file_name"] for image in made["images"])):
            (folder / name).unlink(missing_ok=True)
    names = [record.image_id for record in sample_set.records]
    as_numbers = all(name.isdecimal() and str(int(name)) == name for name in names)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    warnings = []
    for index in range(len(sample_set)):
        try:
            sample = sample_set[index]
        except UnreadableImageError as error:
            warnings.append(str(error))
        else:
            image_id = int(sample.image_id) if as_numbers else sample.image_id
            images.append({"id": image_id, **_write_image(sample, folder)})
            annotations += _annotations(sample, image_id, len(annotations) + 1)
        if bar is not None:
            bar.update()
    if not images:
        raise InputError(f"No image of {folder.name} can be read. {warnings[0]}")
    content = {
        "info": {"recipe": sample_set.recipe.to_dict(), "data": data, "warnings": warnings},
        "images": images,
        "annotations": annotations,
        "categories": categories,
    }
    write_json(ann_file, content, indent=None)
    return tuple(warnings)


def _write_image(sample: Sample, folder: Path) -> dict[str, Any]:
    name = quote(sample.image_id, safe="")
    if len(name) > LONGEST_NAME:  # as of ids in Japanese, each sign of which takes nine
        name = hashlib.sha256(name.encode()).hexdigest()
    path = folder / f"{name}.png"
    done, content = cv2.imencode(".png", sample.image)
    assert done, "OpenCV encodes every 8-bit image as PNG"
    with atomic_path(path) as temporary:
        temporary.write_bytes(content.tobytes())
    height, width = sample.image.shape[:2]
    return {"file_name": path.name, "width": width, "height": height}


def _annotations(sample: Sample, image_id: int | str, first_id: int) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "image_id": image_id,
            "category_id": int(label) + 1,
            "bbox": box.tolist(),
            "area": float(box[2] * box[3]),
            "iscrowd": int(crowd),
        }
        for number, (box, label, crowd) in enumerate(
            zip(as_xywh(sample.boxes), sample.labels, sample.iscrowd, strict=True), first_id
        )
    ]


def contact_sheet(
    seed_sets: Sequence[SeedSet],
    recipes: Sequence[Sequence[Recipe]],
    *,
    n_columns: int = 4,
    bar: tqdm | None = None,
) -> Figure:
    """Draw one image of each seed set beside what its first sample sets make of such images.

    Boxes are drawn in a colour for each category, crowds with thin lines; the transforms stand
    above each image.

    Parameters
    ----------
    seed_sets : sequence of SeedSet
        One a row.
    recipes : sequence of sequence of Recipe
        Of each seed set.
    n_columns : int
        Sample sets to show, at most.
    bar : tqdm, optional
        Advanced by each image.
    """
    n_columns = 1 + min(n_columns, max(map(len, recipes)))
    width, height = _WIDTH * n_columns, _HEIGHT * len(seed_sets)
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    figure.subplots_adjust(
        0.01, 0.1 / height, 0.99, 1 - _CAPTION / height, 0.03, _CAPTION / _HEIGHT
    )
    grid = figure.subplots(len(seed_sets), n_columns, squeeze=False)
    for axis in grid.ravel():
        axis.axis("off")
    for row, seed_set, sets in zip(grid, seed_sets, recipes, strict=True):
        shown = [own_images(seed_set), *sets[: n_columns - 1]]
        for axis, recipe in zip(row, shown, strict=False):
            caption = f"{seed_set.name}\n{len(recipe.image_ids)} images"
            if recipe.steps:
                caption = "\n".join(map(str, recipe.steps))
            axis.set_title(caption, fontsize=7, weight="normal" if recipe.steps else "bold")
            sample_set = SampleSet(seed_set, recipe)
            labelled = (i for i, record in enumerate(sample_set.records) if len(record.boxes))
            try:
                axis.imshow(_picture(sample_set, next(labelled, 0)))
            except UnreadableImageError as error:
                axis.text(0.5, 0.5, f"unreadable:\n{error.path.name}", ha="center", fontsize=7)
            if bar is not None:
                bar.update()
    return figure


def _picture(sample_set: SampleSet, index: int, width: int = 480) -> np.ndarray:
    sample = sample_set[index]
    scale = width / sample.image.shape[1]
    picture = cv2.resize(sample.image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    picture = np.ascontiguousarray(picture[..., ::-1])
    corners = (sample.boxes * scale).round().astype(int).tolist()
    for (x1, y1, x2, y2), label, crowd in zip(corners, sample.labels, sample.iscrowd, strict=True):
        colour = _COLOURS[label % len(_COLOURS)]
        cv2.rectangle(picture, (x1, y1), (x2, y2), colour, 1 if crowd else 2)
    return picture
