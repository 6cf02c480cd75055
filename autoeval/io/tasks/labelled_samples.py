"""Labelled images as a pass takes them: read one at a time, when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from autoeval.io.images import UnreadableImageError, read_header, read_image
from autoeval.io.same_files import path_stamp
from autoeval.io.tasks.seed_set import ImageRecord, SeedSet, named_rng

NO_PIXELS = np.zeros((0, 0, 3), np.uint8)
MOST_IMAGES = 5000  # of a seed set that are observed as they are; as in BoS, section 4.1


@dataclass(frozen=True, eq=False)
class Sample:
    """One image (H, W, 3), uint8, BGR, with its labels.

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


class SeedSetSamples:
    """Images of a seed set as they are, in the order of its records.

    image_ids: which images; by default those of `own_image_ids`.
    """

    def __init__(self, seed_set: SeedSet, image_ids: Sequence[str] | None = None) -> None:
        by_id = {record.image_id: record for record in seed_set.images}
        chosen = own_image_ids(seed_set) if image_ids is None else image_ids
        self.seed_set = seed_set
        self.records = tuple(by_id[image_id] for image_id in chosen)

    @property
    def transformed(self) -> bool:
        """Whether the images differ from their files."""
        return False

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Sample]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> Sample:
        """Read one image with its labels, or raise `UnreadableImageError` of it alone."""
        record = self.records[index]
        image = read_record(record)
        return Sample(record.image_id, image, record.boxes, record.labels, record.iscrowd)

    def stamp(self, index: int) -> str:
        """Return what changes with the file of an image, or with the size that its labels give."""
        record = self.records[index]
        return f"{record.width} x {record.height} {path_stamp(record.path)}"

    def unread(self, index: int) -> Sample:
        """Return an image without pixels."""
        record = self.records[index]
        return Sample(record.image_id, NO_PIXELS, record.boxes, record.labels, record.iscrowd)


def read_record(record: ImageRecord) -> np.ndarray:
    """Read the image (H, W, 3) of a record; `UnreadableImageError` where its size is another."""
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


def own_image_ids(
    seed_set: SeedSet, *, n_images: int = MOST_IMAGES, seed: int = 0
) -> tuple[str, ...]:
    """Choose the images by which a seed set itself is observed, in the order of its records.

    Where it has more than `n_images`, so many are drawn without replacement.
    """
    return draw_images(seed_set.images, n_images, named_rng(seed, seed_set.name, "own images"))


def draw_images(
    images: Sequence[ImageRecord], n_images: int, rng: np.random.Generator
) -> tuple[str, ...]:
    """Draw images without replacement, all where there are fewer; their ids in rising order."""
    chosen = sorted(rng.choice(len(images), min(n_images, len(images)), replace=False))
    return tuple(images[i].image_id for i in chosen)
