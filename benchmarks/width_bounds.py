"""How narrow intervals of 90 % could be with the estimates as they are, cell by cell."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.panel_widths import LEVEL

FEWEST = 15  # pairs of a cell; more are tabulated


def bounds_of_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Tabulate what each cell of more than `FEWEST` pairs needs for its share inside."""
    wide = cells.groupby(["categories", "points"], observed=True).filter(
        lambda of: len(of) > FEWEST
    )
    by_group = {("each group", name): own for name, own in cells.groupby("category_group")}
    by_points = dict([*wide.groupby(["categories", "points"], observed=True)])
    table = {of: described(own) for of, own in (by_points | by_group).items()}
    return pd.DataFrame(table).T.astype({"n": int}).rename_axis(["categories", "cell"])


def described(own: pd.DataFrame) -> dict[str, float]:
    """Describe the errors of some pairs, their half-width and its bounds, in points."""
    error = own["estimate"] - own["true"]
    reach = least_reach(error.to_numpy(), LEVEL)
    return {
        "mae": 100 * error.abs().mean(),
        "bias": 100 * error.mean(),
        "coverage": 100.0 * own["true"].between(own["lower"], own["upper"]).mean(),
        "half_width": 50 * (own["upper"] - own["lower"]).mean(),
        "bound": 100 * half_width_of(own, reach, reach),
        "shifted": 100 * least_shifted(own, LEVEL),
        "n": len(own),
    }


def half_width_of(own: pd.DataFrame, below: float, above: float) -> float:
    """Return the mean half-width of intervals that reach so far, cut at 0 and 1."""
    upper, lower = (own["estimate"] + above).clip(0, 1), (own["estimate"] - below).clip(0, 1)
    return float((upper - lower).mean() / 2)


def least_shifted(own: pd.DataFrame, level: float) -> float:
    """Return the least mean half-width that a share of truths is inside, with one shift for all."""
    error = np.sort(own["estimate"] - own["true"])
    n = int(np.ceil(level * len(error) - 1e-9))
    ends = zip(error[: len(error) - n + 1], error[n - 1 :], strict=True)
    return min(half_width_of(own, high, -low) for low, high in ends)


def mean_bounds(cells: pd.DataFrame) -> pd.DataFrame:
    """Average half-widths and their bounds by kind of category and estimate over cells."""
    table = {}
    for name, own in [("all", cells), *cells.groupby("categories")]:
        of_cells = [part for _, part in own.groupby(["categories", "points"], observed=True)]
        rows = pd.DataFrame([described(of) for of in of_cells])
        means = {of: np.average(rows[of], weights=rows["n"]) for of in ("half_width", "bound")}
        table[name] = {**means, "one width for all": described(own)["bound"], "n": len(own)}
    return pd.DataFrame(table).T.astype({"n": int}).rename_axis("categories")


def least_reach(errors: np.ndarray, level: float) -> float:
    """Return the smallest distance to both sides that a share of errors is inside.

    >>> least_reach(np.array([-.1, .2, -.3, .4, .0, .0, .0, .0, .0, .5]), .9)
    0.4
    """
    return float(np.sort(np.abs(errors))[int(np.ceil(level * len(errors) - 1e-9)) - 1])
