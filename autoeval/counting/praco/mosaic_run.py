"""The negative-label test and the mosaic test (section 3.3), by a counter or its files."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from PIL import Image

from autoeval.counting.counters import DENSITY, POINTS, Counter, CountResult
from autoeval.counting.measures.game import map_in_tiles, points_in_tiles, tile_edges
from autoeval.counting.praco.data import CountedImage, CountingSet
from autoeval.counting.praco.released_csv import write_released
from autoeval.counting.praco.result import PracoResult
from autoeval.counting.prompting import (
    Cell,
    CellJournal,
    CountRequest,
    PromptedCounter,
    check_same_run,
    is_done,
    number,
    read_again,
    result_fields,
    stamp_of,
)
from autoeval.errors import InputError
from autoeval.io.images import UnreadableImageError, read_image
from autoeval.runtime import FAILED
from autoeval.runtime.files import PathLike, write_table
from autoeval.runtime.progress import announced_bar
from autoeval.words import listed

RELEASED_SEED = 123
LAYOUTS = ("released", "paper")
TILE_RULE = "absorb"
MOSAIC_KEY = ("positive", "negative", "layout")
KEPT_IN_MEMORY = 64
CLASS_KEY = ("image", "class")


@dataclass(frozen=True)
class MosaicRecipe:
    """All that is needed to make a mosaic again; its prompt is the class of the upper image.

    Parameters
    ----------
    positive, negative : str
        Ids of the upper and of the lower image.
    positive_class, negative_class : str
        Class of each.
    layout : {"released", "paper"}
        See `stack`.
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
    """Draw negative images for each image and each other class, as the released code does.

    Python's `random` is seeded once and chooses among the images of the class in the order of the
    class file, those of no split included. Images that are not measured take part in the draws, or
    all later ones would change; mosaics with one on top are then left out. The seed 123 gives the
    published pairs, with one negative each.

    Parameters
    ----------
    counting_set : CountingSet
        Of one class an image.
    seed : int
        Of the draws.
    n_negatives : int
        Different images of each other class, or all where it has fewer.
    layout : {"released", "paper"}
        See `stack`.
    """
    rng = random.Random(seed)
    pool = counting_set.pool
    pools: dict[str, list[str]] = {}
    for image_id, category in pool.lower.items():
        pools.setdefault(category, []).append(image_id)
    measured = {image.image_id for image in counting_set.kept}
    recipes = []
    for image_id, category in pool.upper.items():
        for name in counting_set.classes:
            if name == category or name not in pools:
                continue
            candidates = pools[name]
            drawn = (
                [rng.choice(candidates)]  # as released; `sample` draws otherwise
                if n_negatives == 1
                else rng.sample(candidates, min(n_negatives, len(candidates)))
            )
            if image_id in measured:
                recipes += [MosaicRecipe(image_id, category, b, name, layout) for b in drawn]
    return recipes


def all_pairs(counting_set: CountingSet, *, layout: str = "released") -> list[MosaicRecipe]:
    """Pair every measured image with every measured image of another class (paper, section 3.3).

    Parameters
    ----------
    counting_set : CountingSet
        Of one class an image.
    layout : {"released", "paper"}
        See `stack`.
    """
    kept = counting_set.kept
    return [
        MosaicRecipe(top.image_id, top.category, below.image_id, below.category, layout)
        for top in kept
        for below in kept
        if top.category != below.category
    ]


def write_pairs(path: PathLike, recipes: Sequence[MosaicRecipe]) -> None:
    """Keep recipes as CSV, one row each.

    Parameters
    ----------
    path : path-like
    recipes : sequence of MosaicRecipe
    """
    write_table(path, pd.DataFrame(map(vars, recipes)), read_again=True)


def read_pairs(path: PathLike, counting_set: CountingSet) -> list[MosaicRecipe]:
    """Read recipes that `write_pairs` wrote.

    Parameters
    ----------
    path : path-like
    counting_set : CountingSet
        That they are of.

    Raises
    ------
    InputError
        If the file cannot be read, or names images that the set does not have, or another class or
        layout.
    """
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        recipes = [MosaicRecipe(**row) for row in table.to_dict("records")]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"Cannot read the mosaic pairs {path}: {error}.") from None
    classes = {**counting_set.pool.lower, **counting_set.pool.upper}
    named = [(r.positive, r.positive_class) for r in recipes]
    named += [(r.negative, r.negative_class) for r in recipes]
    fault = ""
    if wrong := {name for name, category in named if classes.get(name) != category}:
        fault = f"images unknown or of another class: {listed(sorted(wrong))}"
    elif any(recipe.layout not in LAYOUTS for recipe in recipes):
        fault = f"a layout must be one of {', '.join(LAYOUTS)}"
    if fault:
        raise InputError(f"{Path(path)} does not fit {counting_set.name}: {fault}.")
    return recipes


