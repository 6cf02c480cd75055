"""Scores and mAP of random subsets of a set's images, without another pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from autoeval.metrics.mean_ap import MeanAP
from autoeval.runtime.progress import progress_bar
from autoeval.scores.box_stability_settings import BoxStabilitySettings
from autoeval.scores.score_set import ScoreSet
from autoeval.studies.observed import Observations, ObservedSet


class SubsetScorer:
    """Scores every image of a set once; scores of subsets are merged from them.

    Only scores of clean and perturbed boxes are there: kept evidence has no candidates, logits or
    features.

    Parameters
    ----------
    observed : ObservedSet
    categories : sequence of str
        Categories of the task.
    stability : BoxStabilitySettings
        How clean and perturbed boxes are compared.
    """

    def __init__(
        self, observed: ObservedSet, categories: Sequence[str], stability: BoxStabilitySettings
    ) -> None:
        self.observed = observed
        self.categories = tuple(categories)
        self._stability = stability
        self._parts = []
        for image in observed.images:
            part = self._score_set()
            part.update(image.evidence)
            self._parts.append(part)

    def __len__(self) -> int:
        return len(self.observed.images)

    def rows(self, indices: Iterable[int]) -> list[dict[str, Any]]:
        """Return rows of the score table, one a repeat, for the images at `indices`."""
        chosen, scores, accuracy = list(indices), self._score_set(), MeanAP(self.categories)
        for index in chosen:
            image = self.observed.images[index]
            scores.merge(self._parts[index])
            accuracy.update(image.evidence.clean, image.boxes, image.labels, image.iscrowd)
        columns = {
            "source": self.observed.source,
            "sample_set": self.observed.sample_set,
            "kind": self.observed.kind,
            "n_images": len(chosen),
            **accuracy.compute(),
        }
        return [
            {**columns, "repeat": repeat, **features}
            for repeat, features in enumerate(scores.rows())
        ]

    def _score_set(self) -> ScoreSet:
        repeats = len(self.observed.images[0].evidence.perturbed)
        return ScoreSet(self._stability, repeats=repeats)


def whole_sets(observations: Observations) -> pd.DataFrame:
    """Return the score table of the observed sets as they are."""
    return subset_table(observations, [observations.largest], draws=1)


def subset_table(
    observations: Observations, sizes: Sequence[int], *, draws: int, seed: int = 0
) -> pd.DataFrame:
    """Score random subsets of the images of each set.

    Parameters
    ----------
    observations : Observations
        Of whose sets one at a time is held scored.
    sizes : sequence of int
        Images in a subset, drawn without replacement; all of a set's where it has no more.
    draws : int
        Subsets of each size.
    seed : int
        Of the draws; each set has its own.

    Returns
    -------
    DataFrame
        A score table with the columns ``size`` and ``draw`` added.
    """
    rows, sets = [], observations.sets
    with progress_bar(len(sets), "scoring subsets of images", unit="set") as bar:
        for observed in sets:
            scorer = SubsetScorer(observed, observations.categories, observations.stability)
            for size, draw, chosen in _subsets(scorer, sizes, draws, seed):
                rows += [{"size": size, "draw": draw, **row} for row in scorer.rows(chosen)]
            bar.update()
    return pd.DataFrame(rows)


def _subsets(
    scorer: SubsetScorer, sizes: Sequence[int], draws: int, seed: int
) -> Iterator[tuple[int, int, np.ndarray]]:
    name = f"{scorer.observed.source}/{scorer.observed.sample_set}"
    for size in sizes:
        for draw in range(draws):
            rng = np.random.default_rng([seed, size, draw, *name.encode()])
            yield size, draw, np.sort(rng.permutation(len(scorer))[:size])
