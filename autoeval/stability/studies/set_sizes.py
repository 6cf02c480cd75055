"""Errors by the number of sample sets, of dropout repeats, and of images in a set.

Errors are those on sources left out of the fit with their groups; intervals resample the groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from autoeval.accuracy.coco_evaluation import MeanAP
from autoeval.accuracy.measures import find_target, resampled_counts
from autoeval.errors import InputError
from autoeval.estimation.category_scores import sources
from autoeval.model.pair_table import SAMPLE, SEED
from autoeval.model.regression import MIN_SOURCES
from autoeval.runtime.progress import progress_bar
from autoeval.stability.methods import make_method, readable
from autoeval.stability.methods.score_rows import (
    Rows,
    check_score_table,
    groups_of,
    of_labelled_sources,
    sample_rows,
)
from autoeval.stability.scores.box_stability import BoxStabilitySettings
from autoeval.stability.scores.score_set import ScoreSet
from autoeval.stability.studies.correlation import RESAMPLES, percentile_interval
from autoeval.stability.studies.kept_boxes import Observations, ObservedSet

META_SET_SIZES = (1, 2, 3, 5, 10, 20, 50)
SAMPLE_SIZES = (5, 10, 20, 50, 100, 250)
TEST_SIZES = (5, 10, 20, 50, 100, 200, 500)
MOST_CHOICES = 50  # of k repeats out of all, for each k


def size_of_meta_set(
    table: pd.DataFrame, settings: StudySettings, *, sizes: Sequence[int] = (), draws: int = 20
) -> pd.DataFrame:
    """Leave one source out with fewer sample sets of the others, drawn anew.

    Source: Yang et al. 2024, section 5.3, figure 4 (a).

    Parameters
    ----------
    table : DataFrame
        A score table.
    settings : StudySettings
        Methods and target.
    sizes : sequence of int
        Sample sets for each source; by default those of `META_SET_SIZES` that there are, and all.
    draws : int
        Draws of each size.

    Returns
    -------
    DataFrame
        ``sample_sets``, ``method``, and the columns of `StudySettings.summarise`.
    """
    table = of_labelled_sources(table, settings.target)
    rows, names = settings.rows(table), sources(table)
    groups = [groups_of(table)[name] for name in names]
    counts = sample_rows(table).groupby("source")["sample_set"].nunique().reindex(names)
    sizes = _check_sizes(sizes, counts.fillna(0).astype(int))
    records = []
    total = len(sizes) * len(settings.methods) * draws
    with progress_bar(total, "drawing meta-sets", unit="meta-set") as bar:
        for size in sizes:
            chosen = [_draw(rows, names, size, [settings.seed, size, k]) for k in range(draws)]
            for method in settings.methods:
                errors = []
                for training in chosen:
                    seeds = rows.of_kind(SEED)
                    errors.append(held_out_errors(training, seeds, method, settings.target, names))
                    bar.update()
                summary = settings.summarise(np.array(errors), groups)
                records.append({"sample_sets": size, "method": method, **summary})
    return pd.DataFrame(records)


def _draw(rows: Rows, names: Sequence[str], size: int, seed: Sequence[int]) -> Rows:
    """Keep `size` sample sets of each source, and the sources' own images."""
    rng = np.random.default_rng(seed)
    samples = rows["kind"] == SAMPLE
    kept = ~samples
    for name in names:
        of_source = samples & (rows["source"] == name)  # two sources may call a set the same
        drawn = rng.choice(np.unique(rows["sample_set"][of_source]), size, replace=False)
        kept |= of_source & np.isin(rows["sample_set"], drawn)
    return rows.where(kept)


def _check_sizes(sizes: Sequence[int], counts: pd.Series) -> list[int]:
    fewest = counts.idxmin()
    if counts[fewest] < 2:
        raise InputError(
            f"Expected at least two sample sets of each source to draw from but {fewest} has "
            f"{counts[fewest]}: score more, or leave that source out."
        )
    if sizes and not 1 <= min(sizes) <= max(sizes) <= counts[fewest]:
        raise InputError(
            f"Expected sizes from 1 to {counts[fewest]}, the number of sample sets of {fewest}, "
            f"but got {', '.join(map(str, sizes))}."
        )
    usual_sizes = [size for size in META_SET_SIZES if size < counts[fewest]]
    return sorted(set(sizes)) or [*usual_sizes, int(counts[fewest])]


