"""Labelled sites: what label assistance is fitted on."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from typing_extensions import Self

from autoeval.data.labels.content import LabelledImage
from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import FoundBoxes, read_predictions
from autoeval.data.predictions.reading import file_of
from autoeval.errors import InputError
from autoeval.metrics.average_precision import RankedDetections, influence_function
from autoeval.metrics.coco_matching import match_categories, rank_categories, top_detections
from autoeval.metrics.weighted_matching import match_weighted
from autoeval.sites.pool import Pool

MODEL, PSEUDO, REFERENCE = "model", "pseudo", "reference"
CONFIDENT = 0.3  # pseudo-labels over it count as labels
FOUND = ("image", "label", "boxes", "scores")
LABELLED = ("image", "label", "boxes", "crowd")


@dataclass(frozen=True, eq=False)
class ProbableLabels:
    """Boxes of another detector on the images of a pool, in its categories, as labels.

    probabilities (N,): that each is an object.
    kind: `PSEUDO`, the confident boxes of a second detector, or `REFERENCE`, calibrated ones.
    """

    boxes: FoundBoxes
    probabilities: np.ndarray
    kind: str = REFERENCE

    @classmethod
    def of_confident(cls, found: FoundBoxes) -> Self:
        """Take confident boxes for certain."""
        sure = found.where(found.scores > CONFIDENT)
        return cls(sure, np.ones(len(sure)), PSEUDO)

    def rankings(self, found: FoundBoxes) -> list[RankedDetections]:
        """Rank the boxes of a detector in each category, with these as labels."""
        own, n_images = self.boxes, len(found.images)
        order = np.lexsort((found.image, -found.scores, found.label))
        image, label = found.image[order], found.label[order]
        n_categories = len(found.categories)
        hits = match_weighted(
            found.boxes[order],
            n_categories * image + label,
            own.boxes,
            n_categories * own.image + own.label,
            self.probabilities,
        )
        ranked = []
        for k in range(n_categories):
            rows, mine = np.flatnonzero(label == k), own.label == k
            n_true = np.bincount(own.image[mine], self.probabilities[mine], minlength=n_images)
            scores = found.scores[order][rows]
            ranked.append(RankedDetections.of(scores, image[rows], hits[:, rows], n_true))
        return ranked

    def disagreement(self, found: FoundBoxes, right: np.ndarray) -> np.ndarray:
        """Return the expected number of boxes of each image on which the detectors disagree, (M,).

        right (N,): probability that each of the detector's boxes `found` is right at IoU .5. A box
        counts by how much this differs from what the other detector gives it, 0 where that has no
        box there; an unmatched box of the other by its probability.
        """
        own, n_images, n_categories = self.boxes, len(found.images), len(found.categories)
        order = np.lexsort((found.image, -found.scores, found.label))
        matched = match_weighted(
            found.boxes[order],
            n_categories * found.image[order] + found.label[order],
            own.boxes,
            n_categories * own.image + own.label,
            self.probabilities,
        )[0]
        image = found.image[order]
        differing = np.bincount(image, np.abs(right[order] - matched), minlength=n_images)
        there = np.bincount(own.image, self.probabilities, minlength=n_images)
        unmatched = there - np.bincount(image, matched, minlength=n_images)
        return np.asarray(differing + np.maximum(unmatched, 0))


def control_variates(
    expected: RankedDetections, second: RankedDetections | None = None, kind: str = PSEUDO
) -> dict[str, np.ndarray]:
    """Predict the influence of M images on the average precision of a category, (10, M) each.

    `expected` ranks the boxes with probabilities in place of labels, see `BoxModel.rankings`, the
    second with the boxes of another detector, see `ProbableLabels`; that prediction gets the
    standard deviation of the first: where that detector finds little, each of its boxes would count
    for too much. Returns `MODEL`, and `kind` where there is a second; 0 where no object is
    expected.
    """
    first = np.nan_to_num(influence_function(expected))
    if second is None:
        return {MODEL: first}
    other = np.nan_to_num(influence_function(second))
    own = other.mean(axis=0).std()
    return {MODEL: first, kind: other * (first.mean(axis=0).std() / own if own > 0 else 0.0)}


@dataclass(frozen=True, eq=False)
class LabelledSite:
    """A pool whose images are all labelled; sites of one origin share their family."""

    name: str
    family: str
    pool: Pool
    truth: Truth
    others: ProbableLabels | None = None  # boxes of another detector

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
    """Read what `pack_site` wrote; InputError if it is something else."""
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
        found = FoundBoxes(images, categories, image, label, boxes, scores, {})
        image, label, boxes, crowd = (arrays[f"true_{column}"] for column in LABELLED)
        truth = Truth(images, categories, image, label, boxes, crowd)
        pool = Pool(found, arrays["features"].astype(np.float64), tuple(described["names"]))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"The boxes of source '{name}' cannot be read: {error}.") from error
    return LabelledSite(name, family, pool, truth)


def read_pseudo_labels(
    file: str | os.PathLike[str], pool: FoundBoxes, words: Mapping[str, str] | None = None
) -> ProbableLabels:
    """Read the predictions of a second detector on the images of a pool, in its categories.

    The file holds COCO results, see `read_predictions`; `words` has the category of the pool for
    each word of the second detector that counts, by default equal words. Raises InputError if the
    file cannot be read, is of other images, or has none of the words.
    """
    found = read_predictions(file, images=pool.images, where="the pool")
    words = words or {name: name for name in pool.categories}
    known = {word: name for word, name in words.items() if name in pool.categories}
    own = found.as_categories(pool.categories, known)
    best = own.where(top_detections(own.image, own.label, own.scores))
    return ProbableLabels.of_confident(best)


def with_pseudo_labels(
    site: LabelledSite, folder: Path, words: Mapping[str, str] | None = None
) -> LabelledSite:
    """Add the predictions of a second detector on the images of a site.

    The folder holds, at any depth, one COCO results file a site: ``NAME.json``; InputError if there
    is none, or several. For `words` see `read_pseudo_labels`.
    """
    file = file_of(site.name, folder)
    return replace(site, others=read_pseudo_labels(file, site.pool.found, words))
