"""A real split of one's own: candidate images, and those with regular, occluded objects."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.counting.capture.real import PROBLEMS, Built
from autoeval.counting.capture.records import box_record
from autoeval.counting.capture.regularity import regularity
from autoeval.counting.capture.render import clip_box, paint_box
from autoeval.counting.capture.split import (
    OCCLUDED,
    ORIGINAL,
    open_split,
    write_image,
    write_metadata,
)
from autoeval.data.coco import image_path, read_coco
from autoeval.data.images import read_image
from autoeval.errors import InputError
from autoeval.metasets.seed_set import load_seed_set
from autoeval.runtime.files import atomic_path, write_text

TRIES = 200


@dataclass(frozen=True)
class ImageChoice:
    """Which images are taken and how they are occluded.

    Parameters
    ----------
    min_regularity : float
        Least `regularity` of the objects; .4 is beyond 99 of 100 random arrangements.
    min_objects : int
        Least number of objects.
    hidden_share : tuple of float
        Least and largest share of the objects behind the box. The released validation items hide
        15 to 43 % (first to last decile), never more than half.
    extent_kept : float
        Least share of the pattern's width, and of its height, that visible objects still span: a
        box that hides a whole outer row leaves nothing to infer it from.
    seed : int
        A box depends on the seed and the item's name alone.
    """

    min_regularity: float = 0.5
    min_objects: int = 8
    hidden_share: tuple[float, float] = (0.1, 0.5)
    extent_kept: float = 0.9
    seed: int = 0


def build_own(
    candidates: Iterable[Candidate],
    folder: str | os.PathLike[str],
    choice: ImageChoice | None = None,
) -> Built:
    """Choose regular images, occlude them and write both versions with their metadata.

    Parameters
    ----------
    candidates : iterable of Candidate
    folder : path-like
        Receives ``original/``, ``occluded/``, ``metadata.json`` and ``problems.txt``.
    choice : ImageChoice, optional

    Raises
    ------
    InputError
        If no candidate is regular enough.
    """
    choice = choice or ImageChoice()
    records: list[dict[str, Any]] = []
    problems: list[str] = []
    for candidate in candidates:
        try:
            records.append(_build(candidate, Path(folder), choice))
        except InputError as error:
            problems.append(f"{candidate.name}: {error}")
    if not records:
        raise InputError(
            f"None of {len(problems)} candidates can be used. {'; '.join(problems[:3])}. "
            "A lower --min-regularity or --min-objects takes more."
        )
    write_text(Path(folder) / PROBLEMS, "".join(f"{line}\n" for line in problems))
    write_metadata(folder, records)
    return Built(open_split(folder), tuple(problems))


def fair_box(
    boxes: np.ndarray, size: tuple[int, int], choice: ImageChoice, name: str
) -> np.ndarray:
    """Draw boxes until one is fair: see `ImageChoice`.

    Parameters
    ----------
    boxes : ndarray of shape (N, 4)
        Objects as xyxy.
    size : tuple of int
        Width and height of the image.
    choice : ImageChoice
    name : str
        Of the item; with the seed it decides the draws.

    Returns
    -------
    ndarray of shape (4,), int64
        The occluder as xyxy.

    Raises
    ------
    InputError
        If none of 200 draws is fair.
    """
    rng = np.random.default_rng([choice.seed, zlib.crc32(name.encode())])
    points = (boxes[:, :2] + boxes[:, 2:]) / 2
    span = np.ptp(points, axis=0) + np.median(boxes[:, 2:] - boxes[:, :2], axis=0)
    for _ in range(TRIES):
        half = np.maximum(span, span.max() / 4) * rng.uniform(0.15, 0.6, 2) / 2
        centre = rng.choice(points)
        drawn = np.rint(np.concatenate([centre - half, centre + half])).astype(np.int64)
        box = clip_box(drawn, *size)
        if _is_fair(points, hidden_by(boxes, box), choice):
            return box
    raise InputError(f"none of {TRIES} boxes leaves the pattern readable")


def hidden_by(boxes: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Say which objects (N, 4) the occluder (4,) covers at least in part; (N,) bool."""
    return np.all((boxes[:, :2] <= box[2:]) & (boxes[:, 2:] >= box[:2]), axis=1)


def _is_fair(points: np.ndarray, hidden: np.ndarray, choice: ImageChoice) -> bool:
    low, high = choice.hidden_share
    if not low <= hidden.mean() <= high:
        return False
    kept = np.ptp(points[~hidden], axis=0) >= choice.extent_kept * np.ptp(points, axis=0)
    return bool(kept.all())


def _build(candidate: Candidate, folder: Path, choice: ImageChoice) -> dict[str, Any]:
    n = len(candidate.boxes)
    if n < choice.min_objects:
        raise InputError(f"{n} objects, at least {choice.min_objects} wanted")
    regular = regularity(candidate.points)
    if regular < choice.min_regularity:
        raise InputError(f"regularity {regular:.2f}, at least {choice.min_regularity} wanted")
    image = read_image(candidate.path)
    box = fair_box(candidate.boxes, image.shape[1::-1], choice, candidate.name)
    hidden = hidden_by(candidate.boxes, box)
    with atomic_path(folder / ORIGINAL / candidate.name) as temporary:
        shutil.copyfile(candidate.path, temporary)
    write_image(folder / OCCLUDED / candidate.name, paint_box(image, box))
    return {
        "image_file": candidate.name,
        "object": candidate.object_name,
        "ground_truth": n,
        "num_occluded": int(hidden.sum()),
        "bbox": box_record(box),
        "positions": candidate.points.round(2).tolist(),
        "occluded": hidden.tolist(),
        "regularity": round(regular, 4),
        "source": candidate.path.name,
    }


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
    """List every (image, category) of a COCO file; crowds are left out."""
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
