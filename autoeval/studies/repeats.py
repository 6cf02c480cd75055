"""How many dropout repeats an estimate needs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.score_table import SEED, Rows, sources
from autoeval.studies.held_out import PLAIN, StudySettings, estimate_held_out


def dropout_repeats(
    table: pd.DataFrame,
    settings: StudySettings = PLAIN,
    *,
    draws: int = 50,
) -> pd.DataFrame:
    """Leave one source out and average the estimates of fewer repeats.

    Source: Yang et al. 2024, section 5.3, "impact of the stochastic nature of dropout". As in
    `AccuracyEstimator`, every repeat has its own regressor, and the estimate is the mean over
    repeats.

    Parameters
    ----------
    table : DataFrame
        See `autoeval.estimation.score_table`.
    settings : StudySettings
    draws : int
        At most so many choices of k repeats out of all; every choice where there are fewer.

    Returns
    -------
    DataFrame
        One row a number of repeats and method: ``repeats``, ``method``, the columns of
        `StudySettings.summarise` over choices, and ``spread`` (standard deviation of a source's
        estimate under fresh dropout seeds: that between repeats by the root of their number,
        averaged over sources). The last number of repeats leaves one choice, hence no ``std``.

    Raises
    ------
    InputError
        If a column is missing, there are fewer than three sources, or only one repeat.
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
