"""Accuracy against the scores, sample set by sample set, with the estimate among them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.estimation.operating_curve import ENDS
from autoeval.estimation.protocol import FitResult
from autoeval.estimation.reliability import CALIBRATED, CONFIDENCE, calibration_error
from autoeval.estimation.score_table import feature_columns
from autoeval.estimation.threshold_choice import ThresholdChoice, threshold_text
from autoeval.report.interactive import SAMPLE_SET, ScatterChart
from autoeval.report.page import Page
from autoeval.report.plots import Cloud, RegressionBand, figure_of, plot_curves, plot_scatter
from autoeval.report.sections import Part, Section
from autoeval.report.tables import format_cells, to_terminal
from autoeval.targets import TARGETS, Target, find_target

LEFT_OUT = "held-out estimate"
SAMPLE_MARKS = "A small mark is a transformed sample set, a large one the own images of a source."
PAIR_MARKS = (
    "A coloured mark is a category of a labelled set, at its measured accuracy. A grey one is a "
    "category at a site of the panel, by one of its detectors: from these the fit takes what one "
    "labelled set cannot show."
)
KEYS = ["source", "sample_set", "kind", "transforms"]
COLOURS = {"precision": "tab:blue", "recall": "tab:orange", "f1": "tab:green"}


class FittedRegression(Protocol):
    """What a page shows of a regression."""

    training_range_: dict[str, tuple[float, float]]
    sources_: list[str]

    @property
    def residuals_(self) -> np.ndarray:
        """Mean absolute errors of what was left out."""

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of the table of the fit without its source."""


class Fitted(Protocol):
    """What a page shows of an estimator, whichever its method."""

    target: str
    level: float
    fit_result_: FitResult | None

    @property
    def context_(self) -> dict[str, Any]:
        """What the rows were made with."""

    @property
    def table_(self) -> pd.DataFrame:
        """The rows that it was fitted on."""

    @property
    def regression_(self) -> FittedRegression:
        """The regression on them."""


@dataclass(frozen=True)
class ScoreScatter(Section):
    """The plot of the target against any score; `estimate` is one more point, with its scores."""

    title: str
    plotted: PlottedScores
    target: Target
    estimate: Mapping[str, Any] | None = None
    level: float = 0.9

    def show(self, page: Page) -> None:
        page.add_heading(f"{self.target.name} against the scores")
        plotted = self.plotted
        star = "" if self.estimate is None else " The red star is the estimate."
        marks = SAMPLE_MARKS if plotted.unit == SAMPLE_SET else PAIR_MARKS
        page.add_scatter(
            ScatterChart(
                plotted.points,
                plotted.scores,
                self.target,
                plotted.lines,
                self.estimate,
                plotted.cloud,
                plotted.unit,
                self.level,
            ),
            f"{marks}{star} Point at a mark to see what it is, click a source to single it out. "
            f"{' '.join(plotted.about)}".strip(),
        )

    def figures(self) -> Iterator[tuple[str, Figure]]:
        first, star = self.plotted.scores[0], None
        if self.estimate is not None:
            star = (self.estimate.get(first, np.nan), self.estimate["value"], "estimate")
        axes = plot_scatter(
            self.plotted.points,
            x=first,
            target=self.target,
            band=self.plotted.lines.get(first),
            highlight=star,
            cloud=self.plotted.cloud,
        )
        axes.set_title(self.title, fontsize=11, parse_math=False)
        yield "scatter", figure_of(axes)


@dataclass(frozen=True)
class PlottedScores:
    """Points of a scatter plot: one row a sample set, means over the repeats.

    Of `scores`, the columns to plot against, the most informative one comes first; `lines` are what
    the estimator, or being right, would look like; `about` explains some of the scores. A row is
    called a `unit`; the `cloud` stands behind all.
    """

    points: pd.DataFrame
    scores: Sequence[str]
    lines: Mapping[str, RegressionBand]
    about: Sequence[str]
    cloud: Cloud | None = None
    unit: str = SAMPLE_SET


