"""The accuracy on a pool by labels and the label-free estimate together: text, table, plot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from autoeval.labels.estimators import LabelEstimates
from autoeval.labels.sample_size import WidthForecast
from autoeval.labels.value_with_error import ValueWithError
from autoeval.notices import codes_of
from autoeval.runtime.json_values import plain
from autoeval.sites.label_check import contradicted
from autoeval.targets import OperatingPoint
from autoeval.words import warning_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GOALS = (0.05, 0.03)
BESIDE = 0.3  # rows between the two intervals of a category, in a plot
ENDS = ("value", "lower", "upper")
FREE = ("label_free", "label_free_lower", "label_free_upper")


@dataclass(frozen=True, repr=False)
class LabelledEstimate:
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

    def __str__(self) -> str:
        warnings = warning_lines(self.warnings)
        return "\n".join([*self.headline(), *self.details(), *warnings])

    def headline(self) -> list[str]:
        """Return the lines with the value, its interval, other targets, and labels to go."""
        lower, upper = self.interval
        at_threshold = [name for name in self.whole if OperatingPoint.of(name)]
        lines = [
            f"estimated {self.target}: {100 * self.value:.1f}, {self.level:.0%} "
            f"interval {100 * lower:.1f} to {100 * upper:.1f}, from {self.n_labelled} labelled "
            f"images of {self.n_pool}"
        ]
        lines += [
            f"{name}: {self._at_threshold(name)}" for name in at_threshold if name != self.target
        ]
        if contradicted(self.warnings):
            return [*lines, "no half-width is reached: the boxes contradict the labels"]
        lines += [
            f"{self.more_labels(goal)} more labels for ±{100 * goal:.0f}"
            if self.more_labels(goal)
            else f"±{100 * goal:.0f} is reached"
            for goal in GOALS
        ]
        return lines

    def details(self) -> list[str]:
        """Return a line for each estimate that the recommended one combines."""
        estimates = self.whole[self.target]
        free = self.label_free()
        lines = ["label-free: not known"]
        if free["lower"] == free["lower"]:
            value, lower, upper = (f"{100 * free[end]:.1f}" for end in ENDS)
            lines = [f"label-free: {value} ({lower} to {upper})"]
        named = {
            "sample estimate": estimates.sample,
            "difference estimator": estimates.difference,
        }
        lines += [f"{name}: {self.text(estimate)}" for name, estimate in named.items()]
        return [*lines, *filter(None, [self.about_label_free])]

    @property
    def about_label_free(self) -> str:
        """Say how the label-free estimate is weighed; empty where that is by its own interval."""
        prior = self.whole[self.target].prior
        if not prior.known or math.isinf(prior.dof):
            return ""
        return (
            "The label-free estimate is that of `autoeval estimate`; in the combined one it "
            f"counts as ± {100 * prior.half_width(self.level):.1f}, by the error that such "
            "estimates turned out to have elsewhere."
        )

    def _at_threshold(self, name: str) -> str:
        """Write a figure at a threshold; precision is not defined where no box is over it."""
        estimate = self.whole[name].combined.estimate
        point = OperatingPoint.of(name)
        if not np.isfinite(estimate.value) and point and point.measure == "precision":
            return "not defined, no box of the labelled images is over the threshold"
        return self.text(estimate)

    def text(self, estimate: ValueWithError) -> str:
        """Write a value with its half-width, in points of 100."""
        if not np.isfinite(estimate.value):
            return "not known"
        half = f" ± {100 * estimate.half_width(self.level):.1f}" if estimate.known else ""
        return f"{100 * estimate.value:.1f}{half}"

    def __repr__(self) -> str:
        return f"<{str(self).splitlines()[0]}, warnings: {len(self.warnings)}>"

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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON; what is not known becomes None."""
        lower, upper = self.interval
        return {
            "target": self.target,
            "value": plain(self.value),
            "lower": plain(lower),
            "upper": plain(upper),
            "level": self.level,
            "n_labelled": self.n_labelled,
            "n_pool": self.n_pool,
            "categories_behind": self.n_behind,
            "more_labels": {f"{goal:.2f}": self.more_labels(goal) for goal in GOALS},
            "whole": {name: plain(asdict(estimates)) for name, estimates in self.whole.items()},
            "per_category": {
                name: {**plain(self.per_category[name]), **plain(asdict(estimates))}
                for name, estimates in self.by_category.items()
            },
            "warnings": list(self.warnings),
            "warning_codes": codes_of(self.warnings),
        }
