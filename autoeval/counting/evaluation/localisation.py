"""Predicted points and their localisation errors: GAME, nAP and matching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.predictions import CountPredictions, join_truth, odd_predictions
from autoeval.counting.true_counts import GroundTruth
from autoeval.errors import InputError
from autoeval.io.image_header import image_size
from autoeval.io.json_file import read_json
from autoeval.io.wording import listed
from autoeval.runtime.files import PathLike
from autoeval.runtime.progress import progress_bar

LEVELS = (0, 1, 2, 3)
DISTANCES = (4.0, 8.0)


@dataclass(frozen=True, eq=False)
class Localisation:
    """How well one model places what it counts: rows of ``measure``, ``value``, ``images``."""

    name: str
    table: pd.DataFrame
    notes: tuple[str, ...] = ()


def evaluate_points(
    name: str,
    predicted: Mapping[str, ImagePoints | None],
    truth: GroundTruth,
    *,
    distances: Sequence[float] = DISTANCES,
    images: Path | None = None,
) -> Localisation:
    """Compare predicted with true points on the images that have both.

    `distances` are the largest ones of a true positive, pixels; GAME needs sizes of images.
    """
    from autoeval.counting.measures.game import GameScore
    from autoeval.counting.measures.point_matching import (
        NormalisedAveragePrecision,
        PointMatchScore,
    )

    game, nap = GameScore(LEVELS), NormalisedAveragePrecision()
    matches = [PointMatchScore(distance) for distance in distances]
    with_points = {i for i, image in truth.images.items() if image.points is not None}
    both = [i for i, image in predicted.items() if image is not None and i in with_points]
    if not both:
        raise InputError(f"{name}: no image has true and predicted points.")
    sizeless = []
    with progress_bar(len(both), f"Matching points of {name}") as bar:
        for image_id in both:
            image, true = predicted[image_id], truth.images[image_id].points
            assert image is not None and true is not None
            for match in matches:
                match.update(true, image.points)
            size = truth.images[image_id].size or image.size
            if size is None and images is not None:
                names = (image_id, f"{image_id}.jpg", f"{image_id}.png")
                size = next((size for name in names if (size := image_size(images / name))), None)
            if size is None:
                sizeless.append(image_id)
            elif min(size) >= 2 ** max(LEVELS):
                game.update(image_id, true, image.points, size)
            # Only a point alone in its image needs the size.
            nap.update(true, image.points, image.scores, size or (1, 1))
            bar.update()
    rows = [
        (f"{what} within {m.max_distance:g} px", value, len(both))
        for m in matches
        for what, value in m.compute().items()
    ]
    rows += [(what, value, len(both)) for what, value in nap.compute().items()]
    if game.by_image:
        errors_by_level = game.compute()
        for level, mean, std in errors_by_level.itertuples(index=False):
            rows.append((f"GAME({level})", mean, len(game.by_image)))
            rows.append((f"GAME({level}) std", std, len(game.by_image)))
    table = pd.DataFrame(rows, columns=["measure", "value", "images"])
    notes = []
    compared = set(both)
    if left := [image_id for image_id in predicted if image_id not in compared]:
        notes.append(f"{len(left)} images without true or predicted points: {listed(left)}")
    if sizeless:
        how = "they are not in --images" if images else "give --images, or H and W in the JSON"
        notes.append(
            f"GAME leaves out {len(sizeless)} images of unknown size ({listed(sizeless)}): {how}"
        )
    return Localisation(name, table, tuple(notes))


def side_by_side(results: Sequence[Localisation]) -> pd.DataFrame:
    """One row for each measure, one column for each model."""
    tables = [r.table.set_index("measure")["value"].rename(r.name) for r in results]
    return pd.concat(tables, axis=1).rename_axis("measure").reset_index()


@dataclass(frozen=True, eq=False)
class ImagePoints:
    """Points (N, 2) of one image as xy, pixels, with scores (N,); `size` is height and width."""

    points: np.ndarray
    scores: np.ndarray
    size: tuple[int, int] | None = None


def read_point_predictions(path: PathLike) -> dict[str, ImagePoints | None]:
    """Read points by image id, None for a skipped answer.

    An image has a list of [x, y] or [x, y, score]; or ``points`` and maybe ``scores``, ``H``,
    ``W``.
    """
    path = Path(path)
    content = read_json(path, "file of predicted points")
    if not isinstance(content, Mapping) or not content:
        raise InputError(f"{path}: expected an object with the points of each image by its id.")
    predicted: dict[str, ImagePoints | None] = {}
    bad = []
    for image_id, entry in content.items():
        try:
            predicted[str(image_id)] = None if entry is None else _points(entry)
        except (KeyError, TypeError, ValueError) as error:
            bad.append(f"{image_id}: {error}")
    if bad:
        raise InputError(
            f"{path}: the points of {len(bad)} of {len(content)} images are malformed "
            f"({listed(bad, most=3)}). Expected lists of [x, y] or [x, y, score]."
        )
    return predicted


def counts_of_points(
    name: str, predicted: Mapping[str, ImagePoints | None], truth: Mapping[str, float]
) -> CountPredictions:
    """Count predicted points and put the counts beside the true ones (see `read_predictions`)."""
    pred = np.array([np.nan if i is None else float(len(i.points)) for i in predicted.values()])
    ids, nothing = tuple(predicted), np.full(len(pred), np.nan)
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
