"""A score threshold as text, page and JSON, with the curve that it was chosen on."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from autoeval.accuracy.measures import find_target
from autoeval.estimation.threshold_choice import (
    COLOURS,
    ThresholdChoice,
    draw_measures,
    threshold_text,
)
from autoeval.report.page import (
    NOTHING,
    Block,
    Chart,
    Facts,
    Heading,
    Headline,
    IntervalHeadline,
    Page,
    Table,
    Warnings,
    notice_values,
    result_text,
)
from autoeval.result_base import ENDS
from autoeval.words import Notice

if TYPE_CHECKING:
    import pandas as pd


def choice_text(
    choice: ThresholdChoice, *, verbose: bool = True, of_fit: Collection[Notice] = ()
) -> str:
    """Return what the terminal shows: the threshold, what is reached there, and warnings.

    Parameters
    ----------
    choice : ThresholdChoice
        The threshold and the curve that it was chosen on.
    verbose : bool
        All warnings, and the curve.
    of_fit : collection of Notice
        Warnings that the fit has printed: without `verbose` they are counted alone.
    """
    if math.isnan(choice.value):
        lines = [_not_reached(choice)]
    else:
        head = f"score threshold for {choice.wanted}: {threshold_text(choice.value)}"
        if choice.lower < choice.upper:
            head += f" ({threshold_text(choice.lower)} to {threshold_text(choice.upper)})"
        lines = [head]
        for measure, reached in choice.at.items():
            value = f"{100 * reached['value']:.1f} %"
            around = f" ({100 * reached['lower']:.1f} to {100 * reached['upper']:.1f})"
            has_value = not math.isnan(reached["value"])
            lines.append(
                f"  {measure} there: {value if has_value else 'no estimate'}"
                f"{around if reached['lower'] < reached['upper'] else ''}"
            )
    details = [curve_text(choice.curve)] if verbose else []
    head = "\n".join(lines)
    return result_text([head], choice.warnings, details, verbose=verbose, of_fit=of_fit)


def _not_reached(choice: ThresholdChoice) -> str:
    """Say that no threshold reaches what is wanted, and how much is reached at the best one."""
    if math.isnan(choice.greatest):
        return (
            f"no threshold for {choice.wanted}: precision and recall have no estimate here. Label "
            "some images, which `autoeval label plan` draws"
        )
    text = f"no threshold is estimated to reach {choice.wanted}"
    lower, upper = choice.greatest_ends
    rows = choice.curve[choice.curve["measure"] == choice.target]
    best = rows.loc[rows["value"].idxmax(), "threshold"]
    in_points = find_target("mAP").text
    text += f"; the greatest estimate at any is {in_points(choice.greatest, choice.goal)} %"
    if lower < upper:
        text += f" ({in_points(lower)} to {in_points(upper, choice.goal)})"
    text += f", at {threshold_text(best)}"
    if choice.undecided:
        text += ". Undecided: the intervals do not rule it out; label a few images to know"
    return text


def choice_values(choice: ThresholdChoice, about: Mapping[str, str] = NOTHING) -> dict[str, Any]:
    """Return the content of ``result.json``.

    Parameters
    ----------
    choice : ThresholdChoice
        The threshold and the curve that it was chosen on.
    about : mapping of str to str
        What it is about; see `autoeval.report.page.about`.
    """
    threshold = {
        "target": choice.target,
        "value": choice.value,
        "lower": choice.lower,
        "upper": choice.upper,
        "level": choice.level,
        "wanted": choice.wanted,
        "threshold": choice.value,
        "first": choice.lower,
        "last": choice.upper,
        "greatest": choice.greatest,
        "at": choice.at,
        "per_category": choice.per_category,
        **notice_values(choice.warnings),
    }
    if math.isnan(choice.value):
        lower, upper = choice.greatest_ends
        threshold |= {"greatest_lower": lower, "greatest_upper": upper}
        threshold |= {"undecided": choice.undecided}
    return {
        "threshold": threshold,
        "curve": choice.curve.to_dict("records"),
        "warnings": list(choice.warnings),
        "about": dict(about),
    }


def choice_page(choice: ThresholdChoice, about: Mapping[str, str]) -> Page:
    """Make the page: the threshold, what is reached there, the curve, warnings.

    Parameters
    ----------
    choice : ThresholdChoice
        The threshold and the curve that it was chosen on.
    about : mapping of str to str
        What it is about; see `autoeval.report.page.about`.
    """
    blocks: list[Block]
    if math.isnan(choice.value):
        blocks = [IntervalHeadline("Score threshold", "–", _not_reached(choice))]
    else:
        ends = f"{threshold_text(choice.lower)} to {threshold_text(choice.upper)}"
        blocks = [
            IntervalHeadline(
                "Score threshold",
                threshold_text(choice.value),
                f"may be right: {ends}" if choice.lower < choice.upper else "",
                f"For {choice.wanted}: keep boxes with a higher score.",
                (choice.value, choice.lower, choice.upper),
                top=1.0,
            )
        ]
        for measure, reached in choice.at.items():
            value = 100 * reached["value"]
            lower, upper = 100 * reached["lower"], 100 * reached["upper"]
            shown = "–" if math.isnan(value) else f"{value:.1f} %"
            note = f"{choice.level:.0%} interval: {lower:.1f} to {upper:.1f}"
            blocks.append(Headline(f"{measure} there", shown, note if lower < upper else ""))
    at = {measure: reached["value"] for measure, reached in choice.at.items()}
    blocks += [
        Warnings(choice.warnings),
        *curve_blocks(choice.curve, choice.value, at),
        Facts(about, "What this page is about"),
    ]
    return Page("Score threshold", blocks)


def curve_blocks(curve: pd.DataFrame, threshold: float, at: Mapping[str, float]) -> list[Block]:
    """Return a curve as blocks of a page.

    Parameters
    ----------
    curve : DataFrame
        See `expected_curve`.
    threshold : float
        Marked; NaN for none.
    at : mapping of str to float
        Precision and recall at the threshold, in [0, 1], by name.
    """
    from matplotlib.figure import Figure

    by_threshold = Figure(figsize=(4.6, 3.6), layout="constrained")
    draw_measures(by_threshold.subplots(), curve, threshold)
    by_recall = Figure(figsize=(4.6, 3.6), layout="constrained")
    ax = by_recall.subplots()
    values = curve.set_index("threshold")
    precision = 100 * values.loc[values["measure"] == "precision", list(ENDS)]
    recall = 100 * values.loc[values["measure"] == "recall", list(ENDS)]
    joined = precision.join(recall, rsuffix="_r").dropna()
    ax.fill_between(joined["value_r"], joined["lower"], joined["upper"], alpha=0.15, lw=0)
    ax.plot(joined["value_r"], joined["value"], marker=".", color="tab:blue")
    if not math.isnan(threshold) and len(joined):  # a star at the threshold
        star = (100 * at.get(measure, math.nan) for measure in ("recall", "precision"))
        ax.plot(*star, "*", color="black", ms=12, label=f"threshold {threshold_text(threshold)}")
        ax.legend(frameon=False)
    ax.set(xlabel="recall", ylabel="precision", xlim=(0, 100), ylim=(0, 100))
    ax.grid(alpha=0.25)
    about = "all categories together; bands are intervals"
    return [
        Heading("Precision, recall and F1 by score threshold"),
        Chart(by_threshold, f"Each measure by threshold, {about}", "threshold_curve"),
        Chart(by_recall, f"Precision by recall, {about}", "precision_recall"),
        curve_table(curve),
    ]


def curve_text(curve: pd.DataFrame) -> str:
    """Return the curve as a table for the terminal.

    Parameters
    ----------
    curve : DataFrame
        See `expected_curve`.
    """
    head = "Precision, recall and F1 by score threshold, in points of 100:"
    return f"{head}\n\n{curve_table(curve).text()}"


def curve_table(curve: pd.DataFrame) -> Table:
    """Make the table of a curve; people see one row for each threshold, in points of 100.

    Parameters
    ----------
    curve : DataFrame
        See `expected_curve`.
    """
    shown = curve.pivot(index="threshold", columns="measure", values="value").reset_index()
    shown = shown[["threshold", *(name for name in COLOURS if name in shown)]]
    formats = {"threshold": threshold_text} | dict.fromkeys(COLOURS, find_target("mAP").text)
    return Table("threshold_curve", curve, shown, formats, "In points of 100")
