"""PrACo++ for a counter on images that may hold several classes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.asking import Asker
from autoeval.counting.praco.data import NO_OBJECT, CountedImage, CountingSet
from autoeval.counting.praco.evaluate import ask_negatives
from autoeval.counting.praco.mosaic import locates
from autoeval.counting.praco.negative_run import count_matrix
from autoeval.counting.praco.plus_plus import plus_plus, plus_plus_by_image
from autoeval.counting.praco.tiles import localised, tile_counts, tiles_of_points
from autoeval.data.images import read_image
from autoeval.errors import InputError


@dataclass(frozen=True, eq=False)
class PlusPlusResult:
    """The answers of one counter and what follows from them.

    Parameters
    ----------
    name : str
        Of the counter.
    by_image : DataFrame
        As `plus_plus_by_image` returns it.
    localised : DataFrame or None
        ``image``, ``class`` and the columns of `autoeval.counting.praco.tiles.localised` for each
        class that an image holds; None for a counter that gives counts only.
    """

    name: str
    by_image: pd.DataFrame
    localised: pd.DataFrame | None

    def measures(self) -> dict[str, float]:
        """Return the measures of `plus_plus` and the means of the localised ones."""
        found = plus_plus(self.by_image)
        if self.localised is not None:
            columns = ("TP", "FP", "precision", "recall", "f1")
            found |= {f"localised {name}": float(self.localised[name].mean()) for name in columns}
        return found


def evaluate_multi_class(
    asker: Asker,
    counting_set: CountingSet,
    folder: str | os.PathLike[str],
    *,
    settings: Mapping[str, Any],
    divisions: int = 2,
) -> PlusPlusResult:
    """Ask for every class in every image, going on from what the folder holds.

    Parameters
    ----------
    asker : Asker
        The counter and how it is asked.
    counting_set : CountingSet
        Images without objects are left out.
    folder : path-like
        Of this counter and this kind of run alone.
    settings : mapping
        See `autoeval.counting.praco.evaluate.evaluate_counter`.
    divisions : int
        d; localised measures are on 2^d x 2^d tiles.

    Raises
    ------
    InputError
        If no image holds an object.
    """
    empty = [image.image_id for image in counting_set.images if not image.count]
    counting_set = counting_set.exclude(empty, NO_OBJECT)
    if not counting_set.kept:
        raise InputError(f"No image of {counting_set.name} holds an object.")
    grid = locates(asker.counter)
    tiles = partial(tile_counts, divisions=divisions) if grid else None
    table = ask_negatives(asker, counting_set, Path(folder), {**settings, "grid": divisions}, tiles)
    matrix = count_matrix(table, counting_set)
    by_image = plus_plus_by_image(matrix, counting_set.class_counts())
    places = _localised(table, counting_set, divisions) if grid else None
    return PlusPlusResult(asker.counter.name, by_image, places)


def _localised(table: pd.DataFrame, counting_set: CountingSet, divisions: int) -> pd.DataFrame:
    """Compare tile by tile each class that an image holds, where there is an answer."""
    tiles = table.dropna(subset=["count"]).set_index(["image", "class"])["tiles"].to_dict()
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
    height, width = read_image(image.path).shape[:2]
    return height, width