def scores_to_plot(
    estimator: Fitted,
    method: str,
    fitted: Mapping[str, RegressionBand] | None = None,
    cloud: Cloud | None = None,
) -> PlottedScores:
    """Gather every score of the training table, and the held-out estimates.

    The scores in use come first where there are `fitted` lines along some of them, else the
    held-out estimates. Scores of single categories are left out. The `cloud` stands behind.
    """
    target = find_target(estimator.target)
    table = estimator.table_.assign(
        **{LEFT_OUT: target.scale * estimator.regression_.predict_left_out()}
    )
    pairs = "transforms" not in table
    if pairs:
        table = table.assign(transforms="", sample_set=table.get("category", table["source"]))
    table = table.assign(transforms=table["transforms"].fillna(""))
    used = [name for name in estimator.regression_.training_range_ if name in table]
    others = [n for n in feature_columns(table) if "/" not in n and n not in TARGETS]
    scores = list(dict.fromkeys([*used, LEFT_OUT, *others]))
    if not fitted:
        scores = list(dict.fromkeys([LEFT_OUT, *scores]))
    lines = dict(fitted or {})
    about = []
    if table[LEFT_OUT].isna().all():
        scores.remove(LEFT_OUT)
    else:
        ends, none = table[LEFT_OUT].agg(["min", "max"]).to_numpy(), np.full(2, np.nan)
        lines[LEFT_OUT] = RegressionBand(
            ends, ends / target.scale, none, none, "where it would be right"
        )
        about.append(
            f"‘{LEFT_OUT}’ is what ‘{method}’ says of each sample set ({target.unit}) "
            "when it was fitted without its source."
        )
    names = ["n_images", "n_boxes", target.name, *scores]
    present = [name for name in dict.fromkeys(names) if name in table]
    points = table.groupby(KEYS, sort=False)[present].mean().reset_index()
    return PlottedScores(points, scores, lines, about, cloud, "pair" if pairs else SAMPLE_SET)


@dataclass(frozen=True)
class ReliabilityDiagram(Section):
    """Whether boxes are right as often as predicted; `bins` are from `reliability.reliability`."""

    bins: pd.DataFrame

    def show(self, page: Page) -> None:
        page.add_heading("Are boxes right as often as predicted?")
        for figure in self.charts.values():
            page.add_figure(
                figure,
                "Share of boxes that are true positives at IoU .5, by the probability that was "
                "predicted of them, with 90 % intervals; on the dashed line both are equal. "
                "‘calibrated’: by calibrations that have not seen the labels of these images. "
                "‘confidence itself’: if confidences were taken for probabilities.",
            )
        page.add_text(self.text())
        (part,) = self.parts()
        part.show(page, "Labelled boxes by predicted probability", folded=True)

    def text(self) -> str:
        errors = self._errors()
        n = int(self.bins.loc[self.bins["scale"] == CALIBRATED, "n"].sum())
        return (
            f"Expected calibration error on {n} boxes: {errors[CALIBRATED]:.3f} calibrated, "
            f"{errors[CONFIDENCE]:.3f} if confidences were taken for probabilities."
        )

    def parts(self) -> Sequence[Part]:
        shown = self.bins.drop(columns=["lower", "upper"]).rename(columns={"n": "boxes"})
        return (
            Part("reliability", self.bins, shown, {"predicted": "{:.3f}", "observed": "{:.3f}"}),
        )

    def figures(self) -> Iterator[tuple[str, Figure]]:
        band = ("lower", "upper")
        axes = plot_curves(self.bins, x="predicted", y="observed", group="scale", band=band)
        axes.plot([0, 1], [0, 1], ls="--", lw=1, color="0.5", zorder=0)
        axes.set(xlabel="predicted probability", ylabel="share of true positives at IoU .5")
        axes.set(xlim=(-0.02, 1.03), ylim=(-0.02, 1.03))
        yield "reliability", figure_of(axes)

    def to_dict(self) -> dict[str, Any]:
        return {"calibration_error": self._errors()}

    def _errors(self) -> dict[str, float]:
        return {str(scale): calibration_error(bins) for scale, bins in self.bins.groupby("scale")}


