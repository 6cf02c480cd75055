"""How many dropout repeats an estimate needs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.score_table import SEED, Rows, sources
from autoeval.studies.held_out import estimate_held_out, study_rows
from autoeval.studies.meta_set_size import summarise_draws


def dropout_repeats(
    table: pd.DataFrame,
    methods: Sequence[str] = ("bos", "bos_strict"),
    *,
    draws: int = 50,
    target: str = "mAP",
    level: float = 0.9,
    seed: int = 0,
) -> pd.DataFrame:
    """Leave one source out and average the estimates of fewer repeats.

    Source: Yang et al. 2024, section 5.3, "impact of the stochastic nature of dropout". As in
    `MapEstimator`, every repeat has its own regressor, and the estimate is the mean over repeats.

    Parameters
    ----------
    table : DataFrame
        See `autoeval.estimation.score_table`.
    methods : sequence of str
        Names in `autoeval.estimation.methods.METHODS`.
    draws : int
        At most so many choices of k repeats out of all; every choice where there are fewer.
    target : str
        Column of the accuracy.
    level : float
        Nominal coverage of the intervals, which resample sources.
    seed : int
        Of the draws and the resampling.

    Returns
    -------
    DataFrame
        One row a number of repeats and method: ``repeats``, ``method``, ``error`` (mean over
        sources and choices), ``std`` (of the error over choices: what another dropout seed would
        change), ``lower``, ``upper``, ``sources``, ``no_estimate``, and ``spread`` (standard
        deviation over choices of a source's estimate, averaged over sources). The last number of
        repeats leaves one choice, hence no ``std`` and no ``spread``.

    Raises
    ------
    InputError
        If a column is missing, there are fewer than three sources, or only one repeat.
    """
    rows, names = study_rows(table, methods, target), sources(table)
    n_repeats = len(np.unique(rows["repeat"]))
    if n_repeats < 2:
        raise InputError(
            f"Expected a score table of at least two dropout repeats but got {n_repeats}: "
            "run estimate-map with --repeats 10."
        )
    own = rows.of_kind(SEED)
    records = []
    for method in methods:
        estimates, true = _by_repeat(rows, own, method, target, names)
        for k in range(1, n_repeats + 1):
            chosen = _choices(n_repeats, k, draws, seed)
            averaged = np.stack([estimates[:, choice].mean(axis=1) for choice in chosen])
            alone = {"std": np.nan, "spread": np.nan} if len(chosen) == 1 else {}
            records.append(
                {"repeats": k, "method": method}
                | summarise_draws(np.abs(averaged - true), level=level, seed=seed)
                | {"spread": float(np.nanmean(averaged.std(axis=0)))}
                | alone
            )
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