def dropout_repeats(table: pd.DataFrame, settings: StudySettings) -> pd.DataFrame:
    """Leave one source out and average the estimates of fewer repeats, each by its own regressor.

    Source: Yang et al. 2024, section 5.3.

    Parameters
    ----------
    table : DataFrame
        A score table.
    settings : StudySettings
        Methods and target.

    Returns
    -------
    DataFrame
        ``repeats``, ``method``, the columns of `StudySettings.summarise`, and ``spread``, the
        standard deviation of a source's estimate under fresh dropout seeds: that between repeats by
        the root of their number.

    Raises
    ------
    InputError
        If the table has a single repeat.
    """
    table = of_labelled_sources(table, settings.target)
    rows, names = settings.rows(table), sources(table)
    groups = [groups_of(table)[name] for name in names]
    n_repeats = len(np.unique(rows["repeat"]))
    if n_repeats < 2:
        raise InputError(
            f"Expected a score table of at least two dropout repeats but got {n_repeats}: "
            "run estimate-map with --repeats 10."
        )
    seeds = rows.of_kind(SEED)
    records = []
    for method in settings.methods:
        estimates, true = _by_repeat(rows, seeds, method, settings.target, names)
        for k in range(1, n_repeats + 1):
            chosen = _choices(n_repeats, k, settings.seed)
            averaged = np.stack([estimates[:, choice].mean(axis=1) for choice in chosen])
            summary = settings.summarise(np.abs(averaged - true), groups)
            if len(chosen) == 1:
                summary["std"] = np.nan
            spread = float(np.nanmean(estimates.std(axis=1, ddof=1)) / np.sqrt(k))
            records.append({"repeats": k, "method": method, **summary, "spread": spread})
    return pd.DataFrame(records).sort_values("repeats", kind="stable", ignore_index=True)


