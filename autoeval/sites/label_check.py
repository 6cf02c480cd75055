"""Labels of other images, or of resized ones: what every door that takes labels refuses."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from autoeval.boxes import Boxes, overlapping_pairs
from autoeval.detections import CONFIDENT
from autoeval.errors import InputError
from autoeval.io.wording import listed
from autoeval.notices import Notice, as_notice

FEWEST_IMAGES, FEWEST_BOXES = 10, 10  # labelled images with an object, and confident boxes on them
ON_LABEL, FEW_RIGHT = 0.5, 0.3
MOST_EXCHANGES = 20
SAME_SIZE, MOST_IMAGES = 0.02, 0.5
CONTRADICTED = frozenset(
    {"labels-of-other-size", "labels-elsewhere", "labels-displaced", "words-exchanged"}
)
"""Codes of warnings that labels may not be those of the boxes: no accuracy is reached with them."""


def check_labels(truth: Boxes, detectors: Sequence[Boxes], name: str = "") -> tuple[str, ...]:
    """Refuse labels that the boxes show to be of other images, or of resized ones.

    `truth` and the boxes of each detector are of the same images, in the same order. One detector
    whose boxes lie on the labels is enough to show that they belong together; `name` is that of the
    labels, where there are several. Returns a warning where the sizes of images differ and the
    boxes lie on the labels nonetheless.

    Raises
    ------
    InputError
        See `of_other_images` and `of_other_size`.
    """
    about = f"{name}: " if name else ""
    together = any(_mostly_on_labels(boxes, truth) for boxes in detectors)
    warnings = list(of_other_size(detectors[0], truth))
    if warnings and not together and warnings[0].severity == "refused":
        raise InputError(f"{about}{warnings[0].text}.")
    refused = [of_other_images(boxes, truth) for boxes in detectors]
    if all(refused):
        raise InputError(f"{about}{refused[0][0].text}.")
    return tuple(Notice(notice.code, notice.text) for notice in warnings)


def contradicted(warnings: Iterable[str]) -> bool:
    """Whether labels may not be those of the boxes, by the codes of warnings."""
    return any(as_notice(warning).code in CONTRADICTED for warning in warnings)


def of_other_images(boxes: Boxes, truth: Boxes) -> tuple[Notice, ...]:
    """Compare how often boxes lie on labels of their image and on those of another one.

    Counted are the most confident boxes over .3, as many as there are objects on the images that
    hold one, whatever their category, by an IoU of .5 with any label. Labels are of other images
    where less than a third are on one, and no more than at the best of 20 exchanges of the
    labels between images. docs/results/label_warnings.md has how often.
    """
    images = np.unique(truth.image[~truth.crowd])
    n, n_right = len(_surest(boxes, truth, images)), _n_on_labels(boxes, truth, images)
    if len(images) < FEWEST_IMAGES or n < FEWEST_BOXES or n_right > FEW_RIGHT * n:
        return ()
    turns = range(1, min(MOST_EXCHANGES, len(images) - 1) + 1)
    exchanged = [_n_on_labels(boxes, truth, images, turn) for turn in turns]
    if n_right > max(exchanged):
        return ()
    return (
        Notice(
            "labels-of-other-images",
            f"Labels and boxes do not belong together: of the {n} most confident boxes on "
            f"{len(images)} labelled images {n_right} lie on a labelled object (IoU .5), and "
            f"up to {max(exchanged)} do when images exchange their labels. Are the labels of these "
            "images, in pixels of them at this size, and do image ids or file names mean the same "
            "in both? If so, the detector finds nothing of what is labelled here, and its accuracy "
            "is near 0",
            severity="refused",
        ),
    )


def of_other_size(boxes: Boxes, truth: Boxes) -> tuple[Notice, ...]:
    """Compare the sizes of images that labels and boxes state, where both are known.

    Refused where they differ in more than half of the images, by more than 2 %.
    """
    pairs = [
        (labelled, image)
        for labelled, image in zip(truth.images, boxes.images, strict=True)
        if labelled.size and image.size
    ]
    different = [
        (labelled, image)
        for labelled, image in pairs
        if any(
            abs(math.log(a / b)) > SAME_SIZE
            for a, b in zip(labelled.size or (), image.size or (), strict=True)
        )
    ]
    if not different:
        return ()
    ratios = Counter(
        round(labelled.size[1] / image.size[1], 2)
        for labelled, image in different
        if labelled.size and image.size
    )
    (ratio, n_so), *_ = ratios.most_common(1)
    examples = [
        f"{labelled.file_name}: {_size(labelled.size)}, not {_size(image.size)}"
        for labelled, image in different[:3]
    ]
    same = f", {ratio:g} times as wide" if n_so == len(different) else ""
    return (
        Notice(
            "labels-of-other-size",
            f"In {len(different)} of {len(pairs)} labelled images the labels state another size "
            f"than that of the image{same} ({listed(examples)}). Expected labels in pixels of the "
            "images that the detector saw: multiply their boxes by the ratio of the sizes, or "
            "correct the width and height of the images",
            severity="refused" if len(different) > MOST_IMAGES * len(pairs) else "warning",
        ),
    )


def _size(size: tuple[int, int] | None) -> str:
    assert size is not None
    return f"{size[1]} x {size[0]}"


def _mostly_on_labels(boxes: Boxes, truth: Boxes) -> bool:
    """Whether more than a third of the most confident boxes lie on a label."""
    images = np.unique(truth.image[~truth.crowd])
    n = len(_surest(boxes, truth, images))
    return n > 0 and _n_on_labels(boxes, truth, images) > FEW_RIGHT * n


def _surest(boxes: Boxes, truth: Boxes, images: np.ndarray) -> np.ndarray:
    """Return the most confident boxes over .3 on some images, as many as there are objects."""
    rows = np.flatnonzero((boxes.scores > CONFIDENT) & np.isin(boxes.image, images))
    order = np.argsort(-boxes.scores[rows], kind="stable")
    return rows[order[: np.count_nonzero(~truth.crowd)]]


def _n_on_labels(boxes: Boxes, truth: Boxes, images: np.ndarray, turn: int = 0) -> int:
    """Count them on the labels of their image, or on those of the image `turn` places before."""
    rows = _surest(boxes, truth, images)
    place = np.full(len(truth.images), -1)
    place[images] = (np.arange(len(images)) + turn) % len(images)
    own = np.searchsorted(images, boxes.image[rows])
    kept = truth.where(np.isin(truth.image, images))
    on_label, _, _ = overlapping_pairs(
        boxes.boxes[rows].astype(np.float64),
        own,
        kept.boxes,
        place[kept.image],
        least=ON_LABEL,
        crowd=kept.crowd,
    )
    return len(np.unique(on_label))
