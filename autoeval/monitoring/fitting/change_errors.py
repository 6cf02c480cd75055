"""Errors of changes of mAP that are estimated without labels, on families and kinds left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import norm

from autoeval.monitoring.changes.condition import bounds_of
from autoeval.monitoring.fitting.fit_change import READ, arrays, left_out, widening_of
from autoeval.monitoring.fitting.known_changes import KnownChanges

LARGE = 0.03
LEVEL = 0.9
WAYS = ("estimate", "kind_known", "labelled", "with_signals", "nothing")
SIGNALS = ("detail_1", "detail_2", "noise", "contrast")


def evaluated_changes(
    changes: KnownChanges, levels: pd.DataFrame, read: Sequence[str] = READ
) -> pd.DataFrame:
    """Estimate every known change in several ways, none of which has seen its family.

    Returned: `KnownChanges.rows` with ``estimate``, ``lower``, ``upper`` (the kind of change has
        not been seen either), ``kind_known`` (it has been, at other families), ``labelled`` (the
        level before is known, the kind not seen), ``with_signals`` (signals of the camera are read
        too; the kind not seen) and ``nothing`` (no change), all in [-1, 1]; ``widening``, the
        factor of the interval.
    """
    rows, more = changes.rows, (*read, *SIGNALS)
    x, y, family, kind = arrays(changes, read, bounds_of(read))
    mean, std = left_out(x, y, family, kind)
    widening = _widenings(np.abs(y - mean) / std, family)
    half = float(norm.ppf((1 + LEVEL) / 2)) * std * widening
    known = levels.set_index(["site", "category"])["true"]
    true_level = known.loc[list(zip(rows["site"], rows["category"], strict=True))].to_numpy()
    anchored = replace(changes, rows=rows.assign(level=true_level))
    estimates = {
        "estimate": mean,
        "kind_known": left_out(x, y, family, kind, kinds=False)[0],
        "with_signals": left_out(*arrays(changes, more, bounds_of(more)))[0],
    }
    estimates = {
        name: _possible(values, rows["level"].to_numpy()) for name, values in estimates.items()
    }
    from_labels = left_out(*arrays(anchored, read, bounds_of(read)))[0]
    interval = {"lower": np.maximum(mean - half, -1), "upper": np.minimum(mean + half, 1)}
    interval["widening"] = widening
    return rows.assign(
        **estimates, **interval, labelled=_possible(from_labels, true_level), nothing=0.0
    )


def change_figures(evaluated: pd.DataFrame, way: str = "estimate") -> dict[str, float]:
    """Sum up the changes that `evaluated_changes` returned.

    Returned: ``changes``, ``fell`` (mean of the true changes), ``error`` (mean absolute),
        ``nothing`` (that of "no change"), ``sign`` (share with the right sign, of the `large` ones:
        those over 3 points), and of ``estimate`` also ``coverage`` and ``half_width`` (median).
    """
    true, estimated = evaluated["true"], evaluated[way]
    large = true.abs() > LARGE
    inside = (evaluated["lower"] <= true) & (true <= evaluated["upper"])
    figures = {
        "changes": len(evaluated),
        "large": int(large.sum()),
        "fell": float(true.mean()),
        "error": float((estimated - true).abs().mean()),
        "nothing": float(true.abs().mean()),
        "sign": float((np.sign(estimated) == np.sign(true))[large].mean()),
    }
    if way != "estimate":
        return figures
    width = (evaluated["upper"] - evaluated["lower"]).median() / 2
    return {**figures, "coverage": float(inside.mean()), "half_width": float(width)}


def by_group(evaluated: pd.DataFrame, group: str) -> pd.DataFrame:
    """Return `change_figures` of each value of a column, and of all."""
    parts = [(str(name), own) for name, own in evaluated.groupby(group)]
    rows = [{group: name, **change_figures(own)} for name, own in [*parts, ("all", evaluated)]]
    return pd.DataFrame(rows)


def _widenings(standardised: np.ndarray, family: np.ndarray) -> np.ndarray:
    """Return the factor of intervals of each row, from the errors of the other families, (N,)."""
    factors = {name: widening_of(standardised[family != name]) for name in np.unique(family)}
    return np.array([factors[name] for name in family])


def _possible(change: np.ndarray, level: np.ndarray) -> np.ndarray:
    return np.clip(change, -level, 1 - level)
