"""Density normalised average precision of points, as P2PNet describes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial import KDTree

from autoeval.metrics.average_precision import average_precision, pool_ties

DELTAS = tuple(float(delta) for delta in np.round(np.arange(1, 11) * 0.05, 2))


def neighbour_distance(points: np.ndarray, size: tuple[int, int], k: int = 3) -> np.ndarray:
    """Mean distance of each true point to its k nearest others.

    With fewer than k others, the mean is over those there are; a point alone in its image gets the
    image's diagonal.

    Parameters
    ----------
    points : ndarray of shape (N, 2)
        As xy, pixels.
    size : tuple of int
        Height and width of the image in pixels.
    k : int
        Number of neighbours.

    Returns
    -------
    ndarray of shape (N,), float64
    """
    points = np.asarray(points, np.float64).reshape(-1, 2)
    if len(points) < 2:
        return np.full(len(points), np.hypot(*size))
    distances = KDTree(points).query(points, min(k + 1, len(points)))[0]
    return distances[:, 1:].mean(axis=1)


def true_positives(
    target: np.ndarray, pred: np.ndarray, scores: np.ndarray, reach: np.ndarray
) -> np.ndarray:
    """Walk predictions from the highest score down and give each the nearest free true point.

    Parameters
    ----------
    target, pred : ndarray of shape (N, 2), (M, 2)
        Points as xy, pixels.
    scores : ndarray of shape (M,)
        Confidence of the predictions; of equal ones, the first goes first.
    reach : ndarray of shape (N,)
        Distance below which a prediction may take a true point, pixels.

    Returns
    -------
    ndarray of shape (M,), bool
        Whether each prediction took one.
    """
    hit = np.zeros(len(pred), bool)
    free = np.ones(len(target), bool)
    if not len(target):
        return hit
    neighbours = KDTree(pred).query_ball_point(target, reach) if len(pred) else []
    candidates: list[list[int]] = [[] for _ in pred]
    for row, close in enumerate(neighbours):
        for column in close:
            candidates[column].append(row)
    for column in np.argsort(-np.asarray(scores), kind="stable"):
        rows = np.array([row for row in candidates[column] if free[row]], np.int64)
        distance = np.hypot(*(target[rows] - pred[column]).T)
        rows, distance = rows[distance < reach[rows]], distance[distance < reach[rows]]
        if len(rows):
            free[rows[distance.argmin()]] = False
            hit[column] = True
    return hit


@dataclass
class NormalisedAveragePrecision:
    """nAP of a data set (Song et al. 2021, section 4.1).

    A prediction is a true positive when its distance to a true point that no better-scored
    prediction took is below delta times the mean distance of that point to its three nearest
    neighbours. Average precision is the area under the precision-recall curve of all predictions of
    all images, precision made monotonous.

    Parameters
    ----------
    deltas : sequence of float
        The nAP of each, and their mean, are computed.

    Examples
    --------
    >>> score = NormalisedAveragePrecision((.5,))
    >>> points = np.array([[0., 0.], [0., 10.], [10., 0.]])
    >>> score.update(points, points + 1, np.ones(3), (20, 20))
    >>> score.compute()
    {'nAP@0.5': 1.0, 'nAP': 1.0}
    """

    deltas: Sequence[float] = DELTAS
    n_target: int = 0
    scores: list[np.ndarray] = field(default_factory=list)
    hits: list[np.ndarray] = field(default_factory=list)

    def update(
        self, target: np.ndarray, pred: np.ndarray, scores: np.ndarray, size: tuple[int, int]
    ) -> None:
        """Add an image of ``size`` (height, width): points (N, 2), (M, 2) and scores (M,)."""
        target, pred = (np.asarray(p, np.float64).reshape(-1, 2) for p in (target, pred))
        reach = neighbour_distance(target, size)
        self.n_target += len(target)
        self.scores.append(np.asarray(scores, np.float64))
        self.hits.append(
            np.stack([true_positives(target, pred, scores, d * reach) for d in self.deltas])
        )

    def merge(self, other: NormalisedAveragePrecision) -> None:
        """Add the images of another score of the same deltas."""
        if tuple(other.deltas) != tuple(self.deltas):
            raise ValueError(f"Cannot merge nAP at {self.deltas} and {other.deltas}.")
        self.n_target += other.n_target
        self.scores += other.scores
        self.hits += other.hits

    def compute(self) -> dict[str, float]:
        """Return ``nAP@delta`` for each delta and their mean ``nAP``; NaN without true points."""
        if not self.n_target:
            return {**{f"nAP@{delta:g}": np.nan for delta in self.deltas}, "nAP": np.nan}
        scores, hits = np.concatenate(self.scores), np.concatenate(self.hits, axis=1)
        # Equal scores enter the curve together, in any order.
        values = average_precision(
            *pool_ties(scores, hits), self.n_target, interpolation="all-point"
        ).tolist()
        named = {f"nAP@{delta:g}": v for delta, v in zip(self.deltas, values, strict=True)}
        return {**named, "nAP": float(np.mean(values))}
