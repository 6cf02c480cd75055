"""Fitting a `ChangeModel`, and its errors on groups and kinds of change left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.stats import norm

from autoeval.monitoring.changes.change_model import LEAST_LEVEL, ChangeModel, scaled_moves
from autoeval.monitoring.changes.condition import (
    CONDITION,
    OF_CLEAN_BOXES,
    SCORES,
    bounds_of,
    condition,
)
from autoeval.monitoring.changes.slopes import Slopes
from autoeval.stability.change_slopes.image_weights import fit_image_weights, image_products
from autoeval.stability.change_slopes.known_changes import KnownChanges
from autoeval.stability.change_slopes.slope_regression import SlopeRows, fit_deviations, fit_slopes
from autoeval.stability.change_slopes.whitening import fit_whitening

READ = ("found", "best", "size", "half_boxes", "certain")
COVERED = 0.9
NO_KIND = ""
LARGE = 0.03
LEVEL = 0.9
WAYS = ("estimate", "kind_known", "labelled", "with_signals", "nothing")
SIGNALS = ("detail_1", "detail_2", "noise", "contrast")


@dataclass(frozen=True)
class ChangeInputs:
    """What a change model reads.

    slopes: names of `CONDITION` whose change predicts that of mAP.
    series: names of `CONDITION` that each series of single images reads.
    novelty: whether the novelty of the camera's signals is watched.
    """

    slopes: tuple[str, ...] = READ
    series: tuple[tuple[str, ...], ...] = (CONDITION, tuple(SCORES))
    novelty: bool = True


NETWORK = ChangeInputs()
HALF_SIZE = ChangeInputs(series=(tuple(SCORES),), novelty=False)
CLEAN_BOXES = ChangeInputs(
    tuple(name for name in READ if name in OF_CLEAN_BOXES), (OF_CLEAN_BOXES,), novelty=False
)
"""Of a pass over images; of prediction files at full and at half size; of full size alone."""


def fit_change(
    changes: KnownChanges, inputs: ChangeInputs = NETWORK, *, origin: str = ""
) -> ChangeModel:
    """Fit slopes within sites: the change of mAP on the changes of scores.

    The interval is widened or narrowed until, with every group and the kind of change both left
    out, 90 % of the true changes are inside.
    """
    bounds = bounds_of(inputs.slopes)
    rows = slope_rows(changes, inputs.slopes, bounds)
    mean, std = left_out(rows)
    slopes = replace(fit_slopes(*rows), widening=widening_of(np.abs(rows.y - mean) / std))
    weights = fit_image_weights(products_of(changes).sum(axis=0), inputs.series)
    every_change = np.ones(len(changes), bool)
    whitening = whitening_of(changes, every_change) if inputs.novelty else None
    return ChangeModel(
        inputs.slopes,
        bounds,
        slopes,
        weights,
        whitening,
        origin,
        calibrated=changes.calibrated,
    )


def products_of(changes: KnownChanges) -> np.ndarray:
    """Return the `image_products` of every change, (N, len(CONDITION) + 2, len(CONDITION) + 2)."""
    rows = changes.rows
    relative = (rows["true"] / rows["level"].clip(LEAST_LEVEL)).to_numpy(np.float64)
    images = zip(changes.untouched, changes.changed, relative, strict=True)
    return np.array([image_products(*numbers) for numbers in images])


def whitening_of(changes: KnownChanges, chosen: np.ndarray) -> np.ndarray:
    """Fit how signals vary at those sites that a mask (N,) of changes selects."""
    first = changes.rows[chosen].drop_duplicates("site").index
    return fit_whitening([changes.untouched[k] for k in first if len(changes.untouched[k])])


def slope_rows(changes: KnownChanges, read: Sequence[str], bounds: np.ndarray) -> SlopeRows:
    """Return what slopes are fitted to."""
    rows = changes.rows
    difference = condition(changes.after) - condition(changes.before)
    x = scaled_moves(difference, read, bounds, rows["level"].to_numpy(np.float64))
    y = rows["true"].to_numpy(np.float64)
    return SlopeRows(x, y, rows["group"].to_numpy(str), rows["kind"].to_numpy(str))


def left_out(rows: SlopeRows, *, kinds: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Predict every change by slopes that have seen neither its group nor, with `kinds`, its kind.

    Returned: mean, std (N,).
    """
    mean, std = np.full(len(rows.y), np.nan), np.full(len(rows.y), np.nan)
    for group in np.unique(rows.group):
        in_group = rows.group == group
        kinds_left_out = np.unique(rows.kind[in_group]) if kinds else (NO_KIND,)
        for kind, slopes in slopes_without(rows, group, kinds_left_out):
            predicted = in_group & ((rows.kind == kind) | (kind == NO_KIND))
            mean[predicted], std[predicted] = slopes.predict(rows.x[predicted])
    return mean, std


