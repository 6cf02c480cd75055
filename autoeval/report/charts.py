"""Charts that matplotlib draws: scatter plots, curves, sheets of pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import offset_copy

from autoeval.accuracy.measures import Target

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.report.scatter import RegressionBand

MARKERS = "oXPDsv^<>p*h"
COLUMNS = 4  # pictures side by side


def source_styles(sources: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Give each source a ``color`` and a ``marker``, in order of appearance.

    Parameters
    ----------
    sources : iterable of str
        Names; those that repeat count once.

    Returns
    -------
    dict of str to dict
        By name, the keyword arguments ``color`` (RGBA) and ``marker`` of matplotlib. After 12
        sources markers repeat.
    """
    names = list(dict.fromkeys(sources))
    colors = mpl.colormaps["turbo"](np.linspace(0.05, 0.95, len(names)))
    styles = zip(names, colors, cycle(MARKERS), strict=False)
    return {name: {"color": color, "marker": marker} for name, color, marker in styles}


def plot_scatter(
    points: pd.DataFrame,
    *,
    x: str,
    target: Target,
    band: RegressionBand | None = None,
    highlight: tuple[float, float, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a target against a score.

    Parameters
    ----------
    points : DataFrame
        With ``source``, ``kind`` (``"seed"`` rows are drawn large and ringed), `x` and the column
        of the target.
    x : str
        Column of the score.
    target : Target
        What is drawn, in its unit.
    band : RegressionBand, optional
        A line with its interval.
    highlight : (float, float, str), optional
        One more point (x, y, label), drawn as a star.
    ax : Axes, optional
        A new figure by default.
    """
    if ax is None:
        ax = Figure(figsize=(8, 5.2), layout="constrained").subplots()
    y, scale = target.name, target.scale
    if band is not None:
        ax.fill_between(band.x, scale * band.lower, scale * band.upper, color="0.9", lw=0, zorder=0)
        ax.plot(band.x, scale * band.y, color="0.35", lw=1.5, zorder=1)
    styles = source_styles(points["source"])
    for source, rows in points.groupby("source", sort=False):
        samples, seeds = rows[rows["kind"] != "seed"], rows[rows["kind"] == "seed"]
        style = styles[source] | {"zorder": 3}
        ax.scatter(samples[x], scale * samples[y], s=22, alpha=0.65, lw=0, label=source, **style)
        ax.scatter(seeds[x], scale * seeds[y], s=110, edgecolor="black", lw=1, **style)
    if highlight is not None:
        at_x, at_y, label = highlight
        ax.scatter(
            at_x, scale * at_y, marker="*", s=320, color="red", ec="k", label=label, zorder=4
        )
    named = f"{x} (line: {band.about})" if band is not None and band.about else x
    ax.set(xlabel=named, ylabel=f"{target.name} ({target.unit})")
    ax.grid(alpha=0.25)
    names = [*styles, *([highlight[2]] if highlight is not None else [])]
    marks = [mark for mark in ax.collections if mark.get_label() in names]
    places = [str(k) for k in range(len(names))]
    legend = ax.legend(
        marks, places, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_parse_math(False)  # names from data may hold ``$`` or begin with ``_``
        text.set_text(name)
    return ax


def source_legend(figure: Figure, sources: Iterable[str]) -> None:
    """Name the sources below all plots.

    Parameters
    ----------
    figure : Figure
        With plots in the styles of `source_styles`.
    sources : iterable of str
        In the same order as there.
    """
    styles = source_styles(sources)
    handles = [Line2D([], [], ls="", ms=5, **style) for style in styles.values()]
    places = [str(k) for k in range(len(handles))]
    legend = figure.legend(
        handles, places, loc="outside lower center", ncols=6, frameon=False, fontsize=8
    )
    for text, name in zip(legend.get_texts(), styles, strict=True):
        text.set_parse_math(False)  # names from data may hold ``$`` or begin with ``_``
        text.set_text(name)


def plot_curves(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    lines: str,
    band: tuple[str, str] | None = None,
    scale: float = 1.0,
    marks: Mapping[str, float] | None = None,
) -> Axes:
    """Draw one column against another, one line for each value of a third.

    Parameters
    ----------
    table : DataFrame
        With all of these columns.
    x, y, lines : str
        Columns: across, up, and what names a line.
    band : (str, str), optional
        Columns of the lower and the upper end of an interval.
    scale : float
        By which `y` and `band` are multiplied.
    marks : mapping of str to float, optional
        By line the x of a point to be ringed.
    """
    figure = Figure(figsize=(7, 4.4), layout="constrained")
    ax = figure.subplots()
    colors = mpl.colormaps["tab10"].colors  # type: ignore[attr-defined]
    by_line = zip(table.groupby(lines, sort=False), cycle(colors), cycle(MARKERS), strict=False)
    for k, ((name, rows), color, marker) in enumerate(by_line):
        # Aside by points on paper, so that intervals do not cover one another.
        aside = 0 if band is None else 4 * k
        transform = offset_copy(ax.transData, figure, x=aside, units="points")
        style: dict[str, Any] = {"color": color, "transform": transform}
        ax.plot(rows[x], scale * rows[y], marker=marker, ms=5, label=str(name), **style)
        ax.update_datalim(np.column_stack([rows[x], scale * rows[y]]))
        if band is not None:
            lower, upper = scale * rows[band[0]], scale * rows[band[1]]
            ax.vlines(rows[x], lower, upper, lw=1.2, alpha=0.6, **style)
            ax.update_datalim(np.column_stack([[*rows[x]] * 2, [*lower, *upper]]))
        ringed = rows[rows[x] == (marks or {}).get(str(name))]
        ax.scatter(ringed[x], scale * ringed[y], s=160, fc="none", ec=color, lw=1.8, zorder=4)
    ax.margins(x=0.07)
    ax.autoscale_view()
    ax.grid(alpha=0.25)
    # names of 9 points side by side, each with its line and marker, at most six
    width = 0.6 + 0.07 * max((len(str(name)) for name in table[lines].unique()), default=0)
    n_columns = int(np.clip(figure.get_figwidth() // width, 1, 6))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=n_columns, frameon=False, fontsize=9)
    return ax


def figure_of(ax: Axes) -> Figure:
    """Return the figure that a plot was drawn on.

    Parameters
    ----------
    ax : Axes
        On a figure itself, not on a subfigure.
    """
    figure = ax.figure
    assert isinstance(figure, Figure)
    return figure


def log_ticks_at(ax: Axes, values: pd.Series) -> None:
    """Make a horizontal axis logarithmic, with a tick at each value.

    Parameters
    ----------
    ax : Axes
        Changed in place.
    values : Series of float
        Positive; those that repeat count once.
    """
    ticks = sorted(set(values))
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()


def picture_rows(pictures: Sequence[tuple[np.ndarray, str]], title: str) -> Figure:
    """Draw pictures with captions in rows of `COLUMNS`.

    Parameters
    ----------
    pictures : sequence of (ndarray of shape (H, W, 3), uint8, BGR; str)
        Each with its caption, above it; at least one.
    title : str
        Above all.
    """
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
