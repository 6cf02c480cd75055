"""Writing a sample set to disk as a COCO data set, for other programs and for the eye."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import cv2
import numpy as np
from tqdm import tqdm

from autoeval.data.images import UnreadableImageError
from autoeval.errors import InputError
from autoeval.metasets.sample_set import Sample, SampleSet
from autoeval.runtime.files import atomic_path
from autoeval.runtime.writers import write_json


def materialise(sample_set: SampleSet, folder: Path, bar: tqdm | None = None) -> tuple[str, ...]:
    """Write the images (PNG, so that no pixel changes) and ``annotations.json``.

    The annotations come last: where they exist the sample set is complete and nothing is done;
    where they do not, images that are there already are not written again.

    Parameters
    ----------
    sample_set : SampleSet
        What to write.
    folder : Path
        Where to, made as needed. Images get the name of their image id.
    bar : tqdm, optional
        Progress bar to move on by one for every image.

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
    if ann_file.exists():
        if bar is not None:
            bar.update(len(sample_set))
        return tuple(json.loads(ann_file.read_text(encoding="utf-8"))["info"]["problems"])
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    problems = []
    for index in range(len(sample_set)):
        try:
            sample = sample_set[index]
        except UnreadableImageError as error:
            problems.append(str(error))
        else:
            images.append(_write_image(sample, folder))
            annotations += _annotations(sample, images[-1]["id"], len(annotations) + 1)
        if bar is not None:
            bar.update()
    if not images:
        raise InputError(f"No image of {folder.name} can be read. {problems[0]}")
    _write_annotations(ann_file, sample_set, images, annotations, problems)
    return tuple(problems)


def _write_image(sample: Sample, folder: Path) -> dict[str, Any]:
    path = folder / f"{quote(sample.image_id, safe='')}.png"
    if not path.exists():
        done, content = cv2.imencode(".png", sample.image)
        assert done, "OpenCV encodes every 8-bit image as PNG"
        with atomic_path(path) as temporary:
            temporary.write_bytes(content.tobytes())
    height, width = sample.image.shape[:2]
    image_id = int(sample.image_id) if sample.image_id.isdecimal() else sample.image_id
    return {"id": image_id, "file_name": path.name, "width": width, "height": height}


def _annotations(sample: Sample, image_id: int | str, first_id: int) -> list[dict[str, Any]]:
    xywh = np.concatenate([sample.boxes[:, :2], sample.boxes[:, 2:] - sample.boxes[:, :2]], axis=1)
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
            zip(xywh, sample.labels, sample.iscrowd, strict=True), first_id
        )
    ]


def _write_annotations(
    path: Path,
    sample_set: SampleSet,
    images: list[dict[str, Any]],
    annotations: list[dict[str, Any]],
    problems: list[str],
) -> None:
    content = {
        "info": {"recipe": sample_set.recipe.to_dict(), "problems": problems},
        "images": images,
        "annotations": annotations,
        "categories": [
            {"id": number, "name": name}
            for number, name in enumerate(sample_set.seed_set.categories, 1)
        ],
    }
    write_json(path, content, indent=None)
