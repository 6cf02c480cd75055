"""The file that names the images to label, which people then fill with what they draw."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from autoeval.data.json_file import read_json
from autoeval.data.labels.content import LabelSet
from autoeval.data.labels.writing import coco_document
from autoeval.errors import InputError
from autoeval.runtime.files import write_json


def name_images(labels: LabelSet, path: Path) -> Path:
    """Name images in a COCO file; where there is one, add them and keep all that it holds.

    Parameters
    ----------
    labels : LabelSet
        The images, without boxes.
    path : Path

    Raises
    ------
    InputError
        If the file that is there is no COCO annotation file.
    """
    document = coco_document(labels, with_sizes=False)
    if path.exists():
        document = _added(read_json(path, "annotation file"), document["images"], path)
    return write_json(path, document, indent=None)


def _added(there: Any, images: list[dict[str, Any]], path: Path) -> dict[str, Any]:
    try:
        known = {image["file_name"].replace("\\", "/") for image in there["images"]}
        ids = [image["id"] for image in there["images"]]
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"Expected {path} to be a COCO annotation file, in which to name the images. Move it "
            "away; `autoeval label estimate --labels` reads it from anywhere."
        ) from error
    new = [image for image in images if not {_last(image), image["file_name"]} & known]
    first = 1 + max((k for k in ids if isinstance(k, int)), default=0)
    named = [{**image, "id": first + k} for k, image in enumerate(new)]
    return {**there, "images": [*there["images"], *named]}


def _last(image: dict[str, Any]) -> str:
    return PurePosixPath(image["file_name"]).name
