"""Fitting a `ChangeModel`, and judging it on families and kinds of change that it has not seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import norm

from autoeval.monitoring.changes.change_model import LEAST_LEVEL, ChangeModel, scaled_moves
from autoeval.monitoring.changes.condition import condition
from autoeval.monitoring.changes.image_weights import (
    bounds_of,
    fit_image_weights,
    image_products,
)
from autoeval.monitoring.changes.slopes import Slopes, fit_deviations, fit_slopes
from autoeval.monitoring.changes.strangeness import fit_whitening
from autoeval.monitoring.fitting.known_changes import KnownChanges

READ = ("found", "best", "size", "half_boxes", "certain")
COVERED = 0.9
NO_KIND = ""


def fit_change(
    changes: KnownChanges, *, read: Sequence[str] = READ, origin: str = ""
) -> ChangeModel:
    """Fit slopes within places: what each change moved, against what it did to mAP.

    The interval is widened or narrowed until, with every family and the kind of change both left
    out, 90 % of the true changes are inside.

    Parameters
    ----------
    changes : KnownChanges
    read : sequence of str
        Names of `CONDITION` to read.
    origin : str
        See `ChangeModel`.

    Raises
    ------
    InputError
        As `fit_slopes`.
    """
    bounds = bounds_of(read)
    x, y, family, kind = arrays(changes, read, bounds)
    slopes = fit_slopes(x, y, family, kind)
    mean, std = left_out(x, y, family, kind)
    widened = replace(slopes, widening=widening_of(np.abs(y - mean) / std))
    weights = fit_image_weights(products_of(changes).sum(axis=0))
    whitening = whitening_of(changes, np.ones(len(changes), bool))
    return ChangeModel(tuple(read), bounds, widened, weights, whitening, origin)


def products_of(changes: KnownChanges) -> np.ndarray:
    """Return the `image_products` of every change, (N, len(CONDITION) + 2, len(CONDITION) + 2)."""
    rows = changes.rows
    relative = (rows["true"] / rows["level"].clip(LEAST_LEVEL)).to_numpy(np.float64)
    images = zip(changes.untouched, changes.changed, relative, strict=True)
    return np.array([image_products(*own) for own in images])


def whitening_of(changes: KnownChanges, known: np.ndarray) -> np.ndarray:
    """Fit how signals vary at those places that a mask (N,) of changes selects."""
    first = changes.rows[known].drop_duplicates("place").index
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

    Returns
    -------
    mean, std : ndarray of shape (N,)
    """
    mean, std = np.full(len(y), np.nan), np.full(len(y), np.nan)
    for own in np.unique(family):
        asked_kinds = np.unique(kind[family == own]) if kinds else (NO_KIND,)
        for one, slopes in slopes_without(x, y, family, kind, own, asked_kinds):
            asked = (family == own) & ((kind == one) | (one == NO_KIND))
            mean[asked], std[asked] = slopes.predict(x[asked])
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