def stack(top: np.ndarray, bottom: np.ndarray, layout: str = "released") -> tuple[np.ndarray, int]:
    """Put one image above another of any size.

    Parameters
    ----------
    top, bottom : ndarray of shape (H, W, 3), uint8
    layout : {"released", "paper"}
        ``"released"`` stretches both to H wide and H // 2 high, with H the smaller height;
        ``"paper"``, which only says "vertically stitching", keeps shapes and shrinks to the smaller
        width.

    Returns
    -------
    mosaic : ndarray of shape (h, w, 3), uint8
    seam : int
        Row at which the lower image starts.

    Raises
    ------
    InputError
        If the images are too small, or too different.
    ValueError
        If there is no such layout.
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
    """Return whether a counter says where it counts, as the mosaic test needs.

    Parameters
    ----------
    counter : Counter
    """
    return bool({POINTS, DENSITY} & set(counter.capabilities))


def halves(result: CountResult, height: int, seam: int) -> tuple[float, float]:
    """Count in the upper and in the lower part of a mosaic.

    A point, or else a box by its centre, is in the lower part from the seam on. A row of a density
    map, which may be coarser than the mosaic, belongs to the part its middle is in: for two equal
    parts the map is cut at half its rows, rounded down.

    Parameters
    ----------
    result : CountResult
        On the mosaic.
    height : int
        Of the mosaic, pixels.
    seam : int
        Row at which the lower image starts.

    Returns
    -------
    upper, lower : float
        NaN where the result has no count.

    Raises
    ------
    InputError
        If the result does not say where it counts.
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
    """Count in each tile of an image, row by row.

    Parameters
    ----------
    result : CountResult
        On the image. Centres come before a density map, whose negative values are taken as 0.
    height, width : int
        Of the image, pixels; on a coarser density map tiles end at the nearest cells.
    divisions : int
        The grid has 2^d x 2^d tiles, with d `divisions`.

    Returns
    -------
    list of float
        4^d counts.

    Raises
    ------
    InputError
        If the result does not say where it counts, or the image or map is smaller than the grid.
    """
    points = result.centres
    rows = tile_edges(height, divisions, TILE_RULE)
    columns = tile_edges(width, divisions, TILE_RULE)
    if points is not None:
        return points_in_tiles(points, rows, columns).ravel().tolist()
    if result.density is None:
        raise InputError("Localised measures need points, boxes or a density map, not counts only.")
    density = np.asarray(result.density, np.float64).clip(0)
    scale_y, scale_x = density.shape[0] / height, density.shape[1] / width
    rows, columns = (np.rint(e).astype(int) for e in (rows * scale_y, columns * scale_x))
    if min(np.diff(rows).min(), np.diff(columns).min()) < 1:
        raise InputError(
            f"A density map of {density.shape} cells (rows, columns) is too coarse for "
            f"{2**divisions} tiles a side."
        )
    return map_in_tiles(density, rows, columns).ravel().tolist()


def tiles_of_points(points: np.ndarray, height: int, width: int, *, divisions: int) -> list[float]:
    """Count true points in each tile; see `tile_counts`.

    Parameters
    ----------
    points : ndarray of shape (N, 2)
        As xy, pixels.
    height, width, divisions : int
        As `tile_counts` takes them.
    """
    result = CountResult(float(len(points)), points=points)
    return tile_counts(result, height, width, divisions=divisions)


