"""The mosaic test: the class of the upper image is counted in both at once (section 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.counting.counters.base import CountResult
from autoeval.counting.journal import Cell, CellJournal
from autoeval.counting.praco.data import CountedImage, CountingSet
from autoeval.counting.praco.mosaic import halves, locates, stack, tile_counts
from autoeval.counting.praco.mosaic_pairs import MosaicRecipe
from autoeval.counting.prompting import (
    CountRequest,
    PromptedCounter,
    is_done,
    number,
    result_fields,
)
from autoeval.data.images import UnreadableImageError, read_image
from autoeval.errors import InputError
from autoeval.runtime.progress import announced_bar
from autoeval.runtime.states import FAILED

KEY = ("positive", "negative", "layout")
KEPT_IN_MEMORY = 64
Reader = Callable[[Path], np.ndarray]


def run_mosaic_test(
    prompted: PromptedCounter,
    counting_set: CountingSet,
    recipes: Sequence[MosaicRecipe],
    journal: CellJournal,
    *,
    divisions: int = 2,
    read: Reader = read_image,
) -> pd.DataFrame:
    """Count in every mosaic, without the results in the journal.

    Parameters
    ----------
    prompted : PromptedCounter
        Its counter must say where it counts.
    counting_set : CountingSet
        Holds the images of the recipes.
    recipes : sequence of MosaicRecipe
        Which mosaics.
    journal : CellJournal
        With the key `KEY`; receives each result as soon as it is there.
    divisions : int
        d; what is counted, and what is there, is kept for each of 2^d x 2^d tiles, too.
    read : callable of Path -> ndarray
        Reads an image (H, W, 3) uint8 BGR.

    Returns
    -------
    DataFrame
        ``positive``, ``positive_class``, ``negative``, ``negative_class``, ``layout``, ``upper``
        and ``lower`` (NaN where there is no count), ``tiles`` and ``true_tiles`` (lists of 4^d
        counts, row by row), ``status`` and what else the cells hold, in the order of the recipes.

    Raises
    ------
    InputError
        If the counter gives counts only, or no recipe is left.
    """
    if not locates(prompted.counter):
        raise InputError(counts_only(prompted))
    if not recipes:
        raise InputError("The mosaic test needs images of at least two classes: no pair is left.")
    cells = journal.read()
    waiting = [r for r in recipes if not is_done(cells.get(_key(r), {"status": FAILED}))]
    paths, images = counting_set.paths, counting_set.by_id
    picture = lru_cache(KEPT_IN_MEMORY)(lambda image_id: read(paths[image_id]))
    with (
        journal.writer() as write,
        announced_bar(len(waiting), "Mosaics", items="mosaics", unit="mosaic") as bar,
    ):
        for fresh in prompted.parts(partial(_count, prompted, images, picture, divisions), waiting):
            write(fresh)
            cells.update({tuple(cell[name] for name in KEY): cell for cell in fresh})
            bar.update(len(fresh))
    table = pd.DataFrame([cells[_key(recipe)] for recipe in recipes])
    return table.astype({"upper": np.float64, "lower": np.float64})


def counts_only(prompted: PromptedCounter) -> str:
    """Say why a counter takes no part in the mosaic test."""
    return (
        f"{prompted.counter.name} gives counts only: without points, boxes or a density map the "
        "two parts of a mosaic cannot be told apart, so it takes the negative-label test alone."
    )


def _key(recipe: MosaicRecipe) -> tuple[str, str, str]:
    return recipe.positive, recipe.negative, recipe.layout


@dataclass(frozen=True, eq=False)
class _Mosaic:
    """A recipe with its upper image and its request."""

    recipe: MosaicRecipe
    top: np.ndarray
    seam: int
    request: CountRequest


def _count(
    prompted: PromptedCounter,
    images: Mapping[str, CountedImage],
    picture: Callable[[str], np.ndarray],
    divisions: int,
    recipes: Sequence[MosaicRecipe],
) -> list[Cell]:
    failed, mosaics = [], []
    for recipe in recipes:
        try:
            mosaics.append(_make(recipe, picture))
        except (UnreadableImageError, InputError) as error:
            status = f"{FAILED}: {error}"
            failed.append(_fields(recipe) | {"upper": None, "lower": None, "status": status})
    results = prompted.count([mosaic.request for mosaic in mosaics])
    return failed + [
        _cell(prompted, mosaic, images[mosaic.recipe.positive], result, divisions)
        for mosaic, [result] in zip(mosaics, results, strict=True)
    ]


def _make(recipe: MosaicRecipe, picture: Callable[[str], np.ndarray]) -> _Mosaic:
    top, bottom = picture(recipe.positive), picture(recipe.negative)
    mosaic, seam = stack(top, bottom, recipe.layout)
    name, wanted = f"{recipe.positive} above {recipe.negative}", recipe.positive_class
    return _Mosaic(recipe, top, seam, CountRequest(mosaic, [wanted], name, wanted))


def _cell(
    prompted: PromptedCounter,
    mosaic: _Mosaic,
    upper_image: CountedImage,
    result: CountResult,
    divisions: int,
) -> Cell:
    recipe, size = mosaic.recipe, mosaic.request.image.shape[:2]
    upper, lower = halves(result, size[0], mosaic.seam)
    cell = _fields(recipe) | {"upper": number(upper), "lower": number(lower)}
    cell |= result_fields(result, prompted.privileged(recipe.positive_class))
    if is_done(cell) and not np.isnan(result.count):
        truth = _placed(upper_image, mosaic.top, mosaic.seam, size[1])
        cell |= _tiles(result, truth, size, divisions)
    return cell


def _fields(recipe: MosaicRecipe) -> Cell:
    # Written out because dataclasses.asdict copies deeply, which is slow for many thousand cells.
    return dict(vars(recipe))


def _tiles(
    result: CountResult, truth: CountResult, size: tuple[int, int], divisions: int
) -> dict[str, list[float]]:
    """Count in tiles; a map or mosaic that is coarser than the grid has none."""
    try:
        found, true = (tile_counts(r, *size, divisions=divisions) for r in (result, truth))
    except InputError:
        return {}
    return {"tiles": found, "true_tiles": true}


def _placed(image: CountedImage, picture: np.ndarray, seam: int, width: int) -> CountResult:
    """Return the objects of the upper image where they are in the mosaic."""
    frame_height, frame_width = image.size or picture.shape[:2]
    points = image.points[image.category] * [width / frame_width, seam / frame_height]
    return CountResult(float(len(points)), points=points)
