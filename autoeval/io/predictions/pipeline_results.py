"""What ``transformers.pipeline("object-detection")`` returns, as boxes and as a COCO document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

FIELDS = frozenset({"score", "label", "box"})
CORNERS = ("xmin", "ymin", "xmax", "ymax")


def is_of_pipeline(found: Any) -> bool:
    """Whether an object is what the pipeline returns of one image: a list with a dict a box.

    Parameters
    ----------
    found : object
        Any object; an empty list is one.

    Examples
    --------
    >>> box = {"xmin": 1, "ymin": 2, "xmax": 30, "ymax": 40}
    >>> is_of_pipeline([{"score": 0.9, "label": "car", "box": box}]), is_of_pipeline([box])
    (True, False)
    """
    return isinstance(found, list | tuple) and all(
        isinstance(one, Mapping)
        and one.keys() >= FIELDS
        and isinstance(one["box"], Mapping)
        and one["box"].keys() >= {*CORNERS}
        for one in found
    )


def is_of_pipeline_by_name(found: Any) -> bool:
    """Whether an object has such a list by the file name of each image, and a box in one of them.

    Parameters
    ----------
    found : object
        Any object.
    """
    is_by_name = isinstance(found, Mapping) and all(map(is_of_pipeline, found.values()))
    return is_by_name and any(found.values())


def corners_of(found: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Return left, top, right and bottom edge of each box of an image, whole pixels.

    Parameters
    ----------
    found : sequence of mapping
        What the pipeline returned of it.
    """
    return [[one["box"][corner] for corner in CORNERS] for one in found]


def document_of_pipeline(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the boxes as a COCO document, which lists all of the images.

    Parameters
    ----------
    found : mapping of str to sequence of mapping
        What the pipeline returned, by the file name of each image.
    """
    rows = [
        {
            "image_id": name,
            "category": one["label"],
            "bbox": [x1, y1, x2 - x1, y2 - y1],
            "score": one["score"],
        }
        for name, of_image in found.items()
        for one, (x1, y1, x2, y2) in zip(of_image, corners_of(of_image), strict=True)
    ]
    return {"images": [{"id": name, "file_name": name} for name in found], "annotations": rows}
