"""The labelled boxes of a whole set of images as columns: one row a box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from typing_extensions import Self

from autoeval.io.labels.content import EVERYWHERE, LabelledImage, LabelSet
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
        mask = np.asarray(mask)
        if mask.dtype == bool and mask.all():
            return self
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

    def ignoring_unchecked(
        self, content: LabelSet, found: BoxColumns, words: Mapping[str, str] | None = None
    ) -> Truth:
        """Ignore found boxes of categories that nobody looked for in their image.

        The rule of LVIS (Gupta et al. 2019, section 3.2): such a box is neither right nor wrong. An
        area that evaluation ignores is added for each image and category that has one.

        content: the labels; `words` as in `of`. found: boxes on the same images, of the same
            categories.
        """
        if not content.checked:
            return self
        words = {name: name for name in self.categories} if words is None else words
        of_category: dict[str, list[str]] = {name: [] for name in self.categories}
        for word in content.categories:
            if words.get(word) in of_category:
                of_category[words[word]].append(word)
        pairs = np.unique(np.stack([found.image, found.label], axis=1), axis=0)
        ignored = np.array(
            [
                bool(content.unchecked(self.images[image].image_id, of_category[name]))
                for image, label in pairs.tolist()
                for name in [self.categories[label]]
            ],
            bool,
        )
        pairs, n = pairs[ignored], int(ignored.sum())
        left, top, width, height = EVERYWHERE
        areas = np.tile([left, top, left + width, top + height], (n, 1))
        note = Notice(
            "labels-not-exhaustive",
            "the labels say of each image which categories were looked for: boxes of others are "
            f"ignored there, in {n} pairs of image and category",
            severity="note",
        )
        return replace(
            self,
            image=np.append(self.image, pairs[:, 0]),
            label=np.append(self.label, pairs[:, 1]),
            boxes=np.concatenate([self.boxes, areas]),
            crowd=np.append(self.crowd, np.ones(n, bool)),
            warnings=(*self.warnings, note),
        )
