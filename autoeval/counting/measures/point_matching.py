"""Matching of predicted and true points: precision, recall, F1, and average precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from autoeval.accuracy.measures import average_precision, pool_ties
from autoeval.errors import InputError

DELTAS = tuple(float(delta) for delta in np.round(np.arange(1, 11) * 0.05, 2))


def match_points(
    target: np.ndarray, pred: np.ndarray, max_distance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Match points one to one within a distance: as many as possible, then as near as possible.

    Groups that no chain of candidate pairs connects are matched apart, so that cost grows with the
    largest one.

    Parameters
    ----------
    target, pred : ndarray of shape (N, 2) and (M, 2)
        True and predicted points as xy, pixels.
    max_distance : float
        In pixels, that distance included.

    Returns
    -------
    rows, columns : ndarray of shape (K,), int64
        Positions in `target`, rising, and in `pred` of each pair.

    Raises
    ------
    InputError
        If the distance is not over 0.
    """
    if not max_distance > 0:
        raise InputError(f"Expected a positive distance for matching but got {max_distance}.")
    target, pred = _points(target), _points(pred)
    rows, columns = np.zeros(0, np.int64), np.zeros(0, np.int64)
    if len(target) and len(pred):
        near = KDTree(target).sparse_distance_matrix(
            KDTree(pred), max_distance, output_type="coo_matrix"
        )
        for some_rows, some_columns in _groups(near, len(target), len(pred)):
            pairs = _match_group(target[some_rows], pred[some_columns], max_distance)
            rows = np.append(rows, some_rows[pairs[0]])
            columns = np.append(columns, some_columns[pairs[1]])
    order = rows.argsort()
    return rows[order], columns[order]


@dataclass
class PointMatchScore:
    """Precision, recall and F1 of points over a data set.

    Parameters
    ----------
    max_distance : float
        In pixels; see `match_points`.
    true_positives, n_target, n_pred : int
        Matched pairs, true points and predictions so far.
    """

    max_distance: float
    true_positives: int = 0
    n_target: int = 0
    n_pred: int = 0

    def update(self, target: np.ndarray, pred: np.ndarray) -> None:
        """Add an image.

        Parameters
        ----------
        target, pred : ndarray of shape (N, 2) and (M, 2)
            True and predicted points as xy, pixels.

        Raises
        ------
        InputError
            As `match_points`.
        """
        self.true_positives += len(match_points(target, pred, self.max_distance)[0])
        self.n_target += len(_points(target))
        self.n_pred += len(_points(pred))

    def compute(self) -> dict[str, float]:
        """Return ``precision``, ``recall`` and ``F1``; NaN where there was nothing to divide by."""
        return {
            "precision": _ratio(self.true_positives, self.n_pred),
            "recall": _ratio(self.true_positives, self.n_target),
            "F1": _ratio(2 * self.true_positives, self.n_pred + self.n_target),
        }


def _points(points: np.ndarray) -> np.ndarray:
    return np.asarray(points, np.float64).reshape(-1, 2)


def _groups(
    near: coo_matrix, n_target: int, n_pred: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    graph = near.copy()
    graph.data = np.ones_like(near.data)  # points on top of each other are at distance 0
    graph.col = graph.col + n_target
    graph.resize(n_target + n_pred, n_target + n_pred)
    label = connected_components(graph, directed=False)[1]
    order = label.argsort(kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(label[order])) + 1):
        if len(group) > 1:
            yield group[group < n_target], group[group >= n_target] - n_target


def _match_group(
    target: np.ndarray, pred: np.ndarray, max_distance: float
) -> tuple[np.ndarray, np.ndarray]:
    distance = np.hypot(*(target[:, None] - pred).transpose(2, 0, 1))
    allowed = distance <= max_distance
    # One pair more outweighs any distance that the other pairs could save.
    penalty = max_distance * (min(distance.shape) + 1)
    rows, columns = linear_sum_assignment(np.where(allowed, distance, penalty))
    kept = allowed[rows, columns]
    return rows[kept], columns[kept]


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def neighbour_distance(points: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return the mean distance of each true point to its three nearest others, or to all of fewer.

    Parameters
    ----------
    points : ndarray of shape (N, 2)
        As xy, pixels.
    size : tuple of int
        Height and width of the image, pixels; a point alone gets its diagonal.

    Returns
    -------
    ndarray of shape (N,)
        In pixels.
    """
    points = _points(points)
    if len(points) < 2:
        return np.full(len(points), np.hypot(*size))
    distances = KDTree(points).query(points, min(4, len(points)))[0]
    return distances[:, 1:].mean(axis=1)


def _true_positives(
    target: np.ndarray, pred: np.ndarray, scores: np.ndarray, reach: np.ndarray
) -> np.ndarray:
    """Walk predictions from the highest score down and give each the nearest free true point.

    Of equal scores the nearest to any true point comes first, and then coordinates decide, so that
    neither side's order does.

    Parameters
    ----------
    target, pred : ndarray of shape (N, 2) and (M, 2)
        True and predicted points as xy, pixels.
    scores : ndarray of shape (M,)
    reach : ndarray of shape (N,)
        Distance in pixels under which a true point is near enough.

    Returns
    -------
    ndarray of shape (M,), bool
        Which predictions got one.
    """
    hit = np.zeros(len(pred), bool)
    free = np.ones(len(target), bool)
    if not len(target) or not len(pred):
        return hit
    sorted_rows = np.lexsort(target.T)
    target, reach = target[sorted_rows], reach[sorted_rows]
    nearest = KDTree(target).query(pred)[0]
    neighbours = KDTree(pred).query_ball_point(target, reach)
    candidates: list[list[int]] = [[] for _ in pred]
    for row, close in enumerate(neighbours):
        for column in close:
            candidates[column].append(row)
    for column in np.lexsort([*pred.T, nearest, -np.asarray(scores)]):
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
    prediction took, nor a nearer one of the same score, is below delta times the mean distance of
    that point to its three nearest neighbours. Average precision is the area under the
    precision-recall curve of all predictions of all images, precision made monotonous.

    Parameters
    ----------
    deltas : sequence of float
        D shares of the distance to neighbours.
    n_target : int
        True points so far.
    scores : list of ndarray of shape (M,)
        Of each image so far.
    hits : list of ndarray of shape (D, M), bool
        Of each image so far: which predictions are true positives.

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
        """Add an image.

        Parameters
        ----------
        target, pred : ndarray of shape (N, 2) and (M, 2)
            True and predicted points as xy, pixels.
        scores : ndarray of shape (M,)
        size : tuple of int
            Height and width of the image, pixels.
        """
        target, pred = _points(target), _points(pred)
        reach = neighbour_distance(target, size)
        self.n_target += len(target)
        self.scores.append(np.asarray(scores, np.float64))
        self.hits.append(
            np.stack([_true_positives(target, pred, scores, d * reach) for d in self.deltas])
        )

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
