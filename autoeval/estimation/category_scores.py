"""The scores of each category of a site: the rows that the regression reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from autoeval.accuracy.average_precision import RankedDetections, influence_function
from autoeval.accuracy.coco_matching import AT_HALF
from autoeval.accuracy.mean_ap import coco_summary
from autoeval.accuracy.operating_point import CountCurve
from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.estimation.score_table import SEED
from autoeval.model.calibrated_features import (
    EXPECTED,
    FEATURES,
    WEIGHT,
    CalibratedFeatures,
    relative_sides,
)
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.pair_table import (
    CATEGORY,
    COUNTED,
    COUNTS,
    EXPECTED_COUNTS,
    EXPECTED_OBJECTS,
    HIGHEST,
    LIKELY_BOXES,
    REFERENCE_COUNTS,
    REFERENCE_TRUE,
    TRAINED_HERE,
    needs_of,
    table_of,
)
from autoeval.model.reference_features import (
    BY_REFERENCE,
    REFERENCE_AP,
    REFERENCE_FEATURES,
    ReferenceFeatures,
)
from autoeval.sites.labelled_set import LabelledSet
from autoeval.sites.presence import Presence
from autoeval.sites.site_boxes import SiteBoxes
from autoeval.targets import AP_TARGETS, OperatingPoint

LABELLED_FEATURES = (*FEATURES, *REFERENCE_FEATURES)


class CategoryScores:
    """The features of one category (an index into those of `boxes`) on m images of a site.

    images (m,), int64: images on which the category is evaluated, in rising order.
    features: columns to fill; those that need a pass which `boxes` lacks are left out.
    probabilities (10, N): of all boxes of the clean pass, by a calibration that has not seen these
        labels; by default by that of `boxes`.
    """

    def __init__(
        self,
        boxes: SiteBoxes,
        category: int,
        images: np.ndarray,
        features: Sequence[str],
        *,
        probabilities: np.ndarray | None = None,
    ) -> None:
        _check_features(features)
        self.category = boxes.clean.categories[category]
        self.images = images
        scores = boxes.clean.scores[boxes.clean.rows_of(category)]
        self._highest = float(scores.max(initial=0.0))
        self._features = [name for name in features if needs_of([name]) <= boxes.passes]
        # of each image of the site its number among those evaluated, -1 for the others
        place = np.full(len(boxes), -1)
        place[images] = np.arange(len(images))
        rows = boxes.clean.rows_of(category)
        rows = rows[place[boxes.clean.image[rows]] >= 0]
        points, agreed = (
            [
                name.removeprefix(prefix)
                for name in features
                if name.startswith(prefix) and "@" in name
            ]
            for prefix in (EXPECTED, BY_REFERENCE)
        )
        self._calibrated = _calibrated_features(boxes, rows, place, points, probabilities)
        self._reference: ReferenceFeatures | None = None
        self._unknown = [*REFERENCE_FEATURES, *(f"{BY_REFERENCE}{name}" for name in agreed)]
        if needs_of(self._features) or agreed:
            self._reference = _reference_features(boxes, category, rows, place, agreed)

    @property
    def found(self) -> bool:
        """Whether any image has a box that may be right."""
        return len(self.images) > 0

    def row(self) -> dict[str, Any]:
        """Return the category, the number of images, the features and expected counts by name.

        And the highest score of its boxes on all images of the site; see `nothing_over`.
        """
        calibrated, curve = self._calibrated.compute(), self._calibrated.curve
        unknown = dict.fromkeys(self._unknown, np.nan)
        computed = calibrated | (self._reference.compute() if self._reference else unknown)
        agreed = {}
        if self._reference is not None:
            of_reference = self._reference.curve
            agreed[REFERENCE_COUNTS] = of_reference and of_reference.to_bytes()
        weights = [name for name in calibrated if name.startswith(WEIGHT)]
        return {
            "category": self.category,
            "n_images": max(len(self.images), 1),
            HIGHEST: self._highest,
            **{name: computed[name] for name in (*self._features, *weights)},
            EXPECTED_COUNTS: curve and curve.to_bytes(),
            **agreed,
        }

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return each feature of B sets in which the m images count so often, (B, m), as (B,)."""
        unknown = {name: np.full(len(counts), np.nan) for name in self._unknown}
        computed = self._calibrated.resample(counts)
        computed |= self._reference.resample(counts) if self._reference else unknown
        return {name: computed[name] for name in self._features}


def _check_features(features: Sequence[str]) -> None:
    unknown = [name for name in features if name not in LABELLED_FEATURES]
    unknown = [name for name in unknown if not OperatingPoint.of(name.removeprefix(EXPECTED))]
    unknown = [name for name in unknown if not OperatingPoint.of(name.removeprefix(BY_REFERENCE))]
    if unknown:
        raise InputError(
            f"Expected features among {', '.join(LABELLED_FEATURES)}, or {EXPECTED}TARGET or "
            f"{BY_REFERENCE}TARGET of a target at a threshold, but got {', '.join(unknown)}."
        )


