"""Tables of errors on sources left out: by source and by method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from autoeval.targets import Target


def source_table(per_source: Mapping[str, pd.DataFrame], target: Target) -> pd.DataFrame:
    """Lay methods side by side, one row a source, in the unit of the target."""
    first, scale = next(iter(per_source.values())), target.scale
    table = first[["source", "n_images"]].rename(columns={"n_images": "images"})
    table[f"true {target.name}"] = scale * first["true"]
    for method, results in per_source.items():
        table[method] = scale * results["estimate"]
        table[f"error {method}"] = scale * results["error"]
    interval = [
        f"{target.text(low)} to {target.text(high)}" if low == low else None
        for low, high in zip(first["lower"], first["upper"], strict=True)
    ]
    table.insert(4, "interval", interval)
    errors = {name: table[name].mean() for name in table if name.startswith("error ")}
    return pd.concat([table, pd.DataFrame([{"source": "mean", **errors}])], ignore_index=True)


def method_table(summaries: Sequence[Mapping[str, Any]], target: Target) -> pd.DataFrame:
    """Lay out the summaries of methods, one row each, in the unit of the target.

    Where a method has no estimate of some source, and the constant's stands there, the last column
    counts those.
    """
    scale = target.scale
    table = pd.DataFrame(
        {
            "method": [s["method"] for s in summaries],
            "mean abs. error": [scale * s["mean_absolute_error"] for s in summaries],
            "± repeats": [scale * s["std"] for s in summaries],
            "pooled RMSE": [scale * s["pooled_rmse"] for s in summaries],
            "R²": [s["r2"] for s in summaries],
            "ρ": [s["spearman"] for s in summaries],
            "score R²": [s.get("score_r2") for s in summaries],
            "score ρ": [s.get("score_spearman") for s in summaries],
            "coverage %": [100 * s["coverage"] for s in summaries],
            "interval width": [scale * s["width"] for s in summaries],
        }
    ).astype({"score R²": float, "score ρ": float})
    missing = [s.get("missing", 0) for s in summaries]
    return table.assign(**{"no estimate": missing}) if any(missing) else table


def formats_of(table: pd.DataFrame, target: Target) -> dict[str, str]:
    """Say how to print each column of a `source_table` or a `method_table`."""
    exact = {"± repeats": "{:.2f}", "R²": "{:.2f}", "ρ": "{:.2f}"}
    exact |= {"score R²": "{:.2f}", "score ρ": "{:.2f}", "coverage %": "{:.0f}", "images": "{:.0f}"}
    exact["no estimate"] = "{:.0f}"
    text = ("source", "method", "interval")
    return {name: "{}" if name in text else exact.get(name, target.format) for name in table}
