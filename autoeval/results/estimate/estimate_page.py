"""The page of a fit, of an estimate, or of both, with its notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.operating_curve import expected_curve
from autoeval.estimation.protocol import LeaveOneSourceOut, worse_than_constant
from autoeval.model.regression import DEFAULT_METHOD
from autoeval.report.page import Page
from autoeval.report.sections import Report, Section
from autoeval.results.estimate.about import about_section
from autoeval.results.estimate.answer import Answer, EstimatesByCategory, labelled_pairs, star
from autoeval.results.estimate.estimate_charts import (
    LEFT_OUT,
    Fitted,
    PlottedScores,
    ReliabilityDiagram,
    ScoreScatter,
    ThresholdCurve,
)
from autoeval.results.estimate.example_images import LeastCertainExamples
from autoeval.results.estimate.fit_answer import fit_answer
from autoeval.results.estimate.panel_chart import plotted_with_panel
from autoeval.results.estimate.unseen_sources import AtAGlance, UnseenSources
from autoeval.results.estimate.what_was_run import WhatWasRun, facts, missing_scores, time_table
from autoeval.targets import OperatingPoint, find_target
from autoeval.words import counted, ordered_warnings


def estimate_page(
    title: str,
    estimator: AccuracyEstimator,
    *,
    estimate: Estimate | None = None,
    detector: str = "",
    given: Mapping[str, str] | None = None,
) -> Report:
    """Compose the page of an estimator, and of what it estimates of a site.

    Parameters
    ----------
    title : str
        Such as ``"yolox_nano on vehicle"``.
    estimator : AccuracyEstimator
        Fitted. Where it was fitted in this process, its evaluation is shown.
    estimate : Estimate, optional
        From its `predict`.
    detector : str
        Its name, shown among what was run.
    given : mapping of str to str, optional
        What the page is about; see `autoeval.results.estimate.about.about`.

    Returns
    -------
    Report
        ``write`` makes the page and its files, ``text`` is for the terminal, ``to_dict`` for JSON.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("a", .5), ("b", .6), ("c", .8)]
    >>> table = pd.DataFrame(
    ...     [
    ...         dict(source=s, sample_set=s, kind="seed", transforms="", repeat=0, n_images=60,
    ...              expected_ap=v, likely_share=v, box_size=0., mAP=v)
    ...         for s, v in rows
    ...     ]
    ... )
    >>> report = estimate_page("a table of mine", AccuracyEstimator().fit_rows(table))
    >>> report.text()[:29]
    'interval at a new site: about'
    """
    if estimate is not None and estimate.site is not None:
        estimator = estimator.at_floor(estimate.site.floor)
    regression = estimator.regression_
    pairs = labelled_pairs(regression.rows_, regression.features_, find_target(estimator.target))
    from_files = "boxes" in estimator.context_ and "detector" not in estimator.context_
    content = MethodContent(
        DEFAULT_METHOD,
        plotted_with_panel(estimator, estimate),
        fit_result=() if estimate else (fit_answer(regression, estimator.fit_result_),),
        curve=tuple(_curve(estimator, estimate)),
        details=(pairs, missing_scores(from_files)),
    )
    return page_of_method(
        title, estimator, content, estimate=estimate, detector=detector, given=given
    )


@dataclass(frozen=True)
class MethodContent:
    """What the page of an estimator has of its method alone, from top to bottom.

    fit_result: sections on top where there is no estimate.
    compared: below the estimate: other methods beside it.
    curve: after the estimates by category.
    site_images: after the images of the site.
    details: above the facts of the run, to which `facts` belong.
    """

    method: str
    plotted: PlottedScores
    fit_result: Sequence[Section] = ()
    compared: Sequence[Section] = ()
    curve: Sequence[Section] = ()
    site_images: Sequence[Section] = ()
    details: Sequence[Section] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


def page_of_method(
    title: str,
    estimator: Fitted,
    content: MethodContent,
    *,
    estimate: Estimate | None,
    detector: str,
    given: Mapping[str, str] | None,
) -> Report:
    """Compose the page of an estimator by any method; see `estimate_page`."""
    target, fit = find_target(estimator.target), estimator.fit_result_
    results = fit.cross_validation if fit else ()
    by_category = bool(fit and fit.by_category)
    site = estimate.site if estimate else None
    at = star(estimate, site.row, LEFT_OUT) if estimate and site else None
    unreadable = str(site.row.get("unreadable", "")) if site else ""
    times = time_table(fit.table if fit else None, site.row if site else None)
    unknown = "" if estimate else _known_error(estimator)
    glance = AtAGlance(results, unknown, by_category=by_category)
    of_estimate = Warnings(estimate, results, by_category)
    shown = {str(warning) for warning in of_estimate.all_warnings()}
    of_fit = tuple(w for w in (fit.warnings if fit else ()) if str(w) not in shown)
    warnings = [of_estimate, OfFit(of_fit, unreadable)]
    sections: list[Section] = [
        Answer(estimate),
        *content.compared,
        *([*warnings, glance] if estimate else [*content.fit_result, glance, *warnings]),
        ScoreScatter(title, content.plotted, target, at, estimator.level),
        EstimatesByCategory(estimate),
        *content.curve,
    ]
    if site:
        sections += [LeastCertainExamples(site), *content.site_images]
    sections.append(UnseenSources(results, _known_error(estimator), by_category=by_category))
    if fit and fit.reliability is not None:
        sections.append(ReliabilityDiagram(fit.reliability))
    run = facts(estimator, content.method, detector, content.facts)
    sections += [
        *content.details,
        WhatWasRun(run, content.plotted, target, times),
        about_section(given or {}),
    ]
    return Report(title, sections)


def _curve(estimator: AccuracyEstimator, estimate: Estimate | None) -> Iterator[Section]:
    """Yield the curve over all thresholds, where precision, recall and F1 at one are wanted."""
    names = (estimate.target, *estimate.beside) if estimate and estimate.site else ()
    point = next(filter(None, map(OperatingPoint.of, names)), None)
    if point is not None and estimate is not None:
        curve = expected_curve(estimator, estimate, point.iou)
        if len(curve):
            values = {estimate.target: estimate.value}
            values |= {name: interval["value"] for name, interval in estimate.beside.items()}
            at = {name.partition("@")[0]: value for name, value in values.items()}
            yield ThresholdCurve(curve, point.score_thr, at=at)


def _known_error(estimator: Fitted) -> str:
    """State what a saved estimator alone knows of its error on a new source."""
    regression = estimator.regression_
    n_sources = len(regression.sources_)
    if not len(regression.residuals_):
        return (
            f"{counted(n_sources, 'source')}: too few to leave one out, so the error on a new "
            "source is not known."
        )
    target = find_target(estimator.target)
    error = target.text(float(regression.residuals_.mean()))
    return (
        f"Mean absolute error on the {n_sources} sources when each was left out: {error} "
        f"({target.unit}); the report of the fit compares it with other methods."
    )


@dataclass(frozen=True)
class Warnings(Section):
    """The warnings of an estimate, and that of its evaluation, the method in use first."""

    estimate: Estimate | None
    results: Sequence[LeaveOneSourceOut] = ()
    by_category: bool = False

    def show(self, page: Page) -> None:
        above = self.estimate.width_warning if self.estimate else ""  # on top of the page
        warnings = [warning for warning in self.all_warnings() if warning != above]
        page.add_warnings(warnings, title="Warnings")
        if self.estimate is not None and not warnings:
            page.add_text("None of the checks of this estimate gives a warning.")

    def all_warnings(self) -> list[str]:
        of_estimate = self.estimate.all_warnings() if self.estimate else []
        return ordered_warnings(
            [*of_estimate, *worse_than_constant(tuple(self.results), by_category=self.by_category)]
        )


@dataclass(frozen=True)
class OfFit(Section):
    """Warnings of the fit alone, and names and reasons of images that could not be read."""

    warnings: Sequence[str] = ()
    unreadable: str = ""

    def show(self, page: Page) -> None:
        lines = [*self.warnings, *filter(None, [self.unreadable])]
        page.add_warnings(lines, title="Of the fit, and images that were not read")

    def all_warnings(self) -> Sequence[str]:
        return self.warnings

    def text(self) -> str:
        return f"not read: {self.unreadable}" if self.unreadable else ""

    def to_dict(self) -> dict[str, Any]:
        return {"unreadable": self.unreadable, "warnings": list(self.warnings)}
