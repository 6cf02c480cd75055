"""How far off are changes of mAP that are told without labels? Judged on what was not fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import norm

from autoeval.monitoring.changes.image_weights import bounds_of
from autoeval.monitoring.fitting.fit_change import READ, arrays, left_out, widening_of
from autoeval.monitoring.fitting.known_changes import KnownChanges

LARGE = 0.03
LEVEL = 0.9
WAYS = ("estimate", "kind_known", "labelled", "with_signals", "nothing")
SIGNALS = ("detail_1", "detail_2", "noise", "contrast")


def judged_changes(
    changes: KnownChanges, levels: pd.DataFrame, read: Sequence[str] = READ
) -> pd.DataFrame:
    """Estimate every known change in several ways, none of which has seen its family.

    Parameters
    ----------
    changes : KnownChanges
    levels : DataFrame
        From `known_changes`.
    read : sequence of str
        What the slopes are of.

    Returns
    -------
    DataFrame
        `KnownChanges.rows` with ``estimate``, ``lower``, ``upper`` (the kind of change has not been
        seen either), ``kind_known`` (it has been, at other families), ``labelled`` (the level
        before is known, the kind not seen), ``with_signals`` (signals of the camera are read too;
        the kind not seen) and ``nothing`` (no change), all in [-1, 1]; ``widening``, the factor of
        the interval.
    """
    rows, more = changes.rows, (*read, *SIGNALS)
    x, y, family, kind = arrays(changes, read, bounds_of(read))
    mean, std = left_out(x, y, family, kind)
    widening = _widenings(np.abs(y - mean) / std, family)
    half = float(norm.ppf((1 + LEVEL) / 2)) * std * widening
    known = levels.set_index(["place", "category"])["true"]
    true_level = known.loc[list(zip(rows["place"], rows["category"], strict=True))].to_numpy()
    anchored = replace(changes, rows=rows.assign(level=true_level))
    told = {
        "estimate": mean,
        "kind_known": left_out(x, y, family, kind, kinds=False)[0],
        "with_signals": left_out(*arrays(changes, more, bounds_of(more)))[0],
    }
    told = {name: _possible(values, rows["level"].to_numpy()) for name, values in told.items()}
    from_labels = left_out(*arrays(anchored, read, bounds_of(read)))[0]
    interval = {"lower": np.maximum(mean - half, -1), "upper": np.minimum(mean + half, 1)}
    interval["widening"] = widening
    return rows.assign(**told, **interval, labelled=_possible(from_labels, true_level), nothing=0.0)


def change_figures(judged: pd.DataFrame, way: str = "estimate") -> dict[str, float]:
    """Sum up judged changes.

    Returns
    -------
    dict
        ``changes``, ``fell`` (mean of the true changes), ``error`` (mean absolute), ``nothing``
        (that of "no change"), ``sign`` (share with the right sign, of the `large` ones: those over
        3 points), and of ``estimate`` also ``coverage`` and ``half_width`` (median).
    """
    true, told = judged["true"], judged[way]
    large = true.abs() > LARGE
    inside = (judged["lower"] <= true) & (true <= judged["upper"])
    figures = {
        "changes": len(judged),
        "large": int(large.sum()),
        "fell": float(true.mean()),
        "error": float((told - true).abs().mean()),
        "nothing": float(true.abs().mean()),
        "sign": float((np.sign(told) == np.sign(true))[large].mean()),
    }
    if way != "estimate":
        return figures
    width = (judged["upper"] - judged["lower"]).median() / 2
    return {**figures, "coverage": float(inside.mean()), "half_width": float(width)}


def by_group(judged: pd.DataFrame, group: str, way: str = "estimate") -> pd.DataFrame:
    """Return `change_figures` of each value of a column, and of all."""
    parts = [(str(name), own) for name, own in judged.groupby(group)]
    rows = [{group: name, **change_figures(own, way)} for name, own in [*parts, ("all", judged)]]
    return pd.DataFrame(rows)


def _widenings(strayed: np.ndarray, family: np.ndarray) -> np.ndarray:
    """Return the factor of intervals of each row, from the errors of the other families, (N,)."""
    factors = {name: widening_of(strayed[family != name]) for name in np.unique(family)}
    return np.array([factors[name] for name in family])


def _possible(change: np.ndarray, level: np.ndarray) -> np.ndarray:
    return np.clip(change, -level, 1 - level)
