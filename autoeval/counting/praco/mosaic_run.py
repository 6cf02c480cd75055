"""The mosaic test: pairs of images, and the count of the upper class in both (section 3.3)."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.counting.counters import CountResult
from autoeval.counting.journal import Cell, CellJournal
from autoeval.counting.praco.data import CountedImage, CountingSet
from autoeval.counting.praco.mosaic import halves, locates, stack, tile_counts
from autoeval.counting.prompting import (
    CountRequest,
    PromptedCounter,
    is_done,
    number,
    result_fields,
)
from autoeval.data.images import UnreadableImageError, read_image
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.runtime import FAILED
from autoeval.runtime.files import atomic_path
from autoeval.runtime.progress import announced_bar

RELEASED_SEED = 123
LAYOUTS = ("released", "paper")


@dataclass(frozen=True)
class MosaicRecipe:
    """All that is needed to make a mosaic again.

    These are ids and classes of the upper (positive) and the lower image, and how they are joined
    (see `autoeval.counting.praco.mosaic.stack`). The prompt is the positive class.
    """

    positive: str
    positive_class: str
    negative: str
    negative_class: str
    layout: str = "released"


def draw_pairs(
    counting_set: CountingSet,
    *,
    seed: int = RELEASED_SEED,
    n_negatives: int = 1,
    layout: str = "released",
) -> list[MosaicRecipe]:
    """Draw one negative image for each image and each other class, as the released code does.

    Python's `random` is seeded once; images come in the order of the split, classes in the order of
    the set, and each draw is `random.choice` among the images of the class in the order of the
    class file, those of no split included. Images that are not measured, whether excluded or
    incomplete, take part in the draws, or their absence would change all later ones, and may come
    up as negatives; mosaics with one on top are then left out. Classes without images have no
    mosaics. The seed 123 gives the published pairs when the files are those of the authors; they
    have one negative for each image and class, `n_negatives` different ones where the class has as
    many.
    """
    rng = random.Random(seed)
    pool = counting_set.pool
    pools = pool.by_class()
    measured = {image.image_id for image in counting_set.kept}
    recipes = []
    for image in pool.upper:
        for name in counting_set.classes:
            if name == image.category or name not in pools:
                continue
            drawn = _draw(rng, pools[name], n_negatives)
            if image.image_id in measured:
                recipes += [
                    MosaicRecipe(image.image_id, image.category, below, name, layout)
                    for below in drawn
                ]
    return recipes


def all_pairs(counting_set: CountingSet, *, layout: str = "released") -> list[MosaicRecipe]:
    """Pair every measured image with every measured image of another class (paper, section 3.3)."""
    kept = counting_set.kept
    return [
        MosaicRecipe(top.image_id, top.category, below.image_id, below.category, layout)
        for top in kept
        for below in kept
        if top.category != below.category
    ]


def write_pairs(path: str | os.PathLike[str], recipes: Sequence[MosaicRecipe]) -> None:
    """Keep recipes as CSV, one row each."""
    with atomic_path(path) as temporary:
        pd.DataFrame(map(asdict, recipes)).to_csv(temporary, index=False)


def read_pairs(path: str | os.PathLike[str], counting_set: CountingSet) -> list[MosaicRecipe]:
    """Read recipes that `write_pairs` wrote."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        recipes = [MosaicRecipe(**row) for row in table.to_dict("records")]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"Cannot read the mosaic pairs {path}: {error}.") from None
    classes = counting_set.pool.class_of
    wrong = [
        name
        for recipe in recipes
        for name, category in (
            (recipe.positive, recipe.positive_class),
            (recipe.negative, recipe.negative_class),
        )
        if classes.get(name) != category
    ]
    if wrong or any(recipe.layout not in LAYOUTS for recipe in recipes):
        raise InputError(
            f"{Path(path)} does not fit {counting_set.name}: "
            + (
                f"images unknown or of another class: {listed(sorted(set(wrong)))}."
                if wrong
                else f"a layout must be one of {', '.join(LAYOUTS)}."
            )
        )
    return recipes


def _draw(rng: random.Random, pool: list[str], n: int) -> list[str]:
    return [rng.choice(pool)] if n == 1 else rng.sample(pool, min(n, len(pool)))


KEY = ("positive", "negative", "layout")
KEPT_IN_MEMORY = 64


def run_mosaic_test(
    prompted: PromptedCounter,
    counting_set: CountingSet,
    recipes: Sequence[MosaicRecipe],
    journal: CellJournal,
    *,
    divisions: int = 2,
) -> pd.DataFrame:
    """Count in every mosaic, without the results in the journal.

    The counter must say where it counts; the journal, with the key `KEY`, receives each result as
    soon as it is there. The table has the fields of the recipes in their order, ``upper`` and
    ``lower`` (NaN where there is no count), ``tiles`` and ``true_tiles`` (lists of 4^d counts, row
    by row, with d `divisions`), ``status`` and what else the cells hold.
    """
    if not locates(prompted.counter):
        raise InputError(counts_only(prompted))
    if not recipes:
        raise InputError("The mosaic test needs images of at least two classes: no pair is left.")
    cells = journal.read()
    waiting = [r for r in recipes if not is_done(cells.get(_key(r), {"status": FAILED}))]
    paths, images = counting_set.paths, counting_set.by_id
    picture = lru_cache(KEPT_IN_MEMORY)(lambda image_id: read_image(paths[image_id]))
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
        "two parts of a mosaic cannot be separated, so it takes the negative-label test alone."
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