def _by_repeat(
    rows: Rows, seeds: Rows, method: str, target: str, names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return held-out estimates (sources, repeats) and true values (sources,)."""
    frame = pd.DataFrame(
        {
            "source": seeds["source"],
            "repeat": seeds["repeat"],
            "estimate": estimate_held_out(rows, seeds, method, target),
            "true": seeds[target],
        }
    )
    estimates = frame.pivot(index="source", columns="repeat", values="estimate").reindex(names)
    return estimates.to_numpy(), frame.groupby("source")["true"].first().reindex(names).to_numpy()


def _choices(n: int, k: int, seed: int) -> list[list[int]]:
    if comb(n, k) <= MOST_CHOICES:
        return [list(choice) for choice in combinations(range(n), k)]
    rng = np.random.default_rng([seed, k])
    return [list(rng.choice(n, k, replace=False)) for _ in range(MOST_CHOICES)]


def size_of_sample_sets(
    observations: Observations,
    settings: StudySettings,
    *,
    sizes: Sequence[int] = (),
    draws: int = 5,
) -> pd.DataFrame:
    """Leave one source out with fewer images in each sample set of the others.

    No new pass: smaller sample sets are random subsets of those there are, under the same
    transforms; one with fewer images than a size takes part with all. Source: Yang et al. 2024,
    section 5.3, figure 4 (b).

    Parameters
    ----------
    observations : Observations
        Boxes of each image of the own images and the sample sets.
    settings : StudySettings
        Methods and target.
    sizes : sequence of int
        Images; by default those of `SAMPLE_SIZES` that there are, and all.
    draws : int
        Draws of each size.

    Returns
    -------
    DataFrame
        ``images``, ``method``, and the columns of `StudySettings.summarise`.
    """
    _refuse_category(settings.target)
    samples = observations.of_kind(SAMPLE)
    sizes = _choose_sizes(sizes, SAMPLE_SIZES, samples)
    seeds = of_labelled_sources(whole_sets(observations.of_kind(SEED)), settings.target)
    parts = subset_table(samples, sizes, draws=draws, seed=settings.seed)
    parts = parts[parts["source"].isin(seeds["source"])]
    settings.rows(pd.concat([seeds, parts]))
    names = sources(seeds)
    groups = [groups_of(seeds)[name] for name in names]
    records = []
    for size, size_parts in parts.groupby("size"):
        drawn = [pd.concat([seeds, part]) for _, part in size_parts.groupby("draw")]
        for method in settings.methods:
            columns = (*make_method(method).features, settings.target)
            errors = [
                held_out_errors(
                    Rows.of(training, columns),
                    Rows.of(seeds, columns),
                    method,
                    settings.target,
                    names,
                )
                for training in drawn
            ]
            summary = settings.summarise(np.array(errors), groups)
            records.append({"images": size, "method": method, **summary})
    return pd.DataFrame(records)


def size_of_test_set(
    observations: Observations,
    settings: StudySettings,
    *,
    sizes: Sequence[int] = (),
    draws: int = 10,
) -> pd.DataFrame:
    """Leave one source out and estimate from random subsets of its own images.

    Errors are against the accuracy on all own images (what the site is like), and
    ``error_same_images`` against that on those very images. The rest is as in
    `size_of_sample_sets`. Source: Yang et al. 2024, section 5.3, figure 4 (c).

    Parameters
    ----------
    observations : Observations
        Boxes of each image of the own images and the sample sets.
    settings : StudySettings
        Methods and target.
    sizes : sequence of int
        Images; by default those of `TEST_SIZES` that there are, and all.
    draws : int
        Draws of each size.

    Returns
    -------
    DataFrame
        ``images``, ``method``, the columns of `StudySettings.summarise`, and ``error_same_images``.
    """
    _refuse_category(settings.target)
    seeds = observations.of_kind(SEED)
    sizes = _choose_sizes(sizes, TEST_SIZES, seeds)
    target = settings.target
    full = of_labelled_sources(whole_sets(observations), target)
    parts = subset_table(seeds, sizes, draws=draws, seed=settings.seed)
    parts = parts[parts["source"].isin(full["source"])]
    settings.rows(full)
    truth = full[full["kind"] == SEED].groupby("source")[target].first()
    site_truth, group_of = parts["source"].map(truth), groups_of(full)
    records = []
    for method in settings.methods:
        columns = (*make_method(method).features, target)
        estimate = estimate_held_out(
            Rows.of(full, columns), Rows.of(parts, columns), method, target
        )
        missed = parts.assign(
            place=np.abs(estimate - site_truth), same=np.abs(estimate - parts[target])
        )
        by_draw = missed.groupby(["size", "draw", "source"])[["place", "same"]].mean().unstack()
        for size in sizes:
            site_errors = by_draw.loc[size, "place"]
            groups = [group_of[name] for name in site_errors]
            records.append(
                {"images": size, "method": method}
                | settings.summarise(site_errors.to_numpy(), groups)
                | {"error_same_images": float(by_draw.loc[size, "same"].mean().mean())}
            )
    return pd.DataFrame(records).sort_values("images", kind="stable", ignore_index=True)


def _refuse_category(target: str) -> None:
    """Refuse the accuracy of one category, whose scores are not computed here."""
    if "/" in target:
        raise InputError(
            f"Expected a target of all categories together but got {target}: subsets of images "
            "have no scores of single categories. Choose mAP, or a task of that category alone."
        )


def _choose_sizes(
    requested: Sequence[int], usual: Sequence[int], observations: Observations
) -> list[int]:
    most = observations.largest
    if requested and not 1 <= min(requested) <= max(requested) <= most:
        raise InputError(
            f"Expected sizes from 1 to {most}, the images of the largest set, but got "
            f"{', '.join(map(str, requested))}."
        )
    return sorted(set(requested)) or [*(size for size in usual if size < most), most]


class SubsetScorer:
    """Scores every image of a set once, from its boxes alone; scores of subsets are merged.

    Parameters
    ----------
    observed : ObservedSet
        The whole set.
    categories : sequence of str
        Of the task.
    stability : BoxStabilitySettings
        How boxes are compared.
    """

    def __init__(
        self, observed: ObservedSet, categories: Sequence[str], stability: BoxStabilitySettings
    ) -> None:
        self.observed, self.categories, self._stability = observed, tuple(categories), stability
        self._parts = []
        for image in observed.images:
            part = self._score_set()
            part.update(image.evidence)
            self._parts.append(part)

    def rows(self, indices: Iterable[int]) -> list[dict[str, Any]]:
        """Return rows of the score table, one a repeat, for the images at `indices`.

        Parameters
        ----------
        indices : iterable of int
            Positions in ``observed.images``.
        """
        chosen, scores, accuracy = list(indices), self._score_set(), MeanAP(self.categories)
        for index in chosen:
            image = self.observed.images[index]
            scores.merge(self._parts[index])
            accuracy.update(image.evidence.clean, image.boxes, image.labels, image.iscrowd)
        columns = {
            "source": self.observed.source,
            "sample_set": self.observed.sample_set,
            "kind": self.observed.kind,
            "group": self.observed.group or self.observed.source,
            "n_images": len(chosen),
            **accuracy.compute(),
        }
        return [{**columns, "repeat": k, **features} for k, features in enumerate(scores.rows())]

    def _score_set(self) -> ScoreSet:
        repeats = len(self.observed.images[0].evidence.perturbed)
        return ScoreSet(self._stability, repeats=repeats)


def whole_sets(observations: Observations) -> pd.DataFrame:
    """Return the score table of the observed sets as they are.

    Parameters
    ----------
    observations : Observations
        Sets of any kinds.
    """
    return subset_table(observations, [observations.largest], draws=1)


def subset_table(
    observations: Observations, sizes: Sequence[int], *, draws: int, seed: int = 0
) -> pd.DataFrame:
    """Score random subsets of the images of each set; columns ``size`` and ``draw`` are added.

    Parameters
    ----------
    observations : Observations
        Whole sets.
    sizes : sequence of int
        Images; a set with fewer takes part with all.
    draws : int
        Draws of each size.
    seed : int
        Of the draws; that of a set depends on its name too.
    """
    rows = []
    with progress_bar(len(observations.sets), "scoring subsets of images", unit="set") as bar:
        for observed in observations.sets:
            scorer = SubsetScorer(observed, observations.categories, observations.stability)
            name = f"{observed.source}/{observed.sample_set}".encode()
            for size, draw in product(sizes, range(draws)):
                rng = np.random.default_rng([seed, size, draw, *name])
                chosen = np.sort(rng.permutation(len(observed.images))[:size])
                rows += [{"size": size, "draw": draw, **row} for row in scorer.rows(chosen)]
            bar.update()
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class StudySettings:
    """What is estimated, by which methods, and how errors are summed up.

    Parameters
    ----------
    methods : sequence of str
        Names in `autoeval.stability.methods.methods`.
    target : str
        Column of the accuracy.
    seed : int
        Of draws, and of intervals, which resample groups of sources.
    """

    methods: Sequence[str]
    target: str = "mAP"
    seed: int = 0

    def rows(self, table: pd.DataFrame) -> Rows:
        """Take the columns that the methods and the target need, of three groups or more.

        Parameters
        ----------
        table : DataFrame
            A score table.

        Raises
        ------
        InputError
            If a method or the target is unknown, a column is missing, or there are fewer than three
            groups of sources.
        """
        find_target(self.target)
        names = {name for method in self.methods for name in readable(make_method(method), table)}
        check_score_table(table, (*sorted(names), self.target))
        groups = list(dict.fromkeys(groups_of(table).values()))
        if len(groups) < MIN_SOURCES:
            raise InputError(
                f"Expected at least {MIN_SOURCES} sources of different groups to leave one out but "
                f"got {len(groups)} ({', '.join(groups)}). Add labelled seed sets from other sites."
            )
        return Rows.of(table, (*sorted(names), self.target))

    def summarise(self, errors: np.ndarray, groups: Sequence[str]) -> dict[str, float]:
        """Sum up absolute errors.

        Parameters
        ----------
        errors : ndarray of shape (n_draws, n_sources)
            NaN where there was no estimate.
        groups : sequence of str
            Of the sources.

        Returns
        -------
        dict of str to float
            ``error`` is the mean over sources, ``std`` that of this mean over draws, with ``lower``
            and ``upper``; ``sources`` have an estimate; ``no_estimate`` is the share of the
            estimates that could not be made for want of a score.
        """
        missing = np.isnan(errors)
        estimated = ~missing.all(axis=0)
        source_errors = errors[:, estimated]
        if not source_errors.size:
            nothing = dict.fromkeys(("error", "std", "lower", "upper"), np.nan)
            return {**nothing, "sources": 0, "no_estimate": 1.0}
        by_source = np.nanmean(source_errors, axis=0)
        lower, upper = mean_interval(by_source, np.asarray(groups)[estimated], seed=self.seed)
        return {
            "error": float(by_source.mean()),
            "std": float(np.nanmean(source_errors, axis=1).std()),
            "lower": lower,
            "upper": upper,
            "sources": source_errors.shape[1],
            "no_estimate": float(missing.mean()),
        }


def mean_interval(
    values: np.ndarray, groups: np.ndarray | None = None, *, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap interval for the mean over sources (n_sources,), NaN for one without.

    The unit of resampling is the group: nine sites of one origin are one observation.

    Parameters
    ----------
    values : ndarray of shape (n_sources,)
        One a source; those that are not finite are left out.
    groups : ndarray of shape (n_sources,), optional
        Of the sources; by default each is a group of its own.
    seed : int
        Of the resampling.

    Returns
    -------
    tuple of float
        Both ends; NaN with fewer than two groups.

    Examples
    --------
    >>> mean_interval(np.array([.5, .5, .5]))
    (0.5, 0.5)
    """
    defined = np.isfinite(values)
    names = np.arange(len(values)) if groups is None else np.asarray(groups)
    group, different = pd.factorize(names[defined])
    if len(different) < 2:
        return np.nan, np.nan
    counts = resampled_counts(len(group), resamples=RESAMPLES, seed=seed, blocks=group)
    return percentile_interval(counts @ values[defined] / counts.sum(axis=1))


def estimate_held_out(training: Rows, evaluated: Rows, method: str, target: str) -> np.ndarray:
    """Estimate each row by the regressor of its repeat, fitted without the group of its source.

    Parameters
    ----------
    training, evaluated : Rows
        To fit on, and N rows to estimate.
    method, target : str
        See `make_method`; column of the accuracy.

    Returns
    -------
    ndarray of shape (N,)
        Clipped to what is possible, NaN where a score is missing.

    Raises
    ------
    InputError
        If a repeat was not fitted on.
    """
    fitted_repeats = np.unique(training["repeat"]).tolist()
    unknown = np.setdiff1d(evaluated["repeat"], fitted_repeats).tolist()
    if unknown:
        raise InputError(
            f"Expected dropout repeats {fitted_repeats}, those fitted on, but got {unknown}: "
            "score both meta-sets with the same --repeats."
        )
    estimates = np.full(len(evaluated), np.nan)
    pairs = {(g, r) for g, r in zip(evaluated["group"], evaluated["repeat"], strict=True)}
    for group, repeat in sorted(pairs):
        rows = (evaluated["group"] == group) & (evaluated["repeat"] == repeat)
        unseen = (training["group"] != group) & (training["repeat"] == repeat)
        fitted = make_method(method).fit(training.where(unseen), target)
        estimates[rows] = fitted.predict(evaluated.where(rows))
    return find_target(target).clip(estimates)


def mean_by_source(values: np.ndarray, source: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Average values over the rows of each source.

    Parameters
    ----------
    values : ndarray of shape (N,)
        Those that are not finite are left out.
    source : ndarray of shape (N,)
        Of each row.
    names : sequence of str
        The sources to return, in this order; NaN for one without a value.

    Examples
    --------
    >>> mean_by_source(np.array([1.0, 3, 5]), np.array(["a", "a", "b"]), ["b", "a", "c"])
    array([ 5.,  2., nan])
    """
    defined = np.isfinite(values)
    rows = [values[defined & (source == name)] for name in names]
    return np.array([part.mean() if len(part) else np.nan for part in rows])


def held_out_errors(
    training: Rows, evaluated: Rows, method: str, target: str, names: Sequence[str]
) -> np.ndarray:
    """Absolute error of each of S sources, mean over its own rows; (S,).

    Parameters
    ----------
    training, evaluated, method, target
        See `estimate_held_out`.
    names : sequence of str
        The S sources to return, in this order.

    Raises
    ------
    InputError
        As `estimate_held_out`.
    """
    missed = np.abs(estimate_held_out(training, evaluated, method, target) - evaluated[target])
    return mean_by_source(missed, evaluated["source"], names)
