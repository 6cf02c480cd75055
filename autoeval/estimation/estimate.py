"""The result of an estimation: a number, its prediction interval, and its warnings."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.score_table import SEED, sources
from autoeval.model.prediction_interval import WIDEST
from autoeval.model.regression import DEFAULT_METHOD
from autoeval.notices import codes_of
from autoeval.runtime.json_values import plain
from autoeval.targets import OperatingPoint, find_target
from autoeval.words import counted, ordered_warnings, warning_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from autoeval.estimation.site import Site


SMALL, LARGE = 14, 70
NOT_DEFINED = "not defined, no box is over the threshold"
WIDEST_TEXT = f"±{100 * WIDEST:.0f} points"


PREDICTIVE = "predictive"  # how an interval is formed where there is nothing to be said of it
MOST_CATEGORIES, LOWEST = 8, 3  # on the terminal: of more, so many of the lowest

STAR: dict[str, Any] = {"marker": "*", "ls": "", "color": "red", "ms": 16, "mec": "black"}


class Trained(Protocol):
    """What a plot of the training takes of an estimator."""

    @property
    def table_(self) -> pd.DataFrame:
        """The score table that it was fitted on."""

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of it without its source."""


@dataclass(frozen=True, repr=False)
class Estimate:
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
    no_interval = f"no interval: it would be wider than {WIDEST_TEXT}"  # of a category

    def __str__(self) -> str:
        warnings = warning_lines(self.all_warnings())
        return "\n".join([*self.headline(), *self.details(), *warnings])

    def headline(self) -> list[str]:
        """Return the lines with the value, its interval, the other targets, and the categories.

        Of more than `MOST_CATEGORIES` the `LOWEST` lowest; see `details`.
        """
        target = find_target(self.target)
        lower, upper = target.text(self.lower), target.text(self.upper)
        head = f"estimated {target.title}: {self.value_text}"
        if self.target in self.undefined:
            head = f"{target.title}: {NOT_DEFINED}"
        elif self.value != self.value:
            head = f"no estimate of {target.title}"
        basis = "" if self.interval_method == PREDICTIVE else self.interval_method
        interval = f"{lower} to {upper}{f' ({basis})' * bool(basis)}"
        if self.lower != self.lower:
            interval = self.interval_method
        return [
            f"{head}{self._of_categories()}, from {counted(self.n_images, 'image')}"
            f"{self._by_method()}",
            f"{self.level:.0%} interval: {interval}",
            *self._beside(),
            *self._categories_in_short(),
            *filter(None, [self.left_out_text()]),
        ]

    def details(self) -> list[str]:
        """Return the lines on the parts of the interval, and on categories not in the headline."""
        more = self._by_category() if len(self.per_category) > MOST_CATEGORIES else ()
        return [*filter(None, [self.sampling_text()]), *more]

    def left_out_text(self) -> str:
        """Name the categories that were found and do not count, and how they would."""
        if not self.left_out:
            return ""
        order = sorted(self.left_out, key=lambda name: -self.left_out[name]["share_of_objects"])
        shown = [f"{name} ({self.why_left_out(name)})" for name in order[:LOWEST]]
        more = f" and {len(order) - LOWEST} more" if len(order) > LOWEST else ""
        text = f"left out: {', '.join(shown)}{more}. To count it: --present {shlex.quote(order[0])}"
        if len(self.per_category) > LOWEST:
            return text
        chosen = " ".join(f"--category {shlex.quote(name)}" for name in self.per_category)
        return f"{text}; only some categories: {chosen}"

    def why_left_out(self, category: str) -> str:
        """State why a category that was found does not count, and the value with it."""
        facts = self.left_out[category]
        boxes = counted(int(facts["likely_boxes"]), "likely box", "likely boxes")
        with_it = find_target(self.target).text(facts["mean_with_it"])
        share = f"{100 * facts['share_of_objects']:.1f} % of expected objects"
        return f"{boxes}, {share}; with it {with_it}"

    def _of_categories(self) -> str:
        """Say which categories the value is the mean of."""
        n, n_all = len(self.per_category), len(self.per_category) + len(self.left_out)
        if not n:
            return ""
        if n_all == 1:
            return f" of {next(iter(self.per_category))}"
        what = "all boxes of" if OperatingPoint.of(self.target) else "mean of"
        of_all = f"{n} of {n_all}" if self.left_out else str(n)
        only = f": {next(iter(self.per_category))}" if n == 1 else ""
        return f", {what} {of_all} categories{only}"

    def _by_method(self) -> str:
        """Name the method, where it is not the default."""
        return ""

    def _categories_in_short(self) -> list[str]:
        """Return a line for each category, of many for the lowest; nothing for a single one."""
        if len(self.per_category) == 1 and self.value == self.value:
            return []  # the headline names it
        if len(self.per_category) <= MOST_CATEGORIES:
            return [f"  {line}" for line in self._by_category()]
        known = [name for name, of in self.per_category.items() if of["value"] == of["value"]]
        lowest = sorted(known, key=lambda name: self.per_category[name]["value"])[:LOWEST]
        text = find_target(self.target).text
        shown = [f"{name} {text(self.per_category[name]['value'])}" for name in lowest]
        return [f"  the lowest of {len(self.per_category)} categories: {', '.join(shown)}"]

    @property
    def value_text(self) -> str:
        """The value in the unit of the target."""
        return find_target(self.target).text(self.value)

    def all_warnings(self) -> list[str]:
        """Return all warnings, that of the width among them, the most important first."""
        return ordered_warnings((self.width_warning, *self.warnings))

    def sampling_text(self) -> str:
        """State what the number of images adds to the interval, where that is known."""
        if self.sampling_std != self.sampling_std:
            return ""
        std = find_target(self.target).text(self.sampling_std)
        return f"sampling error of {counted(self.n_images, 'image')}: ± {std}"

    def variation_text(self) -> str:
        """State how the value varies with the images, to follow the name of the method."""
        if self.sampling_std != self.sampling_std:
            return ""
        std = find_target(self.target).text(self.sampling_std)
        return f", ± {std} over the choice of images"

    def figures(self) -> dict[str, float]:
        """Return the value and its ends, by the name of the target."""
        ends = {f"{self.target}_{end}": getattr(self, end) for end in ("lower", "upper")}
        return {self.target: self.value, **ends}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON; NaN becomes None."""
        return plain(self._fields()) | {"warning_codes": codes_of(self.warnings)}

    def to_pandas(self) -> pd.DataFrame:
        """Return one row, features as columns, texts joined by ``"; "``."""
        joined = {name: "; ".join(getattr(self, name)) for name in ("warnings", "undefined")}
        row = self._fields() | joined
        features = row.pop("features")
        del row["left_out"], row["category_effects"]
        for category, interval in (row.pop("per_category") | row.pop("beside")).items():
            row |= {f"{name}/{category}": value for name, value in interval.items()}
        return pd.DataFrame([row | features])

    def _fields(self) -> dict[str, Any]:
        fields = asdict(replace(self, site=None)) | {"method": self.method}
        del fields["site"]
        return fields

    def _beside(self) -> Iterator[str]:
        for name, interval in self.beside.items():
            text = find_target(name).text
            if name in self.undefined:
                yield f"{name}: {NOT_DEFINED}"
            elif interval["value"] == interval["value"]:
                value, lower, upper = (text(interval[end]) for end in ("value", "lower", "upper"))
                yield f"{name}: {value} ({lower} to {upper})"
            elif self.value == self.value:
                yield f"{name}: no estimate, its interval would be wider than {WIDEST_TEXT}"

    def _by_category(self) -> Iterator[str]:
        text = find_target(self.target).text
        for category, interval in self.per_category.items():
            if interval["value"] != interval["value"]:
                why = f"no estimate, its interval would be wider than {WIDEST_TEXT}"
                if OperatingPoint.of(self.target):
                    why = "not defined, no box is over the threshold"
                yield f"{category}: {why}"
                continue
            around = self.no_interval
            if interval["lower"] == interval["lower"]:
                around = f"{text(interval['lower'])} to {text(interval['upper'])}"
            yield f"{category}: {text(interval['value'])} ({around})"

    def __repr__(self) -> str:
        head, interval = self.headline()[:2]
        warnings = f", warnings: {len(self.warnings)}" if self.warnings else ""
        return f"<{head}; {interval}{warnings}>"

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
        bar: dict[str, Any] = {"xerr": self.scaled_std, "capsize": 4, "ecolor": "black"}
        ax.errorbar(value, 0, label=self.value_text, **bar, **STAR)
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
    def scaled_std(self) -> float | None:
        """What an error bar shows: nothing, since the interval holds all errors."""
        return None

    @property
    def _band(self) -> str:
        return f"{self.level:.0%} interval"

    def _scaled(self) -> tuple[float, ...]:
        """Return the value and the ends of the interval in the target's unit."""
        scale = find_target(self.target).scale
        return tuple(scale * v for v in (self.value, self.lower, self.upper))