def slopes_without(
    rows: SlopeRows, group: str, kinds: Iterable[str]
) -> Iterator[tuple[str, Slopes]]:
    """Yield slopes fitted without a group and without each of some kinds; `NO_KIND` keeps all.

    The five standard deviations are fitted once, without the group.
    """
    other_groups = rows.where(rows.group != group)
    logs = fit_deviations(*other_groups)
    for kind in kinds:
        fitted = other_groups.where(other_groups.kind != kind)
        yield str(kind), fit_slopes(*fitted, logs=logs)


def widening_of(strayed: np.ndarray) -> float:
    """Return the factor by which 90 % of errors, in standard deviations, are inside."""
    return float(np.quantile(strayed, COVERED)) / float(norm.ppf((1 + COVERED) / 2))


def evaluated_changes(
    changes: KnownChanges, levels: pd.DataFrame, read: Sequence[str] = READ
) -> pd.DataFrame:
    """Estimate every known change in several ways, none of which has seen its group.

    Returned: `KnownChanges.rows` with ``estimate``, ``lower``, ``upper`` (the kind of change has
        not been seen either), ``kind_known`` (it has been, at other groups), ``labelled`` (the
        level before is known, the kind not seen), ``with_signals`` (signals of the camera are read
        too; the kind not seen) and ``nothing`` (no change), all in [-1, 1]; ``widening``, the
        factor of the interval.
    """
    rows, more = changes.rows, (*read, *SIGNALS)
    fitted = slope_rows(changes, read, bounds_of(read))
    mean, std = left_out(fitted)
    standardised = np.abs(fitted.y - mean) / std
    # The interval of a group is widened by the errors of the others: its own are evaluated.
    factors = {
        group: widening_of(standardised[fitted.group != group]) for group in np.unique(fitted.group)
    }
    widening = np.array([factors[group] for group in fitted.group])
    half = float(norm.ppf((1 + LEVEL) / 2)) * std * widening
    true_levels = levels.set_index(["site", "category"])["true"]
    true_level = true_levels.loc[list(zip(rows["site"], rows["category"], strict=True))].to_numpy()
    anchored = replace(changes, rows=rows.assign(level=true_level))
    estimates = {
        "estimate": mean,
        "kind_known": left_out(fitted, kinds=False)[0],
        "with_signals": left_out(slope_rows(changes, more, bounds_of(more)))[0],
    }
    estimates = {
        name: _possible(values, rows["level"].to_numpy()) for name, values in estimates.items()
    }
    from_labels = left_out(slope_rows(anchored, read, bounds_of(read)))[0]
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
    parts = [(str(name), group_rows) for name, group_rows in evaluated.groupby(group)]
    rows = [
        {group: name, **change_figures(group_rows)}
        for name, group_rows in [*parts, ("all", evaluated)]
    ]
    return pd.DataFrame(rows)


def _possible(change: np.ndarray, level: np.ndarray) -> np.ndarray:
    return np.clip(change, -level, 1 - level)
