"""Whether objects are counted where they are: GAME, nAP and matching of points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from autoeval.counting.point_predictions import ImagePoints
from autoeval.counting.truth import GroundTruth
from autoeval.data.image_header import image_size
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.runtime.progress import progress_bar

LEVELS = (0, 1, 2, 3)
DISTANCES = (4.0, 8.0)


@dataclass(frozen=True, eq=False)
class Localisation:
    """How well one model places what it counts.

    Parameters
    ----------
    name : str
        Of the model.
    table : DataFrame
        ``measure``, ``value``, ``images``.
    notes : tuple of str
        What was left out.
    """

    name: str
    table: pd.DataFrame
    notes: tuple[str, ...] = ()


def evaluate_points(
    name: str,
    found: Mapping[str, ImagePoints | None],
    truth: GroundTruth,
    *,
    distances: Sequence[float] = DISTANCES,
    images: Path | None = None,
) -> Localisation:
    """Compare predicted with true points on the images that have both.

    Parameters
    ----------
    name : str
        Of the model.
    found : mapping of str to ImagePoints or None
        As `read_point_predictions` returns it.
    truth : GroundTruth
        With points.
    distances : sequence of float
        Largest distances of a true positive, pixels.
    images : Path, optional
        Folder of the images, whose sizes GAME needs where neither file tells them.

    Raises
    ------
    InputError
        If no image has true and predicted points.
    """
    from autoeval.counting.measures.game import GameScore
    from autoeval.counting.measures.point_matching import (
        NormalisedAveragePrecision,
        PointMatchScore,
    )

    game, nap = GameScore(LEVELS), NormalisedAveragePrecision()
    matches = [PointMatchScore(distance) for distance in distances]
    both = [i for i, image in found.items() if image is not None and _points_of(truth, i)]
    if not both:
        raise InputError(f"{name}: no image has true and predicted points.")
    sizeless = []
    with progress_bar(len(both), f"Matching points of {name}") as bar:
        for image_id in both:
            image, true = found[image_id], truth.images[image_id].points
            assert image is not None and true is not None
            for match in matches:
                match.update(true, image.points)
            size = truth.images[image_id].size or image.size or _on_disk(images, image_id)
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
        of_levels = game.compute()
        for level, mean, std in of_levels.itertuples(index=False):
            rows.append((f"GAME({level})", mean, len(game.by_image)))
            rows.append((f"GAME({level}) std", std, len(game.by_image)))
    table = pd.DataFrame(rows, columns=["measure", "value", "images"])
    return Localisation(name, table, _notes(both, sizeless, found, images))


def side_by_side(results: Sequence[Localisation]) -> pd.DataFrame:
    """One row for each measure, one column for each model."""
    tables = [r.table.set_index("measure")["value"].rename(r.name) for r in results]
    return pd.concat(tables, axis=1).rename_axis("measure").reset_index()


def _points_of(truth: GroundTruth, image_id: str) -> bool:
    return image_id in truth.images and truth.images[image_id].points is not None


def _on_disk(folder: Path | None, image_id: str) -> tuple[int, int] | None:
    if folder is None:
        return None
    for name in (image_id, f"{image_id}.jpg", f"{image_id}.png"):
        if (size := image_size(folder / name)) is not None:
            return size
    return None


def _notes(
    both: Sequence[str],
    sizeless: Sequence[str],
    found: Mapping[str, ImagePoints | None],
    images: Path | None,
) -> tuple[str, ...]:
    notes = []
    if len(both) < len(found):
        known = set(both)
        left = [image_id for image_id in found if image_id not in known]
        notes.append(f"{len(left)} images without true or predicted points: {listed(left)}")
    if sizeless:
        how = "they are not in --images" if images else "give --images, or H and W in the JSON"
        notes.append(
            f"GAME leaves out {len(sizeless)} images of unknown size ({listed(sizeless)}): {how}"
        )
    return tuple(notes)
