"""PrACo++: the negative-label test on images of several classes, by a counter or from files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.counters import CountResult
from autoeval.counting.measures.count_errors import check_mode
from autoeval.counting.measures.game import read_density
from autoeval.counting.praco.data import NO_OBJECT, NOT_ASKED, CountedImage, CountingSet
from autoeval.counting.praco.mosaic_run import (
    ask_once,
    count_matrix,
    failures,
    locates,
    run_negative_test,
    tile_counts,
    tiles_of_points,
)
from autoeval.counting.praco.praco_measures import aligned, localised, quotient
from autoeval.counting.praco.released_csv import read_counts
from autoeval.counting.praco.result import Columns, Measured, defined_mean
from autoeval.counting.prompting import PromptedCounter, check_same_run
from autoeval.errors import InputError
from autoeval.io.images import image_size, read_image
from autoeval.runtime.files import PathLike
from autoeval.words import listed

Tiles = Mapping[tuple[str, str], list[float]]
LOCALISED = ("TP", "FP", "MAE", "precision", "recall", "f1")
HIGHER_IS_BETTER = ("PCCN", *(f"localised {m}" for m in ("TP", "precision", "recall", "f1")))


def plus_plus_by_image(counts: pd.DataFrame, class_counts: pd.DataFrame) -> pd.DataFrame:
    """Measure each image; its positive classes are those with a true count above 0.

    Parameters
    ----------
    counts, class_counts : DataFrame
        Predicted and true counts, images (rows) by classes; a prediction may be NaN.

    Returns
    -------
    DataFrame
        One row an image. ``n_positive`` and ``n_negative`` classes with a count; ``n_absent``, all
        negative classes; ``total``, the number of objects; ``negative_sum``, what is counted of
        negative classes; ``absolute`` and ``squared``, sums of errors of the positive classes.
        ``near_one`` and ``near_average`` (1 or 0) say whether their mean error is below the mean
        distance of the negative counts from the positive classes' true counts, one after another,
        or from their average; NaN without both kinds of class. ``n_undefined`` classes without a
        count.

    Raises
    ------
    InputError
        As `aligned`.
    """
    g = class_counts.to_numpy(np.float64)
    truth = class_counts.sum(axis=1).to_frame("count")
    truth["category"] = class_counts.columns[g.argmax(1)]
    c = aligned(counts.reindex(columns=class_counts.columns), truth)
    positive, negative = (g > 0) & ~np.isnan(c), (g == 0) & ~np.isnan(c)
    error = np.where(positive, np.abs(c - g), 0)
    n_positive, n_negative = positive.sum(1), negative.sum(1)
    own_error = _mean(error, n_positive)
    # Mean distance of the negative counts from each positive truth, and from their average.
    counted = np.where(negative, c, 0)
    gap = np.abs(g[:, :, None] - counted[:, None, :])
    pairs = positive[:, :, None] & negative[:, None, :]
    one = _mean(np.where(pairs, gap, 0).sum(2), n_positive * n_negative)
    centre = np.nan_to_num(_mean(np.where(positive, g, 0), n_positive))
    distance = np.where(negative, np.abs(counted - centre[:, None]), 0)
    average = _mean(distance, n_negative * (n_positive > 0))
    return pd.DataFrame(
        {
            "n_positive": n_positive,
            "n_negative": n_negative,
            "n_absent": (g == 0).sum(1),
            "total": g.sum(1),
            "negative_sum": counted.sum(1),
            "absolute": error.sum(1),
            "squared": (error**2).sum(1),
            "near_one": np.where(np.isnan(own_error + one), np.nan, own_error < one),
            "near_average": np.where(np.isnan(own_error + average), np.nan, own_error < average),
            "n_undefined": np.isnan(c).sum(1),
        },
        index=class_counts.index,
    )


def plus_plus(by_image: pd.DataFrame | Columns, mode: str = "paper") -> dict[str, float]:
    """Return macro (mean over images) and micro (over all cells) measures.

    Parameters
    ----------
    by_image : DataFrame or mapping of str to ndarray of shape (N,)
        Columns of `plus_plus_by_image`, and of localised measures where they are known: ``sum of
        M`` and ``n of M`` for each measure M over the classes of an image.
    mode : {"paper", "released"}
        An image that holds every class counts in ``"released"`` as 0 in the macro MNP and NMN and,
        like one without the counts for it, as a failure in PCCN, as in the authors' code;
        ``"paper"`` leaves it out.

    Returns
    -------
    dict of str to float
        ``MNP`` is the mean negative prediction, ``NMN`` the same over the image's total true count,
        ``PCCN`` in %, ``MAE`` and ``RMSE`` of positive classes; NaN where nothing defines one.

    Raises
    ------
    InputError
        If there is no such mode.
    """
    check_mode(mode)
    v = {name: np.asarray(by_image[name], np.float64) for name in by_image}
    n, p = v["n_negative"], v["n_positive"]
    fill = 0.0 if mode == "released" else np.nan
    of_full = np.where(v["n_absent"] == 0, fill, np.nan)  # whose absent classes are none
    measures = {
        "MNP macro": _macro(v["negative_sum"], n, of_full),
        "MNP micro": _micro(v["negative_sum"], n),
        "NMN macro": _macro(v["negative_sum"], n * v["total"], of_full),
        "NMN micro": _micro(v["negative_sum"], n * v["total"]),
        "PCCN one at a time": 100 * defined_mean(np.nan_to_num(v["near_one"], nan=fill)),
        "PCCN average GT": 100 * defined_mean(np.nan_to_num(v["near_average"], nan=fill)),
        "MAE macro": _macro(v["absolute"], p),
        "MAE micro": _micro(v["absolute"], p),
        "RMSE macro": defined_mean(np.sqrt(quotient(v["squared"], p))),
        "RMSE micro": float(np.sqrt(_micro(v["squared"], p))),
    }
    for name in LOCALISED:
        if f"sum of {name}" in v:
            total, times = v[f"sum of {name}"], v[f"n of {name}"]
            measures[f"localised {name} macro"] = _macro(total, times)
            measures[f"localised {name} micro"] = _micro(total, times)
    return measures


def _mean(values: np.ndarray, n: np.ndarray) -> np.ndarray:
    return quotient(values.sum(1), n)


def _macro(part: np.ndarray, whole: np.ndarray, fill: float | np.ndarray = np.nan) -> float:
    return defined_mean(quotient(part, whole, fill))


def _micro(part: np.ndarray, whole: np.ndarray) -> float:
    return float(part[whole > 0].sum() / whole.sum()) if whole.sum() > 0 else float("nan")


@dataclass(eq=False)
class PlusPlusResult(Measured):
    """The answers of one model, images by classes, and what follows from them.

    Parameters
    ----------
    name : str
        Of the model.
    counts, truth : DataFrame
        Predicted and true counts, images (rows) by classes; a prediction may be NaN.
    localised : DataFrame, optional
        ``image``, ``class`` and the columns of `localised` for each class that an image holds; None
        for a model that gives counts only.
    mode : {"paper", "released"}
        See `plus_plus`.
    notes : tuple of str
        What is missing.

    Attributes
    ----------
    by_image : DataFrame
        Of `plus_plus_by_image`.
    columns : dict of str to ndarray of shape (N,)
        See `Measured`.
    """

    name: str
    counts: pd.DataFrame
    truth: pd.DataFrame
    localised: pd.DataFrame | None
    mode: str = "paper"
    notes: tuple[str, ...] = ()
    by_image: pd.DataFrame = field(init=False, repr=False)
    columns: dict[str, np.ndarray] = field(init=False, repr=False)
    higher_is_better = HIGHER_IS_BETTER
    of_parts = "localised"

    def __post_init__(self) -> None:
        self.by_image = table = plus_plus_by_image(self.counts, self.truth)
        if self.localised is not None:
            self.localised = self.localised[self.localised["image"].isin(table.index)]
            groups = self.localised.groupby("image")[list(LOCALISED)]
            sums, n = groups.sum().add_prefix("sum of "), groups.count().add_prefix("n of ")
            table = table.join(sums.join(n).reindex(table.index, fill_value=0))
        self.columns = {name: table[name].to_numpy(np.float64) for name in table}

    def measure_columns(self, columns: Columns) -> dict[str, float]:
        """Return the measures of `plus_plus`, the localised ones among them.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (N,)
            As `columns`, of any choice of images.
        """
        return plus_plus(columns, self.mode)

    def by_class(self) -> pd.DataFrame:
        """One row a class; ``bias`` is predicted minus true, NaN where there are no such images."""
        held = self.truth > 0
        error = self.counts - self.truth
        rows = {
            "images with it": held.sum(),
            "mean true count": self.truth.where(held).mean(),
            "MAE": error.abs().where(held).mean(),
            "bias": error.where(held).mean(),
            "mean count where absent": self.counts.where(~held).mean(),
        }
        return pd.DataFrame(rows).rename_axis("class").reset_index()


def evaluate_multi_class(
    prompted: PromptedCounter,
    counting_set: CountingSet,
    folder: PathLike,
    *,
    settings: Mapping[str, Any],
    divisions: int = 2,
    mode: str = "paper",
) -> PlusPlusResult:
    """Count every class in every image, going on from what the folder holds.

    Parameters
    ----------
    prompted : PromptedCounter
    counting_set : CountingSet
        With the files of the images; those without objects are left out (see `with_objects`).
    folder, settings
        As `evaluate_counter` takes them.
    divisions : int
        Localised measures are on a grid of 2^d x 2^d tiles.
    mode : {"paper", "released"}
        See `plus_plus`.

    Raises
    ------
    InputError
        As `evaluate_counter`, or if no image holds an object.
    """
    counting_set = with_objects(counting_set)
    ask_once(prompted, counting_set)
    placed, places = locates(prompted.counter), None
    folder, grid = Path(folder), divisions if placed else None
    check_same_run(folder / "run.json", {**settings, "grid": divisions, **prompted.settings})
    table = run_negative_test(prompted, counting_set, folder, divisions=grid)
    if placed:
        answered = table.dropna(subset=["count"]).set_index(["image", "class"])
        tiles = answered["tiles"].to_dict() if len(answered) else {}
        sizes = {image.image_id: image_size(image.path) for image in counting_set.kept}
        places = _localised(tiles, counting_set, divisions, sizes)
    notes = tuple(failures("prompts", table))
    counts, truth = count_matrix(table, counting_set), counting_set.class_counts()
    return PlusPlusResult(prompted.counter.name, counts, truth, places, mode, notes)


def evaluate_multi_class_file(
    path: Path, model: str, counting_set: CountingSet, *, divisions: int = 2, mode: str = "paper"
) -> PlusPlusResult:
    """Measure predictions made elsewhere on the images that they have.

    Parameters
    ----------
    path : Path
        CSV of images by classes, see `read_counts`. Density maps in ``density_maps`` beside it (see
        `tiles_on_file`) give the localised measures.
    model : str
        Its name.
    counting_set : CountingSet
        Images without objects are left out.
    divisions, mode
        As `evaluate_multi_class` takes them.

    Raises
    ------
    InputError
        If a file cannot be read or does not fit, or no image holds an object.
    """
    warnings: list[str] = []
    counting_set = with_objects(counting_set)
    counts = read_counts(path, counting_set, warnings)
    counts = counts.reindex(columns=list(counting_set.classes))
    tiles, noted = tiles_on_file(path.parent / "density_maps", counting_set, divisions)
    places = _localised(tiles, counting_set, divisions, {}) if tiles else None
    truth = counting_set.class_counts().loc[counts.index]
    return PlusPlusResult(model, counts, truth, places, mode, (*warnings, *noted))


def with_objects(counting_set: CountingSet) -> CountingSet:
    """Leave out the images without objects of the classes that are asked for.

    Parameters
    ----------
    counting_set : CountingSet

    Raises
    ------
    InputError
        If none is left.
    """
    images, classes = counting_set.images, set(counting_set.classes)
    empty = [image.image_id for image in images if not image.count]
    unasked = [i.image_id for i in images if i.count and not classes & set(i.points)]
    kept = counting_set.exclude(empty, NO_OBJECT).exclude(unasked, NOT_ASKED)
    if not kept.kept:
        raise InputError(f"No image of {counting_set.name} holds an object.")
    return kept


def _localised(
    tiles: Tiles,
    counting_set: CountingSet,
    divisions: int,
    sizes: Mapping[str, tuple[int, int] | None],
) -> pd.DataFrame:
    """Compare tile by tile each class that an image holds, where there is a result.

    Tiles are those of images with the `sizes` (height, width), where these are known: points in
    another frame are brought there.
    """
    rows, predicted, true = [], [], []
    for image in counting_set.kept:
        frame = _frame(image)
        height, width = sizes.get(image.image_id) or frame
        scale = [width / frame[1], height / frame[0]]
        for name, points in image.points.items():
            if (image.image_id, name) in tiles:
                rows.append({"image": image.image_id, "class": name})
                predicted.append(tiles[image.image_id, name])
                true.append(tiles_of_points(points * scale, height, width, divisions=divisions))
    shape = (len(rows), 4**divisions)
    measured = localised(np.reshape(predicted, shape), np.reshape(true, shape))
    return pd.concat([pd.DataFrame(rows, columns=["image", "class"]), measured], axis=1)


def _frame(image: CountedImage) -> tuple[int, ...]:
    """Return height and width that the true points are in."""
    return image.size or image_size(image.path) or read_image(image.path).shape[:2]


def tiles_on_file(
    folder: Path, counting_set: CountingSet, divisions: int
) -> tuple[dict[tuple[str, str], list[float]], list[str]]:
    """Count the tiles of the density map of each class that an image holds.

    The authors resize maps to the true map; here a tile is the same share of either.

    Parameters
    ----------
    folder : Path
        With maps (H, W) of any size as ``IMAGE_CLASS.npy``; negative values are taken as 0. None is
        read of images that differ in folder or suffix alone.
    counting_set : CountingSet
    divisions : int
        The grid has 2^d x 2^d tiles.

    Returns
    -------
    tuple of dict and list of str
        Counts of the tiles by image and class; what is missing, where some maps are there.

    Raises
    ------
    InputError
        If a map cannot be read, or is smaller than the grid.
    """
    if not folder.is_dir():
        return {}, []
    tiles, missing = {}, []
    stems = Counter(Path(image.image_id).stem for image in counting_set.images)
    for image in counting_set.kept:
        stem = Path(image.image_id).stem
        for name in image.points:
            path = folder / f"{stem}_{name}.npy"
            if path.is_file() and stems[stem] == 1:
                density = read_density(path)
                result = CountResult(float("nan"), density=density)
                frame = _frame(image)
                tiles[image.image_id, name] = tile_counts(result, *frame, divisions=divisions)
            else:
                missing.append(path.name)
    text = (
        f"{folder.name}: no map, or one name for several images, for {len(missing)} classes of "
        f"images ({listed(missing)})"
    )
    return tiles, [text] if missing and tiles else []
