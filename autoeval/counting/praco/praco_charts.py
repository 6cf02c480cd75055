"""Charts of the two tests (Fig. 4), and mosaics with predicted objects (Fig. 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.counting.counters import CountResult
from autoeval.counting.praco.data import CountingSet
from autoeval.counting.praco.mosaic_run import halves, make_mosaic
from autoeval.counting.prompting import PromptedCounter
from autoeval.io.images import read_image

MOST_WRITTEN = 14
# Inches that a page of 1,100 pixels shows without shrinking letters below legibility.
PAGE_WIDTH = 10.5
UPPER_COLOR, LOWER_COLOR = (200, 110, 30), (20, 90, 230)  # blue and dark orange, as BGR
SIDE = 480


def confusion_chart(matrix: pd.DataFrame) -> Figure:
    """Draw a heat map of the `confusion` of classes; the colours end at 1.5."""
    n_rows, n_columns = matrix.shape
    size = (min(3.2 + 0.42 * n_columns, PAGE_WIDTH), 2.2 + min(0.34, 9 / n_rows) * n_rows)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(matrix.to_numpy(), cmap="Blues", vmin=0, vmax=1.5, aspect="auto")
    # A name that stands upright needs a line of letters, 0.15 inches, and no more.
    steep: dict[str, Any] = (
        {"rotation": 90, "ha": "center"}
        if n_columns > MOST_WRITTEN
        else {"rotation": 60, "ha": "right"}
    )
    axes.set_xticks(range(n_columns), list(matrix.columns), fontsize=8, **steep)
    axes.set_yticks(range(n_rows), list(matrix.index), fontsize=8)
    axes.set(xlabel="class asked for", ylabel="true class")
    if n_columns <= MOST_WRITTEN:
        for (row, column), value in np.ndenumerate(matrix.to_numpy()):
            if not np.isnan(value):
                shade, text = "white" if value > 0.8 else "black", f"{value:.2f}"
                axes.text(column, row, text, ha="center", va="center", fontsize=7, color=shade)
    bar: dict[str, Any] = {
        "label": "predicted / true count",
        "extend": "max",
        "shrink": 0.9,
        "fraction": 0.05,
    }
    figure.colorbar(image, ax=axes, **bar)
    return figure


def drift_chart(values: Mapping[str, np.ndarray]) -> Figure:
    """Draw the distribution of the drift (M,) of each model, with whiskers and outliers."""
    names = list(values)
    figure = Figure(figsize=(8, 1.4 + 0.6 * len(names)), layout="constrained")
    axes = figure.subplots()
    axes.boxplot(
        [values[name] for name in names],
        orientation="horizontal",
        widths=0.55,
        showmeans=True,
        medianprops={"color": "#1a4f7a", "lw": 2},
        meanprops={"marker": "D", "markerfacecolor": "#c6591a", "markeredgecolor": "white"},
        flierprops={"marker": ".", "markersize": 3, "alpha": 0.35, "markeredgecolor": "#555"},
    )
    labels = [f"{name}\n{len(values[name])} mosaics" for name in names]
    axes.set_yticks(range(1, len(names) + 1), labels, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("relative change of the count, mosaic against image alone (diamond: mean)")
    axes.set_xlim(left=-0.02)
    axes.grid(axis="x", alpha=0.3)
    return figure


def choose_mosaics(measured: pd.DataFrame, n: int = 6) -> pd.DataFrame:
    """Choose mosaics of different upper images: the worst precisions, then a spread."""
    ordered = measured.dropna(subset=["precision"]).sort_values("precision", kind="stable")
    ordered = ordered.drop_duplicates("positive")
    n_worst = min(len(ordered), n // 3)
    rest = np.linspace(n_worst, len(ordered) - 1, min(n - n_worst, len(ordered) - n_worst))
    return ordered.iloc[[*range(n_worst), *rest.round().astype(int)]]


def mosaic_panels(
    prompted: PromptedCounter, counting_set: CountingSet, chosen: pd.DataFrame
) -> list[tuple[np.ndarray, str]]:
    """Count in mosaics again and draw the results: pictures (H, W, 3) uint8 BGR, and captions."""
    paths = counting_set.paths
    panels = []
    for row in chosen.itertuples():
        top, bottom = (read_image(paths[name]) for name in (row.positive, row.negative))
        request, seam = make_mosaic(row, top, bottom)
        [[result]] = prompted.count([request])
        upper, lower = halves(result, len(request.image), seam)
        caption = (
            f"“{row.positive_class}” above “{row.negative_class}”: {upper:.4g} of {row.count:.0f} "
            f"above, {lower:.4g} of 0 below"
        )
        panels.append((draw_panel(request.image, seam, result), caption))
    return panels


def draw_panel(mosaic: np.ndarray, seam: int, result: CountResult) -> np.ndarray:
    """Draw a counter's result into a mosaic, blue above the row `seam` and orange below."""
    scale = SIDE / max(mosaic.shape[:2])
    picture = cv2.resize(mosaic, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    if result.boxes is not None:
        for x1, y1, x2, y2 in (np.asarray(result.boxes) * scale).reshape(-1, 4):
            color = UPPER_COLOR if (y1 + y2) / 2 < seam * scale else LOWER_COLOR
            cv2.rectangle(picture, (round(x1), round(y1)), (round(x2), round(y2)), color, 2)
    elif result.points is not None:
        for x, y in (np.asarray(result.points) * scale).reshape(-1, 2):
            color = UPPER_COLOR if y < seam * scale else LOWER_COLOR
            cv2.circle(picture, (round(x), round(y)), 4, color, -1, cv2.LINE_AA)
    elif result.density is not None:  # a map over the picture, each pixel as strong as its density
        dense = np.asarray(result.density, np.float32).clip(0)
        dense = cv2.resize(dense, (picture.shape[1], picture.shape[0]))
        strength = dense / dense.max() if dense.max() > 0 else dense
        heat = cv2.applyColorMap((255 * strength).astype(np.uint8), cv2.COLORMAP_JET)
        weight = 0.65 * np.sqrt(strength)[..., None]
        picture = (picture * (1 - weight) + heat * weight).round().astype(np.uint8)
    line = round(seam * scale)
    cv2.line(picture, (0, line), (picture.shape[1], line), (255, 255, 255), 2)
    upper, lower = halves(result, len(mosaic), seam)
    _write(picture, f"{upper:.4g}", 4, UPPER_COLOR)
    _write(picture, f"{lower:.4g}", line + 4, LOWER_COLOR)
    return picture


def _write(picture: np.ndarray, text: str, top: int, color: tuple[int, int, int]) -> None:
    font, white = cv2.FONT_HERSHEY_SIMPLEX, (255, 255, 255)
    (width, height), _ = cv2.getTextSize(text, font, 0.6, 2)
    left = picture.shape[1] - width - 14
    cv2.rectangle(picture, (left, top), (picture.shape[1] - 4, top + height + 10), color, -1)
    where = (left + 5, top + height + 5)
    cv2.putText(picture, text, where, font, 0.6, white, 2, cv2.LINE_AA)
