"""Fitting a `ChangeModel`, and evaluating it on families and kinds of change left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm

from autoeval.monitoring.changes.change_model import LEAST_LEVEL, ChangeModel, scaled_moves
from autoeval.monitoring.changes.condition import (
    CONDITION,
    OF_CLEAN_BOXES,
    SCORES,
    bounds_of,
    condition,
    fit_image_weights,
    image_products,
)
from autoeval.monitoring.changes.image_numbers import fit_whitening
from autoeval.monitoring.changes.slopes import Slopes, fit_deviations, fit_slopes
from autoeval.monitoring.fitting.known_changes import KnownChanges

READ = ("found", "best", "size", "half_boxes", "certain")
COVERED = 0.9


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

NO_KIND = ""


def fit_change(
    changes: KnownChanges, inputs: ChangeInputs = NETWORK, *, origin: str = ""
) -> ChangeModel:
    """Fit slopes within sites: the change of mAP on the changes of scores.

    The interval is widened or narrowed until, with every family and the kind of change both left
    out, 90 % of the true changes are inside.
    """
    bounds = bounds_of(inputs.slopes)
    x, y, family, kind = arrays(changes, inputs.slopes, bounds)
    slopes = fit_slopes(x, y, family, kind)
    mean, std = left_out(x, y, family, kind)
    widened = replace(slopes, widening=widening_of(np.abs(y - mean) / std))
    weights = fit_image_weights(products_of(changes).sum(axis=0), inputs.series)
    known = np.ones(len(changes), bool)
    whitening = whitening_of(changes, known) if inputs.novelty else None
    own = inputs.slopes, bounds, widened, weights, whitening, origin
    return ChangeModel(*own, calibrated=changes.calibrated)


def products_of(changes: KnownChanges) -> np.ndarray:
    """Return the `image_products` of every change, (N, len(CONDITION) + 2, len(CONDITION) + 2)."""
    rows = changes.rows
    relative = (rows["true"] / rows["level"].clip(LEAST_LEVEL)).to_numpy(np.float64)
    images = zip(changes.untouched, changes.changed, relative, strict=True)
    return np.array([image_products(*own) for own in images])


def whitening_of(changes: KnownChanges, known: np.ndarray) -> np.ndarray:
    """Fit how signals vary at those sites that a mask (N,) of changes selects."""
    first = changes.rows[known].drop_duplicates("site").index
    return fit_whitening([changes.untouched[k] for k in first if len(changes.untouched[k])])


def arrays(
    changes: KnownChanges, read: Sequence[str], bounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return what slopes are fitted to: x (N, P), y (N,), family (N,), kind (N,)."""
    rows = changes.rows
    difference = condition(changes.after) - condition(changes.before)
    x = scaled_moves(difference, read, bounds, rows["level"].to_numpy(np.float64))
    y = rows["true"].to_numpy(np.float64)
    return x, y, rows["family"].to_numpy(str), rows["kind"].to_numpy(str)


def left_out(
    x: np.ndarray, y: np.ndarray, family: np.ndarray, kind: np.ndarray, *, kinds: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Predict every change by slopes that have seen neither its family nor, with `kinds`, its kind.

    Returned: mean, std (N,).
    """
    mean, std = np.full(len(y), np.nan), np.full(len(y), np.nan)
    for own in np.unique(family):
        kinds_left_out = np.unique(kind[family == own]) if kinds else (NO_KIND,)
        for one, slopes in slopes_without(x, y, family, kind, own, kinds_left_out):
            rows = (family == own) & ((kind == one) | (one == NO_KIND))
            mean[rows], std[rows] = slopes.predict(x[rows])
    return mean, std


def slopes_without(
    x: np.ndarray,
    y: np.ndarray,
    family: np.ndarray,
    kind: np.ndarray,
    own: str,
    kinds: Iterable[str],
) -> Iterator[tuple[str, Slopes]]:
    """Yield slopes fitted without a family and without each of some kinds; `NO_KIND` keeps all.

    The five standard deviations are fitted once, without the family.
    """
    others = family != own
    logs = fit_deviations(x[others], y[others], family[others], kind[others])
    for one in kinds:
        known = others & (kind != one)
        yield str(one), fit_slopes(x[known], y[known], family[known], kind[known], logs=logs)


def widening_of(strayed: np.ndarray) -> float:
    """Return the factor by which 90 % of errors, in standard deviations, are inside."""
    return float(np.quantile(strayed, COVERED)) / float(norm.ppf((1 + COVERED) / 2))
