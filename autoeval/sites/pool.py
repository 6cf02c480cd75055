"""A pool: the boxes of the images that an estimate is about, with their features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from autoeval.accuracy.coco_evaluation import top_detections
from autoeval.boxes import Boxes, LabelledImage, overlapping_pairs
from autoeval.detections import CONFIDENT
from autoeval.errors import InputError
from autoeval.notices import Notice
from autoeval.words import listed

OF_BOX = (
    "score",
    "log_odds",
    "size",
    "aspect",
    "rank",
    "confident_boxes",
    "best_score",
    "overlap_above",
    "overlap_below",
    "at_edge",
)

EDGE = 3.0  # pixels
ANY = float(np.finfo(np.float64).tiny)  # smallest overlap


def box_features(boxes: Boxes, sizes: np.ndarray) -> np.ndarray:
    """Describe N boxes on M images, each among the others of its category in its image.

    `sizes` are height and width of each image in pixels, (M, 2), NaN where unknown.

    Columns of the result, (N, F), are `OF_BOX`: score and its log-odds; logarithm of the side
    relative to the image and of the aspect ratio; logarithm of the rank among the boxes of its
    category in the image and of the number of confident ones; the best score among them; the
    largest IoU with a more and a less confident one; whether the box ends at the edge. The side
    relative to an image of unknown size is NaN, and so is whether a box ends at the far edges of
    one.
    """
    sizes = sizes[boxes.image]
    scores = boxes.scores.astype(np.float64)
    inside = np.clip(scores, 1e-3, 1 - 1e-3)
    sides = (boxes.boxes[:, 2:] - boxes.boxes[:, :2]).astype(np.float64)
    width, height = np.maximum(sides, 1e-3).T
    side = 0.5 * np.log(np.clip(width * height / sizes.prod(axis=1), 1e-6, 1))
    aspect = np.clip(np.log(width / height), -3, 3)
    near = boxes.boxes[:, :2].min(axis=1) < EDGE
    far = (boxes.boxes[:, 2:] > sizes[:, ::-1] - EDGE).any(axis=1)
    at_edge = np.where(near | far, 1.0, np.where(np.isnan(sizes[:, 0]), np.nan, 0.0))
    of_one_box = [scores, np.log(inside / (1 - inside)), side, aspect]
    return np.stack([*of_one_box, *_of_its_group(boxes), at_edge], axis=1)


def _of_its_group(detected: Boxes) -> list[np.ndarray]:
    """Compare each box with those of its category in its image."""
    scores, n = detected.scores.astype(np.float64), len(detected)
    group = detected.image * len(detected.categories) + detected.label
    group = np.unique(group, return_inverse=True)[1]
    order = np.lexsort((-scores, group))
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n) - np.searchsorted(group[order], group[order])
    confident = np.bincount(group, scores > CONFIDENT, minlength=1)
    best = np.zeros(len(confident))
    np.maximum.at(best, group, scores)
    boxes = detected.boxes.astype(np.float64)
    a, b, overlap = overlapping_pairs(boxes, group, boxes, group, least=ANY)
    above, below = np.zeros(n), np.zeros(n)
    is_above, is_below = rank[b] < rank[a], rank[b] > rank[a]
    np.maximum.at(above, a[is_above], overlap[is_above])
    np.maximum.at(below, a[is_below], overlap[is_below])
    return [np.log1p(rank), np.log1p(confident[group]), best[group], above, below]


@dataclass(frozen=True, eq=False)
class Pool:
    """N boxes on the M images that an estimate is about."""

    found: Boxes  # at most 100 boxes of a category in an image, as evaluation takes them
    features: np.ndarray  # (N, F), see `box_features`
    names: tuple[str, ...]  # of its columns
    warnings: tuple[str, ...] = ()  # what was assumed

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.found.images)

    @property
    def image_ids(self) -> tuple[str, ...]:
        """Names of the images."""
        return tuple(image.image_id for image in self.found.images)

    def with_boxes_over(self, score_thr: float) -> Pool:
        """Keep the images with a box over a threshold: precision there depends on no other."""
        over = self.found.scores > self.found.scores.dtype.type(score_thr)
        images = np.unique(self.found.image[over])
        if len(images) == len(self):
            return self
        note = Notice(
            "images-without-box-over-threshold",
            f"{len(self) - len(images)} of {len(self)} images have no box over {score_thr:g}, and "
            "precision does not depend on them: none of them is drawn",
            severity="note",
        )
        return replace(self.on_images(images), warnings=(*self.warnings, note))

    def on_images(self, chosen: np.ndarray) -> Pool:
        """Keep some images, (k,) int in rising order, and their boxes."""
        kept = np.isin(self.found.image, chosen)
        return replace(self, found=self.found.on_images(chosen), features=self.features[kept])

    def columns(self, names: Sequence[str]) -> np.ndarray:
        """Return some features of all boxes, (N, len(names))."""
        return self.features[:, [self.names.index(name) for name in names]]


def pool_of_predictions(boxes: Boxes) -> Pool:
    """Make a pool of boxes; InputError if there is no image.

    Features that need the size of an image are NaN where that is unknown.
    """
    if not boxes.images:
        raise InputError("Expected a pool of at least one image but got none.")
    counted = boxes.where(top_detections(boxes.image, boxes.label, boxes.scores))
    return Pool(counted, box_features(counted, image_sizes(counted.images)), OF_BOX)


def image_sizes(images: Sequence[LabelledImage]) -> np.ndarray:
    """Return height and width of each image in pixels, (M, 2), NaN where they are unknown."""
    unknown = (np.nan, np.nan)
    return np.array([image.size or unknown for image in images], np.float64).reshape(-1, 2)


def unknown_sizes(boxes: Boxes) -> tuple[str, ...]:
    """Warn where the sizes of images with boxes are not known."""
    n_boxes = np.bincount(boxes.image, minlength=len(boxes.images))
    unknown = [
        image.file_name
        for image, n in zip(boxes.images, n_boxes, strict=True)
        if image.size is None and n
    ]
    if not unknown:
        return ()
    return (
        Notice(
            "image-sizes-unknown",
            f"height and width of {len(unknown)} of {np.count_nonzero(n_boxes)} images with boxes "
            f"are unknown ({listed(unknown, 3)}): how large boxes are relative to these images is "
            "not used. Name the folder of the images, or list them in a COCO file with sizes",
        ),
    )
