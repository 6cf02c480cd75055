"""One site of a monitor, as a result with the names that all results have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from autoeval.notices import codes_of
from autoeval.targets import find_target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENDS = {"value": "estimate", "lower": "lower", "upper": "upper"}  # columns of `SiteTable.rows`


@dataclass(frozen=True, repr=False)
class MonitoredSite:
    """The estimated accuracy at one site; see `Watched`.

    Parameters
    ----------
    name : str
    value, lower, upper : float
        NaN where nothing is known.
    level : float
        Nominal coverage of the interval.
    target : str
    n_images : int
    rank : float
        1 is the worst; NaN where the site has no place in the order.
    per_category : dict of str to dict
        ``value``, ``lower`` and ``upper`` of each category, where sites have several.
    warnings : tuple of str
    """

    name: str
    value: float
    lower: float
    upper: float
    level: float
    target: str
    n_images: int
    rank: float
    per_category: dict[str, dict[str, float]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @classmethod
    def of_row(
        cls, row: Mapping[str, Any], *, target: str, level: float, warnings: Sequence[str] = ()
    ) -> MonitoredSite:
        """Take it out of a row of `SiteTable.sites`, and `warnings` of its `notices`."""
        whole = {name: _number(row.get(column)) for name, column in ENDS.items()}
        begin = f"{ENDS['value']}/"
        categories = [
            str(column).removeprefix(begin) for column in row if str(column).startswith(begin)
        ]
        by_category = {
            category: {name: _number(row[f"{column}/{category}"]) for name, column in ENDS.items()}
            for category in categories
        }
        return cls(
            name=str(row["group"]),
            **whole,
            level=level,
            target=target,
            n_images=int(row["n_images"]),
            rank=_number(row.get("rank")),
            per_category={
                name: ends for name, ends in by_category.items() if ends["value"] == ends["value"]
            },
            warnings=tuple(warnings),
        )

    def __str__(self) -> str:
        target = find_target(self.target)
        estimated = self.value == self.value
        value, lower, upper = map(target.text, (self.value, self.lower, self.upper))
        head = (
            f"{value}, {self.level:.0%} interval {lower} to {upper}" if estimated else "not known"
        )
        lines = [f"{self.name}: {target.title} {head}, from {self.n_images} images"]
        for name, ends in self.per_category.items():
            value, lower, upper = (target.text(ends[end]) for end in ENDS)
            lines.append(f"  {name}: {value} ({lower} to {upper})")
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])

    def __repr__(self) -> str:
        return f"<{str(self).splitlines()[0]}>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON; NaN becomes None."""
        plain = asdict(self) | {"warnings": list(self.warnings)}
        plain["warning_codes"] = codes_of(self.warnings)
        return {name: None if value != value else value for name, value in plain.items()}

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for the whole, called ``""``, and one for each category."""
        whole = {name: getattr(self, name) for name in ENDS}
        rows = [{"category": "", **whole}]
        rows += [{"category": name, **ends} for name, ends in self.per_category.items()]
        return pd.DataFrame(rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the whole and each category with intervals, in the target's unit.

        Parameters
        ----------
        ax : Axes, optional
            A new figure by default.
        """
        from matplotlib.figure import Figure

        rows, target = self.to_pandas(), find_target(self.target)
        if ax is None:
            ax = Figure(figsize=(7, 1.2 + 0.3 * len(rows)), layout="constrained").subplots()
        y = -np.arange(len(rows))
        value, lower, upper = (target.scale * rows[name] for name in ENDS)
        ax.errorbar(value, y, xerr=[value - lower, upper - value], fmt="o", capsize=3)
        ax.set_yticks(y, [self.name, *rows["category"][1:]], parse_math=False)
        ax.set_xlabel(f"{target.title}, {self.level:.0%} interval")
        return ax


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
