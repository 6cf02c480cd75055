"""Grid average mean absolute error: the count error of tiles of the image (equation 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.errors import InputError

TILE_RULES = ("exact", "floor_step", "absorb")


def tile_edges(length: int, level: int, rule: str) -> np.ndarray:
    """Split a side of an image for GAME(level).

    Parameters
    ----------
    length : int
        Of the side, pixels.
    level : int
        A side has 2 ** level tiles.
    rule : {"exact", "floor_step", "absorb"}
        For lengths that do not divide ``"exact"`` places edges evenly, rounded down;
        ``"floor_step"`` steps by length // 2 ** level, as the released code, with as many tiles as
        that takes; ``"absorb"`` lets the last tile take the remainder.

    Returns
    -------
    ndarray of shape (tiles + 1,), int64
        From 0 to `length`.

    Raises
    ------
    InputError
        If there is no such rule, or the side has fewer pixels than tiles.
    """
    if rule not in TILE_RULES:
        raise InputError(f"Expected a tile rule among {TILE_RULES} but got {rule!r}.")
    n_tiles = 2**level
    if length < n_tiles:
        raise InputError(f"GAME({level}) needs at least {n_tiles} pixels a side but got {length}.")
    step = length // n_tiles
    if rule == "exact":
        return np.arange(n_tiles + 1) * length // n_tiles
    starts = np.arange(0, length, step)
    return np.append(starts if rule == "floor_step" else starts[:n_tiles], length)


def points_in_tiles(points: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Count points in each tile; those outside count in the nearest.

    Parameters
    ----------
    points : ndarray of shape (N, 2)
        As xy, pixels.
    rows, columns : ndarray of shape (R + 1,) and (C + 1,), int64
        See `tile_edges`; a point on an edge is behind it.

    Returns
    -------
    ndarray of shape (R, C), float64
    """
    x, y = points.reshape(-1, 2).T
    column = (np.searchsorted(columns, x, side="right") - 1).clip(0, len(columns) - 2)
    row = (np.searchsorted(rows, y, side="right") - 1).clip(0, len(rows) - 2)
    tiles = np.zeros((len(rows) - 1, len(columns) - 1))
    np.add.at(tiles, (row, column), 1)
    return tiles


def map_in_tiles(density: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Sum a density map in each tile.

    Parameters
    ----------
    density : ndarray of shape (H, W)
    rows, columns : ndarray of shape (R + 1,) and (C + 1,), int64
        See `tile_edges`.

    Returns
    -------
    ndarray of shape (R, C), float64
    """
    by_rows = np.add.reduceat(density, rows[:-1], axis=0)
    return np.add.reduceat(by_rows, columns[:-1], axis=1)


def game(
    target: np.ndarray,
    pred: np.ndarray,
    level: int,
    *,
    size: tuple[int, int] | None = None,
    rule: str = "exact",
) -> float:
    """Sum over tiles of the absolute count error of one image.

    Parameters
    ----------
    target, pred : ndarray of shape (H, W), or (N, 2) and (M, 2)
        Density maps, or points as xy in pixels where `size` is given; points outside count in the
        nearest tile.
    level : int
        The image has 4 ** level tiles.
    size : tuple of int, optional
        Height and width of the image that the points are on.
    rule : str
        See `tile_edges`.

    Raises
    ------
    InputError
        If maps differ in shape, and as `tile_edges`.
    """
    target, pred = np.asarray(target, np.float64), np.asarray(pred, np.float64)
    if size is None and target.shape != pred.shape:
        raise InputError(
            f"GAME compares maps of one shape, but the true one is {target.shape} and the "
            f"predicted one {pred.shape}: resize one so that its sum stays the same."
        )
    height, width = target.shape if size is None else size
    rows, columns = tile_edges(height, level, rule), tile_edges(width, level, rule)
    if size is not None:
        difference = points_in_tiles(target, rows, columns) - points_in_tiles(pred, rows, columns)
    else:
        difference = map_in_tiles(target - pred, rows, columns)
    return float(np.abs(difference).sum())


def read_density(path: Path) -> np.ndarray:
    """Read a density map of a ``.npy`` file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    ndarray of shape (H, W), float64

    Raises
    ------
    InputError
        If it cannot be read, or holds no map of numbers.
    """
    try:
        density = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"Cannot read the density map {path}: {error}.") from None
    if density.ndim != 2 or density.dtype.kind not in "iuf":  # no complex numbers
        raise InputError(
            f"{path}: expected a map (H, W) of numbers, got {density.shape} {density.dtype}."
        )
    return density.astype(np.float64)


@dataclass
class GameScore:
    """GAME of a data set, image by image.

    Parameters
    ----------
    levels : sequence of int
        Each image has 4 ** level tiles.
    rule : str
        See `tile_edges`.
    by_image : dict of str to list of float
        Sum over tiles at each level, by the id of the image; filled by `update`.
    """

    levels: Sequence[int] = (0, 1, 2, 3)
    rule: str = "exact"
    by_image: dict[str, list[float]] = field(default_factory=dict)

    def update(
        self,
        image_id: str,
        target: np.ndarray,
        pred: np.ndarray,
        size: tuple[int, int] | None = None,
    ) -> None:
        """Add an image.

        Parameters
        ----------
        image_id : str
        target, pred, size
            As `game` takes them.

        Raises
        ------
        InputError
            If the image was given before, and as `game`.
        """
        if image_id in self.by_image:
            raise InputError(f"Image '{image_id}' was given twice.")
        self.by_image[image_id] = [
            game(target, pred, level, size=size, rule=self.rule) for level in self.levels
        ]

    def update_map(
        self, image_id: str, points: np.ndarray, density: np.ndarray, size: tuple[int, int]
    ) -> None:
        """Add an image with true points and a predicted density map.

        The map may be coarser than the image: each tile is the same share of both.

        Parameters
        ----------
        image_id : str
        points : ndarray of shape (N, 2)
            True points as xy, pixels of the image.
        density : ndarray of shape (h, w)
        size : tuple of int
            Height and width of the image.

        Raises
        ------
        InputError
            If the image was given before, and as `tile_edges`.
        """
        if image_id in self.by_image:
            raise InputError(f"Image '{image_id}' was given twice.")
        errors = []
        for level in self.levels:
            edges = [tile_edges(side, level, self.rule) for side in (*size, *density.shape)]
            difference = points_in_tiles(points, *edges[:2]) - map_in_tiles(density, *edges[2:])
            errors.append(float(np.abs(difference).sum()))
        self.by_image[image_id] = errors

    def compute(self) -> pd.DataFrame:
        """Return the mean over images at each level.

        Returns
        -------
        DataFrame
            ``level``, ``mean`` and population ``std`` over images, whatever their order.

        Raises
        ------
        InputError
            If no image was given.
        """
        if not self.by_image:
            raise InputError("GAME needs at least one image: none was given.")
        values = np.array([self.by_image[name] for name in sorted(self.by_image)])
        return pd.DataFrame(
            {"level": list(self.levels), "mean": values.mean(0), "std": values.std(0)}
        )