@dataclass(frozen=True)
class ThresholdCurve(Section):
    """The curve of a site (see `expected_curve`), the threshold in use marked.

    at: precision and recall there, in [0, 1], by name; by default those of the choice.
    """

    curve: pd.DataFrame
    threshold: float | None = None
    choice: ThresholdChoice | None = None
    at: Mapping[str, float] = field(default_factory=dict)

    def show(self, page: Page) -> None:
        if self.choice is not None:
            show_choice(page, self.choice)
        page.add_heading("Precision, recall and F1 by score threshold")
        captions = ("Each measure by threshold", "Precision by recall")
        for figure, caption in zip(self.charts.values(), captions, strict=True):
            page.add_figure(figure, f"{caption}, all categories together; bands are intervals")
        for part in self.parts():
            part.show(page, "In points of 100")

    def headline(self) -> str:
        return "" if self.choice is None else "\n".join(self.choice.headline())

    def text(self) -> str:
        (part,) = self.parts()
        table = to_terminal(format_cells(part.for_people, part.formats))
        return f"Precision, recall and F1 by score threshold, in points of 100:\n\n{table}"

    def to_dict(self) -> dict[str, Any]:
        chosen = {} if self.choice is None else {"threshold": self.choice.to_dict()}
        return {**chosen, "curve": self.curve.to_dict("records")}

    def parts(self) -> list[Part]:
        shown = self.curve.assign(value=100 * self.curve["value"])
        shown = shown.pivot(index="threshold", columns="measure", values="value").reset_index()
        shown = shown[["threshold", *(name for name in COLOURS if name in shown)]]
        shown["threshold"] = shown["threshold"].map(threshold_text)
        formats = dict.fromkeys(COLOURS, "{:.1f}")
        return [Part("threshold_curve", self.curve, shown, formats)]

    @property
    def _star(self) -> tuple[float, float]:
        """Recall and precision at the threshold, in points: those that are printed for it."""
        at = dict(self.at)
        if self.choice is not None:
            at |= {name: reached["value"] for name, reached in self.choice.at.items()}
        return 100 * at.get("recall", math.nan), 100 * at.get("precision", math.nan)

    def figures(self) -> list[tuple[str, Figure]]:
        left, right = (Figure(figsize=(4.6, 3.6), layout="constrained").subplots() for _ in "ab")
        by_name = {
            name: 100 * curve.set_index("threshold")[list(ENDS)]
            for name, curve in self.curve.groupby("measure")
        }
        for name, curve in by_name.items():
            colour = COLOURS[str(name)]
            left.plot(curve.index, curve["value"], color=colour, label=name)
            left.fill_between(
                curve.index, curve["lower"], curve["upper"], color=colour, alpha=0.15, lw=0
            )
        left.set(xlabel="score threshold", ylabel="points of 100", xlim=(0, 1), ylim=(0, 100))
        both = by_name["precision"].join(by_name["recall"], rsuffix="_r").dropna()
        right.fill_between(both["value_r"], both["lower"], both["upper"], alpha=0.15, lw=0)
        right.plot(both["value_r"], both["value"], marker=".", color="tab:blue")
        right.set(xlabel="recall", ylabel="precision", xlim=(0, 100), ylim=(0, 100))
        if self.threshold is not None and len(both):
            left.axvline(self.threshold, color="black", ls=":", lw=1)
            label = f"threshold {threshold_text(self.threshold)}"
            right.plot(*self._star, "*", color="black", ms=12, label=label)
            right.legend(frameon=False)
        left.legend(frameon=False)
        for ax in (left, right):
            ax.grid(alpha=0.25)
        names = ("threshold_curve", "precision_recall")
        return list(zip(names, map(figure_of, (left, right)), strict=True))


def show_choice(page: Page, choice: ThresholdChoice) -> None:
    """Add a threshold, large, and what is reached there; in words where there is none."""
    if choice.value != choice.value:
        page.add_interval("Score threshold", "–", choice.headline()[0])
        return
    ends = (
        f"{threshold_text(choice.lower)} to {threshold_text(choice.upper)}"
        if choice.lower < choice.upper
        else ""
    )
    page.add_interval(
        "Score threshold",
        threshold_text(choice.value),
        f"may be right: {ends}" if ends else "",
        f"For {choice.wanted}: keep boxes with a higher score.",
        on_scale=(choice.value, choice.lower, choice.upper),
        top=1.0,
    )
    for measure, reached in choice.at.items():
        defined = reached["value"] == reached["value"]
        interval = f"{100 * reached['lower']:.1f} to {100 * reached['upper']:.1f}"
        note = (
            f"{choice.level:.0%} interval: {interval}"
            if reached["lower"] < reached["upper"]
            else ""
        )
        page.add_headline(
            f"{measure} there", f"{100 * reached['value']:.1f}" if defined else "–", note
        )
