"""Splits of a labelled data set, by the folders of its images."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import PurePosixPath

from autoeval.data.labels.content import LabelledImage, LabelSet

SPLITS = frozenset({"train", "val", "valid", "validation", "test"})


def split_of(image: LabelledImage) -> str:
    """Return the folder that names the split of an image, such as ``val``; empty without one.

    Examples
    --------
    >>> split_of(LabelledImage("1", "images/val/0001.jpg", None))
    'val'
    """
    folders = PurePosixPath(image.file_name.replace("\\", "/")).parts[:-1]
    return next((part for part in folders if part.lower() in SPLITS), "")


def of_splits(content: LabelSet, splits: Collection[str]) -> LabelSet:
    """Keep the images of some splits, and their boxes."""
    images = tuple(image for image in content.images if split_of(image) in splits)
    kept = {image.image_id for image in images}
    boxes = tuple(box for box in content.boxes if box.image_id in kept)
    return replace(content, images=images, boxes=boxes)
