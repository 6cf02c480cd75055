"""How many sample sets, and how many dropout repeats, a regressor needs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.score_table import SAMPLE, SEED, Rows, sample_rows, sources
from autoeval.research.studies.held_out import (
    PLAIN,
    StudySettings,
    estimate_held_out,
    mean_by_source,
)
from autoeval.runtime.progress import progress_bar

SIZES = (1, 2, 3, 5, 10, 20, 50)


def size_of_meta_set(
    table: pd.DataFrame,
    settings: StudySettings = PLAIN,
    *,
    sizes: Sequence[int] = (),
    draws: int = 20,
) -> pd.DataFrame:
    """Leave one source out with fewer sample sets of the others.

    The sample sets that are kept are drawn anew `draws` times, each source on its own; sources are
    never taken away. `sizes` are sample sets for each source; by default those of `SIZES` that
    there are, and all. There is one row a size and method: ``sample_sets``, ``method``, and the
    columns of `StudySettings.summarise`, for absolute errors on the sources' own images, averaged
    over repeats. Source: Yang et al. 2024, section 5.3, figure 4 (a). Raises `InputError` if a
    column is missing, there are fewer than three sources, a source has but one sample set, or fewer
    than a size needs.
    """
    rows, names = settings.rows(table), sources(table)
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
                    errors.append(_errors(training, rows.of_kind(SEED), method, settings, names))
                    bar.update()
                summary = settings.summarise(np.array(errors))
                records.append({"sample_sets": size, "method": method, **summary})
    return pd.DataFrame(records)


def _draw(rows: Rows, names: Sequence[str], size: int, seed: Sequence[int]) -> Rows:
    """Keep `size` sample sets of each source, and the sources' own images."""
    rng = np.random.default_rng(seed)
    samples = rows["kind"] == SAMPLE
    kept: list[str] = []
    for name in names:
        of_source = np.unique(rows["sample_set"][samples & (rows["source"] == name)])
        kept += list(rng.choice(of_source, size, replace=False))
    return rows.where(~samples | np.isin(rows["sample_set"], kept))


def _errors(
    training: Rows, own: Rows, method: str, settings: StudySettings, names: Sequence[str]
) -> np.ndarray:
    true = own[settings.target]
    missed = np.abs(estimate_held_out(training, own, method, settings.target) - true)
    return mean_by_source(missed, own["source"], names)


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
    there = [size for size in SIZES if size < counts[fewest]]
    return sorted(set(sizes)) or [*there, int(counts[fewest])]


def dropout_repeats(
    table: pd.DataFrame, settings: StudySettings = PLAIN, *, draws: int = 50
) -> pd.DataFrame:
    """Leave one source out and average the estimates of fewer repeats.

    As in `AccuracyEstimator`, every repeat has its own regressor, and the estimate is the mean over
    repeats. There is one row a number of repeats and method: ``repeats``, ``method``, the columns
    of `StudySettings.summarise` over choices, and ``spread`` (standard deviation of a source's
    estimate under fresh dropout seeds: that between repeats by the root of their number, averaged
    over sources). The last number of repeats leaves one choice, hence no ``std``. Source: Yang et
    al. 2024, section 5.3, "impact of the stochastic nature of dropout". Raises `InputError` if a
    column is missing, there are fewer than three sources, or only one repeat.
    """
    rows, names = settings.rows(table), sources(table)
    n_repeats = len(np.unique(rows["repeat"]))
    if n_repeats < 2:
        raise InputError(
            f"Expected a score table of at least two dropout repeats but got {n_repeats}: "
            "run estimate-map with --repeats 10."
        )
    own = rows.of_kind(SEED)
    records = []
    for method in settings.methods:
        estimates, true = _by_repeat(rows, own, method, settings.target, names)
        for k in range(1, n_repeats + 1):
            chosen = _choices(n_repeats, k, draws, settings.seed)
            averaged = np.stack([estimates[:, choice].mean(axis=1) for choice in chosen])
            summary = settings.summarise(np.abs(averaged - true))
            if len(chosen) == 1:
                summary["std"] = np.nan
            spread = float(np.nanmean(estimates.std(axis=1, ddof=1)) / np.sqrt(k))
            records.append({"repeats": k, "method": method, **summary, "spread": spread})
    return pd.DataFrame(records).sort_values("repeats", kind="stable", ignore_index=True)


def _by_repeat(
    rows: Rows, own: Rows, method: str, target: str, names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return held-out estimates (sources, repeats) and true values (sources,)."""
    frame = pd.DataFrame(
        {
            "source": own["source"],
            "repeat": own["repeat"],
            "estimate": estimate_held_out(rows, own, method, target),
            "true": own[target],
        }
    )
    estimates = frame.pivot(index="source", columns="repeat", values="estimate").reindex(names)
    return estimates.to_numpy(), frame.groupby("source")["true"].first().reindex(names).to_numpy()


def _choices(n: int, k: int, draws: int, seed: int) -> list[list[int]]:
    if comb(n, k) <= draws:
        return [list(choice) for choice in combinations(range(n), k)]
    rng = np.random.default_rng([seed, k])
    return [list(rng.choice(n, k, replace=False)) for _ in range(draws)]
