"""Where a count is right: true and false positives on a grid of 2^d x 2^d tiles (PrACo++)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from autoeval.counting.counters.base import CountResult
from autoeval.counting.measures.game import tile_edges
from autoeval.errors import InputError

TILE_RULE = "absorb"


def tile_counts(result: CountResult, height: int, width: int, *, divisions: int) -> list[float]:
    """Count in each tile of an image, row by row.

    Parameters
    ----------
    result : CountResult
        Points (or boxes, by their centres) come before a density map, whose negative values are
        taken as 0.
    height, width : int
        Of the image, pixels.
    divisions : int
        d; the grid has 2^d x 2^d tiles, the last ones taking the remainder.

    Raises
    ------
    InputError
        If the result says nothing about places, or the map has fewer rows or columns than tiles.

    Examples
    --------
    >>> tile_counts(CountResult(2., points=np.array([[1., 1.], [9., 1.]])), 10, 10, divisions=1)
    [1.0, 1.0, 0.0, 0.0]
    """
    if result.points is None and result.boxes is None:
        return _tiles_of_map(result, divisions)
    if result.points is not None:
        points = np.asarray(result.points, np.float64).reshape(-1, 2)
    else:
        boxes = np.asarray(result.boxes, np.float64).reshape(-1, 4)
        points = (boxes[:, :2] + boxes[:, 2:]) / 2
    rows, columns = (tile_edges(side, divisions, TILE_RULE) for side in (height, width))
    inside = points.clip(0, [width, height])
    counts = np.histogram2d(inside[:, 1], inside[:, 0], bins=[rows, columns])[0]
    return counts.ravel().tolist()


def tiles_of_points(points: np.ndarray, height: int, width: int, *, divisions: int) -> list[float]:
    """Count true points (N, 2) in each tile; see `tile_counts`."""
    result = CountResult(float(len(points)), points=points)
    return tile_counts(result, height, width, divisions=divisions)


def localised(predicted: np.ndarray, true: np.ndarray) -> pd.DataFrame:
    """Compare counts tile by tile.

    Parameters
    ----------
    predicted, true : array-like of shape (N, T)
        Counts of N images (or images and classes) in T tiles each.

    Returns
    -------
    DataFrame
        One row each: ``TP`` and ``FP``, the sums over tiles of min(c, g) and max(c - g, 0), ``MAE``
        (the sum of |c - g|), ``precision`` = TP / (TP + FP), ``recall`` = TP / g, and ``f1``;
        0 / 0 is NaN.

    Examples
    --------
    Two objects counted in the wrong tile:

    >>> localised([[2, 3]], [[4, 1]]).round(2).to_dict("records")[0]
    {'TP': 3.0, 'FP': 2.0, 'MAE': 4.0, 'precision': 0.6, 'recall': 0.6, 'f1': 0.6}
    """
    c, g = np.asarray(predicted, np.float64), np.asarray(true, np.float64)
    right, wrong = np.minimum(c, g).sum(1), (c - g).clip(0).sum(1)
    precision, recall = _ratio(right, right + wrong), _ratio(right, g.sum(1))
    return pd.DataFrame(
        {
            "TP": right,
            "FP": wrong,
            "MAE": np.abs(c - g).sum(1),
            "precision": precision,
            "recall": recall,
            "f1": _ratio(2 * precision * recall, precision + recall),
        }
    )


def _tiles_of_map(result: CountResult, divisions: int) -> list[float]:
    if result.density is None:
        raise InputError("Localised measures need points, boxes or a density map, not counts only.")
    density = np.asarray(result.density, np.float64).clip(0)
    rows, columns = (tile_edges(side, divisions, TILE_RULE) for side in density.shape)
    by_rows = np.add.reduceat(density, rows[:-1], axis=0)
    return np.add.reduceat(by_rows, columns[:-1], axis=1).ravel().tolist()


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
