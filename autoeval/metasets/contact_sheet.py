"""A contact sheet: a look at what recipes do to the images and whether the boxes follow."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from tqdm import tqdm

from autoeval.data.images import UnreadableImageError
from autoeval.metasets.recipe import Recipe, own_images
from autoeval.metasets.sample_set import SampleSet
from autoeval.metasets.seed_set import SeedSet

_COLOURS = ((255, 220, 0), (0, 220, 255), (255, 80, 200), (120, 255, 80))
_WIDTH, _HEIGHT, _CAPTION = 3.2, 2.7, 0.6  # of a cell and of the text in it, inches


def contact_sheet(
    seed_sets: Sequence[SeedSet],
    recipes: Sequence[Sequence[Recipe]],
    *,
    n_columns: int = 4,
    bar: tqdm | None = None,
) -> Figure:
    """Draw one image of each seed set beside what its first sample sets make of such images.

    Parameters
    ----------
    seed_sets : sequence of SeedSet
        One row each.
    recipes : sequence of sequence of Recipe
        The recipes of each seed set.
    n_columns : int, default=4
        Sample sets shown for each seed set.
    bar : tqdm, optional
        Progress bar to move on by one for every image.

    Returns
    -------
    Figure
        Boxes are drawn in a colour for each category, crowds with thin lines; the transforms stand
        above each image.
    """
    n_columns = 1 + min(n_columns, max(map(len, recipes)))
    grid = _grid(len(seed_sets), n_columns)
    for row, seed_set, own in zip(grid, seed_sets, recipes, strict=True):
        shown = [own_images(seed_set), *own[: n_columns - 1]]
        for axis, recipe in zip(row, shown, strict=False):
            _draw_cell(axis, SampleSet(seed_set, recipe))
            if bar is not None:
                bar.update()
    return grid[0, 0].figure


def _grid(n_rows: int, n_columns: int) -> np.ndarray:
    width, height = _WIDTH * n_columns, _HEIGHT * n_rows
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    figure.subplots_adjust(
        0.01, 0.1 / height, 0.99, 1 - _CAPTION / height, 0.03, _CAPTION / _HEIGHT
    )
    grid = figure.subplots(n_rows, n_columns, squeeze=False)
    for axis in grid.ravel():
        axis.axis("off")
    return grid


def _draw_cell(axis: Axes, sample_set: SampleSet) -> None:
    steps = sample_set.recipe.steps
    name, n_images = sample_set.seed_set.name, len(sample_set)
    caption = "\n".join(map(str, steps)) if steps else f"{name}\n{n_images} images"
    axis.set_title(caption, fontsize=7, weight="normal" if steps else "bold")
    labelled = (i for i, record in enumerate(sample_set.records) if len(record.boxes))
    try:
        axis.imshow(_picture(sample_set, next(labelled, 0)))
    except UnreadableImageError as error:
        axis.text(0.5, 0.5, f"unreadable:\n{error.path.name}", ha="center", fontsize=7)


def _picture(sample_set: SampleSet, index: int, width: int = 480) -> np.ndarray:
    sample = sample_set[index]
    scale = width / sample.image.shape[1]
    picture = cv2.resize(sample.image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    picture = np.ascontiguousarray(picture[..., ::-1])
    corners = (sample.boxes * scale).round().astype(int).tolist()
    for (x1, y1, x2, y2), label, crowd in zip(corners, sample.labels, sample.iscrowd, strict=True):
        colour = _COLOURS[label % len(_COLOURS)]
        cv2.rectangle(picture, (x1, y1), (x2, y2), colour, 1 if crowd else 2)
    return picture
