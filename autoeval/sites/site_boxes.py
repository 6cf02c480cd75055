"""Boxes of one site as columns, of every pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from typing_extensions import Self

from autoeval.accuracy.coco_matching import MAX_DETECTIONS
from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError
from autoeval.io.labels.content import LabelledImage
from autoeval.io.predictions import FoundBoxes
from autoeval.model.calibration import FOUND, ScoreCalibration
from autoeval.notices import Notice
from autoeval.sites.pool import Pool, image_sizes, pool_of_predictions
from autoeval.sites.presence import Presence

LOW_FLOOR, HIGH_FLOOR = 0.05, 0.35
LITTLE = 0.01  # that few boxes begin over the score that they were exported from
FEWEST_FULL, MANY_FULL = 3, 0.1


@dataclass(frozen=True, eq=False)
class SiteBoxes:
    """The boxes of each pass over M images.

    blocks (M,), int64: block of time of each image; images of one block are dependent. Default:
        none.
    calibration, reference_calibration: of the clean boxes, and of those of a reference detector.
    reference_probabilities (R,): that each box of the reference is a true positive at IoU .5, by
        calibrations that have not seen the labels here; by default by `reference_calibration`.
    """

    clean: FoundBoxes
    reference: FoundBoxes | None = None
    blocks: np.ndarray | None = None
    calibration: ScoreCalibration | None = None
    reference_calibration: ScoreCalibration | None = None
    reference_probabilities: np.ndarray | None = None

    def __post_init__(self) -> None:
        boxes = self.reference
        if boxes is None:
            return
        if boxes.images != self.clean.images or boxes.categories != self.clean.categories:
            raise InputError("The reference predictions are of other images or categories.")

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.clean.images)

    @property
    def passes(self) -> frozenset[str]:
        """Passes beside the clean one, as scores need them."""
        return frozenset(() if self.reference is None else ("reference",))

    @cached_property
    def areas(self) -> np.ndarray:
        """Area of each image, (M,), square pixels; NaN where its size is not known."""
        return np.asarray(image_sizes(self.clean.images).prod(axis=1))

    def as_pool(self) -> Pool:
        """Return the clean boxes as evaluation takes them, with their features."""
        return pool_of_predictions(self.clean)

    @classmethod
    def of_evidence(
        cls,
        evidence: Sequence[Evidence],
        categories: Sequence[str],
        blocks: np.ndarray | None = None,
    ) -> Self:
        """Lay out what a detector left of each image, labelled by `categories`.

        A reference that some image lacks is left out.
        """
        images = tuple(
            LabelledImage(e.image_id, e.image_id, e.image_size if all(e.image_size) else None)
            for e in evidence
        )
        clean = columns_of([e.clean for e in evidence], images, categories)
        boxes = [e.reference for e in evidence if e.reference is not None]
        reference = columns_of(boxes, images, categories) if len(boxes) == len(images) else None
        return cls(clean, reference, blocks)

    def renumbered(self, clean: FoundBoxes) -> SiteBoxes:
        """Take the clean boxes with their category numbers read anew; see `category_numbers`."""
        return replace(self, clean=clean)

    @property
    def right_at_half(self) -> np.ndarray:
        """True-positive probability of each clean box at IoU .5, (N,)."""
        return self.calibrated.at_half(self.clean.scores, self.clean.boxes)

    @property
    def calibrated(self) -> ScoreCalibration:
        """The calibration of the clean boxes; refused where there is none."""
        if self.calibration is None:
            raise InputError("These boxes have no calibration: an estimator that was fitted has.")
        return self.calibration

    @property
    def reference_right(self) -> np.ndarray | None:
        """True-positive probability of each box of the reference at IoU .5, (R,), if known."""
        if self.reference is None or self.reference_calibration is None:
            return None
        if self.reference_probabilities is not None:
            return self.reference_probabilities
        return self.reference_calibration.at_half(self.reference.scores, self.reference.boxes)

    def images_with(self, category: int, probabilities: np.ndarray | None = None) -> np.ndarray:
        """Return the images on which a category is found, by this detector or the reference.

        probabilities (N,): of the clean boxes at IoU .5; by default `right_at_half`.
        """
        p = self.right_at_half if probabilities is None else probabilities
        rows, q = self.clean.rows_of(category), self.reference_right
        images = self.clean.image[rows[p[rows] > FOUND]]
        if self.reference is not None and q is not None:
            rows = self.reference.rows_of(category)
            images = np.append(images, self.reference.image[rows[q[rows] > FOUND]])
        return np.unique(images)

    def presence(self, present: Collection[str] = ()) -> Presence:
        """Return which categories count; `present` are those that are said to be there."""
        return Presence.of(self.clean.categories, self.clean.label, self.right_at_half, present)

    def on_images(self, chosen: Sequence[int] | np.ndarray) -> Self:
        """Keep the images of an index array without repetition, and their boxes."""
        blocks = None
        if self.blocks is not None:
            blocks = np.unique(self.blocks[chosen], return_inverse=True)[1]
        kept = self._each(lambda boxes: boxes.on_images(chosen))
        return replace(kept, blocks=blocks, reference_probabilities=None)

    def with_images(self, images: tuple[LabelledImage, ...]) -> Self:
        """Return the same with other descriptions of its images, such as their sizes."""
        return self._each(lambda boxes: replace(boxes, images=images))

    def knowing(self, names: Sequence[str]) -> Self:
        """Return the same with more categories, where it lacks them: without a box."""

        def change(boxes: FoundBoxes) -> FoundBoxes:
            more = [name for name in names if name not in boxes.categories]
            return replace(boxes, categories=(*boxes.categories, *more))

        return self._each(change)

    def as_categories(self, names: Sequence[str], words: Mapping[str, str]) -> Self:
        """Translate the detector's words into other categories; see `FoundBoxes`."""
        return self._each(lambda boxes: boxes.as_categories(names, dict(words)))

    def evidence(self, image: int, category: int) -> Evidence:
        """Return what the passes found of one category in one image."""
        only = np.full(len(self.clean.categories), -1)
        only[category] = category
        reference = None
        if self.reference is not None:
            reference = self.reference.detections(image).relabel(only)
        described = self.clean.images[image]
        clean = self.clean.detections(image).relabel(only)
        size = described.size or (0, 0)
        return Evidence(described.image_id, size, clean, reference=reference)

    @property
    def left_out(self) -> list[str]:
        """What was left out of the predictions of each pass."""
        of_reference = self.reference.left_out if self.reference is not None else ()
        return [*self.clean.left_out, *of_reference]

    def _each(self, change: Callable[[FoundBoxes], FoundBoxes]) -> Self:
        reference = None if self.reference is None else change(self.reference)
        return replace(self, clean=change(self.clean), reference=reference)


