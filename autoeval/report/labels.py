"""A label plan, and an estimate with labels, as text, page and JSON.

``plan_...`` are functions of a `LabelPlan` (`autoeval label plan`), ``labelled_...`` of a
`LabelledEstimate` (`autoeval label estimate`), ``unplanned_...`` of both estimates of
`autoeval estimate --labels`. Accuracies are shown in points of 100; in JSON they are in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from autoeval.accuracy.measures import OperatingPoint, find_target
from autoeval.labels.joint import JointOutlook
from autoeval.labels.labelled_estimate import GOALS, LabelledEstimate
from autoeval.labels.plan import LabelPlan, inclusion_probabilities
from autoeval.labels.plan_folder import drawn_with
from autoeval.labels.values import FEWEST_HOLDING, ValueWithError
from autoeval.report.estimate import (
    estimate_details,
    estimate_head,
    estimate_page,
    estimate_values,
    image_table,
)
from autoeval.report.fit import error_figures
from autoeval.report.page import (
    ALL,
    NOTHING,
    Block,
    Chart,
    Facts,
    Format,
    Heading,
    Headline,
    IntervalHeadline,
    IntervalRow,
    Page,
    Table,
    Text,
    Thumbnails,
    Warnings,
    category_intervals,
    explained,
    figures_text,
    notice_values,
    result_text,
)
from autoeval.sites.label_warnings import contradicted
from autoeval.words import Notice, counted

if TYPE_CHECKING:
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import AccuracyEstimator

PICTURES = 12
LISTED = 100  # images from which on their table is folded
SEVERAL = 2  # categories of a picture
MANY = 6  # categories from which on some are named first
NAMED = 5
MORE_IMAGES = 10  # with a category, of which the gain is reported
SMALLEST = 0.995  # share of the half-width left, above which labels of a category are not named
IN_POINTS = ("value", "half width", "sample estimate", "label free")  # columns
ESTIMATORS = ("label-free", "sample estimate", "difference estimator", "combined")


def plan_text(plan: LabelPlan, *, verbose: bool = True) -> str:
    """Return what the terminal shows of a plan.

    Parameters
    ----------
    plan : LabelPlan
        The images to label.
    verbose : bool
        All warnings, and how the images were drawn.
    """
    table = plan.half_widths()
    rows = list(table.itertuples(index=False))
    widths = ", ".join(
        f"±{100 * row.half_width:.1f} with {row.labels}"
        + (" (all images: exact)" if row.labels == plan.n_pool else "")
        for row in rows
        if not math.isnan(row.half_width)
    )
    quantity = f"the difference of {plan.target}" if plan.difference else plan.target
    expected = f"expected of {quantity}: {widths or 'not known before there are labels'}"
    if "categories_measured" in table:
        counts = ", ".join(f"{row.categories_measured:.0f} with {row.labels}" for row in rows)
        expected += (
            f"\ncategories that {FEWEST_HOLDING} labelled images or more will probably hold, "
            f"of {len(plan.found.categories)}: {counts}"
        )
    details = [_draw_text(plan)] if verbose else []
    return result_text([plan_head(plan), expected], plan.warnings, details, verbose=verbose)


def plan_values(plan: LabelPlan, about: Mapping[str, str] = NOTHING) -> dict[str, Any]:
    """Return the content of ``result.json``.

    Parameters
    ----------
    plan : LabelPlan
        The images to label.
    about : mapping of str to str
        What it is about; see `autoeval.report.page.about`.
    """
    images = plan.found.images
    return {
        "drawn": [images[k].image_id for k in plan.drawn],
        "n_pool": plan.n_pool,
        **drawn_with(plan),
        "half_width": plan.half_widths().to_dict("records"),
        **notice_values(plan.warnings),
        "about": dict(about),
    }


def plan_page(plan: LabelPlan, about: Mapping[str, str] = NOTHING) -> Page:
    """Make the page of a plan, with pictures of its first images where they are at hand.

    Parameters
    ----------
    plan : LabelPlan
        The images to label.
    about : mapping of str to str
        What it is about; see `autoeval.report.page.about`.
    """
    widths = plan.half_widths()
    names = {"half_width": "half-width", "categories_measured": "categories measured"}
    formats: dict[str, Format] = {"half-width": find_target("mAP").text}
    formats["categories measured"] = "{:.0f}"
    quantity = f"the difference of {plan.target}" if plan.difference else plan.target
    level = f"{plan.level:.0%} interval of {quantity}"
    caption = f"Expected half-width of the {level}, in points"
    names_drawn = [plan.found.images[k].image_id for k in plan.drawn]
    drawn = image_table(plan.found).set_index("image_id").loc[names_drawn].reset_index()
    drawn.insert(0, "order", range(1, len(drawn) + 1))
    without_share = drawn.drop(columns="share")
    blocks: list[Block] = [
        Headline("images to label", str(plan.n), f"of {plan.n_pool}"),
        Text(f"{plan_head(plan)} {_draw_text(plan)}"),
        Warnings(plan.warnings),
        Heading("Expected half-width"),
        Table("half_width", widths, widths.rename(columns=names), formats, caption),
        Chart(plan.plot(), "Expected half-width by the number of labels", "half_width"),
        Heading("Images to label"),
    ]
    if plan.pictures:
        from autoeval.report.pictures import pictures_of

        pictures = pictures_of(plan.found, plan.pictures, names_drawn[:PICTURES])
        about_them = "with the boxes that the detector found (faint: score under .3)"
        caption = f"The first {len(pictures)} of them, {about_them}"
        blocks += [Thumbnails(pictures, caption)] if pictures else []
    caption = f"In the order of the draw. {explained(without_share)}"
    formats = {"mean_score": "{:.2f}"}
    folded = len(drawn) > LISTED
    blocks += [
        Table("images", drawn, without_share, formats, caption, folded=folded),
        Facts(about, "What this page is about"),
    ]
    return Page("Images to label", blocks)


def plan_head(plan: LabelPlan) -> str:
    """Return how many images were drawn, and how to label them.

    Parameters
    ----------
    plan : LabelPlan
        The images to label.
    """
    return (
        f"{plan.n} of {plan.n_pool} images drawn. Label every object of every category, and keep "
        "images that hold none: they count."
    )


def _draw_text(plan: LabelPlan) -> str:
    """Say how images were drawn, and with what probability."""
    if plan.sizes is None:
        chances = f"each with probability {plan.n / plan.n_pool:.3g}"
    else:
        drawn = inclusion_probabilities(plan.sizes, plan.n)
        chances = (
            f"with probabilities of {drawn.min():.2g} to {drawn.max():.2g}, by whose inverse each "
            "labelled image counts"
        )
    return (
        f"Drawn by seed {plan.seed}, spread over {plan.order}, {chances}. A larger --n keeps what "
        "is drawn."
    )


def labelled_text(
    estimate: LabelledEstimate,
    until: str = "",
    wanted: float | None = None,
    *,
    verbose: bool = True,
) -> str:
    """Return what the terminal shows of an estimate with labels.

    Parameters
    ----------
    estimate : LabelledEstimate
        With labels.
    until : str
        Whether a wanted half-width is reached; see `until_text`.
    wanted : float, optional
        This half-width, in [0, 1].
    verbose : bool
        All warnings, and each estimate that is combined.
    """
    lines, *more = labelled_heads(estimate, wanted)
    heads = [lines, until, *more]
    details = ["\n".join(labelled_details(estimate))] if verbose else []
    return result_text(heads, estimate.warnings, details, verbose=verbose)


def labelled_values(
    estimate: LabelledEstimate,
    about: Mapping[str, str] = NOTHING,
    until: Mapping[str, float | None] | None = None,
) -> dict[str, Any]:
    """Return the content of ``result.json``.

    Parameters
    ----------
    estimate : LabelledEstimate
        With labels.
    about : mapping of str to str
        What it is about; see `autoeval.report.page.about`.
    until : mapping of str to float, optional
        Whether a wanted half-width is reached, as numbers, where one is wanted.
    """
    values = {
        "target": estimate.target,
        "value": estimate.value,
        "lower": estimate.lower,
        "upper": estimate.upper,
        "level": estimate.level,
        "n_labelled": estimate.n_labelled,
        "n_pool": estimate.n_pool,
        "categories_behind": estimate.n_measured,
        "more_labels": {
            f"{goal:.2f}": estimate.more_labels(goal) if estimate.forecast_known else None
            for goal in GOALS
        },
        "whole": {name: asdict(estimates) for name, estimates in estimate.whole.items()},
        "per_category": {
            name: {**estimate.per_category[name], **asdict(estimates)}
            for name, estimates in estimate.by_category.items()
        },
        **notice_values(estimate.warnings),
    }
    reached = {} if until is None else {"until": dict(until)}
    return {"labelled_estimate": values, **reached, "about": dict(about)}


def labelled_page(
    estimate: LabelledEstimate,
    about: Mapping[str, str] = NOTHING,
    until: str = "",
    wanted: float | None = None,
) -> Page:
    """Make the page of an estimate with labels: the number, its categories, how it came about.

    Parameters
    ----------
    estimate : LabelledEstimate
        With labels.
    about : mapping of str to str
        What it is about; see `autoeval.report.page.about`.
    until : str
        Whether a wanted half-width is reached; see `until_text`.
    wanted : float, optional
        This half-width, in [0, 1].
    """
    value, lower, upper = 100 * estimate.value, 100 * estimate.lower, 100 * estimate.upper
    known = not math.isnan(estimate.value)
    blocks: list[Block] = [
        IntervalHeadline(
            f"Estimated {estimate.target}",
            f"{value:.1f}" if known else "–",
            f"{estimate.level:.0%} interval: {lower:.1f} to {upper:.1f}" if known else "",
            f"In points of 100, from {counted(estimate.n_labelled, 'labelled image')} of "
            f"{estimate.n_pool}, the predicted influence of all, and the label-free estimate.",
            (value, lower, upper),
        )
    ]
    for goal in GOALS if estimate.forecast_known else ():
        if goal == wanted:
            continue
        more = estimate.more_labels(goal)
        reached = counted(more, "more label") if more else "reached"
        blocks.append(Headline(f"±{100 * goal:.0f}", reached, "expected"))
    rows = []
    for name, measure in sorted(estimate.whole.items()):
        combined = measure.combined.estimate
        values = (measure.prior, measure.sample, measure.difference, combined)
        for estimator, estimated in zip(ESTIMATORS, values, strict=True):
            half = estimated.half_width(estimate.level)
            if estimated is measure.prior:
                half = estimate.label_free_half_width(name)
            rows.append((name, estimator, estimated.value, half))
    by_estimator = pd.DataFrame(rows, columns=["what", "estimator", "value", "half_width"])
    caption = f"Values and half-widths in points of 100. {about_label_free(estimate)}".strip()
    blocks += [
        Text(until),
        Warnings(estimate.warnings),
        *category_order_blocks(estimate),
        *history_blocks(estimate),
        Heading("By estimator"),
        table_in_points("estimators", by_estimator, caption),
        Facts(about, "What this page is about"),
    ]
    return Page("Estimate with labels", blocks)


def unplanned_text(
    labelled: LabelledEstimate,
    estimate: Estimate,
    estimator: AccuracyEstimator,
    *,
    verbose: bool = True,
    of_fit: Collection[Notice] = (),
) -> str:
    """Return what the terminal shows of labels that no plan drew, and of the label-free estimate.

    Parameters
    ----------
    labelled : LabelledEstimate
        With the labels, as of a simple random draw.
    estimate, estimator, verbose, of_fit
        See `autoeval.report.estimate.estimate_text`.
    """
    fit = estimator.fit_result_
    of_evaluation = figures_text(error_figures(fit.held_out)) if fit and fit.held_out else ""
    heads = [*labelled_heads(labelled), estimate_head(estimate), of_evaluation]
    of_both = [*labelled.warnings, *estimate.all_warnings()]
    warnings = [*of_both, *(fit.warnings if fit else ())]
    details = []
    if verbose:
        details = ["\n".join(labelled_details(labelled)), *estimate_details(estimate, estimator)]
    return result_text(heads, warnings, details, verbose=verbose, of_fit=of_fit)


def unplanned_values(
    labelled: LabelledEstimate,
    estimate: Estimate,
    estimator: AccuracyEstimator,
    about: Mapping[str, str] = NOTHING,
) -> dict[str, Any]:
    """Return the content of ``result.json``: that of both estimates.

    Parameters
    ----------
    labelled : LabelledEstimate
        With the labels, as of a simple random draw.
    estimate : Estimate
        Without them.
    estimator : AccuracyEstimator
        That it is by.
    about : mapping of str to str
        What both are about; see `autoeval.report.page.about`.
    """
    return labelled_values(labelled) | estimate_values(estimate, estimator, about=about)


def unplanned_page(
    title: str,
    labelled: LabelledEstimate,
    estimate: Estimate,
    estimator: AccuracyEstimator,
    about: Mapping[str, str],
) -> Page:
    """Make the page of both estimates, that with labels first.

    Parameters
    ----------
    title : str
        Of the page, ahead of ``, with labels``.
    labelled : LabelledEstimate
        With the labels, as of a simple random draw.
    estimate : Estimate
        Without them.
    estimator : AccuracyEstimator
        That it is by.
    about : mapping of str to str
        What both are about; see `autoeval.report.page.about`.
    """
    label_free = estimate_page(title, estimator, estimate).blocks
    for k, block in enumerate(label_free):
        if isinstance(block, Table) and block.name == "categories":  # a file of its own
            label_free[k] = replace(block, name="label_free_categories")
    of_both = [*labelled_page(labelled).blocks, *label_free]
    return Page(f"{title}, with labels", [*of_both, Facts(about, "What this page is about")])


def labelled_heads(estimate: LabelledEstimate, wanted: float | None = None) -> list[str]:
    """Return what comes first on the terminal: the value, and how many more labels are needed.

    With `MANY` categories or more also how many of them labels measure, the lowest, and those whose
    labels would help most.

    Parameters
    ----------
    estimate : LabelledEstimate
        With labels.
    wanted : float, optional
        Half-width in [0, 1] of which `until_text` says whether it is reached.

    Returns
    -------
    list of str
        One or two parts of a text.
    """
    number = "–"  # as of recall by the labels of a single image
    if not math.isnan(estimate.value):
        number = (
            f"{100 * estimate.value:.1f}, {estimate.level:.0%} interval "
            f"{100 * estimate.lower:.1f} to {100 * estimate.upper:.1f}"
        )
    of_images = f"from {counted(estimate.n_labelled, 'labelled image')} of {estimate.n_pool}"
    lines = [f"estimated {estimate.target}: {number}, {of_images}"]
    lines += [
        f"{name}: {_at_threshold(estimate, name)}"
        for name in estimate.whole
        if OperatingPoint.of(name) and name != estimate.target
    ]
    if estimate.n_labelled == estimate.n_pool:
        doubt = ", by labels that the boxes contradict" if contradicted(estimate.warnings) else ""
        lines.append(f"all images are labelled: the value is exact{doubt}")
    elif not estimate.forecast_known:
        lines.append("no half-width is reached: the boxes contradict the labels")
    else:
        for goal in GOALS:
            if goal == wanted:
                continue
            more = estimate.more_labels(goal)
            half = f"±{100 * goal:.0f}"
            labels = counted(more, "more label")
            lines.append(f"{labels} for {half}" if more else f"{half} is reached")
    heads, n = ["\n".join(lines)], len(estimate.by_category)
    if n < MANY:
        return heads
    known = estimate.to_pandas()[1:].dropna(subset="value")  # others have no box over a threshold
    rows = known.sort_values("value", kind="stable")[:NAMED]
    low = [
        f"{row.category} {100 * row.value:.0f} ({100 * row.lower:.0f} to {100 * row.upper:.0f})"
        for row in rows.itertuples()
    ]
    lines = [f"labels measure {estimate.n_measured} of {n} categories"]
    lines += [f"lowest: {', '.join(low)}"] if low else []
    if helpful := ", ".join(most_helpful(estimate)["category"]):
        lines.append(f"labels that would help most: of images with {helpful}")
    return [*heads, "\n".join(lines)]


def labelled_details(estimate: LabelledEstimate) -> list[str]:
    """Return a line for each estimate that the recommended one combines.

    Parameters
    ----------
    estimate : LabelledEstimate
        With labels.
    """
    estimates = estimate.whole[estimate.target]
    free = estimate.label_free()
    lines = ["label-free: not known"]
    if not math.isnan(free["lower"]):
        interval = f"{100 * free['lower']:.1f} to {100 * free['upper']:.1f}"
        lines = [f"label-free: {100 * free['value']:.1f} ({interval})"]
    lines.append(f"sample estimate: {_with_half_width(estimate, estimates.sample)}")
    lines.append(f"difference estimator: {_with_half_width(estimate, estimates.difference)}")
    return [*lines, *filter(None, [about_label_free(estimate)])]


def about_label_free(estimate: LabelledEstimate) -> str:
    """State how the label-free estimate is weighed.

    Empty where it is not known, or counts by its own interval.

    Parameters
    ----------
    estimate : LabelledEstimate
        With labels.
    """
    prior = estimate.whole[estimate.target].prior
    if not prior.known or np.isinf(prior.dof):
        return ""
    return (
        "The label-free estimate is that of `autoeval estimate`; in the combined one it "
        f"counts as ± {100 * prior.half_width(estimate.level):.1f}, by the error that such "
        "estimates turned out to have elsewhere."
    )


def _at_threshold(estimate: LabelledEstimate, name: str) -> str:
    """Write a figure at a threshold; precision is not defined where no box is over it."""
    combined = estimate.whole[name].combined.estimate
    point = OperatingPoint.of(name)
    if not np.isfinite(combined.value) and point and point.measure == "precision":
        return "not defined, no box of the labelled images is over the threshold"
    return _with_half_width(estimate, combined)


def _with_half_width(estimate: LabelledEstimate, value: ValueWithError) -> str:
    """Write a value with its half-width, in points of 100."""
    if not np.isfinite(value.value):
        return "not known"
    half = f" ± {100 * value.half_width(estimate.level):.1f}" if value.known else ""
    return f"{100 * value.value:.1f}{half}"


def until_text(
    wanted: float, half_width: float | None, n: int, next_n: int | None, n_drawn: int = 0
) -> str:
    """Say whether a wanted half-width is reached.

    Parameters
    ----------
    wanted : float
        Half-width in [0, 1].
    half_width : float, optional
        That of now, made wider for having been looked at; NaN where there is no value, None where
        boxes contradict labels.
    n : int
        Images of the next batch and those that are labelled, together.
    next_n : int, optional
        The same; None where nothing is left to label.
    n_drawn : int
        Images of the plan, of which some may lack labels.
    """
    goal = f"±{100 * wanted:g}"
    if half_width is None:
        return f"{goal} is not reached: the boxes contradict the labels."
    half = f"±{find_target('mAP').text(half_width, wanted)}"  # in points, whatever is estimated
    if math.isnan(half_width):
        half = "no half-width is known"
    if half_width <= wanted:
        return f"{goal} is reached: {half}, made wider for having been looked at."
    if next_n is None:
        return f"{goal} is not reached: {half}, and all {n} images are labelled."
    wider = "" if math.isnan(half_width) else ", made wider for being looked at after every batch"
    source = f"`label plan --n {n}`" if n > n_drawn else f"of the {n_drawn} that are drawn"
    return (
        f"{goal} is not reached: {half}{wider}. "
        f"Next: {n} images in all ({source}), with those that are labelled."
    )


def most_helpful(estimate: LabelledEstimate) -> pd.DataFrame:
    """Return the categories whose labels would narrow the interval of the mean most.

    Parameters
    ----------
    estimate : LabelledEstimate
        With labels.

    Returns
    -------
    DataFrame
        At most `NAMED` rows, the most helpful first: ``category``, ``labelled_images`` that hold it
        so far, and ``half_width`` of the mean, in [0, 1], that `MORE_IMAGES` further images with it
        are expected to leave. Empty where no category would narrow it to less than `SMALLEST` of
        what it is, or nothing can be expected.
    """
    outlook, now = estimate.outlook, estimate.recommended.half_width(estimate.level)
    columns = ["category", "labelled_images", "half_width"]
    if not isinstance(outlook, JointOutlook) or not np.isfinite(now):
        return pd.DataFrame(columns=columns)
    left = outlook.narrowed_by(MORE_IMAGES)
    names = list(estimate.by_category)
    rows = [
        (names[k], estimate.by_category[names[k]].n_holding, now * left[k])
        for k in np.argsort(left, kind="stable")[:NAMED]
        if left[k] < SMALLEST
    ]
    return pd.DataFrame(rows, columns=columns)


def category_order_blocks(estimate: LabelledEstimate) -> list[Block]:
    """Return all categories, in a plot and in a table, the lowest first in the table.

    With `MANY` categories or more those come first whose labels would help.

    Parameters
    ----------
    estimate : LabelledEstimate
        With labels.

    Returns
    -------
    list of Block
        Empty for a single category.
    """
    n, target = len(estimate.by_category), find_target(estimate.target)
    if n < SEVERAL:
        return []
    blocks: list[Block] = [Heading("Categories")]
    if n >= MANY:
        helpful = most_helpful(estimate)
        shown = helpful.set_axis(["category", "labelled images so far", "half-width"], axis=1)
        formats, any_helps = {"half-width": target.text}, len(helpful) > 0
        half = target.text(estimate.recommended.half_width(estimate.level))
        caption = (
            f"Whose labels would help most: half-width of the mean, ±{half} now, after "
            f"{MORE_IMAGES} more images with the category"
        )
        blocks.append(Table("most_helpful", helpful, shown, formats, caption, on_page=any_helps))
    intervals = [
        IntervalRow(
            row["category"] if k else ALL,
            row["value"],
            row["lower"],
            row["upper"],
            (row["label_free"], row["label_free_lower"], row["label_free_upper"]),
        )
        for k, row in enumerate(estimate.to_pandas().to_dict("records"))
    ]
    note = f". {estimate.n_measured} of {n} categories are measured by labels"
    if estimate.n_measured < n:
        note += (
            "; the others rest on the label-free estimates and on what labels show of the measured "
            "ones"
        )
    table = pd.DataFrame(
        {
            "category": name,
            "value": category.combined.estimate.value,
            "half_width": category.combined.estimate.half_width(estimate.level),
            "sample_estimate": category.sample.value,
            "label_free": estimate.label_free(name)["value"],
            "images_that_hold_it": category.n_holding,
            "objects": category.n_true,
            "from": "labels"
            if category.measured
            else "few labels"
            if category.n_holding
            else "label-free",
        }
        for name, category in estimate.by_category.items()
    ).sort_values("value", ignore_index=True)
    caption = f"{estimate.target} in points of 100; labels measure {estimate.n_measured} of {n} "
    return [
        *blocks,
        category_intervals(intervals[0], intervals[1:], target, estimate.level, note),
        table_in_points("categories", table, f"{caption}categories"),
        Chart(estimate.plot(), name="categories", on_page=False),
    ]


def history_blocks(estimate: LabelledEstimate) -> list[Block]:
    """Return the combined estimate by the number of labels, in the order of the draw.

    Parameters
    ----------
    estimate : LabelledEstimate
        With labels.

    Returns
    -------
    list of Block
        A table for files alone; where there are steps, also a chart of them, with what more labels
        are expected to give.
    """
    from matplotlib.figure import Figure

    free = estimate.label_free()
    steps = []
    if not math.isnan(free["lower"]):
        steps.append((0, free["value"], estimate.label_free_half_width()))
    for n, labelled in estimate.history:
        combined = labelled.combined.estimate
        steps.append((n, combined.value, combined.half_width(estimate.level)))
    history = pd.DataFrame(steps, columns=["labels", "value", "half_width"])
    table = table_in_points("shrinking", history, on_page=False)
    if not estimate.history:
        return [table]
    figure = Figure(figsize=(5.6, 3.2), layout="constrained")
    ax = figure.subplots()
    value, half = 100 * history["value"], 100 * history["half_width"]
    ax.fill_between(history["labels"], value - half, value + half, color="tab:blue", alpha=0.2)
    ax.plot(history["labels"], value, marker="o", color="tab:blue", label="so far")
    k = np.unique(np.linspace(estimate.n_labelled, min(100, estimate.n_pool), 20).astype(int))
    k = k[k > estimate.n_labelled]
    widths = np.array([100 * estimate.outlook.half_width(int(n)) for n in k])
    centre = 100 * estimate.recommended.value
    ax.plot(k, centre + widths, ls="--", color="tab:gray", label="expected")
    ax.plot(k, centre - widths, ls="--", color="tab:gray")
    ax.set(xlabel="labelled images", ylabel=f"{estimate.target} (points of 100)")
    ax.set_ylim(max(ax.get_ylim()[0], 0), min(ax.get_ylim()[1], 100))
    ax.grid(alpha=0.25)
    ax.legend(frameon=False)
    caption = "Combined estimate and interval by the number of labels"
    return [Heading("How the interval shrinks"), Chart(figure, caption, "shrinking"), table]


def table_in_points(
    name: str, table: pd.DataFrame, caption: str = "", *, on_page: bool = True
) -> Table:
    """Show the accuracies of a table in points of 100.

    Parameters
    ----------
    name : str
        Of the table and its files.
    table : DataFrame
        Its columns of `IN_POINTS` are in [0, 1], as files have them.
    caption : str
        Above the table.
    on_page : bool
        False for files alone.
    """
    shown = table.rename(columns=lambda column: column.replace("_", " "))
    formats = dict.fromkeys(IN_POINTS, find_target("mAP").text)
    return Table(name, table, shown, formats, caption, on_page=on_page)