def _calibrated_features(
    boxes: SiteBoxes,
    rows: np.ndarray,
    place: np.ndarray,
    points: Sequence[str],
    probabilities: np.ndarray | None,
) -> CalibratedFeatures:
    """Read some `rows` of the clean boxes; `place` (M,) of each image among those evaluated."""
    clean = boxes.clean
    if probabilities is None:
        p = boxes.calibrated.probabilities(clean.scores[rows], clean.boxes[rows])
    else:
        p = probabilities[:, rows]
    sides = relative_sides(clean.boxes[rows], boxes.areas[clean.image[rows]])
    return CalibratedFeatures(
        boxes.calibrated,
        clean.scores[rows],
        sides,
        place[clean.image[rows]],
        int(place.max(initial=-1)) + 1,
        probabilities=p,
        at_thresholds=points,
    )


def _reference_features(
    boxes: SiteBoxes,
    category: int,
    rows: np.ndarray,
    place: np.ndarray,
    at_thresholds: Sequence[str],
) -> ReferenceFeatures | None:
    """Compare some `rows` with the boxes of the reference; None where it has no calibration."""
    clean, reference, q = boxes.clean, boxes.reference, boxes.reference_right
    if reference is None or q is None:
        return None
    of_reference = reference.rows_of(category)
    of_reference = of_reference[place[reference.image[of_reference]] >= 0]
    return ReferenceFeatures(
        Detections(clean.boxes[rows], clean.scores[rows], clean.label[rows]),
        place[clean.image[rows]],
        Detections(
            reference.boxes[of_reference],
            reference.scores[of_reference],
            reference.label[of_reference],
        ),
        place[reference.image[of_reference]],
        int(place.max(initial=-1)) + 1,
        q[of_reference],
        at_thresholds=at_thresholds,
    )


def site_scores(
    boxes: SiteBoxes, features: Sequence[str], presence: Presence
) -> list[CategoryScores]:
    """Score the categories that count or are found, each on the images where it is.

    At a new site nobody knows which images hold a category, so those that show none of its boxes
    say nothing of it: absence is not taken for blindness.
    """
    return [
        CategoryScores(boxes, k, boxes.images_with(k), features)
        for k in presence.candidates.tolist()
    ]


def site_rows(scores: Sequence[CategoryScores], presence: Presence) -> dict[str, np.ndarray]:
    """Lay out the scores of a site as one row a category, with whether it counts."""
    at = presence.candidates
    return {
        **table_of([category.row() for category in scores]),
        COUNTED: presence.counts[at],
        LIKELY_BOXES: presence.likely[at],
        EXPECTED_OBJECTS: presence.expected[at],
    }


def labelled_rows(
    labelled: LabelledSet,
    calibration: ScoreCalibration,
    *,
    probabilities: np.ndarray | None = None,
) -> pd.DataFrame:
    """Score and evaluate the categories of a labelled set that have labels enough.

    probabilities (10, N): see `CategoryScores`.
    Returned: a pair table, see `autoeval.model.pair_table`, with ``n_boxes`` and the sampling
        error of each accuracy, ``mAP_std`` and the like; of a task on all images, else on those
        that hold the category.
    """
    rows, boxes = [], replace(labelled.boxes, calibration=calibration)
    p = boxes.right_at_half if probabilities is None else probabilities[AT_HALF]
    for k in np.flatnonzero(labelled.enough).tolist():
        ranking = labelled.rankings[k]
        images = boxes.images_with(k, p)
        scores = CategoryScores(boxes, k, images, LABELLED_FEATURES, probabilities=probabilities)
        held = np.flatnonzero(ranking.n_true)
        evaluated = ranking if labelled.everywhere else ranking.take(held)
        precision = coco_summary(evaluated.average_precision()) | sampling_stds(evaluated)
        counts = {COUNTS: CountCurve.of(evaluated).to_bytes()}
        row = {name: value for name, value in scores.row().items() if name != HIGHEST}
        if REFERENCE_AP in row:
            row[REFERENCE_TRUE] = _true_ap_of_reference(labelled, k)
        rows.append({**row, "n_boxes": int(ranking.n_true.sum()), **precision, **counts})
    kind = SEED if labelled.everywhere else CATEGORY
    trained = {TRAINED_HERE: True} if labelled.trained_here else {}
    named = {"source": labelled.name, "group": labelled.group, "sample_set": labelled.name}
    return pd.DataFrame(rows).assign(**named, **trained, kind=kind, repeat=0)


def _true_ap_of_reference(labelled: LabelledSet, category: int) -> float:
    """Return the average precision of the reference detector where the labels are known."""
    ranking = labelled.reference_rankings[category]
    if not labelled.everywhere:
        ranking = ranking.take(np.flatnonzero(ranking.n_true))
    return float(ranking.average_precision().mean())


def sampling_stds(ranking: RankedDetections) -> dict[str, float]:
    """Return the standard error of each average precision by the influence of its images.

    By name, ``mAP_std`` and the like; NaN without labelled boxes or with a single image.
    """
    influence, n = influence_function(ranking), len(ranking)
    by_image = np.array([list(coco_summary(of_image).values()) for of_image in influence.T])
    stds = by_image.std(axis=0) / np.sqrt(n - 1) if n > 1 else np.full(len(AP_TARGETS), np.nan)
    return {f"{name}_std": float(std) for name, std in zip(AP_TARGETS, stds, strict=True)}
