"""Images that may go into a split of one's own, out of any set of boxes or points."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autoeval.data.coco import image_path, read_coco
from autoeval.errors import InputError
from autoeval.metasets.seed_set import load_seed_set


@dataclass(frozen=True, eq=False)
class Candidate:
    """An image and the objects of one kind in it.

    Parameters
    ----------
    path : Path
    name : str
        Of the item, with the suffix of the file.
    object_name : str
        Plural of what is counted, for the question.
    boxes : ndarray of shape (N, 4), float64
        Objects as xyxy, pixels; a point is a box without area.
    """

    path: Path
    name: str
    object_name: str
    boxes: np.ndarray

    @property
    def points(self) -> np.ndarray:
        """Centres (N, 2) of the objects."""
        return (self.boxes[:, :2] + self.boxes[:, 2:]) / 2


def coco_candidates(
    ann_file: str | os.PathLike[str], img_dir: str | os.PathLike[str]
) -> tuple[list[Candidate], list[str]]:
    """List every (image, category) of a COCO file; crowds are left out.

    Returns
    -------
    tuple of list of Candidate and list of str
        The candidates, and what was wrong with the file.
    """
    names = read_coco(ann_file).categories
    seed_set = load_seed_set("own", ann_file, img_dir, names, {name: name for name in names})
    found = []
    for image in seed_set.images:
        for label in np.unique(image.labels):
            keep = (image.labels == label) & ~image.iscrowd
            kind = names[label]
            name = f"{image.path.stem}_{kind.replace(' ', '-')}{image.path.suffix}"
            found.append(Candidate(image.path, name, f"{kind}s", image.boxes[keep]))
    return found, list(seed_set.problems)


def point_candidates(
    path: str | os.PathLike[str], img_dir: str | os.PathLike[str], *, object_name: str = "objects"
) -> tuple[list[Candidate], list[str]]:
    """List the images of a point set.

    Parameters
    ----------
    path : path-like
        JSON object: image name -> ``{"points": [[x, y], ...], "object": plural}``. FSC-147's
        annotation file has this form, without ``object``.
    img_dir : path-like
    object_name : str
        For images that name no object.

    Raises
    ------
    InputError
        If the file has another form.
    """
    try:
        entries = json.loads(Path(path).read_text(encoding="utf-8")).items()
        found = [
            Candidate(
                image_path(Path(img_dir), name),
                name,
                entry.get("object", object_name),
                np.tile(np.array(entry["points"], float).reshape(-1, 2), 2),
            )
            for name, entry in entries
        ]
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f'Expected {path} to map image names to {{"points": [[x, y], ...]}}: {error!r}.'
        ) from None
    return found, []
