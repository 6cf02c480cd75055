"""Sample sets: the images and labels that a recipe makes from a seed set, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from autoeval.data.image_header import read_header
from autoeval.data.images import UnreadableImageError, read_image
from autoeval.data.same_files import path_stamp
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.metasets.seed_set import ImageRecord, SeedSet, named_rng

if TYPE_CHECKING:
    from autoeval.metasets.recipe import Recipe

NO_PIXELS = np.zeros((0, 0, 3), np.uint8)


@dataclass(frozen=True, eq=False)
class Sample:
    """One image (H, W, 3), uint8, BGR, of a sample set with its labels.

    `boxes` (N, 4) float64 are xyxy, pixels, inside the image; `labels` (N,) index into the
    categories of the seed set.
    """

    image_id: str
    image: np.ndarray
    boxes: np.ndarray
    labels: np.ndarray
    iscrowd: np.ndarray


class Samples(Protocol):
    """Images that are made when asked for, in another thread, one after the other.

    Raises `UnreadableImageError` for one that cannot be.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Sample: ...


class FileSamples(Samples, Protocol):
    """Samples of which something is known without reading their files."""

    def stamp(self, index: int, /) -> str:
        """Return what changes when the pixels of a sample may have changed."""

    def unread(self, index: int, /) -> Sample:
        """Return a sample without its pixels."""


class SampleSet:
    """The images and labels a recipe makes; each is made when asked for, always the same.

    `records` are the images before they are transformed, in the recipe's order.
    """

    def __init__(self, seed_set: SeedSet, recipe: Recipe) -> None:
        if recipe.seed_set != seed_set.name:
            raise InputError(
                f"The recipe is of seed set {recipe.seed_set!r}, not {seed_set.name!r}."
            )
        by_id = {record.image_id: record for record in seed_set.images}
        missing = [image_id for image_id in recipe.image_ids if image_id not in by_id]
        if missing:
            raise InputError(
                f"Recipe {recipe.recipe_id} names {len(missing)} images that seed set "
                f"{seed_set.name!r} lacks (ids {listed(missing)}). Was the seed set changed?"
            )
        self.seed_set, self.recipe = seed_set, recipe
        self.records = tuple(by_id[image_id] for image_id in recipe.image_ids)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Sample]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> Sample:
        """Make one image with its labels, or raise `UnreadableImageError` of it alone."""
        record = self.records[index]
        image, boxes = _read(record), record.boxes
        kept = np.arange(len(boxes))
        if self.recipe.steps:
            from autoeval.metasets.transforms import apply_step
        for number, step in enumerate(self.recipe.steps):
            rng = named_rng(self.recipe.seed, record.image_id, number)
            visible = self.recipe.min_visibility
            image, boxes, left = apply_step(step, image, boxes, rng=rng, min_visibility=visible)
            kept = kept[left]
        return Sample(record.image_id, image, boxes, record.labels[kept], record.iscrowd[kept])

    def stamp(self, index: int) -> str:
        """Return what changes with the file of an image, or with the size that its labels give."""
        record = self.records[index]
        return f"{record.width} x {record.height} {path_stamp(record.path)}"

    def unread(self, index: int) -> Sample:
        """Return an image without pixels; with steps, where its labels go depends on the pixels."""
        if self.recipe.steps:
            raise ValueError(f"Recipe {self.recipe.recipe_id} changes its images: read them.")
        record = self.records[index]
        return Sample(record.image_id, NO_PIXELS, record.boxes, record.labels, record.iscrowd)


def _read(record: ImageRecord) -> np.ndarray:
    image = read_image(record.path)
    if image.shape[:2] != (record.height, record.width):
        height, width = image.shape[:2]
        header = read_header(record.path)
        turned = " once turned by its EXIF orientation" if header and header.turned else ""
        raise UnreadableImageError(
            record.path,
            f"is {width} x {height} pixels{turned} where its annotation says {record.width} x "
            f"{record.height}, so its boxes cannot be trusted",
        )
    return image
