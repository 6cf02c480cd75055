"""Which images make a mosaic: drawn as released, or every pair; kept in a file."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from autoeval.counting.praco.data import CountingSet
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.runtime.files import atomic_path

RELEASED_SEED = 123
LAYOUTS = ("released", "paper")


@dataclass(frozen=True)
class MosaicRecipe:
    """All that is needed to make a mosaic again.

    Parameters
    ----------
    positive, negative : str
        Ids of the upper and the lower image.
    positive_class, negative_class : str
        Their classes; the prompt is the positive one.
    layout : {"released", "paper"}
        How the two are joined (see `autoeval.counting.praco.mosaic.stack`).
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
    up as negatives; mosaics with one on top are then left out.

    Parameters
    ----------
    counting_set : CountingSet
        Of images of one class each. Classes without images have no mosaics.
    seed : int
        123 gives the published pairs when the files are those of the authors.
    n_negatives : int
        How many different negative images to draw for each image and class, where the class has as
        many; the published pairs have one.
    layout : str
        Kept in each recipe.
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
    """Read recipes that `write_pairs` wrote.

    Raises
    ------
    InputError
        If the file is missing or malformed, or names images or classes that the set has not.
    """
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
