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
from autoeval.notices import codes_of
from autoeval.runtime.json_values import plain
from autoeval.words import counted, warning_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from autoeval.estimation.site import Site

ALL = "all"
"""The mean over categories, in the column ``category``."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """Which of several detectors is better at a site.

    Parameters
    ----------
    target : str
    level : float
        Nominal coverage of the intervals.
    n_images, n_labelled : int
    ranking : DataFrame
        One row a detector, the best first: ``detector``, ``value`` (estimated accuracy, whose error
        is greater than that of differences; see `about_values`), ``behind`` (to the first, 0 or
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
    def about_values(self) -> str:
        """Say why values differ from single estimates; empty where all images are labelled."""
        if self.known:
            return (
                f"The value of {self.known} was given. Another one is this value plus the "
                "estimated difference, whose interval it has."
            )
        if self.n_labelled == self.n_images:
            return ""
        single = "label estimate" if self.n_labelled else "estimate"
        return (
            f"These values have the mean of the detectors' own estimates (`autoeval {single}`), "
            "but differ by the estimated differences: alone each detector has another value."
        )

    def __str__(self) -> str:
        warnings = warning_lines(self.warnings)
        return "\n".join([*self.headline(), *self.details(), *warnings])

    def headline(self) -> list[str]:
        """Return the lines with the ranking, the differences to the first, and how to read it."""
        labelled = f", {self.n_labelled} of them labelled" if self.n_labelled else ""
        lines = [f"{self.target} on {counted(self.n_images, 'image')}{labelled}:"]
        for place, row in enumerate(self.ranking.itertuples(), 1):
            value = self.value_text(row)
            lines.append(
                f"{place}. {row.detector}: {value}, best with probability {row.p_best:.0%}"
            )
        first = self.overall[self.overall["a"] == self.detectors[0]]
        lines += [self.sentence(row) for row in first.to_dict("records")]
        return [*lines, *filter(None, [self.about_values])]

    def value_text(self, row: Any) -> str:
        """Write the accuracy of a row of `ranking`, as surely as it is known."""
        if not self.known:
            return f"about {100 * row.value:.0f}"
        if row.detector == self.known:
            return f"{100 * row.value:.1f} (given)"
        bounds = f"{100 * row.value_lower:.1f} to {100 * row.value_upper:.1f}"
        return f"{100 * row.value:.1f} ({self.level:.0%} interval {bounds})"

    def details(self) -> list[str]:
        """Return the lines with all other differences."""
        rest = self.overall[self.overall["a"] != self.detectors[0]]
        return [self.sentence(row) for row in rest.to_dict("records")]

    def sentence(self, row: Mapping[str, Any]) -> str:
        """Say in words what a row of `pairs` says."""
        text = (
            f"{row['a']} - {row['b']}: {100 * row['difference']:+.1f} ({self.level:.0%} interval "
            f"{100 * row['lower']:+.1f} to {100 * row['upper']:+.1f}), {row['a']} better with "
            f"probability {row['p_better']:.0%}"
        )
        if not distinguishable(row):
            more = row["more_labels"]
            text += "; not distinguishable"
            if more == more:
                text += f", about {counted(int(more), 'more label')} would tell"
        return text

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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON; NaN becomes None."""
        return {
            "target": self.target,
            **plain(self._first_ahead(self.overall)),
            "level": self.level,
            "n_images": self.n_images,
            "n_labelled": self.n_labelled,
            "known": self.known or None,
            "ranking": _records(self.ranking),
            "pairs": _records(self.to_pandas()),
            "per_category": {name: plain(values) for name, values in self.per_category.items()},
            "warnings": list(self.warnings),
            "warning_codes": codes_of(self.warnings),
        }

    def matrix(self) -> pd.DataFrame:
        """Return the probability that the detector of a row is better than that of a column."""
        names = list(self.detectors)
        better = pd.DataFrame(np.nan, index=names, columns=names)
        for row in self.overall.to_dict("records"):
            better.loc[row["a"], row["b"]] = row["p_better"]
            better.loc[row["b"], row["a"]] = 1 - row["p_better"]
        return better

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.detectors)}: {str(self).splitlines()[1]}>"

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


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows = table.to_dict("records")
    return [plain(row) for row in rows]
