"""Predicted points and their localisation errors: GAME, nAP and matching."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.measures.game import GameScore, read_density
from autoeval.counting.predictions import CountPredictions, counted, match_ids
from autoeval.counting.true_counts import GroundTruth, beyond
from autoeval.errors import InputError
from autoeval.io.image_identity import SUFFIXES
from autoeval.io.images import image_size
from autoeval.runtime.files import PathLike, read_json
from autoeval.runtime.progress import progress_bar
from autoeval.words import listed

LEVELS = (0, 1, 2, 3)
SMALLEST = 2 ** max(LEVELS)  # pixels, or cells of a map, a side: one for each tile
DISTANCES = (4.0, 8.0)
MOST_BEYOND = 0.05  # share of points outside the frame from which on it is another frame
ENOUGH_POINTS = 10  # fewer may all lie in one pixel
SAME_SHAPE = 0.02  # relative difference of aspect ratios up to which points are rescaled


@dataclass(frozen=True, eq=False)
class Localisation:
    """How well one model places what it counts.

    Parameters
    ----------
    name : str
        Of the model.
    table : DataFrame
        Rows of ``measure``, ``value`` and ``images`` (how many it is over).
    notes : tuple of str
        What was left out, one sentence each.
    """

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
    rescale: bool = False,
) -> Localisation:
    """Compare predicted with true points on the images that have both.

    Parameters
    ----------
    name : str
        Of the model.
    predicted : mapping of str to ImagePoints or None
        By image id; None for a skipped image.
    truth : GroundTruth
        With points of some images.
    distances : sequence of float
        Largest ones of a true positive, pixels of the truth's frame.
    images : Path, optional
        Folder of the images; GAME needs sizes that neither side states.
    rescale : bool
        Whether points in frames of another size are brought into the truth's.

    Raises
    ------
    InputError
        If no image has both, points are shares of their images, or in frames of different sizes:
        with `rescale` of different shapes.
    """
    from autoeval.counting.measures.point_matching import (
        NormalisedAveragePrecision,
        PointMatchScore,
    )

    game, nap = GameScore(LEVELS), NormalisedAveragePrecision()
    matches = [PointMatchScore(distance) for distance in distances]
    with_points = {i for i, image in truth.images.items() if image.points is not None}
    common_ids = [i for i, image in predicted.items() if image is not None and i in with_points]
    if not common_ids:
        raise InputError(f"{name}: no image has true and predicted points.")
    common = {i: predicted[i] for i in common_ids}
    sizeless_ids = [i for i, p in common.items() if p and not p.size and not truth.images[i].size]
    on_disk = sizes_in(images, sizeless_ids)
    predicted = in_frame_of_truth(name, common, truth, rescale, on_disk=on_disk) | {
        i: image for i, image in predicted.items() if i not in set(common_ids)
    }
    sizeless, small, lone = list[str](), list[str](), list[str]()
    with progress_bar(len(common_ids), f"Matching points of {name}") as bar:
        for image_id in common_ids:
            image, true = predicted[image_id], truth.images[image_id].points
            assert image is not None and true is not None
            for match in matches:
                match.update(true, image.points)
            size = truth.images[image_id].size or image.size or on_disk.get(image_id)
            if size is None:
                sizeless.append(image_id)
            elif min(size) < SMALLEST:
                small.append(image_id)
            else:
                game.update(image_id, true, image.points, size)
            if size is None and len(true) == 1:  # a point alone is measured by the image
                lone.append(image_id)
            else:
                nap.update(true, image.points, image.scores, size or (1, 1))
            bar.update()
    rows = [
        (f"{measure} within {m.max_distance:g} px", value, len(common_ids))
        for m in matches
        for measure, value in m.compute().items()
    ]
    rows += [(measure, value, len(nap.scores)) for measure, value in nap.compute().items()]
    table = pd.DataFrame([*rows, *_rows_of(game)], columns=["measure", "value", "images"])
    notes = []
    compared = set(common_ids)
    if left := [image_id for image_id in predicted if image_id not in compared]:
        notes.append(f"{len(left)} images without true or predicted points: {listed(left)}")
    if sizeless:
        remedy = "they are not in --images" if images else "give --images, or H and W in the JSON"
        notes.append(
            f"GAME leaves out {len(sizeless)} images of unknown size ({listed(sizeless)}): {remedy}"
        )
    if lone:
        notes.append(
            f"nAP leaves out {len(lone)} of them, which have one true point, and so no distance to "
            f"others: {listed(lone)}"
        )
    if small:
        notes.append(
            f"GAME leaves out {len(small)} images under {SMALLEST} pixels high or wide, which have "
            f"fewer than its tiles: {listed(small)}"
        )
    return Localisation(name, table, tuple(notes))


def sizes_in(images: Path | None, image_ids: Collection[str]) -> dict[str, tuple[int, int]]:
    """Return height and width of the images that a folder holds.

    Parameters
    ----------
    images : Path, optional
        The folder.
    image_ids : collection of str
        Names of images: those of files, also without ``.jpg`` or ``.png``, come before others that
        `match_ids` joins.
    """
    if images is None:
        return {}
    files = {
        path.relative_to(images).as_posix()
        for path in images.rglob("*")
        if path.suffix.lower() in SUFFIXES
    }
    called = {i: n for i in image_ids for n in (f"{i}.png", f"{i}.jpg", i) if n in files}
    called |= match_ids([i for i in image_ids if i not in called], files)
    sizes = {i: image_size(images / name) for i, name in called.items()}
    return {i: size for i, size in sizes.items() if size}


def in_frame_of_truth(
    name: str,
    predicted: Mapping[str, ImagePoints | None],
    truth: GroundTruth,
    rescale: bool,
    *,
    on_disk: Mapping[str, tuple[int, int]],
) -> dict[str, ImagePoints | None]:
    """Return the predictions with points in the pixels of the truth.

    Two sizes of one image, or points beyond the only size that is known, are two frames.

    Parameters
    ----------
    name : str
        Of the model, for messages.
    predicted : mapping of str to ImagePoints or None
        By image id, each in the truth.
    truth : GroundTruth
        With points.
    rescale : bool
        Whether points are scaled from one size to another.
    on_disk : mapping of str to (int, int)
        Height and width of the files of images whose size neither side states.

    Raises
    ------
    InputError
        If frames differ and are not to be scaled, or have different shapes.
    """
    pairs = {i: (image, truth.images[i]) for i, image in predicted.items() if image is not None}
    differing = {
        i: (true_size.size, image.size)
        for i, (image, true_size) in pairs.items()
        if image.size and true_size.size and image.size != true_size.size
    }
    true_points = [
        (t.points, p.size or on_disk.get(i)) for i, (p, t) in pairs.items() if not t.size
    ]
    _check_reach(name, "true", true_points)
    points = [(p.points, t.size or on_disk.get(i)) for i, (p, t) in pairs.items() if not p.size]
    _check_reach(name, "predicted", points)
    if not differing:
        return dict(predicted)
    shown = "; ".join(
        f"{i}: truth {true_size[0]} x {true_size[1]}, "
        f"predictions {predicted_size[0]} x {predicted_size[1]}"
        for i, (true_size, predicted_size) in list(differing.items())[:3]
    )
    if not rescale:
        raise InputError(
            f"{name}: {len(differing)} of {len(pairs)} images have points in frames of two sizes "
            f"(height x width; {shown}). Give --rescale to bring the predicted points into the "
            "truth's frame, or predict on images of the truth's size."
        )
    stretched = [
        i for i, (t, p) in differing.items() if abs(t[0] * p[1] / (t[1] * p[0]) - 1) > SAME_SHAPE
    ]
    if stretched:
        raise InputError(
            f"{name}: {len(stretched)} images have another shape in the truth ({shown}), so that "
            f"no scale brings the points together: {listed(stretched)}."
        )
    scaled = dict(predicted)
    for i, (true_size, predicted_size) in differing.items():
        image = pairs[i][0]
        factors = np.array([true_size[1] / predicted_size[1], true_size[0] / predicted_size[0]])
        scaled[i] = ImagePoints(image.points * factors, image.scores, true_size)
    return scaled


def _check_reach(
    name: str, whose: str, tables: Sequence[tuple[np.ndarray | None, tuple[int, int] | None]]
) -> None:
    """Raise `InputError` where points are shares, or many lie beyond the only size known."""
    given = [points for points, _ in tables if points is not None and len(points)]
    n_given = sum(map(len, given))
    if n_given >= ENOUGH_POINTS and max(points.max() for points in given) <= 1:
        raise InputError(
            f"{name}: all {n_given} {whose} points lie in [0, 1]. Expected pixels: multiply them "
            "by the width and the height of each image."
        )
    sized_points = [
        (points, size) for points, size in tables if points is not None and len(points) and size
    ]
    n = sum(len(points) for points, _ in sized_points)
    outside = sum(int(beyond(points, size).sum()) for points, size in sized_points)
    if outside > MOST_BEYOND * max(n, 1):
        reach = max((points.max(0).tolist() for points, _ in sized_points), key=sum)
        sizes = sorted({size for _, size in sized_points})
        raise InputError(
            f"{name}: {outside} of {n} {whose} points lie outside the images, whose sizes are "
            f"{listed([f'{h} x {w}' for h, w in sizes], most=3)} (height x width), and reach "
            f"x = {reach[0]:g}, y = {reach[1]:g}: they are of another frame."
        )


def evaluate_maps(
    name: str, maps: Mapping[str, Path], truth: GroundTruth, *, images: Path | None
) -> Localisation:
    """Compare predicted density maps with true points by GAME.

    Parameters
    ----------
    name : str
        Of the model.
    maps : mapping of str to Path
        By image id; see `read_density`.
    truth : GroundTruth
        With points of some images; the others are passed over.
    images : Path or None
        Folder of the images; GAME needs sizes that the truth does not state.

    Raises
    ------
    InputError
        If a map cannot be read, or true points lie beyond the images.
    """
    game, sizeless, broken = GameScore(LEVELS), list[str](), list[str]()
    unsized = {i: t.points for i, t in truth.images.items() if i in maps and not t.size}
    on_disk = sizes_in(images, unsized)
    _check_reach(name, "true", [(points, on_disk.get(i)) for i, points in unsized.items()])
    for image_id, path in maps.items():
        true = truth.images.get(image_id)
        if true is None or true.points is None:
            continue
        density = read_density(path)
        if not np.isfinite(density).all():
            broken.append(image_id)
            continue
        size = true.size or on_disk.get(image_id)
        if size is None or min(*size, *density.shape) < SMALLEST:
            sizeless.append(image_id)
        else:
            game.update_map(image_id, true.points, density, size)
    notes = list[str]()
    if sizeless:
        notes.append(
            f"GAME leaves out {len(sizeless)} images of unknown size, or whose map is smaller than "
            f"the tiles ({listed(sizeless)})"
        )
    if broken:
        notes.append(
            f"GAME leaves out {len(broken)} images whose map is not finite ({listed(broken)})"
        )
    table = pd.DataFrame(_rows_of(game), columns=["measure", "value", "images"])
    return Localisation(name, table, tuple(notes))


def _rows_of(game: GameScore) -> list[tuple[str, float, int]]:
    levels = game.compute().itertuples(index=False) if game.by_image else ()
    return [
        (f"GAME({level}){end}", value, len(game.by_image))
        for level, *values in levels
        for end, value in zip(("", " std"), values, strict=True)
    ]


def find_maps(folder: Path) -> dict[str, Path]:
    """Return the density maps of a folder, ``IMAGE.npy``, by image id.

    Parameters
    ----------
    folder : Path
        With files ``IMAGE.npy``.

    Raises
    ------
    InputError
        If there is none.
    """
    maps = {path.stem: path for path in sorted(folder.glob("*.npy"))}
    if not maps:
        raise InputError(f"{folder} holds no density map: expected a file IMAGE.npy an image.")
    return maps


def counts_of_maps(
    name: str, maps: Mapping[str, Path], truth: Mapping[str, float]
) -> CountPredictions:
    """Take the sums of density maps as counts, and join the true ones.

    Parameters
    ----------
    name : str
        Of the model.
    maps : mapping of str to Path
        By image id; see `read_density`.
    truth : mapping of str to float
        True counts by image id.

    Raises
    ------
    InputError
        If a map cannot be read, or no image is in the truth.
    """
    sums = np.array([read_density(path).sum() for path in maps.values()])
    sums[~np.isfinite(sums)] = np.nan  # no count
    return counted(name, tuple(maps), sums, truth)


def side_by_side(results: Sequence[Localisation]) -> pd.DataFrame:
    """Make a table of one row for each measure and one column for each model.

    Parameters
    ----------
    results : sequence of Localisation
        Of models with different names; NaN for a measure that one lacks.
    """
    tables = [r.table.set_index("measure")["value"].rename(r.name) for r in results]
    return pd.concat(tables, axis=1).rename_axis("measure").reset_index()


@dataclass(frozen=True, eq=False)
class ImagePoints:
    """The predicted points of one image.

    Parameters
    ----------
    points : ndarray of shape (N, 2), float64
        xy, pixels.
    scores : ndarray of shape (N,), float64
        Confidences; 1 where none were given.
    size : (int, int), optional
        Height and width of the frame that the points are in, pixels.
    """

    points: np.ndarray
    scores: np.ndarray
    size: tuple[int, int] | None = None


def read_point_predictions(path: PathLike) -> dict[str, ImagePoints | None]:
    """Read predicted points by image id; None for a skipped image.

    Parameters
    ----------
    path : path-like
        JSON: an object, by image id, of lists of [x, y] or [x, y, score], of objects with
        ``points`` and maybe ``scores``, ``H`` and ``W``, or of null.

    Raises
    ------
    InputError
        If it is no such file, or the points of an image are malformed.
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
    """Take the numbers of predicted points as counts, and join the true ones.

    Parameters
    ----------
    name : str
        Of the model.
    predicted : mapping of str to ImagePoints or None
        By image id; None for a skipped image.
    truth : mapping of str to float
        True counts by image id.

    Raises
    ------
    InputError
        If no image is in the truth.
    """
    pred = np.array([np.nan if i is None else float(len(i.points)) for i in predicted.values()])
    return counted(name, tuple(predicted), pred, truth)


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
