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
    """Whether an object has such a list by the file name of each image.

    Without a box in any of them its keys tell them from the fields of another object, such as
    ``images`` and ``annotations`` of a COCO file that lists nothing.

    Parameters
    ----------
    found : object
        Any object; an empty one is none.

    Examples
    --------
    >>> is_of_pipeline_by_name({"a.jpg": [], "b.jpg": []}), is_of_pipeline_by_name({"images": []})
    (True, False)
    """
    if not isinstance(found, Mapping) or not all(map(is_of_pipeline, found.values())):
        return False
    named = len(found) > 0 and not any(str(name).isidentifier() for name in found)
    return named or any(found.values())


def corners_of(found: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Return left, top, right and bottom edge of each box of an image, as they stand there.

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
            "bbox": _bbox(corners),
            "score": one["score"],
        }
        for name, of_image in found.items()
        for one, corners in zip(of_image, corners_of(of_image), strict=True)
    ]
    return {"images": [{"id": name, "file_name": name} for name in found], "annotations": rows}


def _bbox(corners: Sequence[Any]) -> list[float] | None:
    """Return left, top, width and height; None where an edge is no number."""
    try:
        left, top, right, bottom = map(float, corners)
    except (TypeError, ValueError):
        return None
    return [left, top, right - left, bottom - top]
