"""Pictures with captions on one sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

COLUMNS = 4


def picture_rows(pictures: Sequence[tuple[np.ndarray, str]], title: str) -> Figure:
    """Lay pictures (H, W, 3), uint8, BGR with captions out in rows of four."""
    rows = math.ceil(len(pictures) / COLUMNS)
    figure = Figure(figsize=(3.2 * COLUMNS, 2.7 * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for ax in axes:
        ax.axis("off")
    for ax, (picture, caption) in zip(axes, pictures, strict=False):
        ax.imshow(picture[..., ::-1])
        ax.set_title(caption, fontsize=7, parse_math=False, wrap=True)
    figure.suptitle(title, fontsize=9, parse_math=False)
    return figure
