"""The scores of each category of a site: the rows that the regression reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from autoeval.calibration import ScoreCalibration
from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.estimation.known_site import sampling_stds
from autoeval.estimation.nothing_found import HIGHEST
from autoeval.estimation.pair_table import (
    CATEGORY,
    COUNTS,
    EXPECTED_COUNTS,
    FEATURES,
    REFERENCE_AP,
    REFERENCE_FEATURES,
    REFERENCE_TRUE,
    TRAINED_HERE,
)
from autoeval.estimation.score_table import SEED
from autoeval.metrics.mean_ap import coco_summary
from autoeval.metrics.operating_point import CountCurve
from autoeval.scores.base import ConfidenceScore, Score, ScoreContext
from autoeval.scores.box_stability_settings import BoxStabilitySettings
from autoeval.scores.calibrated import EXPECTED, WEIGHT, CalibratedScores, relative_sides
from autoeval.scores.reference import ReferenceAP
from autoeval.scores.registry import needs_of, score_of
from autoeval.sites.labelled_set import LabelledSet
from autoeval.sites.score_range import SCORE_THR
from autoeval.sites.site_boxes import SiteBoxes

LABELLED_FEATURES = (*FEATURES, *REFERENCE_FEATURES)


class CategoryScores:
    """The scores of one category (an index into those of `boxes`) on m images of a site.

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
        score_thr: float = SCORE_THR,
        probabilities: np.ndarray | None = None,
    ) -> None:
        self.category = boxes.clean.categories[category]
        self.images = images
        own = boxes.clean.scores[boxes.clean.rows_of(category)]
        self._highest = float(own.max(initial=0.0))
        self._features = [name for name in features if needs_of([name]) <= boxes.passes]
        made = _scores(boxes, category, images, self._features, score_thr, probabilities)
        self._scores = list(made)

    @property
    def found(self) -> bool:
        """Whether any image has a box that may be right."""
        return len(self.images) > 0

    def row(self) -> dict[str, Any]:
        """Return the category, the number of images, the scores and expected counts by name.

        And the highest score of its boxes on all images of the site; see `nothing_over`.
        """
        computed = {
            name: value for score in self._scores for name, value in score.compute().items()
        }
        weights = [name for name in computed if name.startswith(WEIGHT)]
        scores: dict[str, Any] = {name: computed[name] for name in (*self._features, *weights)}
        for calibrated in (of for of in self._scores if isinstance(of, CalibratedScores)):
            scores[EXPECTED_COUNTS] = calibrated.curve and calibrated.curve.to_bytes()
        shared = {"n_images": max(len(self.images), 1), HIGHEST: self._highest}
        return {"category": self.category, **shared, **scores}

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return each score of B sets in which the m images count so often, (B, m), as (B,)."""
        parts = [score.resample(counts) for score in self._scores]
        computed = {name: values for part in parts for name, values in part.items()}
        return {name: computed[name] for name in self._features}


def _scores(
    boxes: SiteBoxes,
    category: int,
    images: np.ndarray,
    features: Sequence[str],
    score_thr: float,
    probabilities: np.ndarray | None,
) -> Iterator[Score]:
    """Make the scores that fill some columns, and feed them."""
    by_score: dict[type[Score], list[str]] = {}
    for name in features:
        score = CalibratedScores if name.startswith(EXPECTED) else score_of(name)
        if score is None:
            raise InputError(f"No score fills the column {name}: see `autoeval list scores`.")
        by_score.setdefault(score, []).append(name)
    place = np.full(len(boxes), -1)
    place[images] = np.arange(len(images))
    rows = boxes.clean.rows_of(category)
    rows = rows[place[boxes.clean.image[rows]] >= 0]
    at, scores = place[boxes.clean.image[rows]], boxes.clean.scores[rows]
    others = []
    context = ScoreContext(BoxStabilitySettings(score_thr=score_thr), calibration=boxes.calibration)
    for kind, names in by_score.items():
        if issubclass(kind, ConfidenceScore):
            of_boxes_alone = kind(score_thr=score_thr, names=names)
            of_boxes_alone.update_images(scores, at, len(images))
            yield of_boxes_alone
        elif issubclass(kind, CalibratedScores):
            points = [name.removeprefix(EXPECTED) for name in names if "@" in name]
            calibrated = kind(boxes.calibration, at_thresholds=points)
            area = boxes.areas[boxes.clean.image[rows]]
            sides = relative_sides(boxes.clean.boxes[rows], area)
            own = None if probabilities is None else probabilities[:, rows]
            calibrated.update_images(scores, sides, at, len(images), own)
            yield calibrated
        elif issubclass(kind, ReferenceAP):
            yield _reference_score(boxes, category, rows, place)
        else:
            others.append(kind.make(context))
    for image in images if others else ():
        evidence = boxes.evidence(int(image), category)
        for other in others:
            other.update(evidence)
    yield from others


def _reference_score(
    boxes: SiteBoxes, category: int, rows: np.ndarray, place: np.ndarray
) -> ReferenceAP:
    """Score the boxes of some `rows` against those of the reference; `place` (M,) of each image."""
    clean, reference, q = boxes.clean, boxes.reference, boxes.reference_right
    assert reference is not None
    score = ReferenceAP(boxes.reference_calibration)
    if q is None:  # no calibration: nothing is known of the reference
        return score
    true = reference.rows_of(category)
    true = true[place[reference.image[true]] >= 0]
    score.update_images(
        Detections(clean.boxes[rows], clean.scores[rows], clean.label[rows]),
        place[clean.image[rows]],
        Detections(reference.boxes[true], reference.scores[true], reference.label[true]),
        place[reference.image[true]],
        int(place.max(initial=-1)) + 1,
        q[true],
    )
    return score


def site_scores(
    boxes: SiteBoxes,
    features: Sequence[str] = FEATURES,
    *,
    named: Collection[str] = (),
    score_thr: float = SCORE_THR,
) -> list[CategoryScores]:
    """Score the categories that are detected, each on the images where it is.

    At a new site nobody knows which images hold a category, so those that show none of its boxes
    say nothing of it: absence is not taken for blindness.

    named: categories to score in any case, and no others; by default those with a likely box.
    """
    found, scores = boxes.clean, []
    likely = [found.categories[k] for k in boxes.likely]
    for k, name in enumerate(found.categories):
        if name in (named or likely):
            images = boxes.images_with(k)
            scores.append(CategoryScores(boxes, k, images, features, score_thr=score_thr))
    return scores


def labelled_rows(
    labelled: LabelledSet,
    calibration: ScoreCalibration,
    *,
    probabilities: np.ndarray | None = None,
) -> pd.DataFrame:
    """Score and evaluate the categories of a labelled set that have labels enough.

    probabilities (10, N): see `CategoryScores`.
    Returned: a pair table, see `autoeval.estimation.pair_table`, with ``n_boxes`` and the sampling
        error of each accuracy, ``mAP_std`` and the like; of a task on all images, else on those
        that hold the category.
    """
    rows, boxes = [], replace(labelled.boxes, calibration=calibration)
    p = boxes.right_at_half if probabilities is None else probabilities[0]
    for k in np.flatnonzero(labelled.enough).tolist():
        ranking = labelled.rankings[k]
        images = boxes.images_with(k, p)
        scores = CategoryScores(boxes, k, images, LABELLED_FEATURES, probabilities=probabilities)
        held = np.flatnonzero(ranking.n_true)
        evaluated = ranking if labelled.everywhere else ranking.take(held)
        precision = coco_summary(evaluated.average_precision()) | sampling_stds(evaluated)
        counts = {COUNTS: CountCurve.of(evaluated).to_bytes()}
        row = {name: of for name, of in scores.row().items() if name != HIGHEST}
        if REFERENCE_AP in row:
            row[REFERENCE_TRUE] = _true_ap_of_reference(labelled, k)
        rows.append({**row, "n_boxes": int(ranking.n_true.sum()), **precision, **counts})
    kind = SEED if labelled.everywhere else CATEGORY
    trained = {TRAINED_HERE: True} if labelled.trained_here else {}
    named = {"source": labelled.name, "family": labelled.family, "sample_set": labelled.name}
    return pd.DataFrame(rows).assign(**named, **trained, kind=kind, repeat=0)


def _true_ap_of_reference(labelled: LabelledSet, category: int) -> float:
    """Return the average precision of the reference detector where the labels are known."""
    ranking = labelled.reference_rankings[category]
    if not labelled.everywhere:
        ranking = ranking.take(np.flatnonzero(ranking.n_true))
    return float(ranking.average_precision().mean())
