"""Points that a model predicted, from JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.counting.predictions import CountPredictions, join_truth, odd_predictions
from autoeval.data.json_file import read_json
from autoeval.data.wording import listed
from autoeval.errors import InputError


@dataclass(frozen=True, eq=False)
class ImagePoints:
    """The points of one image.

    Parameters
    ----------
    points : ndarray of shape (N, 2), float64
        As xy, pixels.
    scores : ndarray of shape (N,), float64
        Confidence; 1 where the file has none.
    size : tuple of int, optional
        Height and width of the image in pixels.
    """

    points: np.ndarray
    scores: np.ndarray
    size: tuple[int, int] | None = None


def read_point_predictions(path: str | os.PathLike[str]) -> dict[str, ImagePoints | None]:
    """Read points by image id.

    Parameters
    ----------
    path : path-like
        JSON object: image id -> a list of [x, y] or [x, y, score]; or an object with ``points``
        and, where they are known, ``scores``, ``H`` and ``W``; or null for a skipped answer.

    Returns
    -------
    dict of str to ImagePoints or None
        None for a skipped answer.

    Raises
    ------
    InputError
        If the file is missing or malformed.
    """
    path = Path(path)
    content = read_json(path, "file of predicted points")
    if not isinstance(content, Mapping) or not content:
        raise InputError(f"{path}: expected an object with the points of each image by its id.")
    found: dict[str, ImagePoints | None] = {}
    bad = []
    for image_id, entry in content.items():
        try:
            found[str(image_id)] = None if entry is None else _points(entry)
        except (KeyError, TypeError, ValueError) as error:
            bad.append(f"{image_id}: {error}")
    if bad:
        raise InputError(
            f"{path}: the points of {len(bad)} of {len(content)} images are malformed "
            f"({listed(bad, most=3)}). Expected lists of [x, y] or [x, y, score]."
        )
    return found


def counts_of_points(
    name: str, found: Mapping[str, ImagePoints | None], truth: Mapping[str, float]
) -> CountPredictions:
    """Count predicted points and put the counts beside the true ones (see `read_predictions`)."""
    pred = np.array([np.nan if i is None else float(len(i.points)) for i in found.values()])
    ids, nothing = tuple(found), np.full(len(pred), np.nan)
    return join_truth(CountPredictions(name, ids, nothing, pred, odd_predictions(ids, pred)), truth)


def _points(entry: Any) -> ImagePoints:
    fields: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"points": entry}
    table = np.asarray(fields["points"], np.float64)
    table = table.reshape(-1, 2) if table.size == 0 else table
    if table.ndim != 2 or table.shape[1] not in (2, 3) or not np.isfinite(table).all():
        raise ValueError(f"expected (N, 2) or (N, 3) finite numbers, got shape {table.shape}")
    scores = table[:, 2] if table.shape[1] == 3 else np.ones(len(table))
    if fields.get("scores") is not None:
        scores = np.asarray(fields["scores"], np.float64).ravel()
    if len(scores) != len(table) or not np.isfinite(scores).all():
        raise ValueError(f"{len(table)} points and {len(scores)} scores")
    size = (int(fields["H"]), int(fields["W"])) if {"H", "W"} <= set(fields) else None
    return ImagePoints(table[:, :2], scores, size)
