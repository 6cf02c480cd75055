"""How far off the estimator is on pairs that it has not seen, beside a constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from autoeval.estimation.pairs.pair_estimator import PairEstimator

FEWEST_FAMILIES = 3
GROUPS = 10


def held_out_pairs(table: pd.DataFrame, *, target: str, level: float) -> pd.DataFrame:
    """Estimate every pair without its family; where there are few, without its group of categories.

    Parameters
    ----------
    table : DataFrame
        A pair table. Where it has fewer than three families, its rows are dealt into ten groups in
        turn: what is then told is how far off the estimator is on other categories of the same
        places, which says nothing of other places.
    target : str
    level : float
        Nominal coverage of the intervals.

    Returns
    -------
    DataFrame
        ``source`` (place and category), ``n_images``, ``true``, ``estimate``, ``lower``, ``upper``,
        ``error``, ``constant`` (the mean of the others) and its ``constant_error``. Empty for fewer
        than three pairs.
    """
    rows = table.reset_index(drop=True)
    if not by_family(rows):
        rows = rows.assign(family=[f"group {k % GROUPS}" for k in range(len(rows))])
    if rows["family"].nunique() < FEWEST_FAMILIES:
        return pd.DataFrame()
    told = PairEstimator(target=target, level=level).fit(rows).held_out()
    constant = [float(told.loc[told["family"] != f, "true"].mean()) for f in told["family"]]
    return told.assign(
        source=_names(told),
        error=(told["estimate"] - told["true"]).abs(),
        constant=constant,
        constant_error=(np.array(constant) - told["true"]).abs(),
    )


def worse_than_constant(held_out: pd.DataFrame) -> tuple[str, ...]:
    """Doubt an estimator that misses what it has not seen by more than a constant does.

    Parameters
    ----------
    held_out : DataFrame
        See `held_out_pairs`.
    """
    if not len(held_out) or held_out["error"].mean() < held_out["constant_error"].mean():
        return ()
    error, constant = (100 * held_out[name].mean() for name in ("error", "constant_error"))
    return (
        f"what was not seen in the fit is missed by {error:.1f} points on average, by a constant "
        f"that ignores the images by {constant:.1f}: either all that is labelled is as accurate "
        "as all else, or these scores tell nothing, as where labels are wrong",
    )


def by_family(table: pd.DataFrame) -> bool:
    """Say whether there are families enough to leave one out."""
    return table["family"].nunique() >= FEWEST_FAMILIES


def summary(held_out: pd.DataFrame, method: str, estimate: str, error: str) -> dict[str, Any]:
    """Return the figures over all pairs; see `autoeval.results.held_out_tables.method_table`."""
    true, value = held_out["true"], held_out[estimate]
    spread = float(((true - true.mean()) ** 2).sum())
    inside = (held_out["lower"] <= true) & (true <= held_out["upper"])
    known = held_out["lower"].notna() & (estimate == "estimate")
    return {
        "method": method,
        "mean_absolute_error": float(held_out[error].mean()),
        "std": float("nan"),
        "pooled_rmse": float(np.sqrt(((value - true) ** 2).mean())),
        "r2": 1 - float(((value - true) ** 2).sum()) / spread if spread else float("nan"),
        "spearman": float(value.rank().corr(true.rank())) if value.nunique() > 1 else float("nan"),
        "coverage": float(inside[known].mean()) if known.any() else float("nan"),
        "width": float((held_out["upper"] - held_out["lower"])[known].mean()),
    }


def _names(rows: pd.DataFrame) -> list[str]:
    """Name each pair by its place, its category, or both, whichever tells it apart."""
    if rows["source"].nunique() == 1:
        return rows["category"].tolist()
    if rows["category"].nunique() == 1:
        return rows["source"].tolist()
    return [f"{s}: {c}" for s, c in zip(rows["source"], rows["category"], strict=True)]
