"""PrACo++ on images of several classes, by a counter or from files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.counters import CountResult
from autoeval.counting.praco.both_tests import count_matrix, count_negatives, failures
from autoeval.counting.praco.data import NO_OBJECT, CountedImage, CountingSet
from autoeval.counting.praco.mosaic import localised, locates, tile_counts, tiles_of_points
from autoeval.counting.praco.plus_plus import PlusPlusResult, plus_plus_by_image
from autoeval.counting.praco.released_csv import read_counts
from autoeval.counting.prompting import PromptedCounter
from autoeval.data.images import read_image
from autoeval.data.wording import listed
from autoeval.errors import InputError

Tiles = Mapping[tuple[str, str], list[float]]


def evaluate_multi_class(
    prompted: PromptedCounter,
    counting_set: CountingSet,
    folder: str | os.PathLike[str],
    *,
    settings: Mapping[str, Any],
    divisions: int = 2,
    mode: str = "paper",
) -> PlusPlusResult:
    """Count every class in every image, going on from what the folder holds.

    The folder is of this counter and this kind of run alone; for `settings` see `evaluate_counter`
    of `both_tests`, for `mode` `plus_plus`. Images without objects are left out; localised measures
    are on 2^d x 2^d tiles, with d `divisions`.
    """
    counting_set = with_objects(counting_set)
    grid = locates(prompted.counter)
    tiles = partial(tile_counts, divisions=divisions) if grid else None
    table = count_negatives(
        prompted, counting_set, Path(folder), {**settings, "grid": divisions}, tiles
    )
    answered = table.dropna(subset=["count"]).set_index(["image", "class"])
    found = answered["tiles"].to_dict() if grid else None
    places = _localised(found, counting_set, divisions) if found is not None else None
    name, notes = prompted.counter.name, failures("prompts", table)
    return _result(name, count_matrix(table, counting_set), counting_set, places, mode, notes)


def evaluate_multi_class_file(
    path: Path, model: str, counting_set: CountingSet, *, divisions: int = 2, mode: str = "paper"
) -> PlusPlusResult:
    """Measure predictions made elsewhere on the images that they have.

    The CSV is in the authors' form: images by classes. Density maps in a folder ``density_maps``
    beside it (see `tiles_on_file`) give the localised measures. Raises `InputError` as
    `read_counts` does.
    """
    counting_set = with_objects(counting_set)
    warnings: list[str] = []
    counts = read_counts(path, counting_set, warnings)
    counts = counts.reindex(columns=list(counting_set.classes))
    found, noted = tiles_on_file(path.parent / "density_maps", counting_set, divisions)
    places = _localised(found, counting_set, divisions) if found else None
    return _result(model, counts, counting_set, places, mode, [*warnings, *noted])


def with_objects(counting_set: CountingSet) -> CountingSet:
    """Leave out the images without objects, or raise `InputError` if none is left."""
    empty = [image.image_id for image in counting_set.images if not image.count]
    found = counting_set.exclude(empty, NO_OBJECT)
    if not found.kept:
        raise InputError(f"No image of {counting_set.name} holds an object.")
    return found


def _result(
    name: str,
    counts: pd.DataFrame,
    counting_set: CountingSet,
    places: pd.DataFrame | None,
    mode: str,
    notes: list[str],
) -> PlusPlusResult:
    truth = counting_set.class_counts().loc[counts.index]
    by_image = plus_plus_by_image(counts, truth)
    if places is not None:
        places = places[places["image"].isin(counts.index)]
    return PlusPlusResult(name, counts, truth, by_image, places, mode, tuple(notes))


def _localised(tiles: Tiles, counting_set: CountingSet, divisions: int) -> pd.DataFrame:
    """Compare tile by tile each class that an image holds, where there is a result."""
    rows, predicted, true = [], [], []
    for image in counting_set.kept:
        height, width = _size(image)
        for name, points in image.points.items():
            if (image.image_id, name) in tiles:
                rows.append({"image": image.image_id, "class": name})
                predicted.append(tiles[image.image_id, name])
                true.append(tiles_of_points(points, height, width, divisions=divisions))
    shape = (len(rows), 4**divisions)
    measured = localised(np.reshape(predicted, shape), np.reshape(true, shape))
    return pd.concat([pd.DataFrame(rows, columns=["image", "class"]), measured], axis=1)


def _size(image: CountedImage) -> tuple[int, int]:
    if image.size is not None:
        return image.size
    height, width = read_image(image.path).shape[:2]
    return height, width


def tiles_on_file(
    folder: Path, counting_set: CountingSet, divisions: int
) -> tuple[dict[tuple[str, str], list[float]], list[str]]:
    """Count the tiles of the maps of the classes that an image holds.

    The folder has ``IMAGE_CLASS.npy`` files, the image without its suffix: maps (H, W) of any size,
    whose negative values are taken as 0. The authors resize them to that of the true map; here a
    tile of the 2^d x 2^d, with d `divisions`, is the same share of either.
    """
    if not folder.is_dir():
        return {}, []
    found, missing = {}, []
    for image in counting_set.kept:
        for name in image.points:
            path = folder / f"{Path(image.image_id).stem}_{name}.npy"
            if path.is_file():
                result = CountResult(float("nan"), density=_read(path))
                found[image.image_id, name] = tile_counts(result, 0, 0, divisions=divisions)
            else:
                missing.append(path.name)
    text = f"{folder.name}: no map for {len(missing)} classes of images ({listed(missing)})"
    return found, [text] if missing and found else []


def _read(path: Path) -> np.ndarray:
    try:
        density = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"Cannot read the density map {path}: {error}.") from None
    if density.ndim != 2 or not np.issubdtype(density.dtype, np.number):
        raise InputError(
            f"{path}: expected a map (H, W) of numbers, got {density.shape} {density.dtype}."
        )
    return density.astype(np.float64)
