"""Seed sets: labelled data sets of one environment each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autoeval.data.coco import CocoBox, CocoFile, CocoImage, image_path, read_coco
from autoeval.data.wording import listed
from autoeval.errors import InputError

_FAULTS = {
    "flat": "boxes without area (zero or negative width or height), dropped",
    "outside": "boxes wholly outside their image, dropped",
    "clipped": "boxes that reached more than a pixel beyond their image, clipped",
}


@dataclass(frozen=True, eq=False)
class ImageRecord:
    """One labelled image.

    Parameters
    ----------
    image_id : str
        Its id in the annotation file.
    path : Path
        The image file.
    height, width : int
        Size in pixels.
    boxes : ndarray of shape (N, 4), float64
        Boxes as xyxy, pixels, inside the image.
    labels : ndarray of shape (N,), int64
        Index into the categories of the seed set.
    iscrowd : ndarray of shape (N,), bool
        Boxes that mark a crowd, which evaluation ignores.
    """

    image_id: str
    path: Path
    height: int
    width: int
    boxes: np.ndarray
    labels: np.ndarray
    iscrowd: np.ndarray


@dataclass(frozen=True, eq=False)
class SeedSet:
    """A labelled data set of one environment.

    Parameters
    ----------
    name : str
        Name of the environment.
    categories : tuple of str
        Categories of the task, which the labels index.
    images : tuple of ImageRecord
        Images that exist on disk, in the order of the annotation file.
    problems : tuple of str
        What was left out or repaired on the way, one sentence each.
    """

    name: str
    categories: tuple[str, ...]
    images: tuple[ImageRecord, ...]
    problems: tuple[str, ...] = ()

    @property
    def n_boxes(self) -> int:
        """Number of boxes, those that mark a crowd included."""
        return sum(len(image.boxes) for image in self.images)


def load_seed_set(
    name: str,
    ann_file: str | os.PathLike[str],
    img_dir: str | os.PathLike[str],
    categories: Sequence[str],
    mapping: Mapping[str, str],
) -> SeedSet:
    """Read a COCO-format data set as a seed set.

    Parameters
    ----------
    name : str
        Name of the environment.
    ann_file : path-like
        Annotation file in COCO's object detection format.
    img_dir : path-like
        Folder that the file names of the images are relative to.
    categories : sequence of str
        Categories of the task.
    mapping : mapping of str to str
        Category of the task for each category of the file that counts, for example
        ``{"car": "vehicle", "bus": "vehicle", "truck": "vehicle"}``.

    Returns
    -------
    SeedSet
        Boxes of categories outside the mapping, boxes without area, boxes outside their image and
        images missing on disk are left out, and boxes partly outside are clipped; its `problems`
        count and name them all.

    Raises
    ------
    InputError
        If the annotation file is malformed, the mapping does not fit it, a file name leaves the
        image folder, or no image is left.
    """
    content = read_coco(ann_file)
    _check_mapping(content, categories, mapping)
    problems: list[str] = []
    found = _find_images(content, Path(img_dir), problems)
    by_image: dict[str, list[CocoBox]] = {image.image_id: [] for image, _ in found}
    for box in _mapped(content, mapping, problems):
        by_image.get(box.image_id, []).append(box)
    index = {category: i for i, category in enumerate(categories)}
    labels = {category: index[target] for category, target in mapping.items()}
    faults: dict[str, Counter[str]] = {kind: Counter() for kind in _FAULTS}
    records = [
        _record(image, path, by_image[image.image_id], labels, faults) for image, path in found
    ]
    problems += [
        f"{what}: {faults[kind].total()} (image ids: {listed(faults[kind])})"
        for kind, what in _FAULTS.items()
        if faults[kind].total()
    ]
    return SeedSet(name, tuple(categories), tuple(records), tuple(problems))


def _check_mapping(
    content: CocoFile, categories: Sequence[str], mapping: Mapping[str, str]
) -> None:
    has = listed(content.categories, most=100) or "none"
    absent = [name for name in mapping if name not in content.categories]
    if absent or not mapping:
        raise InputError(
            f"The mapping of {content.path} must name categories of the file ({has}), "
            f"but it {f'names {listed(absent)}' if absent else 'is empty'}."
        )
    unknown = sorted({target for target in mapping.values() if target not in categories})
    if unknown:
        raise InputError(
            f"The mapping of {content.path} leads to {listed(unknown)}, "
            f"which the task does not have (its categories: {listed(categories, most=100)})."
        )


def _find_images(
    content: CocoFile, img_dir: Path, problems: list[str]
) -> list[tuple[CocoImage, Path]]:
    if not img_dir.is_dir():
        raise InputError(f"No image folder {img_dir} (for {content.path}): check the path.")
    placed = [(image, image_path(img_dir, image.file_name)) for image in content.images]
    missing = [image.file_name for image, path in placed if not os.path.isfile(path)]
    if len(missing) == len(placed):
        what = f"none of its {len(placed)} images is in {img_dir}" if placed else "lists no image"
        raise InputError(
            f"{content.path}: {what}{f' (first: {missing[0]})' if missing else ''}. "
            "Give the folder that its file names are relative to."
        )
    if missing:
        problems.append(f"images missing in {img_dir}: {len(missing)} ({listed(missing)})")
    return [(image, path) for image, path in placed if os.path.isfile(path)]


def _mapped(content: CocoFile, mapping: Mapping[str, str], problems: list[str]) -> list[CocoBox]:
    kept = [box for box in content.boxes if box.category in mapping]
    others = Counter(box.category for box in content.boxes if box.category not in mapping)
    if others:
        counts = [f"{category} {n}" for category, n in others.most_common()]
        problems.append(
            f"boxes of categories that the mapping lacks, left out: {others.total()} "
            f"({listed(counts, most=10)})"
        )
    return kept


def _record(
    image: CocoImage,
    path: Path,
    boxes: list[CocoBox],
    labels: Mapping[str, int],
    faults: Mapping[str, Counter[str]],
) -> ImageRecord:
    if image.size is None:
        raise InputError(f"Image {image.image_id} ({path}) has no height and width; COCO files do.")
    height, width = image.size
    xywh = np.array([box.xywh for box in boxes], np.float64).reshape(-1, 4)
    given = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], axis=1)
    clipped = given.clip(0, [width, height, width, height])
    flat = (xywh[:, 2:] <= 0).any(1)
    outside = ~flat & (clipped[:, 2:] <= clipped[:, :2]).any(1)
    kept = ~flat & ~outside
    beyond = kept & (np.abs(given - clipped) > 1).any(1)
    for kind, boxes_at_fault in (("flat", flat), ("outside", outside), ("clipped", beyond)):
        if boxes_at_fault.any():
            faults[kind][image.image_id] = int(boxes_at_fault.sum())
    return ImageRecord(
        image.image_id,
        path,
        height,
        width,
        boxes=clipped[kept],
        labels=np.array([labels[box.category] for box in boxes], np.int64)[kept],
        iscrowd=np.array([box.iscrowd for box in boxes], bool)[kept],
    )
