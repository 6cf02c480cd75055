"""Points from JSON: by image id, of FSC-147, or one file an image as NWPU-Crowd has them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autoeval.counting.truth.ground_truth import GroundTruth, ImageTruth, truth_of_points
from autoeval.errors import InputError


def truth_of_json(content: Any, path: Path) -> GroundTruth:
    """Read the points of one or many images.

    Parameters
    ----------
    content : Any
        One of: an object of lists of [x, y] by image id; an object of objects with ``points`` by
        image id, as FSC-147 (whose points are in pixels of its images of height 384); or
        NWPU-Crowd's object of one image, with ``img_id``, ``human_num`` and ``points``.
    path : Path
        Named in messages.

    Raises
    ------
    InputError
        If the content is none of these, or holds no image.
    """
    if isinstance(content, Mapping) and "points" in content:
        image_id = str(content.get("img_id", path.stem))
        return GroundTruth({image_id: _image(path, image_id, content)})
    if not isinstance(content, Mapping) or not content:
        raise InputError(f"{path}: expected an object with the points of each image by its id.")
    return GroundTruth({str(i): _image(path, str(i), entry) for i, entry in content.items()})


def _image(path: Path, image_id: str, entry: Any) -> ImageTruth:
    fields: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"points": entry}
    try:
        size = (int(fields["H"]), int(fields["W"])) if "H" in fields and "W" in fields else None
        truth = truth_of_points(fields["points"], size)
    except KeyError:
        raise InputError(f"{path}: image {image_id} has no field 'points'.") from None
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{path}: the points of image {image_id} are malformed: {error}."
        ) from None
    stated = fields.get("human_num", truth.count)
    if stated != truth.count:
        raise InputError(
            f"{path}: image {image_id} says human_num = {stated} but has {truth.count:.0f} points."
        )
    return truth
