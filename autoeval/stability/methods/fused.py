"""A regressor over several scores at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.score_table import SEED
from autoeval.model.regression import MIN_SOURCES
from autoeval.stability.methods.linear import MOST_UNDEFINED, check_precision
from autoeval.stability.methods.score_rows import Rows
from autoeval.stability.scores.agreement import StabilityAP
from autoeval.stability.scores.base import feature_names
from autoeval.stability.scores.registry import direction_of

PENALTIES = (0.01, 0.03, 0.1)


class Fused:
    """Ridge regression on confidence and agreement, in which no score may speak against accuracy.

    Scores of confidence and of agreement under dropout rise with mAP, the
    share of images without a box falls; no slope is allowed the other sign, which leaves most at
    0. How far slopes are shrunk is chosen out of `PENALTIES` by the mean squared error on each
    training source estimated without it. Each source weighs the same, its own images as much as
    its sample sets together. A score that more than a tenth of the rows lack is not considered;
    elsewhere a missing one counts as 0, since it is missing where the detector finds nothing.

    selected_: scores whose slope is not 0.
    coefficients_ (n_selected + 1,): slopes and, last, the intercept.
    """

    features: tuple[str, ...] = (
        "no_box_share",
        "contrastive_confidence",
        *feature_names("atc")[4:13:2],  # .20, .30, ..., .60
        *StabilityAP.features,
    )
    optional: tuple[str, ...] = tuple(StabilityAP.features)

    def fit(self, rows: Rows, target: str) -> Self:
        """Choose the penalty and fit; with fewer than three sources it is the largest."""
        check_precision("fused", target)
        rows = rows.where(np.isfinite(rows[target].astype(np.float64)))
        if not len(rows):
            raise InputError(f"Expected rows with finite {target} but there are none.")
        features = self._usable(rows)
        signs = np.array([float(direction_of(name)) for name in features])
        names, groups = np.unique(rows["source"], return_inverse=True)
        training = _Training(
            _worst_where_undefined(rows.matrix(features)) * signs,
            rows[target].astype(np.float64),
            _source_weights(groups, rows["kind"] == SEED),
        )
        self.penalty_ = PENALTIES[-1]
        if len(names) >= MIN_SOURCES:
            self.penalty_ = min(PENALTIES, key=lambda p: _held_out_error(training, groups, p))
        coefficients = training.fit(self.penalty_)
        coefficients[:-1] *= signs
        chosen = np.flatnonzero(coefficients[:-1])
        self.selected_ = tuple(features[k] for k in chosen)
        self.coefficients_ = coefficients[[*chosen, -1]]
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate the target for each row."""
        return _apply(self.coefficients_, _worst_where_undefined(rows.matrix(self.selected_)))

    def _usable(self, rows: Rows) -> list[str]:
        """Return the scores that enough rows have."""
        present = [name for name in self.features if name in rows]
        undefined = np.mean(~np.isfinite(rows.matrix(present)), axis=0)
        return [n for n, share in zip(present, undefined, strict=True) if share <= MOST_UNDEFINED]


@dataclass(frozen=True)
class _Training:
    """Scores (N, P), targets (N,) and weights (N,)."""

    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray

    def where(self, mask: np.ndarray) -> _Training:
        return _Training(self.x[mask], self.y[mask], self.weights[mask])

    def fit(self, penalty: float) -> np.ndarray:
        """Return P slopes, none negative, and the intercept.

        The penalty is on slopes per standard deviation, relative to the mean squared error.
        """
        root = np.sqrt(self.weights / self.weights.sum())
        centre, middle = (np.average(v, axis=0, weights=self.weights) for v in (self.x, self.y))
        spread = np.sqrt(np.average((self.x - centre) ** 2, axis=0, weights=self.weights))
        spread = np.where(spread > 1e-12, spread, np.inf)
        n_scores = self.x.shape[1]
        from scipy.optimize import nnls  # a quarter of a second that most commands save

        # The ridge penalty as rows of the design that ask for slopes of 0, by which non-negative
        # least squares solve it, too.
        design = np.vstack(
            [(self.x - centre) / spread * root[:, None], np.sqrt(penalty) * np.eye(n_scores)]
        )
        wanted = np.append((self.y - middle) * root, np.zeros(n_scores))
        slopes = nnls(design, wanted)[0] / spread if n_scores else np.zeros(0)
        return np.append(slopes, middle - slopes @ centre)


def _held_out_error(training: _Training, groups: np.ndarray, penalty: float) -> float:
    """Weighted squared error of every source when fitted without it."""
    error = 0.0
    for group in range(groups.max() + 1):
        rest, left_out = training.where(groups != group), training.where(groups == group)
        estimates = np.clip(_apply(rest.fit(penalty), left_out.x), 0, 1)
        error += float(left_out.weights @ (estimates - left_out.y) ** 2)
    return error


def _apply(coefficients: np.ndarray, x: np.ndarray) -> np.ndarray:
    return x @ coefficients[:-1] + coefficients[-1]


def _worst_where_undefined(matrix: np.ndarray) -> np.ndarray:
    """Set to 0 what is undefined because nothing, or nothing that confident, was found."""
    return np.where(np.isfinite(matrix), matrix, 0.0)


def _source_weights(groups: np.ndarray, untouched: np.ndarray) -> np.ndarray:
    """Give every source the weight 1: half to its own images, half to its sample sets."""
    weights = np.zeros(len(groups))
    for part in (untouched, ~untouched):
        counts = np.bincount(groups[part], minlength=groups.max() + 1)
        weights[part] = 0.5 / counts[groups[part]]
    return weights
