"""The scores of each category of a site: the rows that the regression reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from autoeval.data.labels.truth import Truth
from autoeval.errors import InputError
from autoeval.estimation.pair_table import CATEGORY, FEATURES, OF_THE_SAME_PASSES, WITH_TEACHER
from autoeval.estimation.score_table import SEED
from autoeval.estimation.site_boxes import SiteBoxes
from autoeval.metrics.by_category import rank_categories
from autoeval.metrics.mean_ap import coco_summary
from autoeval.metrics.ranked_detections import RankedDetections
from autoeval.scores.base import ConfidenceScore, Score
from autoeval.scores.box_stability_settings import BoxStabilitySettings
from autoeval.scores.context import ScoreContext
from autoeval.scores.registry import needs_of, score_of

SCORE_THR = 0.05  # boxes with a lower score count in no score
CONFIDENT = 0.3
FEWEST_IMAGES, FEWEST_BOXES = 5, 8
LABELLED_FEATURES = (*FEATURES, *OF_THE_SAME_PASSES, WITH_TEACHER)


class CategoryScores:
    """The scores of one category on m images of a site.

    Parameters
    ----------
    boxes : SiteBoxes
    category : int
        Index into the categories of `boxes`.
    images : ndarray of shape (m,), int64
        Images on which the category is evaluated, in rising order.
    features : sequence of str
        Columns to fill; those that need a pass which `boxes` lacks are left out.
    score_thr : float
        Boxes with a lower score count in no score.
    """

    def __init__(
        self,
        boxes: SiteBoxes,
        category: int,
        images: np.ndarray,
        features: Sequence[str],
        *,
        score_thr: float = SCORE_THR,
    ) -> None:
        self.category = boxes.clean.categories[category]
        self.images = images
        self._features = [name for name in features if needs_of([name]) <= boxes.passes]
        self._scores = list(_scores(boxes, category, images, self._features, score_thr))

    def row(self) -> dict[str, Any]:
        """Return the category, the number of images and the scores by name."""
        computed = {
            name: value for score in self._scores for name, value in score.compute().items()
        }
        scores = {name: computed[name] for name in self._features}
        return {"category": self.category, "n_images": len(self.images), **scores}

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
) -> Iterator[Score]:
    """Make the scores that fill some columns, and feed them."""
    by_score: dict[type[Score], list[str]] = {}
    for name in features:
        score = score_of(name)
        if score is None:
            raise InputError(f"No score fills the column {name}: see `autoeval list scores`.")
        by_score.setdefault(score, []).append(name)
    of_boxes = {score for score in by_score if issubclass(score, ConfidenceScore)}
    if of_boxes:
        place = np.full(len(boxes), -1)
        place[images] = np.arange(len(images))
        mine = boxes.clean.rows_of(category)
        at, scores = place[boxes.clean.image[mine]], boxes.clean.scores[mine]
        at, scores = at[at >= 0], scores[at >= 0]
    others = []
    context = ScoreContext(BoxStabilitySettings(score_thr=score_thr))
    for kind, names in by_score.items():
        if issubclass(kind, ConfidenceScore):
            of_boxes_alone = kind(score_thr=score_thr, names=names)
            of_boxes_alone.update_images(scores, at, len(images))
            yield of_boxes_alone
        else:
            others.append(kind.make(context))
    for image in images if others else ():
        evidence = boxes.evidence(int(image), category)
        for other in others:
            other.update(evidence)
    yield from others


def scores_everywhere(
    boxes: SiteBoxes, features: Sequence[str] = FEATURES, *, score_thr: float = SCORE_THR
) -> list[CategoryScores]:
    """Score every category on all images, where each is to be expected in all of them."""
    everywhere = np.arange(len(boxes))
    return [
        CategoryScores(boxes, k, everywhere, features, score_thr=score_thr)
        for k in range(len(boxes.clean.categories))
    ]


def scores_where_found(
    boxes: SiteBoxes, features: Sequence[str] = FEATURES, *, score_thr: float = SCORE_THR
) -> list[CategoryScores]:
    """Score the categories with a box over .3, each on the images with a box of it over .05.

    At a new site nobody knows which images hold a category. Those where it is detected are a
    stand-in: on all images, the many that do not hold it would count as missed objects.
    """
    found = boxes.clean
    confident = np.unique(found.label[found.scores > np.float32(CONFIDENT)])
    scores = []
    for k in confident.tolist():
        rows = found.rows_of(k)
        images = np.unique(found.image[rows[found.scores[rows] > np.float32(score_thr)]])
        scores.append(CategoryScores(boxes, k, images, features, score_thr=score_thr))
    return scores


def is_labelled_enough(n_true: np.ndarray) -> bool:
    """Whether a category with so many labelled boxes in each image can be a source of a fit."""
    return bool(np.count_nonzero(n_true) >= FEWEST_IMAGES and n_true.sum() >= FEWEST_BOXES)


def too_few_labels(source: str) -> InputError:
    """Return the error of a labelled set none of whose categories is labelled enough."""
    return InputError(
        f"No category of {source} has {FEWEST_BOXES} boxes in {FEWEST_IMAGES} images: label "
        "more images."
    )


def labelled_rows(
    boxes: SiteBoxes,
    truth: Truth,
    *,
    source: str,
    family: str | None = None,
    everywhere: bool = False,
    ranked: Sequence[RankedDetections] | None = None,
    score_thr: float = SCORE_THR,
) -> pd.DataFrame:
    """Score and evaluate the categories of a labelled set.

    Parameters
    ----------
    boxes : SiteBoxes
    truth : Truth
        Labels of the same images and categories.
    source : str
        Name of the labelled set.
    family : str, optional
        What it shares with other sets of the same origin; by default its name.
    everywhere : bool
        Whether categories are to be expected in all images; otherwise each is evaluated on those
        that hold it.
    ranked : sequence of RankedDetections, optional
        What `rank_categories` returns for both, where that is known already.
    score_thr : float
        Boxes with a lower score count in no score.

    Returns
    -------
    DataFrame
        A pair table, see `autoeval.estimation.pair_table`, with ``n_boxes``. Categories in fewer
        than 5 images or with fewer than 8 boxes are left out where images are chosen by category.

    Raises
    ------
    InputError
        If no category is left.
    """
    rows = []
    ranked = rank_categories(boxes.clean, truth) if ranked is None else ranked
    for k, ranking in enumerate(ranked):
        images = np.flatnonzero(ranking.n_true)
        n_boxes = int(ranking.n_true.sum())
        if everywhere:
            images = np.arange(len(boxes))
        elif not is_labelled_enough(ranking.n_true):
            continue
        scores = CategoryScores(boxes, k, images, LABELLED_FEATURES, score_thr=score_thr)
        precision = coco_summary(ranking.take(images).average_precision())
        rows.append({**scores.row(), "n_boxes": n_boxes, **precision})
    if not rows:
        raise too_few_labels(source)
    named = {"source": source, "family": source if family is None else family}
    kind = SEED if everywhere else CATEGORY
    return pd.DataFrame(rows).assign(**named, kind=kind, sample_set=source, repeat=0)
