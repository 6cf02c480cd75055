"""How soon, and how often in vain, is an alarm raised? Untouched images, then changed ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from autoeval.accuracy.resampling import resampled_counts
from autoeval.io.tasks.seed_set import named_rng
from autoeval.monitoring.changes.change_model import ChangeModel
from autoeval.monitoring.changes.condition import bounds_of
from autoeval.monitoring.changes.image_numbers import NUMBERS
from autoeval.monitoring.changes.site_watch import change_between, raise_alarm
from autoeval.monitoring.changes.slopes import Slopes
from autoeval.stability.change_slopes.fit_change import (
    NETWORK,
    NO_KIND,
    ChangeInputs,
    products_of,
    slope_rows,
    slopes_without,
    whitening_of,
)
from autoeval.stability.change_slopes.image_weights import fit_image_weights
from autoeval.stability.change_slopes.known_changes import KnownChanges

LEAD = 0.3  # share of the untouched images that come after the baseline
MONITORS = ("predicted change", "mean score")
FALLS = ((0.1, 1.0), (0.05, 0.1), (0.03, 0.05), (-1.0, 0.03))
FEWEST = 12
RESAMPLES = 100


@dataclass(frozen=True, eq=False)
class Stretch:
    """Numbers (n_images, len(NUMBERS)) of untouched images of a site and category, and of others.

    Both are in the order of the files, and none of the changed ones is among the untouched. `key`
    has ``site``, ``group``, ``category``, ``kind``, ``severity``; `level` is the estimated mAP of
    the site, `true` the change of mAP from the one to the other.
    """

    key: dict[str, object]
    level: float
    true: float
    untouched: np.ndarray
    changed: np.ndarray


def stretches(changes: KnownChanges) -> Iterator[Stretch]:
    """Yield one stretch for each change of a site that has other images than those changed."""
    for k, row in enumerate(changes.rows.to_dict("records")):
        if len(changes.untouched[k]) >= FEWEST:
            key = {name: row[name] for name in ("site", "group", "category", "kind", "severity")}
            images = changes.untouched[k], changes.changed[k]
            yield Stretch(key, row["level"], row["true"], *images)


def other_conditions(changes: KnownChanges, levels: pd.DataFrame) -> Iterator[Stretch]:
    """Yield one stretch for each two sites of a group: untouched images of one, then another."""
    for (_, category), conditions in levels.groupby(["group", "category"], sort=False):
        for a in conditions.to_dict("records"):
            for b in conditions.to_dict("records"):
                if a["site"] == b["site"]:
                    continue
                numbers = [changes.images[p["site"], category] for p in (a, b)]
                key = {name: a[name] for name in ("site", "group", "category")}
                what = {"kind": b["site"], "severity": 0}
                yield Stretch({**key, **what}, a["estimate"], b["true"] - a["true"], *numbers)


class LeftOutModels:
    """Change models that have seen neither a group nor a kind of change.

    `widening` is the factor of the intervals at each group, from the errors of the others.
    """

    def __init__(
        self,
        changes: KnownChanges,
        widening: Mapping[str, float] | None = None,
        inputs: ChangeInputs = NETWORK,
    ) -> None:
        self.widening = dict(widening or {})
        self.changes, self.inputs = changes, inputs
        self.bounds = bounds_of(inputs.slopes)
        self._slope_rows = slope_rows(changes, inputs.slopes, self.bounds)
        self._products = products_of(changes)
        self._kinds = (NO_KIND, *np.unique(changes.rows["kind"]))
        self._slopes: dict[str, dict[str, Slopes]] = {}
        self._models: dict[tuple[str, str], ChangeModel] = {}

    def of(self, group: str, kind: str = NO_KIND) -> ChangeModel:
        """Return the model without a group, and without a kind if one is named."""
        if group not in self._slopes:
            self._slopes[group] = dict(slopes_without(self._slope_rows, group, self._kinds))
        if (group, kind) not in self._models:
            rows = self.changes.rows
            other_groups = (rows["group"] != group).to_numpy()
            fitted = other_groups & (rows["kind"] != kind).to_numpy()
            weights = fit_image_weights(self._products[fitted].sum(axis=0), self.inputs.series)
            whitening = whitening_of(self.changes, other_groups) if self.inputs.novelty else None
            slopes = replace(self._slopes[group][kind], widening=self.widening.get(group, 1.0))
            self._models[group, kind] = ChangeModel(
                self.inputs.slopes,
                self.bounds,
                slopes,
                weights,
                whitening,
                calibrated=self.changes.calibrated,
            )
        return self._models[group, kind]


def alarms(
    stretch: Stretch, model: ChangeModel, *, orders: int, alpha: float, seed: int
) -> Iterator[dict[str, object]]:
    """Yield the result of each monitor on a stretch, in several random orders of its images.

    Beside the stretch's key there are ``true``, ``worse`` (whether the change estimated from all
    its images is known to be a fall), ``order``, ``monitor``, ``alarm`` (raised after the onset),
    ``early`` (raised before it), ``delay`` (images from the onset to the alarm; NaN without).
    """
    n = len(stretch.untouched)
    n_baseline, worse = n - int(LEAD * n), estimated_change(stretch, model)["upper"] < 0
    for order in range(orders):
        rng = named_rng(seed, *map(str, stretch.key.values()), order)
        untouched = stretch.untouched[rng.permutation(n)]
        series = np.concatenate([untouched, stretch.changed[rng.permutation(len(stretch.changed))]])
        for monitor in MONITORS:
            values = _monitored(series, n_baseline, model, monitor)
            at = raise_alarm(values, n_baseline, alpha=alpha, seed=order).at
            late = None if at is None else at - (n - n_baseline)
            yield {
                **stretch.key,
                "true": stretch.true,
                "worse": worse,
                "order": order,
                "monitor": monitor,
                "alarm": late is not None and late >= 0,
                "early": late is not None and late < 0,
                "delay": late + 1 if late is not None and late >= 0 else np.nan,
            }


def false_alarms(
    numbers: np.ndarray, model: ChangeModel, permutations: Sequence[np.ndarray], *, alpha: float
) -> dict[str, float]:
    """Return the share of orders of untouched images that alarm; the first half is baseline."""
    raised = dict.fromkeys(MONITORS, 0)
    for order, permutation in enumerate(permutations):
        series, half = numbers[permutation], len(numbers) // 2
        for monitor in MONITORS:
            values = _monitored(series, half, model, monitor)
            raised[monitor] += raise_alarm(values, half, alpha=alpha, seed=order).at is not None
    return {monitor: n / len(permutations) for monitor, n in raised.items()}


def _monitored(series: np.ndarray, n_baseline: int, model: ChangeModel, monitor: str) -> np.ndarray:
    """Return what a monitor watches: series with one value an image, (W, N)."""
    if monitor == MONITORS[1]:
        boxes, score = (series[:, NUMBERS.index(name)] for name in ("boxes", "score"))
        return (score / np.maximum(boxes, 1))[None]
    return model.image_series(series[:n_baseline], series[n_baseline:])


def estimated_change(stretch: Stretch, model: ChangeModel, *, seed: int = 0) -> dict[str, float]:
    """Estimate the change of a stretch from all its images, with its interval."""
    drawn = [
        resampled_counts(len(numbers), resamples=RESAMPLES, seed=seed + k) @ numbers / len(numbers)
        for k, numbers in enumerate((stretch.untouched, stretch.changed))
    ]
    change = change_between(
        model, stretch.untouched, stretch.changed, *drawn, map_before=stretch.level
    )
    return {"estimate": change.value, "lower": change.lower, "upper": change.upper}


def power_table(rows: pd.DataFrame, group: str) -> pd.DataFrame:
    """Sum up `alarms` by a column and by the true fall of mAP.

    There is one row for each value of the column, fall (lower bounds of `FALLS`) and monitor:
    ``streams``, ``power`` (share with an alarm after the onset, of those without one before),
    ``worse`` (share of these alarms whose estimated change is known to be a fall), ``delay``
    (median, of those with an alarm), ``early`` (share with an alarm before it).
    """
    falls = rows.assign(fall=[_fall(true) for true in rows["true"]])
    parts = []
    for (name, fall, monitor), streams in falls.groupby([group, "fall", "monitor"], sort=False):
        fair = streams[~streams["early"]]
        cells = {
            "streams": len(streams),
            "power": float(fair["alarm"].mean()) if len(fair) else np.nan,
            "worse": float(fair.loc[fair["alarm"], "worse"].mean()),
            "delay": float(streams["delay"].median()),
            "early": float(streams["early"].mean()),
        }
        parts.append({group: name, "fall": fall, "monitor": monitor, **cells})
    return pd.DataFrame(parts)


def _fall(true: float) -> float:
    return next(low for low, high in FALLS if low <= -true < high or low == FALLS[-1][0])
