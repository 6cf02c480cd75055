"""The labelled boxes of a set of images as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from autoeval.boxes import Boxes
from autoeval.io.labels.content import EVERYWHERE, LabelSet
from autoeval.notices import Notice

FARTHEST = 1e7  # pixels; no image is as wide, and beyond it boxes lose their digits
NO_BOXES = np.zeros((0, 4)), np.zeros(0, np.int64), np.zeros(0, bool)
"""Boxes, categories and crowds of an image without labels."""


def labelled_boxes(
    content: LabelSet,
    categories: Sequence[str] | None = None,
    words: Mapping[str, str] | None = None,
) -> Boxes:
    """Take the boxes of an annotation file, of all its categories or of those that count.

    `words` gives the category of each word of the file that counts; by default each is its own.
    What cannot be used is `left_out`.
    """
    categories = tuple(content.categories if categories is None else categories)
    words = {name: name for name in categories} if words is None else words
    place = {image.image_id: k for k, image in enumerate(content.images)}
    index = {name: k for k, name in enumerate(categories)}
    boxes = [box for box in content.boxes if words.get(box.category) in index]
    xywh = np.array([box.xywh for box in boxes], np.float64).reshape(-1, 4)
    with np.errstate(over="ignore"):
        xyxy = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], axis=1)
    truth = Boxes(
        content.images,
        categories,
        np.array([place[box.image_id] for box in boxes], np.int64),
        np.array([index[words[box.category]] for box in boxes], np.int64),
        xyxy,
        crowd=np.array([box.iscrowd for box in boxes], bool),
    )
    huge = ~(np.abs(xyxy) < FARTHEST).all(axis=1)
    flat = ~huge & np.any(xyxy[:, 2:] <= xyxy[:, :2], axis=1)
    kinds = {f"with an edge beyond {FARTHEST:.0e} pixels": huge, "without area": flat}
    notices = tuple(
        Notice(
            "label-boxes-unusable",
            f"labelled boxes {kind}, left out: {bad.sum()}",
            severity="note",
        )
        for kind, bad in kinds.items()
        if bad.any()
    )
    return replace(truth.where(~(huge | flat)), left_out=notices)


def ignoring_unchecked(
    truth: Boxes, content: LabelSet, found: Boxes, words: Mapping[str, str] | None = None
) -> Boxes:
    """Ignore found boxes of categories that nobody looked for in their image.

    The rule of LVIS (Gupta et al. 2019, section 3.2): such a box is neither right nor wrong. An
    area that evaluation ignores is added for each image and category that has one.

    `words` is as in `labelled_boxes`; `found` are boxes on the same images, of the same categories.
    """
    if not content.checked:
        return truth
    words = {name: name for name in truth.categories} if words is None else words
    of_category: dict[str, list[str]] = {name: [] for name in truth.categories}
    for word in content.categories:
        if words.get(word) in of_category:
            of_category[words[word]].append(word)
    pairs = np.unique(np.stack([found.image, found.label], axis=1), axis=0)
    ignored = np.array(
        [
            bool(content.unchecked(truth.images[image].image_id, of_category[name]))
            for image, label in pairs.tolist()
            for name in [truth.categories[label]]
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
        truth,
        image=np.append(truth.image, pairs[:, 0]),
        label=np.append(truth.label, pairs[:, 1]),
        boxes=np.concatenate([truth.boxes, areas]),
        scores=np.append(truth.scores, np.ones(n)),
        crowd=np.append(truth.crowd, np.ones(n, bool)),
        left_out=(*truth.left_out, note),
    )
