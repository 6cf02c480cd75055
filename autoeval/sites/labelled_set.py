"""A labelled set: boxes and truth of one site, from any source of boxes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from typing_extensions import Self

from autoeval.accuracy.average_precision import RankedDetections
from autoeval.accuracy.coco_matching import (
    Matches,
    image_ranks,
    match_categories,
    rank_categories,
    top_detections,
)
from autoeval.accuracy.mean_ap import coco_summary
from autoeval.errors import TooFewLabelsError
from autoeval.io.labels.truth import NO_BOXES, Truth
from autoeval.io.predictions import FoundBoxes
from autoeval.io.predictions.box_checks import copies, copies_left_out, labels_of_truth
from autoeval.io.wording import listed
from autoeval.notices import Notice, prefixed
from autoeval.sites.label_warnings import label_warnings
from autoeval.sites.pool import Pool
from autoeval.sites.reference_statistics import ReferenceStatistics
from autoeval.sites.site_boxes import SiteBoxes

FEWEST_IMAGES, FEWEST_BOXES = 5, 8  # of a category of a labelled set


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """Boxes and truth of one site, in the categories of `truth`.

    statistics: of the boxes in the detector's own words; its warnings are those of this set.
    everywhere: whether it is of a task, whose categories are evaluated on all its images; otherwise
        each is on those that hold it.
    trained_here: whether the detector was trained on other images of this site.
    stored_pool: the clean boxes with features of passes that `boxes` does not hold.
    """

    name: str
    group: str
    boxes: SiteBoxes
    truth: Truth
    statistics: ReferenceStatistics
    everywhere: bool = False
    left_out: tuple[str, ...] = ()
    trained_here: bool = False
    stored_pool: Pool | None = None

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.boxes)

    @cached_property
    def content_key(self) -> str:
        """Digest of its boxes and labels, in whatever order and whatever they are called."""
        digest, boxes = hashlib.sha256(), self.boxes.clean
        for rows in (np.column_stack([boxes.boxes, boxes.scores]), self.truth.boxes):
            digest.update(np.ascontiguousarray(rows[np.lexsort(rows.T)]).tobytes())
        return digest.hexdigest()

    @cached_property
    def pool(self) -> Pool:
        """The boxes as evaluation takes them, with their features."""
        return self.boxes.as_pool() if self.stored_pool is None else self.stored_pool

    @cached_property
    def pool_matches(self) -> Matches:
        """The `matches` of the boxes of the pool."""
        clean = self.boxes.clean
        return self.matches.of(top_detections(clean.image, clean.label, clean.scores))

    @cached_property
    def matches(self) -> Matches:
        """Which clean boxes are true positives and which are ignored, (10, N) each."""
        return match_categories(self.boxes.clean, self.truth)

    @cached_property
    def rankings(self) -> list[RankedDetections]:
        """Ranked clean boxes of each category, with its labels."""
        return rank_categories(self.boxes.clean, self.truth, self.matches)

    @cached_property
    def reference_rankings(self) -> list[RankedDetections]:
        """Ranked boxes of the reference detector in each category, with its labels."""
        assert self.boxes.reference is not None
        return rank_categories(self.boxes.reference, self.truth)

    @cached_property
    def coco_accuracy(self) -> dict[str, float]:
        """``mAP``, ``mAP50`` and ``mAP75`` as pycocotools prints them: over all images and labels.

        The mean over the categories that have a label; NaN where none has.
        """
        labelled = [ranking for ranking in self.rankings if ranking.n_true.any()]
        precision = np.array([ranking.average_precision() for ranking in labelled])
        return coco_summary(precision.mean(axis=0) if len(labelled) else np.full(10, np.nan))

    @property
    def enough(self) -> list[bool]:
        """Whether each category has labels enough to be a pair of the regression."""
        return [is_labelled_enough(ranking.n_true) for ranking in self.rankings]

    @property
    def right_at_half(self) -> np.ndarray:
        """Average precision at IoU .5 of the categories with labels enough."""
        pairs = zip(self.rankings, self.enough, strict=True)
        every = [
            ranking.average_precision()[0]
            for ranking, enough in pairs
            if enough and ranking.n_true.any()
        ]
        return np.array(every or [np.nan])

    def noting(self, note: str) -> Self:
        """Return the same with one more line of what was left out."""
        return self.changed(left_out=(*self.left_out, note))

    def above(self, floor: float) -> Self:
        """Return the same without the boxes of the clean pass that score lower.

        Boxes are matched from the most confident one on, so those that stay match as before.
        """
        kept = self.boxes.clean.scores >= floor
        boxes = replace(self.boxes, clean=self.boxes.clean.where(kept))
        made = replace(self, boxes=boxes)
        made.__dict__["matches"] = self.matches.of(kept)
        if boxes.reference is not None:
            made.__dict__["reference_rankings"] = self.reference_rankings
        return made

    def on_images(self, chosen: np.ndarray) -> Self:
        """Keep some images, (k,) int in rising order; the statistics stay those of all.

        Images are matched one by one, so that matches stay as they are.
        """
        kept = np.isin(self.boxes.clean.image, chosen)
        parts = {
            name: part.on_images(chosen)
            for name in ("boxes", "truth", "stored_pool")
            if (part := getattr(self, name)) is not None
        }
        made = replace(self, **parts)
        made.__dict__["matches"] = self.matches.of(kept)
        return made

    def at_most(self, most: int) -> Self:
        """Keep so many images, drawn by a fixed seed, where there are more.

        Drawn by the order of their ids: in which order a file lists them changes nothing.
        """
        if len(self) <= most:
            return self
        drawn = np.random.default_rng(0).choice(len(self), most, replace=False)
        ranks = image_ranks([image.image_id for image in self.truth.images])
        return self.on_images(np.flatnonzero(np.isin(ranks, drawn)))

    def changed(self, **fields: Any) -> Self:
        """Return the same with other fields than boxes and truth, and what is computed of these."""
        other = replace(self, **fields)
        other.__dict__.update({name: getattr(self, name) for name in ("matches", "rankings")})
        return other


def is_labelled_enough(n_true: np.ndarray) -> bool:
    """Whether a category with so many labelled boxes in each image can be a source of a fit."""
    return bool(np.count_nonzero(n_true) >= FEWEST_IMAGES and n_true.sum() >= FEWEST_BOXES)


def too_few_labels(source: str) -> TooFewLabelsError:
    """Return the error of a labelled set none of whose categories is labelled enough."""
    return TooFewLabelsError(
        f"No category of {source} has {FEWEST_BOXES} boxes in {FEWEST_IMAGES} images: label "
        "more images."
    )


def labelled_set(
    boxes: SiteBoxes,
    truth: Truth,
    *,
    name: str,
    group: str | None = None,
    everywhere: bool = False,
    statistics: ReferenceStatistics | None = None,
    left_out: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> LabelledSet:
    """Evaluate a labelled set without the copies among its images, and check labels against boxes.

    group: origin that it shares with other sets; its own name by default.
    statistics: of the boxes in the detector's own words; by default those of `boxes`.
    """
    statistics = statistics or ReferenceStatistics.of(boxes.clean)
    later = copies(boxes.clean, labels_of_truth(truth))
    if len(later):
        kept = np.setdiff1d(np.arange(len(boxes)), later)
        boxes, truth = boxes.on_images(kept), truth.on_images(kept)
        left_out = (*left_out, *copies_left_out(len(later)))
    made = LabelledSet(
        name,
        name if group is None else group,
        boxes,
        truth,
        statistics,
        everywhere,
        (*left_out, *truth.warnings),
    )
    if not any(made.enough):
        raise too_few_labels(name)
    messages = [*warnings, *label_warnings(boxes.clean, truth, made.rankings, name)]
    made = made.changed(statistics=made.statistics.warning(*prefixed(name, messages)))
    categories = zip(truth.categories, made.rankings, made.enough, strict=True)
    rare = [name for name, ranking, enough in categories if ranking.n_true.any() and not enough]
    if rare:
        made = made.noting(
            Notice(
                "categories-rarely-labelled",
                f"categories with fewer than {FEWEST_BOXES} boxes or in fewer than {FEWEST_IMAGES} "
                f"images, left out: {len(rare)} ({listed(rare)})",
                severity="note",
            )
        )
    return made


def truth_of_samples(
    detected: FoundBoxes, labels: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> Truth:
    """Lay out the labels of the images of `detected`.

    labels: of each image boxes (N, 4) as xyxy in pixels, categories (N,) and crowds (N,).
    """
    parts = [*labels, NO_BOXES]
    image = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    boxes, label, crowd = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Truth(detected.images, detected.categories, image, label, boxes, crowd)
