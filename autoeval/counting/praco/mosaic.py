"""Joining two images, and the counts of their halves and tiles."""

from __future__ import annotations

import numpy as np
import pandas as pd
from PIL import Image

from autoeval.counting.counters import DENSITY, POINTS, Counter, CountResult
from autoeval.counting.measures.game import tile_edges
from autoeval.errors import InputError

TILE_RULE = "absorb"


def stack(top: np.ndarray, bottom: np.ndarray, layout: str = "released") -> tuple[np.ndarray, int]:
    """Put one image (H, W, 3) uint8 above another of any size; return the mosaic and its seam.

    The seam is the row at which the lower image starts. ``"released"`` stretches both to H wide and
    H // 2 high, with H the smaller height; ``"paper"``, which only says "vertically stitching",
    keeps shapes and shrinks to the smaller width.
    """
    if layout == "released":
        side = min(len(top), len(bottom))
        sizes = [(side, side // 2)] * 2
    elif layout == "paper":
        width = min(top.shape[1], bottom.shape[1])
        sizes = [(width, round(len(part) * width / part.shape[1])) for part in (top, bottom)]
    else:
        raise ValueError(f"Expected the layout 'released' or 'paper' but got {layout!r}.")
    if any(min(size) < 1 for size in sizes):
        raise InputError(
            f"Images of {top.shape[:2]} and {bottom.shape[:2]} pixels (height, width) are too "
            "small or too different for a mosaic."
        )
    # Resized as `PIL.Image.resize` does by default, which the authors use.
    parts = [
        np.asarray(Image.fromarray(np.ascontiguousarray(part)).resize(size))
        for part, size in zip((top, bottom), sizes, strict=True)
    ]
    return np.vstack(parts), sizes[0][1]


def locates(counter: Counter) -> bool:
    """Return whether a counter says where it counts, as the mosaic test needs."""
    return bool({POINTS, DENSITY} & set(counter.capabilities))


def halves(result: CountResult, height: int, seam: int) -> tuple[float, float]:
    """Count in the upper and in the lower part of a mosaic; NaN where the result has no count.

    A point, or else a box by its centre, is in the lower part from the seam on. A row of a density
    map, which may be coarser than the mosaic of `height` pixels, belongs to the part its middle is
    in: for two equal parts the map is cut at half its rows, rounded down.
    """
    if np.isnan(result.count):
        return float("nan"), float("nan")
    centres = result.centres
    if centres is not None:
        y = centres[:, 1]
        return float((y < seam).sum()), float((y >= seam).sum())
    if result.density is None:
        raise InputError(
            "The counter gave a count without points, boxes or a density map, so the counts of the "
            "two parts of a mosaic cannot be separated."
        )
    rows = len(result.density)
    above = (2 * np.arange(rows) + 1) * height < 2 * seam * rows
    return float(result.density[above].sum()), float(result.density[~above].sum())


def tile_counts(result: CountResult, height: int, width: int, *, divisions: int) -> list[float]:
    """Count in each tile of an image, row by row, on a grid of 2^d x 2^d with d `divisions`.

    Centres come before a density map, whose negative values are taken as 0.
    """
    points = result.centres
    if points is not None:
        rows, columns = (tile_edges(side, divisions, TILE_RULE) for side in (height, width))
        inside = points.clip(0, [width, height])
        counts = np.histogram2d(inside[:, 1], inside[:, 0], bins=[rows, columns])[0]
        return counts.ravel().tolist()
    if result.density is None:
        raise InputError("Localised measures need points, boxes or a density map, not counts only.")
    density = np.asarray(result.density, np.float64).clip(0)
    rows, columns = (tile_edges(side, divisions, TILE_RULE) for side in density.shape)
    by_rows = np.add.reduceat(density, rows[:-1], axis=0)
    return np.add.reduceat(by_rows, columns[:-1], axis=1).ravel().tolist()


def tiles_of_points(points: np.ndarray, height: int, width: int, *, divisions: int) -> list[float]:
    """Count true points (N, 2) in each tile; see `tile_counts`."""
    result = CountResult(float(len(points)), points=points)
    return tile_counts(result, height, width, divisions=divisions)


def localised(predicted: np.ndarray, true: np.ndarray) -> pd.DataFrame:
    """Compare counts (N, T) of N images (or images and classes) in T tiles each.

    ``TP`` and ``FP`` are sums of min(c, g) and max(c - g, 0), ``MAE`` of |c - g|; 0 / 0 is NaN.
    """
    c, g = np.asarray(predicted, np.float64), np.asarray(true, np.float64)
    right, wrong = np.minimum(c, g).sum(1), (c - g).clip(0).sum(1)
    precision, recall = quotient(right, right + wrong), quotient(right, g.sum(1))
    return pd.DataFrame(
        {
            "TP": right,
            "FP": wrong,
            "MAE": np.abs(c - g).sum(1),
            "precision": precision,
            "recall": recall,
            "f1": quotient(2 * precision * recall, precision + recall),
        }
    )


def quotient(part: np.ndarray, whole: np.ndarray, fill: float = np.nan) -> np.ndarray:
    """Divide (N,) by (N,), with `fill` where there is nothing to divide by."""
    return np.divide(part, whole, out=np.full(len(part), fill), where=whole > 0)
