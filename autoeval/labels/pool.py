"""A pool: the boxes of the images that an estimate is about, with their features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import Predictions
from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError
from autoeval.labels.box_features import box_features, feature_names
from autoeval.metrics.coco_matching import top_detections


@dataclass(frozen=True, eq=False)
class Pool:
    """N boxes on the M images that an estimate is about.

    Parameters
    ----------
    found : Predictions
        At most 100 boxes of a category in an image, as evaluation takes them.
    features : ndarray of shape (N, F)
        See `box_features`.
    names : tuple of str
        Of the columns.
    warnings : tuple of str
        What was assumed.
    """

    found: Predictions
    features: np.ndarray
    names: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.found.images)

    @property
    def image_ids(self) -> tuple[str, ...]:
        """Names of the images."""
        return tuple(image.image_id for image in self.found.images)

    def columns(self, names: Sequence[str]) -> np.ndarray:
        """Return some features of all boxes, (N, len(names))."""
        return self.features[:, [self.names.index(name) for name in names]]


def pool_of_predictions(
    clean: Predictions,
    half_size: Predictions | None = None,
    perturbed: Sequence[Predictions] = (),
) -> Pool:
    """Make a pool of the boxes of one or more passes.

    Parameters
    ----------
    clean : Predictions
        Boxes that the estimate is about. An image of unknown size counts as large as the boxes of
        all such images reach, which is a warning of the pool.
    half_size : Predictions, optional
        Of the same images and categories, at half the size.
    perturbed : sequence of Predictions
        The same under feature dropout, one for each repeat.

    Raises
    ------
    InputError
        If there is no image.
    """
    if not clean.images:
        raise InputError("Expected a pool of at least one image but got none.")
    found = clean.where(top_detections(clean.image, clean.label, clean.scores))
    sizes, warnings = image_sizes(found)
    features = box_features(found, sizes, perturbed, half_size)
    passes = ("perturbed",) * bool(perturbed) + ("half_size",) * (half_size is not None)
    return Pool(found, features, feature_names(passes), warnings)


def pool_of_evidence(evidence: Sequence[Evidence], categories: Sequence[str]) -> Pool:
    """Make a pool of the evidence of each image, labelled by `categories`.

    A pass that some image lacks is left out.

    Raises
    ------
    InputError
        If there is no image.
    """
    images = tuple(LabelledImage(e.image_id, e.image_id, e.image_size) for e in evidence)
    repeats = min((len(e.perturbed) for e in evidence), default=0)
    perturbed = [[e.perturbed[k] for e in evidence] for k in range(repeats)]
    half_size = [e.half_size for e in evidence if e.half_size is not None]
    return pool_of_predictions(
        _columns(images, [e.clean for e in evidence], categories),
        _columns(images, half_size, categories) if len(half_size) == len(images) else None,
        [_columns(images, boxes, categories) for boxes in perturbed],
    )


def image_sizes(found: Predictions) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return height and width of each image, (M, 2), and what was assumed of unknown ones."""
    unknown = np.array([image.size is None for image in found.images])
    sizes = np.array([image.size or (1, 1) for image in found.images], np.float64)
    if not unknown.any():
        return sizes, ()
    sizes[unknown] = found.boxes[unknown[found.image], 2:].max(axis=0, initial=1)[::-1]
    height, width = sizes[unknown][0]
    warning = (
        f"height and width of {unknown.sum()} of {len(unknown)} images are unknown: they count as "
        f"{height:.0f} and {width:.0f} pixels, as far as their boxes reach. Boxes are described "
        "better by the true sizes: list the images in a COCO file that gives them"
    )
    return sizes, (warning,)


def _columns(
    images: tuple[LabelledImage, ...], boxes: Sequence[Detections], categories: Sequence[str]
) -> Predictions:
    counts = [len(found) for found in boxes]
    image = np.repeat(np.arange(len(counts)), counts)
    every = [*boxes, Detections.empty()]
    label, corners, scores = (
        np.concatenate([getattr(found, name) for found in every])
        for name in ("labels", "boxes", "scores")
    )
    return Predictions(images, tuple(categories), image, label, corners, scores, {})