def columns_of(
    detections: Sequence[Detections], images: tuple[LabelledImage, ...], categories: Sequence[str]
) -> FoundBoxes:
    """Lay out the detections of each image as columns."""
    nothing = Detections.empty()
    parts = [*detections, nothing]
    return FoundBoxes(
        images,
        tuple(categories),
        np.repeat(np.arange(len(images)), [len(boxes) for boxes in detections]),
        np.concatenate([boxes.labels for boxes in parts]),
        np.concatenate([boxes.boxes for boxes in parts]),
        np.concatenate([boxes.scores for boxes in parts]),
        {},
    )


def check_floor(
    boxes: FoundBoxes, name: str, *, complete: bool = True, ran: bool = False
) -> tuple[str, ...]:
    """Warn of predictions whose low scores were left out; `ran`: of a detector run here."""
    if not boxes.floor > LOW_FLOOR + LITTLE:
        return ()
    where, advice = "in the file", "export from .01 on"
    if ran:
        where, advice = "over it", "lower its score threshold (`score_thr` of its `test_cfg`)"
    warning = Notice(
        "low-scores-missing",
        f"the lowest score in {name} is {boxes.floor:.3g}: boxes below it are missing, and "
        f"accuracy is that of the boxes {where}, which is lower than that of all, and known less "
        f"precisely; {advice}",
    )
    if boxes.floor > HIGH_FLOOR and complete:
        raise InputError(
            f"{warning[0].upper()}{warning[1:]} (Ultralytics: conf=0.01), or add "
            "--incomplete to go on."
        )
    return (warning,)


def check_limit(boxes: FoundBoxes, name: str, *, ran: bool = False) -> tuple[str, ...]:
    """Warn of lists that were cut to the best few boxes of each image.

    ran: by a detector that was run here.
    Returned: one warning where a tenth of the images, and three or more, hold as many boxes as any,
        and these are fewer than the 100 that average precision counts.
    """
    n_boxes = np.bincount(boxes.image, minlength=len(boxes.images))
    n_full = int(np.count_nonzero(n_boxes == boxes.most_boxes))
    few = boxes.most_boxes < MAX_DETECTIONS
    if not len(boxes) or not few or n_full < max(FEWEST_FULL, MANY_FULL * len(n_boxes)):
        return ()
    return (
        Notice(
            "boxes-limited",
            f"{n_full} of {len(n_boxes)} images in {name} have exactly {boxes.most_boxes} boxes, "
            f"the most of any: were only the best {boxes.most_boxes} kept? That lowers the "
            "accuracy that is measured and hides low scores; "
            + ("raise its `max_per_img`" if ran else "export all boxes from .01 on"),
        ),
    )
