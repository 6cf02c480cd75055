"""A regressor over several scores, chosen inside the training sources."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.intervals import MIN_SOURCES
from autoeval.estimation.methods.gram import Gram
from autoeval.estimation.methods.linear import MOST_UNDEFINED
from autoeval.estimation.score_table import SEED, Rows
from autoeval.scores.thresholds import feature_names

RISING = (
    "bos",
    "bos_strict",
    "cs",
    "ac",
    "contrastive_confidence",
    *feature_names("ps")[:15],
    *feature_names("box_share")[1:15],
    *feature_names("atc")[1:15],
)
FALLING = ("skipped_share", "no_box_share")
RIDGE = 1e-6


class Fused:
    """Least squares on at most a few scores, selected forwards, monotone where theory says so.

    Starting from the mean, the score that most lowers the error on held-out training sources is
    added, as long as it lowers it by `gain`. The error is the mean squared one of each training
    source estimated without it; so nothing of a source outside `fit` is used. A set of scores that
    has accuracy fall with confidence or stability is not considered. Each source weighs the same,
    its own images as much as its sample sets together: what will be estimated are images as they
    come. A score that more than a tenth of the rows lack is not considered; elsewhere a missing one
    counts as 0, since it is missing where the detector finds nothing.

    Parameters
    ----------
    max_features : int
    gain : float
        Share of the error by which each further score has to lower it.

    Attributes
    ----------
    selected_ : tuple of str
    coefficients_ : ndarray of shape (n_selected + 1,)
        Slopes and, last, the intercept.
    """

    features: tuple[str, ...] = (*RISING, *FALLING)

    def __init__(self, *, max_features: int = 3, gain: float = 0.1) -> None:
        self.max_features = max_features
        self.gain = gain

    def fit(self, rows: Rows, target: str) -> Self:
        """Select and fit.

        With fewer than three sources nothing can be selected, and it is least squares on `bos`.

        Raises
        ------
        InputError
            If the target is not a precision, or no row has a finite one.
        """
        if not target.startswith("mAP"):
            raise InputError(
                f"The method 'fused' knows how scores go with mAP, not with {target}: use one of "
                "the other methods for it."
            )
        rows = rows.where(np.isfinite(rows[target].astype(np.float64)))
        if not len(rows):
            raise InputError(f"Expected rows with finite {target} but there are none.")
        matrix = rows.matrix(self.features)
        usable = np.flatnonzero(np.mean(~np.isfinite(matrix), axis=0) <= MOST_UNDEFINED)
        matrix = _worst_where_undefined(matrix)
        names, groups = np.unique(rows["source"], return_inverse=True)
        own = rows["kind"] == SEED
        weights = _source_weights(groups, own)
        x, scale = _standardise(matrix[:, usable], weights)
        y = rows[target].astype(np.float64)
        gram = Gram.of(x, y, weights, groups, len(names))
        if len(names) < MIN_SOURCES:
            chosen = [*np.flatnonzero(usable == 0), len(usable)]
        else:
            held_out = _HeldOut(gram, x, y, weights, groups, _signs(self.features)[usable])
            chosen = self._select(held_out, len(usable))
        slopes = gram.solve(np.array([chosen]), RIDGE)[0][0]
        centre, spread = scale
        picked = np.array(chosen[:-1], int)
        slopes[:-1] /= spread[picked]
        slopes[-1] -= slopes[:-1] @ centre[picked]
        self.coefficients_ = slopes
        self.selected_ = tuple(self.features[i] for i in usable[picked])
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate the target for each row."""
        matrix = _worst_where_undefined(rows.matrix(self.selected_))
        return matrix @ self.coefficients_[:-1] + self.coefficients_[-1]

    def _select(self, held_out: _HeldOut, constant: int) -> list[int]:
        """Return the chosen columns, the constant one last."""
        chosen: list[int] = []
        best = held_out.errors(np.array([[constant]]))[0]
        while len(chosen) < min(self.max_features, constant):
            left = [j for j in range(constant) if j not in chosen]
            errors = held_out.errors(np.array([[*chosen, j, constant] for j in left]))
            if not errors.min() < (1 - self.gain) * best:
                break
            best = errors.min()
            chosen.append(left[int(errors.argmin())])
        return [*chosen, constant]


@dataclass(frozen=True)
class _HeldOut:
    """Rows (N, P + 1), the constant column last, whose sources are held out in turn."""

    gram: Gram
    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    groups: np.ndarray
    signs: np.ndarray

    def errors(self, columns: np.ndarray) -> np.ndarray:
        """Weighted squared error of each set of columns (B, k), infinite where a sign is wrong."""
        whole, without = self.gram.solve(columns, RIDGE)
        estimates = np.einsum("nbk,nbk->nb", self.x[:, columns], without[self.groups])
        errors = self.weights @ (np.clip(estimates, 0, 1) - self.y[:, None]) ** 2
        wrong = (whole[:, :-1] * self.signs[columns[:, :-1]] < 0).any(axis=1)
        return np.where(wrong, np.inf, errors)


def _signs(features: tuple[str, ...]) -> np.ndarray:
    return np.array([-1 if name in FALLING else 1 for name in features])


def _worst_where_undefined(matrix: np.ndarray) -> np.ndarray:
    """Set to 0 what is undefined because nothing, or nothing that confident, was found."""
    return np.where(np.isfinite(matrix), matrix, 0.0)


def _source_weights(groups: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Give every source the weight 1: half to its own images, half to its sample sets."""
    weights = np.zeros(len(groups))
    for part in (own, ~own):
        counts = np.bincount(groups[part], minlength=groups.max() + 1)
        weights[part] = 0.5 / counts[groups[part]]
    return weights


def _standardise(
    matrix: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Centre and scale columns, append a constant one; columns that do not vary become 0."""
    centre = np.average(matrix, axis=0, weights=weights)
    spread = np.sqrt(np.average((matrix - centre) ** 2, axis=0, weights=weights))
    spread = np.where(spread > 1e-12, spread, np.inf)
    return np.column_stack([(matrix - centre) / spread, np.ones(len(matrix))]), (centre, spread)
