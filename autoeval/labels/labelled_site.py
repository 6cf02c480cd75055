"""Labelled sites: what label assistance is fitted on."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autoeval.data.labels.content import LabelledImage
from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions
from autoeval.errors import InputError
from autoeval.labels.pool import Pool
from autoeval.metrics.average_precision import RankedDetections
from autoeval.metrics.coco_matching import match_categories, rank_categories
from autoeval.metrics.influence import influence_function

FOUND = ("image", "label", "boxes", "scores")
LABELLED = ("image", "label", "boxes", "crowd")


@dataclass(frozen=True, eq=False)
class LabelledSite:
    """A pool whose images are all labelled.

    Parameters
    ----------
    name : str
    family : str
        Sites of one origin share it.
    pool : Pool
    truth : Truth
        Of the same images and categories.
    pseudo_labels : Predictions, optional
        Boxes of another detector on the same images.
    """

    name: str
    family: str
    pool: Pool
    truth: Truth
    pseudo_labels: Predictions | None = None

    @cached_property
    def rankings(self) -> list[RankedDetections]:
        """Ranked boxes of each category, with its labels."""
        return rank_categories(self.pool.found, self.truth)

    @cached_property
    def matches(self) -> tuple[np.ndarray, np.ndarray]:
        """Which boxes are true positives and which are ignored, (10, N) each."""
        return match_categories(self.pool.found, self.truth)


def true_influence(ranking: RankedDetections) -> np.ndarray:
    """Influence of each image on mAP, (N,)."""
    return influence_function(ranking).mean(axis=0)


def pack_site(pool: Pool, truth: Truth) -> bytes:
    """Write a pool and its labels as bytes, about 70 a box, so that they fit a row of a table."""
    found = {f"found_{name}": getattr(pool.found, name) for name in FOUND}
    true = {f"true_{name}": getattr(truth, name) for name in LABELLED}
    described = {
        "images": [(image.image_id, image.size) for image in pool.found.images],
        "categories": pool.found.categories,
        "names": pool.names,
    }
    text = np.frombuffer(json.dumps(described).encode(), np.uint8)
    buffer = io.BytesIO()
    features = pool.features.astype(np.float32)
    np.savez_compressed(buffer, described=text, features=features, **found, **true)
    return buffer.getvalue()


def unpack_site(content: bytes, name: str, family: str) -> LabelledSite:
    """Read what `pack_site` wrote.

    Raises
    ------
    InputError
        If it is something else.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = dict(stored)
        described = json.loads(arrays["described"].tobytes())
        images = tuple(
            LabelledImage(image_id, image_id, tuple(size) if size else None)
            for image_id, size in described["images"]
        )
        categories = tuple(described["categories"])
        image, label, boxes, scores = (arrays[f"found_{column}"] for column in FOUND)
        found = Predictions(images, categories, image, label, boxes, scores, {})
        image, label, boxes, crowd = (arrays[f"true_{column}"] for column in LABELLED)
        truth = Truth(images, categories, image, label, boxes, crowd)
        pool = Pool(found, arrays["features"].astype(np.float64), tuple(described["names"]))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"The boxes of source '{name}' cannot be read: {error}.") from error
    return LabelledSite(name, family, pool, truth)
