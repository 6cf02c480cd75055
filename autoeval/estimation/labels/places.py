"""Labelled places that predictions of influence are fitted on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions
from autoeval.estimation.labels.pool import Pool
from autoeval.metrics.by_category import rank_categories
from autoeval.metrics.influence import influence_function
from autoeval.metrics.ranked_detections import RankedDetections

FEWEST_IMAGES, FEWEST_BOXES = 20, 10
DRAWN = (10, 20)


@dataclass(frozen=True, eq=False)
class LabelledPlace:
    """A pool whose images are all labelled.

    Parameters
    ----------
    name : str
    family : str
        Places of one origin share it.
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
        """Boxes of each category beside the truth."""
        return rank_categories(self.pool.found, self.truth)

    def known_categories(self) -> Iterator[int]:
        """Yield the categories that enough images and objects tell of."""
        for k, ranking in enumerate(self.rankings):
            if len(ranking) >= FEWEST_IMAGES and ranking.n_true.sum() >= FEWEST_BOXES:
                yield k


def true_influence(ranking: RankedDetections) -> np.ndarray:
    """Influence of each image on mAP, (N,)."""
    return influence_function(ranking).mean(axis=0)


def excess_of_small_sets(
    ranking: RankedDetections, *, draws: int = 40, seed: int = 0
) -> tuple[float, float]:
    """Measure by how much the mAP of a few images exceeds that of all, on average.

    Parameters
    ----------
    ranking : RankedDetections
        Of N images.
    draws : int
        Sets of each size in `DRAWN`, simple random draws.
    seed : int

    Returns
    -------
    excess : float
        Mean difference.
    scale : float
        Mean of ``(1 - k / N) / G``, with G the true boxes of the set; see
        `autoeval.estimation.labels.optimism`.
    """
    rng, n = np.random.default_rng(seed), len(ranking)
    whole = ranking.average_precision().mean()
    found = []
    for k in (k for k in DRAWN if k < n for _ in range(draws)):
        few = ranking.take(rng.choice(n, k, replace=False))
        if few.n_true.any():
            found.append((few.average_precision().mean() - whole, (1 - k / n) / few.n_true.sum()))
    excess, scale = np.mean(found, axis=0) if found else (0.0, 0.0)
    return float(excess), float(scale)
