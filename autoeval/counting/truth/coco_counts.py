"""True counts from boxes in COCO's format."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from autoeval.counting.counters.vocabulary import find_category
from autoeval.counting.truth.ground_truth import GroundTruth, ImageTruth
from autoeval.data.coco import read_coco
from autoeval.data.labels.content import LabelSet
from autoeval.data.wording import listed
from autoeval.errors import InputError


def read_coco_counts(path: Path, category: str | None = None) -> GroundTruth:
    """Count the boxes of each image; their centres are the points.

    Parameters
    ----------
    path : Path
        Annotation file.
    category : str, optional
        Counts this one, singular or plural; all categories together by default.

    Raises
    ------
    InputError
        If the file is malformed, or has no such category.
    """
    content = read_coco(path)
    wanted = {*content.categories} if category is None else {_category(path, category, content)}
    centres: dict[str, list[tuple[float, float]]] = {im.image_id: [] for im in content.images}
    crowds: dict[str, int] = {}
    for box in content.boxes:
        if box.category in wanted and box.iscrowd:
            crowds[box.image_id] = crowds.get(box.image_id, 0) + 1
        elif box.category in wanted:
            x, y, width, height = box.xywh
            centres[box.image_id].append((x + width / 2, y + height / 2))
    notes = (
        f"{sum(crowds.values())} boxes that mark a crowd were not counted (image ids: "
        f"{listed(list(crowds))})"
    )
    images = {
        im.image_id: ImageTruth(
            float(len(centres[im.image_id])),
            np.array(centres[im.image_id], np.float64).reshape(-1, 2),
            im.size,
        )
        for im in content.images
    }
    names = {im.image_id: im.file_name for im in content.images}
    return GroundTruth(images, (notes,) if crowds else (), names)


def _category(path: Path, category: str, content: LabelSet) -> str:
    try:
        return content.categories[find_category(category, content.categories)]
    except InputError:
        raise InputError(
            f"{path} has no category '{category}', or several that it could mean: its categories "
            f"are {listed(content.categories, most=100) or 'none'}."
        ) from None