def run_mosaic_test(
    prompted: PromptedCounter,
    counting_set: CountingSet,
    recipes: Sequence[MosaicRecipe],
    folder: Path,
    *,
    divisions: int = 2,
) -> pd.DataFrame:
    """Count in every mosaic, going on from what the folder holds.

    Mosaics of which a file, the class or the true points have changed are counted again.

    Parameters
    ----------
    prompted : PromptedCounter
    counting_set : CountingSet
        With the files of the images.
    recipes : sequence of MosaicRecipe
    folder : Path
        Where cells are kept, and the table as ``mosaics.parquet``.
    divisions : int
        Tiles are counted on a grid of 2^d x 2^d.

    Returns
    -------
    DataFrame
        The fields of the recipes in their order, ``upper`` and ``lower`` (NaN where there is no
        count), ``tiles`` and ``true_tiles`` (lists of 4^d counts), ``status`` and what else the
        cells hold.

    Raises
    ------
    InputError
        If the counter does not say where it counts, or there is no recipe.
    """
    if not locates(prompted.counter):
        raise InputError(_counts_only(prompted))
    if not recipes:
        raise InputError("The mosaic test needs images of at least two classes: no pair is left.")
    journal = CellJournal(folder / "mosaics.jsonl", MOSAIC_KEY)
    cells = journal.read()
    paths, images = counting_set.paths, counting_set.by_id
    made_of = _made_of(counting_set, recipes)
    waiting = [
        recipe
        for recipe in recipes
        if not _is_answered(
            cells.get(_key(recipe)),
            {"made_of": made_of[_key(recipe)], "positive_class": recipe.positive_class},
        )
    ]
    picture = lru_cache(KEPT_IN_MEMORY)(lambda image_id: read_image(paths[image_id]))
    count = partial(_count_mosaics, prompted, images, picture, divisions, made_of)
    bar = announced_bar(len(waiting), "Mosaics", items="mosaics", unit="mosaic")
    for cell in journal.keep(prompted.parts(count, waiting), bar):
        cells[tuple(cell[name] for name in MOSAIC_KEY)] = cell
    table = pd.DataFrame([cells[_key(recipe)] | vars(recipe) for recipe in recipes])
    table = table.astype({"upper": np.float64, "lower": np.float64})
    write_table(folder / "mosaics.parquet", table)
    return table


def _counts_only(prompted: PromptedCounter) -> str:
    """Say why a counter takes no part in the mosaic test.

    Parameters
    ----------
    prompted : PromptedCounter
    """
    return (
        f"{prompted.counter.name} gives counts only: without points, boxes or a density map the "
        "two parts of a mosaic cannot be separated, so it takes the negative-label test alone."
    )


def _key(recipe: MosaicRecipe) -> tuple[str, str, str]:
    return recipe.positive, recipe.negative, recipe.layout


def _is_answered(cell: Cell | None, asked: Mapping[str, str]) -> bool:
    """Return whether a cell is done and of the same question, by the fields that it has."""
    return (
        cell is not None
        and is_done(cell)
        and all(cell.get(field, value) == value for field, value in asked.items())
    )


def _made_of(
    counting_set: CountingSet, recipes: Sequence[MosaicRecipe]
) -> dict[tuple[str, str, str], str]:
    """Return what changes with both images of a mosaic, or with the true points or their frame."""
    paths, images = counting_set.paths, counting_set.by_id
    names = {name for r in recipes for name in (r.positive, r.negative)}
    stamps = {name: stamp_of(paths.get(name)) for name in names}
    points = {
        name: f"{crc32(images[name].points[images[name].category].tobytes())} {images[name].size}"
        for name in {r.positive for r in recipes} & set(images)
    }
    return {
        _key(r): f"{stamps[r.positive]} {points.get(r.positive)} {stamps[r.negative]}"
        for r in recipes
    }


def make_mosaic(
    recipe: MosaicRecipe, top: np.ndarray, bottom: np.ndarray
) -> tuple[CountRequest, int]:
    """Stack the two images of a recipe.

    Parameters
    ----------
    recipe : MosaicRecipe
    top, bottom : ndarray of shape (H, W, 3), uint8
        BGR.

    Returns
    -------
    tuple of CountRequest and int
        What is to be counted, and the row at which the lower image starts.

    Raises
    ------
    InputError
        As `stack`.
    """
    mosaic, seam = stack(top, bottom, recipe.layout)
    name, wanted = f"{recipe.positive} above {recipe.negative}", recipe.positive_class
    return CountRequest(mosaic, [wanted], name, wanted), seam


