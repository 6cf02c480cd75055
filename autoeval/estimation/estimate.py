"""The result of an estimation: a number, its interval, and every reason to doubt it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.report.numerals import counted
from autoeval.targets import find_target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from autoeval.data.labels.content import LabelSet
    from autoeval.estimation.labels.plan import LabelPlan
    from autoeval.estimation.labels.with_labels import LabelledEstimate


STAR: dict[str, Any] = {"marker": "*", "ls": "", "color": "red", "ms": 16, "mec": "black"}


class Trained(Protocol):
    """What a plot of the training takes of an estimator."""

    @property
    def table_(self) -> pd.DataFrame:
        """The score table that it was fitted on."""
        ...

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of it without its source."""
        ...


@dataclass(frozen=True, repr=False)
class Estimate:
    """Estimated accuracy of a detector on images without labels.

    Parameters
    ----------
    value : float
        Mean over the dropout repeats, in the range of the target.
    std : float
        Standard deviation over the repeats; 0 for one repeat, NaN where nothing is repeated.
    lower, upper : float
        Prediction interval, NaN where none can be formed: that by source, widened by the sampling
        error of the images where it is known.
    level : float
        Nominal coverage of the interval.
    interval_method : str
        How the interval was formed, or why there is none.
    target : str
        What is estimated; a name in `autoeval.targets.TARGETS`.
    method : str
        Name of the regressor.
    n_images : int
        Images that were read.
    features : dict
        Mean of each feature over the repeats.
    guards : tuple of str
        Reasons, in words, not to trust the value.
    sampling_std : float
        Standard deviation over draws of the images with replacement; NaN where it is not known.
    source_lower, source_upper : float
        The interval by source alone.
    per_category : dict of str to dict
        ``value``, ``lower`` and ``upper`` of each category of a task that has several, rare ones
        partly pooled with the others; see `estimate_categories`.
    raw : float
        The value before it was brought into the range of the target; NaN where that is not told.
    beside : dict of str to dict
        ``value``, ``lower`` and ``upper`` of other targets, from the same pass.
    advice : tuple of str
        What stands in the way of acting on the value, to be said before it, and what would help.
    plan : LabelPlan, optional
        What labels of its images are set against, from `plan_labels`; see `with_labels`.
    """

    value: float
    std: float
    lower: float
    upper: float
    level: float
    interval_method: str
    target: str
    method: str
    n_images: int
    features: dict[str, float] = field(default_factory=dict)
    guards: tuple[str, ...] = ()
    sampling_std: float = math.nan
    source_lower: float = math.nan
    source_upper: float = math.nan
    per_category: dict[str, dict[str, float]] = field(default_factory=dict)
    raw: float = math.nan
    beside: dict[str, dict[str, float]] = field(default_factory=dict)
    advice: tuple[str, ...] = ()
    plan: LabelPlan | None = field(default=None, compare=False)

    def __str__(self) -> str:
        target = find_target(self.target)
        value, std, lower, upper = map(target.text, (self.value, self.std, self.lower, self.upper))
        repeats = f" ± {std} (repeats)" if self.std == self.std else ""
        head = f"estimated {target.title}: {value}{repeats}"
        if self.value != self.value:
            head = f"no estimate of {target.title}"
        if self.lower == self.lower:
            interval = f"{lower} to {upper} ({self.interval_method})"
        else:
            interval = self.interval_method
        lines = [
            *self.advice,
            f"{head}, from {self.n_images} images by '{self.method}'",
            f"{self.level:.0%} interval: {interval}",
            *self._two_parts(),
            *self._beside(),
            *self._by_category(),
            *(f"caution: {guard}" for guard in self.guards),
        ]
        return "\n".join(lines)

    def _two_parts(self) -> Iterator[str]:
        """Tell what the sources and what the number of images add to the interval."""
        text = find_target(self.target).text
        if self.sampling_std == self.sampling_std:
            spread = (
                f"sampling error of {counted(self.n_images, 'image')}: ± {text(self.sampling_std)}"
            )
            if self.source_lower == self.source_lower:
                by_source = f"{text(self.source_lower)} to {text(self.source_upper)}"
                spread = f"by source alone: {by_source}; {spread}"
            yield spread

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON; NaN becomes None."""
        values = self._figures() | {"guards": list(self.guards)}
        values["features"] = {k: _plain(v) for k, v in self.features.items()}
        values["per_category"] = {
            category: {k: _plain(v) for k, v in of.items()}
            for category, of in self.per_category.items()
        }
        values["beside"] = {
            name: {k: _plain(v) for k, v in of.items()} for name, of in self.beside.items()
        }
        values["advice"] = list(self.advice)
        return {key: _plain(value) for key, value in values.items()}

    def to_pandas(self) -> pd.DataFrame:
        """Return one row, features as columns, guards joined by ``"; "``."""
        row = self._figures() | {"guards": "; ".join(self.guards)}
        features = row.pop("features")
        row["advice"] = "; ".join(self.advice)
        for category, of in (row.pop("per_category") | row.pop("beside")).items():
            row |= {f"{name}/{category}": value for name, value in of.items()}
        return pd.DataFrame([row | features])

    def with_labels(
        self,
        labels: LabelSet,
        *,
        words: Mapping[str, str] | None = None,
        planned: bool = True,
    ) -> LabelledEstimate:
        """Estimate again with the labels of some of the images.

        Parameters
        ----------
        labels : LabelSet
            From `autoeval.data.labels.any_format.load_labels`.
        words : mapping of str to str, optional
            Category of the estimate for each word of the labels; by default equal words.
        planned : bool
            Whether the plan drew the labelled images; otherwise all that are labelled are taken,
            as a simple random draw.

        Raises
        ------
        InputError
            If the estimate holds no plan, or as `estimate_with_labels`.
        """
        from autoeval.estimation.labels.with_labels import estimate_with_labels

        if self.plan is None:
            raise InputError(
                "This estimate does not hold the boxes of its images, which labels are set "
                "against: make it by `plan_labels`."
            )
        return estimate_with_labels(self.plan, labels, words=words, planned=planned)

    def _figures(self) -> dict[str, Any]:
        figures = asdict(replace(self, plan=None))
        del figures["plan"]
        return figures

    def _beside(self) -> Iterator[str]:
        for name, of in self.beside.items():
            text = find_target(name).text
            if of["value"] == of["value"]:
                yield f"{name}: {text(of['value'])} ({text(of['lower'])} to {text(of['upper'])})"

    def _by_category(self) -> Iterator[str]:
        text = find_target(self.target).text
        for category, of in self.per_category.items():
            around = "no interval: too few sources hold it"
            if of["lower"] == of["lower"]:
                around = f"{text(of['lower'])} to {text(of['upper'])}"
            yield f"{category}: {text(of['value'])} ({around})"

    def __repr__(self) -> str:
        head, interval = str(self).splitlines()[:2]
        cautions = f", cautions: {len(self.guards)}" if self.guards else ""
        return f"<{head}; {interval}{cautions}>"

    def plot(self, ax: Axes | None = None, *, training: Trained | None = None) -> Axes:
        """Draw the value, its spread over the repeats and its interval, in the target's unit.

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
        cautions = f", cautions: {len(self.guards)}" if self.guards else ""
        ax.set_title(f"{counted(self.n_images, 'image')} by '{self.method}'{cautions}")
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return ax

    def _draw_bar(self, ax: Axes) -> None:
        target = find_target(self.target)
        value, std, *ends = self._scaled()
        ax.plot(ends, [0, 0], color="0.8", lw=14, solid_capstyle="butt", label=self._band)
        text = f"{target.text(self.value)} ± {target.text(self.std)} (repeats)"
        ax.errorbar(value, 0, xerr=std, capsize=4, label=text, ecolor="black", **STAR)
        ax.set(xlabel=f"estimated {target.name} ({target.unit})", yticks=[])
        if target.upper < math.inf:
            ax.set_xlim(0, target.scale * target.upper)

    def _draw_among(self, ax: Axes, training: Trained) -> None:
        from autoeval.estimation.training_scatter import draw_training

        target, estimates = find_target(self.target), training.predict_left_out()
        if not np.isfinite(estimates).any():
            raise InputError(
                "Nothing was estimated of the training sources: leaving one out takes three. Call "
                "`plot` without `training`."
            )
        draw_training(ax, training.table_, estimates, self.target, scale=target.scale)
        value, _, lower, upper = self._scaled()
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
        """Return value, spread and ends of the interval in the target's unit."""
        scale = find_target(self.target).scale
        return tuple(scale * v for v in (self.value, self.std, self.lower, self.upper))


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value
