"""The accuracy on a pool by labels and the label-free estimate together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from autoeval.labels.estimators import LabelEstimates
from autoeval.labels.sample_size import WidthForecast
from autoeval.labels.value_with_error import ValueWithError
from autoeval.result_base import ENDS, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GOALS = (0.05, 0.03)
BESIDE = 0.3  # rows between the two intervals of a category, in a plot
FREE = ("label_free", "label_free_lower", "label_free_upper")


@dataclass(frozen=True, repr=False)
class LabelledEstimate(Result):
    """The accuracy on a pool, estimated with a few labels.

    Parameters
    ----------
    target : str
    level : float
    n_labelled, n_pool : int
    whole : dict of str to LabelEstimates
        ``mAP``, ``mAP50`` and ``mAP75`` over all categories; at a threshold ``precision@0.3``,
        ``recall@0.3`` and ``f1@0.3``, of all categories together.
    by_category : dict of str to LabelEstimates
        The target of each category.
    n_behind : int
        Categories that enough labelled images hold, of those in `by_category`.
    outlook : WidthForecast
        Forecast of the precision that more labels give.
    history : tuple of (int, LabelEstimates)
        The target with the first labels only, at numbers of labels in a geometric series.
    warnings : tuple of str
    printed : dict of str to dict
        Label-free estimates as the estimate without labels printed them; see `LabelPlan`.
    """

    target: str
    level: float
    n_labelled: int
    n_pool: int
    whole: dict[str, LabelEstimates]
    by_category: dict[str, LabelEstimates]
    n_behind: int
    outlook: WidthForecast
    history: tuple[tuple[int, LabelEstimates], ...]
    warnings: tuple[str, ...]
    printed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def basis(self) -> str:
        """What the value rests on, in words."""
        return f"from {self.n_labelled} labelled images of {self.n_pool}"

    @property
    def other_targets(self) -> dict[str, dict[str, float]]:
        """``value``, ``lower`` and ``upper`` of other targets, inside [0, 1]."""
        others = {name: of for name, of in self.whole.items() if name != self.target}
        return {name: of.inside(self.level) for name, of in others.items()}

    def label_free(self, category: str = "", target: str = "") -> dict[str, float]:
        """Return ``value``, ``lower`` and ``upper`` of the label-free estimate, in [0, 1].

        As the estimate without labels printed it; where it printed none of these categories
        together, by its error. Of the target and of all categories by default.
        """
        target = target or self.target
        only = len(self.by_category) == 1
        printed = self.printed.get(f"{target}/{category}" if category else target)
        if printed is None and (only or not category):
            printed = self.printed.get(target)
        if printed is not None:
            return dict(printed)
        prior = (self.by_category[category] if category else self.whole[target]).prior
        ends = np.clip([prior.value, *prior.interval(self.level)], 0, 1).tolist()
        return dict(zip(ENDS, ends, strict=True))

    def label_free_half_width(self, target: str = "") -> float:
        """Return the longer arm of the label-free interval of all categories, in [0, 1]."""
        free = self.label_free(target=target)
        return max(free["value"] - free["lower"], free["upper"] - free["value"])

    @property
    def recommended(self) -> ValueWithError:
        """The combined estimate of the target."""
        return self.whole[self.target].combined.estimate

    @property
    def value(self) -> float:
        """The recommended value, inside [0, 1]."""
        return min(max(self.recommended.value, 0.0), 1.0)

    @property
    def interval(self) -> tuple[float, float]:
        """Its interval, inside [0, 1]."""
        lower, upper = self.recommended.interval(self.level)
        return max(lower, 0.0), min(upper, 1.0)

    @property
    def lower(self) -> float:
        """Lower end of the interval."""
        return self.interval[0]

    @property
    def upper(self) -> float:
        """Upper end of the interval."""
        return self.interval[1]

    @property
    def per_category(self) -> dict[str, dict[str, float]]:
        """``value``, ``lower`` and ``upper`` of each category, inside [0, 1]."""
        return {name: estimates.inside(self.level) for name, estimates in self.by_category.items()}

    def more_labels(self, half_width: float) -> int:
        """Return how many more labels a half-width is expected to take; 0 where it is reached."""
        if self.recommended.half_width(self.level) <= half_width:
            return 0
        return max(self.outlook.needed(half_width) - self.n_labelled, 1)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for the whole, called ``""``, and one for each category.

        The columns are ``category``, ``value``, ``lower`` and ``upper`` of the combined estimate,
        ``label_free``, ``label_free_lower`` and ``label_free_upper``, and ``measured``: whether
        labels measure it.
        """
        rows = []
        for name, estimates in {"": self.whole[self.target], **self.by_category}.items():
            free = dict(zip(FREE, self.label_free(name).values(), strict=True))
            rows.append(
                {
                    "category": name,
                    **estimates.inside(self.level),
                    **free,
                    "measured": estimates.measured,
                }
            )
        return pd.DataFrame(rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the whole and each category, the lowest last, with intervals, in points of 100.

        Parameters
        ----------
        ax : Axes, optional
            A new figure by default.
        """
        from matplotlib.figure import Figure

        whole, rest = (self.to_pandas()[part] for part in (slice(0, 1), slice(1, None)))
        rows = pd.concat([whole, rest.sort_values("value", ascending=False)])
        if ax is None:
            size = (7, 1.2 + max(0.18, 0.3 - 0.004 * len(rows)) * len(rows))
            ax = Figure(figsize=size, layout="constrained").subplots()
        y = -np.arange(len(rows))
        value, lower, upper = (100 * rows[name] for name in ("value", "lower", "upper"))
        ax.errorbar(value, y, xerr=[value - lower, upper - value], fmt="o", label="with labels")
        free, low, high = (100 * rows[name] for name in FREE)
        ends = [free - low, high - free]
        marks = ax.errorbar(free, y + BESIDE, xerr=ends, fmt="o", ms=4, lw=1, color="0.6")
        marks.set_label("without labels")
        marks.lines[0].set_markerfacecolor("white")
        ax.set_ylim(y[-1] - 1, 1)
        ax.set_yticks(y, ["all categories", *rows["category"][1:]], parse_math=False)
        ax.set(xlabel=f"{self.target} (points of 100, {self.level:.0%} interval)", xlim=(0, 100))
        ax.legend(frameon=False, loc="lower right")  # the lowest are at the left there
        return ax