def _count_mosaics(
    prompted: PromptedCounter,
    images: Mapping[str, CountedImage],
    picture: Callable[[str], np.ndarray],
    divisions: int,
    made_of: Mapping[tuple[str, str, str], str],
    recipes: Sequence[MosaicRecipe],
) -> list[Cell]:
    cells, mosaics = [], []
    for recipe in recipes:
        try:
            top, bottom = picture(recipe.positive), picture(recipe.negative)
            mosaics.append((recipe, top.shape[:2], *make_mosaic(recipe, top, bottom)))
        except (UnreadableImageError, InputError) as error:
            status = f"{FAILED}: {error}"
            cells.append(vars(recipe) | {"upper": None, "lower": None, "status": status})
    results = prompted.count([request for _, _, request, _ in mosaics])
    for (recipe, top_size, request, seam), [result] in zip(mosaics, results, strict=True):
        size = request.image.shape[:2]
        upper, lower = halves(result, size[0], seam)
        cell = vars(recipe) | {"upper": number(upper), "lower": number(lower)}
        cell |= result_fields(result, {})  # a counter with --reference-class got this class
        cell["made_of"] = made_of[_key(recipe)]
        if is_done(cell) and not np.isnan(result.count):
            image = images[recipe.positive]
            frame = image.size or top_size
            points = image.points[image.category] * [size[1] / frame[1], seam / frame[0]]
            with suppress(InputError):  # a map or mosaic that is coarser than the grid has no tiles
                tiles = tile_counts(result, *size, divisions=divisions)
                true = tiles_of_points(points, *size, divisions=divisions)
                cell |= {"tiles": tiles, "true_tiles": true}
        cells.append(cell)
    return cells


def run_negative_test(
    prompted: PromptedCounter,
    counting_set: CountingSet,
    folder: Path,
    *,
    divisions: int | None = None,
) -> pd.DataFrame:
    """Count every class in every measured image, going on from what the folder holds.

    All classes of an image go to the counter at once. An image whose file changed is counted again,
    and what was counted without the tiles that are wanted.

    Parameters
    ----------
    prompted : PromptedCounter
    counting_set : CountingSet
        With the files of the images.
    folder : Path
        Where cells are kept, and the table as ``negative.parquet``.
    divisions : int, optional
        Count tiles on a grid of 2^d x 2^d, too.

    Returns
    -------
    DataFrame
        ``image``, ``class``, ``count`` (NaN where there is none), ``status`` and what else the
        cells hold: with `divisions` also ``tiles``, lists of 4^d counts.

    Raises
    ------
    InputError
        If the counter fails on every prompt.
    """
    journal = CellJournal(folder / "negative.jsonl", CLASS_KEY)
    kept_cells = read_again(prompted.counter, journal.read().values())
    cells = {(cell["image"], cell["class"]): cell for cell in kept_cells}
    kept = counting_set.kept

    def answered(image: CountedImage, name: str) -> bool:
        cell = cells.get((image.image_id, name))
        privileged = prompted.privileged(true_class_of(image))
        if cell is None or not _is_answered(cell, {"file": stamp_of(image.path), **privileged}):
            return False
        return divisions is None or cell.get("count") is None or "tiles" in cell

    wanted = {
        image.image_id: [name for name in counting_set.classes if not answered(image, name)]
        for image in kept
    }
    waiting = [image for image in kept if wanted[image.image_id]]
    total, items = sum(map(len, wanted.values())), f"prompts on {len(waiting)} images"
    count = partial(_count_classes, prompted, wanted, divisions)
    bar = announced_bar(total, "Negative labels", items=items, unit="prompt")
    for cell in journal.keep(prompted.parts(count, waiting), bar):
        cells[cell["image"], cell["class"]] = cell
    table = pd.DataFrame([cells[im.image_id, name] for im in kept for name in counting_set.classes])
    table = table.astype({"count": np.float64})
    if table["status"].str.startswith(FAILED).all():
        raise InputError(
            f"The counter {prompted.counter.name} failed on all {len(table)} prompts; the first: "
            f"{table['status'].iloc[0]}."
        )
    write_table(folder / "negative.parquet", table)
    return table


def _count_classes(
    prompted: PromptedCounter,
    wanted: Mapping[str, list[str]],
    divisions: int | None,
    images: Sequence[CountedImage],
) -> list[Cell]:
    cells: list[Cell] = []
    requests, files = [], {image.image_id: stamp_of(image.path) for image in images}
    for image in images:
        image_id, classes = image.image_id, wanted[image.image_id]
        true_class = true_class_of(image)
        try:
            requests.append(CountRequest(read_image(image.path), classes, image_id, true_class))
        except UnreadableImageError as error:
            failed = {"count": None, "status": f"{FAILED}: {error.reason}"}
            cells += [{"image": image_id, "class": name, **failed} for name in classes]
    for request, results in zip(requests, prompted.count(requests), strict=True):
        privileged = prompted.privileged(request.true_class)
        for name, result in zip(request.classes, results, strict=True):
            cell: Cell = {"image": request.image_id, "class": name, "count": number(result.count)}
            cell |= {"file": files[request.image_id], **result_fields(result, privileged)}
            if divisions is not None and cell["count"] is not None:
                size = request.image.shape[:2]
                cell["tiles"] = tile_counts(result, *size, divisions=divisions)
            cells.append(cell)
    return cells


