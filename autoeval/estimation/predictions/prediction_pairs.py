"""Pairs of a place and a category out of predictions: the rows that the regression reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions
from autoeval.errors import InputError
from autoeval.estimation.pairs.pair_table import CATEGORY
from autoeval.estimation.predictions.features import FEATURES, ImageParts, counted_rows, image_parts
from autoeval.estimation.predictions.half_size import AGREEMENT, agreement, rank_half_size
from autoeval.estimation.score_table import SEED
from autoeval.metrics.by_category import rank_categories
from autoeval.metrics.mean_ap import coco_summary
from autoeval.metrics.ranked_detections import RankedDetections

FEWEST_IMAGES, FEWEST_BOXES = 5, 8
CONFIDENT = 0.3


@dataclass(frozen=True, eq=False)
class Pair:
    """One category on some of the images of a place.

    Parameters
    ----------
    category : str
    images : ndarray of shape (m,), int64
        Which of the place's M images it is judged on.
    parts : ImageParts
        Of these m images.
    n_images : int
        M.
    again : RankedDetections, optional
        What was found at half the size.
    """

    category: str
    images: np.ndarray
    parts: ImageParts
    n_images: int
    again: RankedDetections | None = None

    def scores(self, times: np.ndarray) -> dict[str, np.ndarray]:
        """Return each score where images count so often, (B, M), as (B,)."""
        mine = times[:, self.images].astype(np.float64)
        values = dict(zip(FEATURES, self.parts.values(mine).T, strict=True))
        if self.again is None:
            return values
        chosen = np.zeros(times.shape)
        chosen[:, self.images] = mine
        return {**values, AGREEMENT: agreement(self.again, chosen)}

    def row(self) -> dict[str, Any]:
        """Return the category, the number of images and the scores by name."""
        once = np.ones((1, self.n_images), np.uint8)
        scores = {name: float(value) for name, (value,) in self.scores(once).items()}
        return {"category": self.category, "n_images": len(self.images), **scores}


def pairs_everywhere(found: Predictions, half: Predictions | None = None) -> list[Pair]:
    """Take every category on all images, where each is to be expected in all of them."""
    everywhere = np.arange(len(found.images))
    return _pairs(found, half, [everywhere] * len(found.categories))


def pairs_where_found(found: Predictions, half: Predictions | None = None) -> list[Pair]:
    """Take the categories that the detector is sure of once, on the images where it sees any.

    At a new place nobody knows which images hold a category. Those with a box of it over .05 are a
    stand-in; on all images the many that hold none would speak for blindness.
    """
    n_sure = np.bincount(found.label[found.scores > np.float32(CONFIDENT)])
    sure = np.flatnonzero(n_sure)
    images = [np.zeros(0, np.int64) for _ in found.categories]
    for k in sure.tolist():
        seen = np.zeros(len(found.images), bool)
        seen[found.image[counted_rows(found, k)]] = True
        images[k] = np.flatnonzero(seen)
    pairs = _pairs(found, half, images)
    return [pairs[k] for k in sure]


def labelled_pairs(
    found: Predictions,
    truth: Truth,
    *,
    source: str,
    family: str | None = None,
    half: Predictions | None = None,
    everywhere: bool = False,
    ranked: Sequence[RankedDetections] | None = None,
) -> pd.DataFrame:
    """Score and judge the categories of a labelled set.

    Parameters
    ----------
    found : Predictions
    truth : Truth
        Of the same images and categories.
    source : str
        Name of the place.
    family : str, optional
        What it shares with others of the same origin; by default its name.
    half : Predictions, optional
        What was found at half the size.
    everywhere : bool
        Whether categories are to be expected in all images; else each is judged on those that hold
        it.
    ranked : sequence of RankedDetections, optional
        What `rank_categories` says of both, where that is known already.

    Returns
    -------
    DataFrame
        A pair table, see `autoeval.estimation.pairs.pair_table`, with ``n_boxes``. Categories in
        fewer than 5 images or with fewer than 8 boxes are left out where images are chosen by
        category.

    Raises
    ------
    InputError
        If no category is left.
    """
    rows = []
    whole = rank_categories(found, truth) if ranked is None else ranked
    images = [np.flatnonzero(of.n_true) for of in whole]
    if everywhere:
        images = [np.arange(len(found.images))] * len(whole)
    for pair, of in zip(_pairs(found, half, images), whole, strict=True):
        held, n_boxes = np.count_nonzero(of.n_true), int(of.n_true.sum())
        if not everywhere and (held < FEWEST_IMAGES or n_boxes < FEWEST_BOXES):
            continue
        precision = of.take(pair.images).average_precision()
        rows.append({**pair.row(), "n_boxes": n_boxes, **coco_summary(precision)})
    if not rows:
        raise InputError(
            f"No category of {source} has {FEWEST_BOXES} boxes in {FEWEST_IMAGES} images: label "
            "more images."
        )
    named = {"source": source, "family": source if family is None else family}
    kind = SEED if everywhere else CATEGORY
    return pd.DataFrame(rows).assign(**named, kind=kind, sample_set=source, repeat=0)


def _pairs(
    found: Predictions, half: Predictions | None, images: Sequence[np.ndarray]
) -> list[Pair]:
    again = [None] * len(images) if half is None else rank_half_size(found, half)
    return [
        Pair(category, images[k], image_parts(found, k, images[k]), len(found.images), again[k])
        for k, category in enumerate(found.categories)
    ]
