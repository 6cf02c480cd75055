"""The page of a `MapReport`: the answer first, then why to believe it, then what was done."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from autoeval.report.chart import ScatterChart
from autoeval.report.page import Page
from autoeval.report.parts import Part
from autoeval.report.thumbnails import LEGEND
from autoeval.targets import Target

if TYPE_CHECKING:
    from autoeval.results.map_report import MapReport

BASELINE = "constant"


def map_page(report: MapReport, parts: Mapping[str, Part]) -> Page:
    """Build the page.

    Parameters
    ----------
    report : MapReport
    parts : mapping of str to Part
        The tables of `report`, by name.
    """
    page = Page(report.title)
    if report.headline is not None:
        _answer(page, report.headline, report.target)
    _doubts(page, report)
    _figures(page, report)
    _scatter(page, report)
    _held_out(page, report, parts)
    if "categories" in parts:
        page.add_heading("Category by category")
        unit = report.target.unit
        _table(
            page,
            parts["categories"],
            f"Estimated {report.target.name} with its interval, in {unit}",
        )
    if "least_stable" in parts:
        _least_stable(page, report, parts["least_stable"])
    _what_was_run(page, report, parts)
    return page


def _answer(page: Page, estimate: Mapping[str, Any], target: Target) -> None:
    value, low, high = (estimate[name] for name in ("value", "lower", "upper"))
    interval = f"No interval ({estimate['interval_method']})"
    if low == low:
        interval = f"{estimate['level']:.0%} interval: {target.text(low)} to {target.text(high)}"
    note = (
        f"In {target.unit}, from {estimate['n_images']} unlabelled images, by the method "
        f"‘{estimate['method']}’; ± {target.text(estimate['std'])} over the dropout repeats"
        f"{_sampling(estimate, target)}."
    )
    bounded = target.upper == 1
    page.add_interval(
        f"Estimated {target.name}",
        target.text(value) if value == value else "–",
        interval,
        note,
        on_scale=(100 * value, 100 * low, 100 * high) if bounded else None,
    )


def _sampling(estimate: Mapping[str, Any], target: Target) -> str:
    """Tell what the number of images adds to the interval, where that is known."""
    spread = estimate.get("sampling_std", math.nan)
    if spread != spread:
        return ""
    low, high = (estimate.get(f"source_{side}", math.nan) for side in ("lower", "upper"))
    alone = f"; by source alone {target.text(low)} to {target.text(high)}" if low == low else ""
    return f", ± {target.text(spread)} over the choice of images{alone}"


def _doubts(page: Page, report: MapReport) -> None:
    doubts = list(report.headline["guards"]) if report.headline is not None else []
    if (verdict := _worse_than_constant(report)) is not None:
        doubts.append(verdict)
    page.add_warnings(doubts, title="Reasons for doubt")
    if report.headline is not None and not doubts:
        page.add_text("None of the checks of this estimate gives a reason for doubt.")
    page.add_warnings(report.problems, title="Left out")


def _worse_than_constant(report: MapReport) -> str | None:
    errors = {s["method"]: s["mean_absolute_error"] for s in report.summaries}
    used = next(iter(errors), BASELINE)
    if used == BASELINE or BASELINE not in errors or errors[used] < errors[BASELINE]:
        return None
    text = report.target.text
    return (
        f"‘{used}’ misses a source that it has not seen by {text(errors[used])} on average, a "
        f"constant that ignores the images by {text(errors[BASELINE])}: these scores say nothing "
        "about places like these"
    )


def _figures(page: Page, report: MapReport) -> None:
    if not report.summaries:
        return
    used, constant = report.summaries[0], report.summaries[-1]
    target, unit = report.target, f"{report.target.unit}, by ‘{used['method']}’"
    page.add_headline(
        "Mean error on unseen sources", target.text(used["mean_absolute_error"]), unit
    )
    if constant["method"] == BASELINE != used["method"]:
        beside = target.text(constant["mean_absolute_error"])
        page.add_headline("The same for a constant", beside, "which ignores the images")
    if used["coverage"] == used["coverage"]:
        n_sources = len(next(iter(report.per_source.values())))
        note = f"of {n_sources} held-out sources; mean width {target.text(used['width'])}"
        page.add_headline("True value in the interval", f"{used['coverage']:.0%}", note)


def _scatter(page: Page, report: MapReport) -> None:
    page.add_heading(f"{report.target.name} against the scores")
    chart = ScatterChart(
        report.points, report.scores, report.target, report.lines, estimate=report.headline
    )
    star = "The red star is the estimate. " if report.headline is not None else ""
    page.add_scatter(
        chart,
        "A small mark is a transformed sample set, a large one the own images of a source. Point "
        f"at a mark to see what it is, click a source to single it out. {star}The line is least "
        f"squares over the sample sets. {' '.join(report.about_scores)}",
    )


def _held_out(page: Page, report: MapReport, parts: Mapping[str, Part]) -> None:
    page.add_heading("How far off on a source it has not seen")
    if "methods" not in parts:
        page.add_text(report.why_not_held_out)
        return
    unit = report.target.unit
    _table(page, parts["methods"], f"Methods over all held-out sources, in {unit}")
    caption = f"Each source left out in turn, in {unit}"
    _table(page, parts["held_out"], caption, n_footer=1)


def _least_stable(page: Page, report: MapReport, part: Part) -> None:
    page.add_heading("Where the detector is least sure")
    page.add_thumbnails(
        report.thumbnails,
        f"The least stable of the unlabelled images ({LEGEND}; faint: score under .3). Stability "
        "is 1 where no box moves, and 0 where boxes miss each other or are lost.",
    )
    if not report.thumbnails:
        _table(page, part, "The least stable of the unlabelled images")


def _what_was_run(page: Page, report: MapReport, parts: Mapping[str, Part]) -> None:
    page.add_heading("What was run")
    _table(page, parts["what_was_run"], sortable=False)
    if "times" in parts:
        _table(page, parts["times"], "Where the time went", sortable=False, n_footer=1)
    caption = f"All {len(report.points)} sample sets with the ids of their recipes"
    _table(page, parts["sample_sets"], caption, folded=True)


def _table(page: Page, part: Part, caption: str = "", **options: Any) -> None:
    page.add_table(part.for_people, caption, formats=part.formats, **options)
