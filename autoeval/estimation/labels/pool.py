"""The boxes of a pool of images, as one pass leaves them, and what they look like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import Predictions
from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError
from autoeval.estimation.labels.box_features import box_features, feature_names
from autoeval.metrics.coco_matching import top_detections


@dataclass(frozen=True, eq=False)
class Pool:
    """N boxes on M images that an estimate is about.

    Parameters
    ----------
    found : Predictions
        At most 100 boxes of a category in an image, as evaluation takes them.
    features : ndarray of shape (N, F)
        See `box_features`.
    names : tuple of str
        Of the columns.
    """

    found: Predictions
    features: np.ndarray
    names: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.found.images)

    @property
    def image_ids(self) -> tuple[str, ...]:
        """Names of the images."""
        return tuple(image.image_id for image in self.found.images)


def pool_of_evidence(evidence: Sequence[Evidence], categories: Sequence[str]) -> Pool:
    """Make a pool of what a pass left behind.

    Parameters
    ----------
    evidence : sequence of Evidence
        Of each image, labelled by `categories`.
    categories : sequence of str

    Raises
    ------
    InputError
        If there is no image, or two have the same name.
    """
    if not evidence:
        raise InputError("Expected a pool of at least one image but got none.")
    images = tuple(LabelledImage(e.image_id, e.image_id, e.image_size) for e in evidence)
    found = _top(_columns(images, [e.clean for e in evidence], categories))
    dropout = all(e.perturbed for e in evidence)
    half_size = all(e.half_size is not None for e in evidence)
    features = [
        box_features(
            found.detections(k),
            e.image_size,
            e.perturbed if dropout else (),
            e.half_size if half_size else None,
        )
        for k, e in enumerate(evidence)
    ]
    names = feature_names(dropout=dropout, half_size=half_size)
    return Pool(found, np.concatenate(features), names)


def pool_of_predictions(found: Predictions) -> Pool:
    """Make a pool of a predictions file, where no other pass is known.

    Raises
    ------
    InputError
        If the size of an image is not known.
    """
    found = _top(found)
    unknown = [image.file_name for image in found.images if image.size is None]
    if unknown:
        raise InputError(
            f"Expected the height and width of each image but {len(unknown)} have none (first: "
            f"{unknown[0]}). List the images in a COCO file that gives them."
        )
    features = [
        box_features(found.detections(k), image.size or (1, 1))
        for k, image in enumerate(found.images)
    ]
    return Pool(found, np.concatenate(features), feature_names(dropout=False, half_size=False))


def _top(found: Predictions) -> Predictions:
    return found.where(top_detections(found.image, found.label, found.scores))


def _columns(
    images: tuple[LabelledImage, ...], boxes: Sequence[Detections], categories: Sequence[str]
) -> Predictions:
    return Predictions(
        images,
        tuple(categories),
        np.repeat(np.arange(len(images)), [len(found) for found in boxes]),
        np.concatenate([found.labels for found in boxes]),
        np.concatenate([found.boxes for found in boxes]),
        np.concatenate([found.scores for found in boxes]),
        {},
    )
