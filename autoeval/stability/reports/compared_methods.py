"""The estimate of each method that was fitted, with its error on held-out sources beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

import pandas as pd

from autoeval.estimation.estimate import Estimate
from autoeval.estimation.protocol import BASELINE, FitResult
from autoeval.report.estimate import estimate_fields
from autoeval.report.page import Block, Heading, Text
from autoeval.report.text import Table
from autoeval.targets import find_target

NAMES = {
    "bos": "box stability",
    "bayes": "the calibrated default",
    "fused": "ridge regression on confidence and agreement",
    BASELINE: "the mean accuracy of the other sources",
}


def compared_text(estimates: Mapping[str, Estimate], fit: FitResult | None) -> str:
    """Return the table of methods, and which to use, for the terminal; empty for one method.

    estimates: by method, that in use first; empty where nothing was estimated.
    fit: its evaluation is of all methods, among them the constant.
    """
    if not several(fit):
        return ""
    target = find_target(fit.cross_validation[0].target)
    table = compared_table(estimates, fit).text()
    head = f"{target.name} by method, in {target.unit}:"
    return f"{head}\n\n{table}\n\n{recommendation(estimates, fit)}"


def compared_blocks(estimates: Mapping[str, Estimate], fit: FitResult | None) -> list[Block]:
    """Return the table of methods, and which to use; nothing for one method."""
    if not several(fit):
        return []
    advice = Text(recommendation(estimates, fit))
    return [Heading("By method"), compared_table(estimates, fit), advice]


def compared_values(estimates: Mapping[str, Estimate], fit: FitResult | None) -> dict[str, Any]:
    """Return the estimates of the other methods, and which to use, as JSON has them."""
    if not several(fit):
        return {}
    others = {name: estimate_fields(e) for name, e in list(estimates.items())[1:]}
    return {"by_method": others, "recommendation": recommendation(estimates, fit)}


def several(fit: FitResult | None) -> TypeGuard[FitResult]:
    """Return whether there are methods to compare."""
    return fit is not None and len(fit.cross_validation) > 1


def compared_table(estimates: Mapping[str, Estimate], fit: FitResult) -> Table:
    """Lay out one row a method: its estimate, and its error on held-out sources."""
    target = find_target(fit.cross_validation[0].target)
    rows = []
    for result in fit.cross_validation:
        estimate = estimates.get(result.method)
        row: dict[str, Any] = {"method": result.method, "meaning": NAMES.get(result.method, "")}
        row["estimate"] = math.nan if estimate is None else estimate.value
        row["lower"] = math.nan if estimate is None else estimate.lower
        row["upper"] = math.nan if estimate is None else estimate.upper
        rows.append({**row, "MAE held out": result.summary()["mean_absolute_error"]})
    table = pd.DataFrame(rows)
    if not estimates:
        table = table.drop(columns=["estimate", "lower", "upper"])
    numbers = [name for name in table if name not in ("method", "meaning")]
    shown = table.assign(**{name: target.scale * table[name] for name in numbers})
    caption = f"{target.name} in {target.unit}; MAE on sources that were left out"
    return Table("compared", table, shown, dict.fromkeys(numbers, target.format), caption)


def recommendation(estimates: Mapping[str, Estimate], fit: FitResult) -> str:
    """Say in one sentence which method had the smallest error, and what to use."""
    held_out = fit.cross_validation
    target = find_target(held_out[0].target)
    errors = {r.method: float(r.summary()["mean_absolute_error"]) for r in held_out}
    best = min(errors, key=lambda name: errors[name])
    n_sources, used = len(held_out[0].per_source), held_out[0].method
    where = f"on the {n_sources} held-out sources"
    if best == BASELINE:
        return (
            f"No method had a smaller error {where} than a constant "
            f"({target.text(errors[BASELINE])}): use none of these estimates, and label some "
            "images (autoeval label plan)."
        )
    estimate = estimates.get(best)
    value = "" if estimate is None else f", {target.text(estimate.value)}"
    if estimate is not None and estimate.std == estimate.std:
        value += f" ± {target.text(estimate.std)} (repeats)"
    if best == used:
        return f"'{best}' had the smallest error {where}: use its estimate{value}."
    return (
        f"'{best}' had a smaller error {where} than '{used}', {target.text(errors[best])} "
        f"against {target.text(errors[used])}: use its estimate{value}."
    )
