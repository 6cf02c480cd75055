"""The result of an estimation: a number, its prediction interval, and its warnings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.score_table import SEED, sources
from autoeval.model.regression import DEFAULT_METHOD
from autoeval.result_base import Result
from autoeval.targets import find_target
from autoeval.words import counted, ordered_warnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from autoeval.sites.site import Site


SMALL, LARGE = 14, 70
PREDICTIVE = "predictive"  # how an interval is formed where there is nothing to be said of it
STAR: dict[str, Any] = {"marker": "*", "ls": "", "color": "red", "ms": 16, "mec": "black"}


class Trained(Protocol):
    """What a plot of the training takes of an estimator."""

    @property
    def table_(self) -> pd.DataFrame:
        """The score table that it was fitted on."""

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of it without its source."""


@dataclass(frozen=True, repr=False)
class Estimate(Result):
    """Estimated accuracy of a detector on images without labels.

    Parameters
    ----------
    value : float
        In the range of the target.
    lower, upper : float
        Prediction interval, NaN where none can be formed; it holds the sampling error of the
        images where that is known.
    level : float
        Nominal coverage of the interval.
    interval_method : str
        How the interval was formed, or why there is none.
    target : str
        What is estimated; a name in `autoeval.targets.TARGETS`.
    n_images : int
        Images that were read.
    features : dict
        Mean of each feature.
    warnings : tuple of str
        Why the value may be wrong.
    sampling_std : float
        Standard deviation over draws of the images with replacement; NaN where it is not known.
    per_category : dict of str to dict
        ``value``, ``lower`` and ``upper`` of each category that counts; of average precision the
        value of all is their mean. The ends are NaN where the interval is too wide to be given;
        the value too where it is not defined at a threshold.
    left_out : dict of str to dict
        Categories that were found and do not count: ``value``, ``lower``, ``upper``,
        ``likely_boxes``, ``share_of_objects`` (of the expected objects of all categories, in
        [0, 1]), ``mean_with_it``; see `autoeval.sites.presence`.
    raw : float
        The value before it was brought into the range of the target; NaN where it is not known.
    beside : dict of str to dict
        ``value``, ``lower`` and ``upper`` of other targets, from the same pass.
    width_warning : str
        That the interval is too wide to act on, or that nothing was found, and what helps.
    category_effects : dict of str to float
        What the prior adds for categories that it knows, in [-1, 1].
    undefined : tuple of str
        Targets that have no value here: precision where no box is over the threshold.
    site : Site, optional
        The boxes that it was made from.
    """

    value: float
    lower: float
    upper: float
    level: float
    interval_method: str
    target: str
    n_images: int
    features: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    sampling_std: float = math.nan
    per_category: dict[str, dict[str, float]] = field(default_factory=dict)
    left_out: dict[str, dict[str, float]] = field(default_factory=dict)
    raw: float = math.nan
    beside: dict[str, dict[str, float]] = field(default_factory=dict)
    width_warning: str = ""
    category_effects: dict[str, float] = field(default_factory=dict)
    undefined: tuple[str, ...] = ()
    site: Site | None = field(default=None, compare=False)
    method = DEFAULT_METHOD
    kind = "estimate"
    # of published methods, see `autoeval.stability.methods.published_estimate`:
    std = math.nan  # of the value over dropout repeats
    source_lower, source_upper = math.nan, math.nan  # the interval without the sampling error
    is_mean = True  # whether the value is the mean of the categories

    @property
    def basis(self) -> str:
        """What the value rests on, in words."""
        why = "" if self.lower == self.lower else f"; {self.interval_method}"
        return f"from {counted(self.n_images, 'image')}{why}"

    @property
    def other_targets(self) -> dict[str, dict[str, float]]:
        """``value``, ``lower`` and ``upper`` of other targets, from the same pass."""
        return self.beside

    def all_warnings(self) -> list[str]:
        """Return all warnings, that of the width among them, the most severe first."""
        return ordered_warnings((self.width_warning, *self.warnings))

    def figures(self) -> dict[str, float]:
        """Return the value and its ends, by the name of the target."""
        ends = {f"{self.target}_{end}": getattr(self, end) for end in ("lower", "upper")}
        return {self.target: self.value, **ends}

    def plot(self, ax: Axes | None = None, *, training: Trained | None = None) -> Axes:
        """Draw the value and its interval, in the target's unit.

        Parameters
        ----------
        ax : Axes, optional
            A new figure by default.
        training : Trained, optional
            The estimator: the value then stands among the sample sets that it was fitted on, each
            at what was estimated of it without its source, and at its true value.

        Raises
        ------
        InputError
            If fewer than three sources leave nothing to draw of the training.
        """
        from matplotlib.figure import Figure

        if ax is None:
            size = (7, 2) if training is None else (7, 6)
            ax = Figure(figsize=size, layout="constrained").subplots()
        if training is None:
            self._draw_bar(ax)
        else:
            self._draw_among(ax, training)
        warnings = f", warnings: {len(self.warnings)}" if self.warnings else ""
        ax.set_title(f"{counted(self.n_images, 'image')} (method: {self.method}){warnings}")
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return ax

    def _draw_bar(self, ax: Axes) -> None:
        target = find_target(self.target)
        value, *ends = self._scaled()
        ax.plot(ends, [0, 0], color="0.8", lw=14, solid_capstyle="butt", label=self._band)
        label, error = self.number_text(self.value), None
        if self.std == self.std:
            label += f" ± {target.text(self.std)} (repeats)"
            error = target.scale * self.std
        ax.errorbar(value, 0, xerr=error, label=label, capsize=4, ecolor="black", **STAR)
        ax.set(xlabel=f"estimated {target.name} ({target.unit})", yticks=[])
        if target.upper < math.inf:
            ax.set_xlim(0, target.scale * target.upper)

    def _draw_among(self, ax: Axes, training: Trained) -> None:
        """Draw the true value of each sample set over its estimate, the own images large."""
        target, estimates = find_target(self.target), training.predict_left_out()
        if not np.isfinite(estimates).any():
            raise InputError(
                "Nothing was estimated of the training sources: leaving one out takes three. Call "
                "`plot` without `training`."
            )
        keys, scale = ["source", "sample_set", "kind"], target.scale
        table = training.table_
        drawn = table.assign(estimate=scale * estimates, true=scale * table[self.target])
        means = drawn.groupby(keys, sort=False)[["estimate", "true"]].mean().dropna().reset_index()
        for name in sources(means):
            rows = means[means["source"] == name]
            sizes = np.where(rows["kind"] == SEED, LARGE, SMALL)
            ax.scatter(rows["estimate"], rows["true"], s=sizes, alpha=0.7, linewidths=0, label=name)
        ends = [means[["estimate", "true"]].min().min(), means[["estimate", "true"]].max().max()]
        ax.plot(ends, ends, color="0.5", lw=1, zorder=0)
        value, lower, upper = self._scaled()
        ax.plot([value, value], [lower, upper], color="0.8", lw=6, zorder=0, label=self._band)
        ax.plot(value, value, label=target.text(self.value), **STAR)
        ax.set(
            xlabel=f"estimated {target.name} ({target.unit}), without its source",
            ylabel=f"true {target.name}",
        )

    @property
    def _band(self) -> str:
        return f"{self.level:.0%} interval"

    def _scaled(self) -> tuple[float, ...]:
        """Return the value and the ends of the interval in the target's unit."""
        scale = find_target(self.target).scale
        return tuple(scale * v for v in (self.value, self.lower, self.upper))
