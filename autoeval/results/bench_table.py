"""Methods against sources: the error of each, what they come to, and whether it is chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from autoeval.results.held_out_tables import formats_of, method_table


def bench_table(
    errors: Mapping[str, Mapping[str, float]],
    summaries: Mapping[str, Mapping[str, Any]],
    coverage: Mapping[str, float],
    p_values: Mapping[str, float],
    *,
    scale: float = 100.0,
) -> pd.DataFrame:
    """Lay methods out, one row each, the lowest mean error first.

    Parameters
    ----------
    errors : mapping of method to mapping of source to float
        Absolute errors.
    summaries : mapping of method to mapping
        See `method_table`.
    coverage, p_values : mapping of method to float
    scale : float
        Errors and widths are shown times this.

    Returns
    -------
    DataFrame
        `bench_formats` says how to print it.
    """
    whole = method_table(list(summaries.values()), scale=scale).drop(
        columns=["score R²", "score ρ", "coverage %"]
    )
    by_source = pd.DataFrame([{s: scale * e for s, e in errors[m].items()} for m in summaries])
    whole.insert(len(whole.columns) - 1, "coverage %", [100 * coverage[m] for m in summaries])
    whole["p"] = [p_values[m] for m in summaries]
    table = pd.concat([whole[["method"]], by_source, whole.drop(columns="method")], axis=1)
    return table.sort_values("mean abs. error", kind="stable", ignore_index=True)


def bench_formats(table: pd.DataFrame, *, digits: int = 1) -> dict[str, str]:
    """Say how to print each column of a `bench_table`."""
    return {**formats_of(table, digits=digits), "p": "{:.3f}"}
