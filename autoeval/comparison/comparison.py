"""The result of a comparison: a ranking, and differences with prediction intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from autoeval.comparison.gate import (
    Gate,
    PairForecast,
    check_max_loss,
    loss_to,
    refuse_other_words,
)
from autoeval.errors import InputError
from autoeval.io.wording import listed
from autoeval.result_base import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from autoeval.sites.site import Site

ALL = "all"
"""The mean over categories, in the column ``category``."""


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Which of several detectors is better at a site.

    Parameters
    ----------
    target : str
    level : float
        Nominal coverage of the intervals.
    n_images, n_labelled : int
    ranking : DataFrame
        One row a detector, the best first: ``detector``, ``value`` (estimated accuracy, whose error
        is greater than that of differences), ``behind`` (to the first, 0 or
        negative), ``lower`` and ``upper`` of that, and ``p_best``. Where one value is known,
        ``value_lower`` and ``value_upper``, too.
    pairs : DataFrame
        One row for every two detectors and category, and `ALL` for the mean over several: ``a`` and
        ``b`` (a ranked higher), ``category``, ``difference`` (a less b), ``lower``, ``upper``,
        ``p_better`` (that a is), ``label_free``, ``carried_over`` (on the labelled set; NaN where
        they have none in common) and ``more_labels`` (expected, until zero is outside; 0 where it
        is).
    warnings : tuple of str
    sites : mapping of str to Site
        What each detector found.
    known : str
        The detector whose value was given; empty for none.
    forecasts : mapping of tuple to PairForecast
        Of every two detectors in the order in which they were given, what `gate` reads.
    """

    target: str
    level: float
    n_images: int
    n_labelled: int
    ranking: pd.DataFrame
    pairs: pd.DataFrame
    warnings: tuple[str, ...] = ()
    sites: Mapping[str, Site] = field(default_factory=dict, compare=False)
    known: str = ""
    forecasts: Mapping[tuple[str, str], PairForecast] = field(default_factory=dict, compare=False)
    kind = "comparison"

    @property
    def detectors(self) -> tuple[str, ...]:
        """Names, the best first."""
        return tuple(self.ranking["detector"])

    @property
    def overall(self) -> pd.DataFrame:
        """The rows of `pairs` that are of all categories."""
        several = self.pairs["category"] == ALL
        return self.pairs[several] if several.any() else self.pairs

    @property
    def value(self) -> float:
        """How much better the first detector is than the second, in [0, 1]."""
        return self._first_ahead(self.overall)["value"]

    @property
    def lower(self) -> float:
        """Lower end of the interval of `value`."""
        return self._first_ahead(self.overall)["lower"]

    @property
    def upper(self) -> float:
        """Upper end of the interval of `value`."""
        return self._first_ahead(self.overall)["upper"]

    @property
    def per_category(self) -> dict[str, dict[str, float]]:
        """The same of each category, where there are several."""
        each = self.pairs[self.pairs["category"] != ALL]
        if len(self.overall) == len(self.pairs):
            return {}
        groups = each.groupby("category", sort=False)
        return {str(name): self._first_ahead(rows) for name, rows in groups}

    def _first_ahead(self, rows: pd.DataFrame) -> dict[str, float]:
        first, second = self.detectors[:2]
        (row,) = rows[(rows["a"] == first) & (rows["b"] == second)].to_dict("records")
        return {"value": row["difference"], "lower": row["lower"], "upper": row["upper"]}

    @property
    def title(self) -> str:
        """What the value is, in words."""
        first, second = self.detectors[:2]
        return f"{self.target} of {first} less that of {second}"

    def gate(self, max_loss: float, candidate: str | None = None) -> Gate:
        """Decide whether a candidate may replace the other detectors.

        Parameters
        ----------
        max_loss : float
            Largest loss of accuracy that is allowed, in [0, 1].
        candidate : str, optional
            Its name; by default the detector that was given first.

        Raises
        ------
        InputError
            If no detector can lose so much, there is no such detector, or the labels and the
            detectors have different words for the categories.
        """
        check_max_loss(max_loss)
        candidate = next(iter(self.sites)) if candidate is None else candidate
        if candidate not in self.detectors:
            raise InputError(
                f"Expected the candidate to be one of {listed(self.detectors)} but got "
                f"{candidate!r}."
            )
        refuse_other_words(self.warnings)
        losses = []
        for (a, b), forecast in self.forecasts.items():
            if candidate not in (a, b):
                continue
            other, of_other = (b, forecast.turned()) if candidate == a else (a, forecast)
            losses.append(loss_to(other, of_other, max_loss, self.level))
        return Gate(candidate, max_loss, self.level, tuple(losses))

    def to_pandas(self) -> pd.DataFrame:
        """Return `pairs` with ``distinguishable``."""
        distinguished = [distinguishable(row) for row in self.pairs.to_dict("records")]
        return self.pairs.assign(distinguishable=distinguished)

    def matrix(self) -> pd.DataFrame:
        """Return the probability that the detector of a row is better than that of a column."""
        names = list(self.detectors)
        better = pd.DataFrame(np.nan, index=names, columns=names)
        for row in self.overall.to_dict("records"):
            better.loc[row["a"], row["b"]] = row["p_better"]
            better.loc[row["b"], row["a"]] = 1 - row["p_better"]
        return better

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how far each detector is behind the first, with intervals, in points of 100.

        Parameters
        ----------
        ax : Axes, optional
            A new figure by default.
        """
        from matplotlib.figure import Figure

        rows = self.ranking
        if ax is None:
            size = (7, 1.2 + 0.5 * len(rows))
            ax = Figure(figsize=size, layout="constrained").subplots()
        y = -np.arange(len(rows))
        value, lower, upper = (100 * rows[name] for name in ("behind", "lower", "upper"))
        ax.axvline(0, color="0.8", zorder=0)
        ax.errorbar(
            value, y, xerr=[value - lower, upper - value], fmt="o", color="tab:blue", capsize=4
        )
        ax.set_yticks(y, list(self.detectors), parse_math=False)
        ax.set(
            xlabel=f"{self.target} less that of {self.detectors[0]} (points of 100, "
            f"{self.level:.0%} interval)",
            ylim=(0.5 - len(rows), 0.5),
        )
        return ax


def distinguishable(row: Mapping[str, Any]) -> bool:
    """Return whether zero lies outside the interval of a difference."""
    return bool(row["lower"] > 0 or row["upper"] < 0)
