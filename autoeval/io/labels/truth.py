"""The labelled boxes of a whole set of images as columns: one row a box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from typing_extensions import Self

from autoeval.io.labels.content import LabelledImage, LabelSet
from autoeval.notices import Notice

FARTHEST = 1e7  # pixels; no image is as wide, and beyond it boxes lose their digits
NO_BOXES = np.zeros((0, 4)), np.zeros(0, np.int64), np.zeros(0, bool)
"""Boxes, categories and crowds of an image without labels."""


@dataclass(frozen=True, eq=False)
class BoxColumns:
    """The N boxes of M images, those without a box included; its arrays have a row a box.

    `image` and `label` (N,) int64 index into `images` and `categories`; `boxes` (N, 4) are xyxy,
    pixels.
    """

    images: tuple[LabelledImage, ...]
    categories: tuple[str, ...]
    image: np.ndarray
    label: np.ndarray
    boxes: np.ndarray

    def __len__(self) -> int:
        return len(self.label)

    def where(self, mask: np.ndarray) -> Self:
        """Keep the boxes that a mask or an index array selects, and all images."""
        columns = {column.name: getattr(self, column.name) for column in fields(self)}
        chosen = {
            k: column[mask] for k, column in columns.items() if isinstance(column, np.ndarray)
        }
        return replace(self, **chosen)

    def on_images(self, chosen: Sequence[int] | np.ndarray) -> Self:
        """Keep the images of an index array without repetition, and their boxes."""
        chosen = np.asarray(chosen, np.int64)
        place = np.full(len(self.images), -1)
        place[chosen] = np.arange(len(chosen))
        kept = self.where(place[self.image] >= 0)
        images = tuple(self.images[k] for k in chosen)
        return replace(kept, images=images, image=place[kept.image])


@dataclass(frozen=True, eq=False)
class Truth(BoxColumns):
    """The labelled boxes of a set of images, float64.

    Evaluation ignores boxes that mark a `crowd` (N,). `warnings` say what was left out.
    """

    crowd: np.ndarray
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        content: LabelSet,
        categories: Sequence[str] | None = None,
        words: Mapping[str, str] | None = None,
    ) -> Truth:
        """Take the boxes of an annotation file, of all its categories or of those that count.

        `words` gives the category of each word of the file that counts; by default each is its own.
        """
        categories = tuple(content.categories if categories is None else categories)
        words = {name: name for name in categories} if words is None else words
        place = {image.image_id: k for k, image in enumerate(content.images)}
        index = {name: k for k, name in enumerate(categories)}
        boxes = [box for box in content.boxes if words.get(box.category) in index]
        xywh = np.array([box.xywh for box in boxes], np.float64).reshape(-1, 4)
        with np.errstate(over="ignore"):
            xyxy = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], axis=1)
        truth = cls(
            content.images,
            categories,
            np.array([place[box.image_id] for box in boxes], np.int64),
            np.array([index[words[box.category]] for box in boxes], np.int64),
            xyxy,
            np.array([box.iscrowd for box in boxes], bool),
        )
        huge = ~(np.abs(xyxy) < FARTHEST).all(axis=1)
        flat = ~huge & np.any(xyxy[:, 2:] <= xyxy[:, :2], axis=1)
        kinds = {f"with an edge beyond {FARTHEST:.0e} pixels": huge, "without area": flat}
        warnings = tuple(
            Notice(
                "label-boxes-unusable",
                f"labelled boxes {kind}, left out: {bad.sum()}",
                severity="note",
            )
            for kind, bad in kinds.items()
            if bad.any()
        )
        return replace(truth.where(~(huge | flat)), warnings=warnings)
