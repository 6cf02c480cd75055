"""How many sample sets of each source a regressor needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.score_table import SAMPLE, SEED, Rows, sample_rows, sources
from autoeval.runtime.progress import progress_bar
from autoeval.studies.held_out import estimate_held_out, mean_by_source, study_rows
from autoeval.studies.resampling import mean_interval

SIZES = (1, 2, 3, 5, 10, 20, 50)


def size_of_meta_set(
    table: pd.DataFrame,
    methods: Sequence[str] = ("bos", "bos_strict"),
    *,
    sizes: Sequence[int] = (),
    draws: int = 20,
    target: str = "mAP",
    level: float = 0.9,
    seed: int = 0,
) -> pd.DataFrame:
    """Leave one source out with fewer sample sets of the others.

    Source: Yang et al. 2024, section 5.3, figure 4 (a). The sample sets that are kept are drawn
    anew `draws` times, each source on its own; sources are never taken away.

    Parameters
    ----------
    table : DataFrame
        See `autoeval.estimation.score_table`.
    methods : sequence of str
        Names in `autoeval.estimation.methods.METHODS`.
    sizes : sequence of int
        Sample sets for each source; by default those of `SIZES` that there are, and all.
    draws : int
        Random choices for each size.
    target : str
        Column of the accuracy.
    level : float
        Nominal coverage of the intervals, which resample sources.
    seed : int
        Of the draws and the resampling.

    Returns
    -------
    DataFrame
        One row a size and method: ``sample_sets``, ``method``, ``error`` (mean over sources, draws
        and repeats of the absolute error on a source's own images), ``std`` (of the error over
        draws), ``lower``, ``upper`` (for the mean over sources), ``sources`` (with an estimate),
        ``no_estimate`` (share of estimates that could not be made for want of a score).

    Raises
    ------
    InputError
        If a column is missing, there are fewer than three sources, a source has but one sample set,
        or fewer than a size asks for.
    """
    rows, names = study_rows(table, methods, target), sources(table)
    counts = sample_rows(table).groupby("source")["sample_set"].nunique().reindex(names)
    sizes = _check_sizes(sizes, counts.fillna(0).astype(int))
    records = []
    total = len(sizes) * len(methods) * draws
    with progress_bar(total, "drawing meta-sets", unit="meta-set") as bar:
        for size in sizes:
            chosen = [_draw(rows, names, size, [seed, size, k]) for k in range(draws)]
            for method in methods:
                errors = []
                for training in chosen:
                    errors.append(_errors(training, rows.of_kind(SEED), method, target, names))
                    bar.update()
                records.append(
                    {"sample_sets": size, "method": method}
                    | summarise_draws(np.array(errors), level=level, seed=seed)
                )
    return pd.DataFrame(records)


def summarise_draws(errors: np.ndarray, *, level: float, seed: int) -> dict[str, float]:
    """Average errors (draws, sources), NaN where there was no estimate.

    Returns
    -------
    dict
        ``error``, ``std`` (over draws), ``lower``, ``upper``, ``sources`` (with an estimate),
        ``no_estimate`` (share of the estimates that could not be made).
    """
    known = np.isfinite(errors).any(axis=0)
    by_source = np.nanmean(errors[:, known], axis=0) if known.any() else np.zeros(0)
    lower, upper = mean_interval(by_source, level=level, seed=seed)
    by_draw = np.nanmean(errors[:, known], axis=1) if known.any() else np.array([np.nan])
    return {
        "error": float(by_source.mean()) if known.any() else np.nan,
        "std": float(by_draw.std()),
        "lower": lower,
        "upper": upper,
        "sources": int(known.sum()),
        "no_estimate": float(np.isnan(errors).mean()),
    }


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
    training: Rows, own: Rows, method: str, target: str, names: Sequence[str]
) -> np.ndarray:
    missed = np.abs(estimate_held_out(training, own, method, target) - own[target])
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