def true_class_of(image: CountedImage) -> str:
    """Return the true class of an image, as a counter may get it; of several, all of them.

    Parameters
    ----------
    image : CountedImage
    """
    return ", ".join(image.points)


def count_matrix(table: pd.DataFrame, counting_set: CountingSet) -> pd.DataFrame:
    """Arrange counts as images (rows) by classes (columns).

    Parameters
    ----------
    table : DataFrame
        Of `run_negative_test`.
    counting_set : CountingSet
        Gives the order of images and classes.
    """
    matrix = table.pivot(index="image", columns="class", values="count")
    ids = [image.image_id for image in counting_set.kept]
    matrix = matrix.reindex(index=ids, columns=list(counting_set.classes))
    return matrix.rename_axis(index="image_id", columns=None)


def evaluate_counter(
    prompted: PromptedCounter,
    counting_set: CountingSet,
    recipes: Sequence[MosaicRecipe],
    folder: PathLike,
    *,
    settings: Mapping[str, Any],
    mode: str = "paper",
    divisions: int = 2,
) -> PracoResult:
    """Run both tests, going on from what the folder holds, and keep the results.

    A counter that gives counts only takes the negative-label test alone.

    Parameters
    ----------
    prompted : PromptedCounter
    counting_set : CountingSet
        Of one class an image, with the files of the images.
    recipes : sequence of MosaicRecipe
        None of them skip the mosaic test.
    folder : path-like
        Of this counter and these settings alone.
    settings : mapping
        What the results depend on in addition to the counter's prompt.
    mode : {"paper", "released"}
        See `PracoResult`.
    divisions : int
        Mosaics are compared on a grid of 2^d x 2^d tiles.

    Raises
    ------
    InputError
        If the folder is of other settings, or the counter fails on every prompt.
    """
    folder = Path(folder)
    check_same_run(folder / "run.json", {**settings, "grid": divisions, **prompted.settings})
    ask_once(prompted, counting_set)
    table = run_negative_test(prompted, counting_set, folder)
    counts = count_matrix(table, counting_set)
    notes, mosaics = failures("prompts", table), None
    if not locates(prompted.counter):
        notes.append(_counts_only(prompted))
    elif recipes:
        mosaics = run_mosaic_test(prompted, counting_set, recipes, folder, divisions=divisions)
        notes += failures("mosaics", mosaics)
        lacking = mosaics["upper"].notna()
        lacking &= mosaics["tiles"].isna() if "tiles" in mosaics else True
        if lacking.any():
            notes.append(
                f"{lacking.sum()} of {len(mosaics)} mosaics have no localised measures: they, or "
                f"the density maps of them, have fewer pixels or cells a side than the "
                f"{2**divisions} tiles of the grid"
            )
    name, fitting = prompted.counter.name, mosaics
    if mosaics is not None and mosaics.duplicated(["positive", "negative_class"]).any():
        fitting = None  # the authors' form cannot hold them
    write_released(folder, name, counting_set, counts, fitting)
    return PracoResult(name, counts, counting_set.truth(), mosaics, mode, tuple(notes))


def ask_once(prompted: PromptedCounter, counting_set: CountingSet) -> None:
    """Let a function answer about one image, by which it shows whether it says where it counts.

    Parameters
    ----------
    prompted : PromptedCounter
        Other counters, and a function that has given a result, are not called.
    counting_set : CountingSet
        Of which readable images are shown until one is counted.
    """
    for image in counting_set.kept:
        if getattr(prompted.counter, "asked", True) is not False:
            return
        try:
            picture, name = read_image(image.path), next(iter(image.points))
        except UnreadableImageError:
            continue
        prompted.count([CountRequest(picture, [name], image.image_id, name)])


def failures(items_name: str, table: pd.DataFrame) -> list[str]:
    """Say how many results failed or were skipped and why, and their warnings.

    Parameters
    ----------
    items_name : str
        What a row is, in the plural.
    table : DataFrame
        With ``status``, and ``warnings`` where there are some.
    """
    reasons = table.loc[table["status"] != "ok", "status"].value_counts().head(5)
    lines = [f"{n} {items_name} without a result ({reason})" for reason, n in reasons.items()]
    if "warnings" in table:
        texts = table["warnings"].dropna().explode().astype(str)
        lines += (
            [f"{len(texts)} {items_name}: {listed(texts.unique(), most=2)}"] if len(texts) else []
        )
    return lines
