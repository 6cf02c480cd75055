"""Predicting the influence of images that nobody has labelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import Self

from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions
from autoeval.estimation.labels.box_model import (
    LinearPredictors,
    expected_missed,
    image_features,
    probability_right,
)
from autoeval.estimation.labels.pool import Pool
from autoeval.metrics.by_category import rank_categories
from autoeval.metrics.influence import influence_function
from autoeval.metrics.ranked_detections import RankedDetections

MODEL, PSEUDO = "model", "pseudo"
SURE = 0.3  # pseudo-labels over it stand for the truth


@dataclass(frozen=True, eq=False)
class SoftLabels:
    """What stands for the labels of boxes and images that nobody has labelled.

    Parameters
    ----------
    names : tuple of str
        Features of a box that it is told from.
    right : LinearPredictors
        See `autoeval.estimation.labels.box_model.fit_right`.
    missed : LinearPredictors
        See `autoeval.estimation.labels.box_model.fit_missed`.
    """

    names: tuple[str, ...]
    right: LinearPredictors
    missed: LinearPredictors

    def rankings(self, pool: Pool) -> list[RankedDetections]:
        """Rank the boxes of each category, with probabilities in place of labels."""
        found = pool.found
        columns = [pool.names.index(name) for name in self.names]
        right = probability_right(self.right, pool.features[:, columns])
        return [self._ranking(found, right, found.label == k) for k in range(len(found.categories))]

    def _ranking(self, found: Predictions, right: np.ndarray, mine: np.ndarray) -> RankedDetections:
        n_images = len(found.images)
        scores, image, own = found.scores[mine], found.image[mine], right[:, mine]
        described = image_features(own[0], scores, image, n_images)
        missed = expected_missed(self.missed, described)
        n_true = np.bincount(image, own[0], minlength=n_images) + missed
        return RankedDetections.of(scores, image, own, n_true)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        parts = {"right": self.right.to_dict(), "missed": self.missed.to_dict()}
        return {"names": list(self.names), **parts}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        parts = (LinearPredictors.from_dict(values[name]) for name in ("right", "missed"))
        return cls(tuple(values["names"]), *parts)


def proxies_of(
    pool: Pool, soft: SoftLabels, pseudo_labels: Predictions | None = None
) -> list[dict[str, np.ndarray]]:
    """Predict the influence of each image on the average precision of each category.

    Parameters
    ----------
    pool : Pool
        Of M images.
    soft : SoftLabels
    pseudo_labels : Predictions, optional
        Boxes of another detector on the same images, in the same order and categories. Its
        confident ones stand for the truth in a second prediction, which is brought to the spread of
        the first: where that detector finds little, each of its boxes would count for too much.

    Returns
    -------
    list of dict of str to ndarray of shape (10, M)
        For each category `MODEL`, and `PSEUDO` where there are any, at each IoU threshold; 0
        where no object is expected.
    """
    proxies = [{MODEL: _influence(ranking)} for ranking in soft.rankings(pool)]
    if pseudo_labels is not None:
        for proxy, ranking in zip(
            proxies, rank_categories(pool.found, _sure(pseudo_labels)), strict=True
        ):
            proxy[PSEUDO] = _as_spread(_influence(ranking), proxy[MODEL])
    return proxies


def _influence(ranking: RankedDetections) -> np.ndarray:
    return np.nan_to_num(influence_function(ranking))


def _as_spread(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    own = values.mean(axis=0).std()
    return values * (like.mean(axis=0).std() / own if own > 0 else 0.0)


def _sure(pseudo_labels: Predictions) -> Truth:
    sure = pseudo_labels.where(pseudo_labels.scores > SURE)
    boxes, crowd = sure.boxes.astype(np.float64), np.zeros(len(sure), bool)
    return Truth(sure.images, sure.categories, sure.image, sure.label, boxes, crowd)
