"""Errors by the number of images in a sample set and in the test set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.methods import make_method
from autoeval.estimation.score_table import SAMPLE, SEED, Rows, sources
from autoeval.metrics.mean_ap import MeanAP
from autoeval.research.studies.held_out import (
    PLAIN,
    StudySettings,
    estimate_held_out,
    mean_by_source,
)
from autoeval.research.studies.kept_boxes import Observations, ObservedSet
from autoeval.runtime.progress import progress_bar
from autoeval.scores.box_stability_settings import BoxStabilitySettings
from autoeval.scores.score_set import ScoreSet

SAMPLE_SIZES = (5, 10, 20, 50, 100, 250)
TEST_SIZES = (5, 10, 20, 50, 100, 200, 500)


def size_of_sample_sets(
    observations: Observations,
    settings: StudySettings = PLAIN,
    *,
    sizes: Sequence[int] = (),
    draws: int = 5,
) -> pd.DataFrame:
    """Leave one source out with fewer images in each sample set of the others.

    No new pass: smaller sample sets are random subsets of the images of those there are, under the
    same transforms. `sizes` are by default those of `SAMPLE_SIZES` that the sample sets have, and
    all, with `draws` subsets each; a sample set with fewer images than a size takes part with all.
    There is one row a size and method: ``images``, ``method``, and the columns of
    `StudySettings.summarise`, for absolute errors on the sources' own images. Source: Yang et al.
    2024, section 5.3, figure 4 (b). Raises `InputError` if a size is not there, there are fewer
    than three sources, or a method needs scores that boxes alone do not give.
    """
    samples = observations.of_kind(SAMPLE)
    sizes = _choose_sizes(sizes, SAMPLE_SIZES, samples)
    evaluated = whole_sets(observations.of_kind(SEED))
    parts = subset_table(samples, sizes, draws=draws, seed=settings.seed)
    settings.rows(pd.concat([evaluated, parts]))
    records = []
    for size, of_size in parts.groupby("size"):
        for method in settings.methods:
            errors = [
                _held_out_errors(pd.concat([evaluated, drawn]), evaluated, method, settings.target)
                for _, drawn in of_size.groupby("draw")
            ]
            summary = settings.summarise(np.array(errors))
            records.append({"images": size, "method": method, **summary})
    return pd.DataFrame(records)


def size_of_test_set(
    observations: Observations,
    settings: StudySettings = PLAIN,
    *,
    sizes: Sequence[int] = (),
    draws: int = 10,
) -> pd.DataFrame:
    """Leave one source out and estimate from fewer of its own images.

    No new pass: smaller test sets are random subsets of a source's own images. There is one row a
    size and method: ``images``, ``method``, the columns of `StudySettings.summarise`, for errors
    against the accuracy on all own images (what the site is like), and ``error_same_images``
    (against that on those very images). The rest, errors included, is as in `size_of_sample_sets`.
    Source: Yang et al. 2024, section 5.3, figure 4 (c).
    """
    own = observations.of_kind(SEED)
    sizes = _choose_sizes(sizes, TEST_SIZES, own)
    full, target = whole_sets(observations), settings.target
    parts = subset_table(own, sizes, draws=draws, seed=settings.seed)
    settings.rows(full)
    truth = full[full["kind"] == SEED].groupby("source")[target].first()
    of_place = parts["source"].map(truth).to_numpy()
    records = []
    for method in settings.methods:
        place = _errors_by_draw(full, parts, method, target, of_place)
        same = _errors_by_draw(full, parts, method, target, parts[target].to_numpy())
        for size in sizes:
            records.append(
                {"images": size, "method": method}
                | settings.summarise(place.loc[size].to_numpy())
                | {"error_same_images": float(same.loc[size].mean().mean())}
            )
    return pd.DataFrame(records).sort_values("images", kind="stable", ignore_index=True)


def _held_out_errors(
    training: pd.DataFrame, evaluated: pd.DataFrame, method: str, target: str
) -> np.ndarray:
    """Absolute error of each source, mean over repeats; (sources,)."""
    missed = _missed(training, evaluated, method, target, evaluated[target].to_numpy())
    return mean_by_source(missed, evaluated["source"].to_numpy(), sources(evaluated))


def _errors_by_draw(
    training: pd.DataFrame, evaluated: pd.DataFrame, method: str, target: str, true: np.ndarray
) -> pd.DataFrame:
    """Absolute errors, mean over repeats, indexed by size and draw, with one column a source."""
    missed = evaluated.assign(missed=_missed(training, evaluated, method, target, true))
    return missed.groupby(["size", "draw", "source"])["missed"].mean().unstack("source")


def _missed(
    training: pd.DataFrame, evaluated: pd.DataFrame, method: str, target: str, true: np.ndarray
) -> np.ndarray:
    columns = (*make_method(method).features, target)
    rows, fitted_on = Rows.of(evaluated, columns), Rows.of(training, columns)
    return np.abs(estimate_held_out(fitted_on, rows, method, target) - true)


def _choose_sizes(
    asked: Sequence[int], usual: Sequence[int], observations: Observations
) -> list[int]:
    most = observations.largest
    if asked and not 1 <= min(asked) <= max(asked) <= most:
        raise InputError(
            f"Expected sizes from 1 to {most}, the images of the largest set, but got "
            f"{', '.join(map(str, asked))}."
        )
    return sorted(set(asked)) or [*(size for size in usual if size < most), most]


class SubsetScorer:
    """Scores every image of a set once; scores of subsets are merged from them.

    Only scores of clean and perturbed boxes are there: kept evidence has no candidates, logits or
    features.
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
    """Score random subsets of the images of each set; columns ``size`` and ``draw`` are added."""
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
