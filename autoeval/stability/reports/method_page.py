"""An estimator by a published method, and an estimate by it, as text, page and JSON.

With the estimate of each method that was fitted, its error on held-out sources, and the images
whose boxes move most under feature dropout.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeGuard

import numpy as np
import pandas as pd

from autoeval.accuracy.measures import TARGETS, find_target
from autoeval.estimation.category_scores import feature_columns
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.protocol import BASELINE, FitResult
from autoeval.report.charts import plot_scatter
from autoeval.report.estimate import (
    category_blocks,
    details_without_fit,
    estimate_fields,
    estimate_head,
    least_certain_blocks,
    result_blocks,
)
from autoeval.report.fit import (
    BY_CATEGORY,
    NOT_EVALUATED,
    error_figures,
    evaluation_blocks,
    evaluation_details,
    evaluation_values,
    known_error,
    run_facts,
    time_table,
)
from autoeval.report.page import (
    NOTHING,
    Block,
    Chart,
    Facts,
    Heading,
    Page,
    Table,
    Text,
    Thumbnails,
    Warnings,
    figures_text,
    notice_values,
    result_text,
)
from autoeval.report.pictures import SHOWN, Pictures, picture_of
from autoeval.report.scatter import KEYS, OWN, RegressionBand, ScatterChart
from autoeval.result_base import ENDS
from autoeval.stability.methods import make_method
from autoeval.stability.methods.published_estimator import PublishedEstimator
from autoeval.stability.methods.score_rows import sample_rows
from autoeval.stability.methods.scored_pass import ScoredSite, UnstableImage
from autoeval.words import counted

NOBODY: Mapping[str, Estimate] = MappingProxyType({})
LEFT_OUT = "held-out estimate"
NAMES = {
    "bos": "box stability",
    "bayes": "the calibrated default",
    "fused": "ridge regression on confidence and agreement",
    BASELINE: "the mean accuracy of the other sources",
}
LEGEND = "blue: boxes of the unperturbed network; orange: with feature dropout, all repeats"


def method_text(
    estimator: PublishedEstimator,
    estimate: Estimate | None = None,
    other_estimates: Mapping[str, Estimate] = NOBODY,
) -> str:
    """Return what the terminal shows.

    Parameters
    ----------
    estimator, estimate, other_estimates
        See `method_page`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("a", .5), ("b", .6), ("c", .8)]
    >>> kinds = [("sample", .1), ("seed", 0.)]
    >>> table = pd.DataFrame(
    ...     [
    ...         dict(source=s, sample_set=s + k, kind=k, transforms="", repeat=0, n_images=60,
    ...              bos=v - d, mAP=v - d)
    ...         for s, v in rows for k, d in kinds
    ...     ]
    ... )
    >>> method_text(PublishedEstimator("bos").fit(table))[:49]
    'Mean absolute error on the 3 sites when each was '
    """
    fit = estimator.fit_result_
    compared = compared_text(_estimates(estimator, estimate, other_estimates), fit)
    details = evaluation_details(estimator)
    held_out = estimator.held_out_
    errors = figures_text(error_figures(held_out)) if held_out else ""
    warnings = fit.warnings if fit else ()
    if estimate is None:
        by_category = [BY_CATEGORY] if held_out and held_out.by_category else []
        heads = [compared, errors or known_error(estimator)]
        return result_text(heads, [*warnings, *by_category], details)
    heads = [estimate_head(estimate), compared, errors]
    warnings = (*estimate.all_warnings(), *warnings)
    return result_text(heads, warnings, [details_without_fit(estimate), *details])


def method_values(
    estimator: PublishedEstimator,
    estimate: Estimate | None = None,
    other_estimates: Mapping[str, Estimate] = NOBODY,
    *,
    detector: str = "",
    about: Mapping[str, str] = NOTHING,
) -> dict[str, Any]:
    """Return the content of ``result.json``.

    Parameters
    ----------
    estimator, estimate, other_estimates, detector, about
        See `method_page`.
    """
    fit = estimator.fit_result_
    site = estimate.site if estimate else None
    shown = {str(warning) for warning in estimate.all_warnings()} if estimate else set()
    notices = notice_values(w for w in (fit.warnings if fit else ()) if str(w) not in shown)
    values = {
        "estimate": estimate and estimate_fields(estimate),
        **compared_values(_estimates(estimator, estimate, other_estimates), fit),
        "unreadable": site.row.get("unreadable", "") if site else "",
        "warnings": notices["warnings"],
        "notes": notices["notes"],
    }
    if isinstance(site, ScoredSite):
        values["least_stable"] = least_stable_table(site).to_dict("records")
    facts = run_facts(estimator, estimator.method, detector, facts_of_dropout(estimator, estimate))
    evaluation = evaluation_values(fit) if fit else NOT_EVALUATED
    return {**values, **evaluation, "facts": facts, "about": dict(about)}


def method_page(
    title: str,
    estimator: PublishedEstimator,
    estimate: Estimate | None = None,
    other_estimates: Mapping[str, Estimate] = NOBODY,
    *,
    detector: str = "",
    about: Mapping[str, str] = NOTHING,
) -> Page:
    """Make the page of a fit by a published method, and of an estimate by it.

    Parameters
    ----------
    title : str
        Of the page.
    estimator : PublishedEstimator
        Fitted or loaded.
    estimate : Estimate, optional
        By it, at a new site.
    other_estimates : mapping of str to Estimate
        Of the same site by other methods, from `PublishedEstimator.predict_others`.
    detector : str
        Its name, shown among what was run.
    about : mapping of str to str
        What the page is about; see `autoeval.report.page.about`.
    """
    fit, site = estimator.fit_result_, estimate.site if estimate else None
    chart = method_chart(estimator, estimate)
    compared = _estimates(estimator, estimate, other_estimates)
    facts = run_facts(estimator, estimator.method, detector, facts_of_dropout(estimator, estimate))
    held_out = estimator.held_out_
    of_fit: list[Block] = [*error_figures(held_out)] if held_out else []
    of_fit += [Warnings(fit.warnings)] if fit else []
    blocks: list[Block] = [
        *(result_blocks(estimate, fit) if estimate else of_fit),
        *compared_blocks(compared, fit),
        *scatter_blocks(title, chart),
    ]
    if estimate is not None:
        blocks += [*category_blocks(estimate), *least_certain_blocks(estimate)]
    if isinstance(site, ScoredSite):
        blocks += least_stable_blocks(site)
    blocks += [
        *evaluation_blocks(estimator),
        Heading("What was run"),
        Facts(facts),
        *time_table(fit, site.row if site else None),
        sample_sets_table(chart),
        Facts(about, "What this page is about"),
    ]
    return Page(title, blocks)


def scatter_blocks(title: str, chart: ScatterChart) -> list[Block]:
    """Return the chart for a page, and its first score as a picture beside it.

    Parameters
    ----------
    title : str
        Of the picture.
    chart : ScatterChart
        Of one score or more.
    """
    first, highlight = chart.scores[0], None
    if chart.estimate is not None:
        highlight = (chart.estimate.get(first, np.nan), chart.estimate["value"], "estimate")
    ax = plot_scatter(
        chart.points,
        x=first,
        target=chart.target,
        band=chart.lines.get(first),
        highlight=highlight,
    )
    ax.set_title(title, fontsize=11, parse_math=False)
    return [
        Heading(f"{chart.target.name} against the scores"),
        chart.block(),
        Chart(ax, name="scatter", on_page=False),
    ]


def sample_sets_table(chart: ScatterChart) -> Table:
    """Lay out every sample set with the id of its recipe, one row each.

    Parameters
    ----------
    chart : ScatterChart
        Its first score is a column.
    """
    target, score, points = chart.target, chart.scores[0], chart.points
    true = f"true {target.name}"
    shown = points[["source", "sample_set", "transforms", "n_images", score]].assign(
        **{true: target.scale * points[target.name]},
        transforms=points["transforms"].replace("", OWN),
    )
    shown = shown.rename(columns={"sample_set": "recipe", "n_images": "images"})
    formats = {score: "{:.4g}", "images": "{:.0f}", true: target.format}
    caption = f"All {len(points)} sample sets with the ids of their recipes"
    return Table("sample_sets", points, shown, formats, caption, folded=True)


def _estimates(
    estimator: PublishedEstimator,
    estimate: Estimate | None,
    other_estimates: Mapping[str, Estimate],
) -> dict[str, Estimate]:
    """Return the estimates by method, that in use first; empty where nothing was estimated."""
    return {} if estimate is None else {estimator.method: estimate, **other_estimates}


def facts_of_dropout(estimator: PublishedEstimator, estimate: Estimate | None) -> dict[str, str]:
    """Say on what it was fitted, where features were dropped and how often, as far as is known.

    The pass of `estimate` may have had fewer repeats.

    Parameters
    ----------
    estimator : PublishedEstimator
        Fitted or loaded.
    estimate : Estimate or None
        By it.
    """
    repeats = str(estimator.table_["repeat"].nunique())
    evidence = estimate.site.evidence if estimate and estimate.site else None
    seen = len(evidence[0].perturbed) if evidence else 0
    if seen and str(seen) != repeats:
        repeats = f"{repeats} fitted, {seen} on the unlabelled images"
    n_sets = len(sample_rows(estimator.table_).groupby(["source", "sample_set"]))
    facts = {"sample sets": f"{n_sets}, with the ids of their recipes in a table below"}
    dropout = estimator.context_.get("pass", {}).get("dropout")
    if dropout is not None:
        stages, rate = list(dropout["stages"]), dropout["rate"]
        facts["dropout"] = f"{dropout['position']} stages {stages}, rate {rate}"
    return {**facts, "repeats": repeats}


def method_chart(estimator: PublishedEstimator, estimate: Estimate | None = None) -> ScatterChart:
    """Gather the scores of the training table and the held-out estimates.

    A method of one feature has a line along it, and this score comes first; else the held-out
    estimates do. Scores of single categories are left out.

    Parameters
    ----------
    estimator : PublishedEstimator
        Fitted or loaded.
    estimate : Estimate, optional
        By it, marked in the chart.
    """
    target = find_target(estimator.target)
    table = estimator.regression_.table_
    left_out = target.scale * estimator.regression_.predict_left_out()
    table = table.assign(**{LEFT_OUT: left_out}, transforms=table["transforms"].fillna(""))
    features = make_method(estimator.method).features
    lines = {name: _band(estimator, name) for name in features} if len(features) == 1 else {}
    used = [name for name in estimator.regression_.training_range_ if name in table]
    others = [n for n in feature_columns(table) if "/" not in n and n not in TARGETS]
    scores = [*used, LEFT_OUT, *others] if lines else [LEFT_OUT, *used, *others]
    scores, about = list(dict.fromkeys(scores)), []
    if np.isnan(left_out).all():
        scores.remove(LEFT_OUT)
    else:
        ends, none = table[LEFT_OUT].agg(["min", "max"]).to_numpy(), np.full(2, np.nan)
        lines[LEFT_OUT] = RegressionBand(
            ends, ends / target.scale, none, none, "where it would be right"
        )
        about.append(
            f"‘{LEFT_OUT}’ is what ‘{estimator.method}’ estimates of each sample set "
            f"({target.unit}) when it was fitted without its site."
        )
    names = ["n_images", "n_boxes", target.name, *scores]
    present = [name for name in dict.fromkeys(names) if name in table]
    points = table.groupby(KEYS, sort=False)[present].mean().reset_index()
    star = None
    if estimate is not None and estimate.site is not None:  # where it stands among the scores
        star = {**estimate.site.row, **estimate.features, LEFT_OUT: target.scale * estimate.value}
        star |= {end: getattr(estimate, end) for end in ENDS}
    return ScatterChart(points, scores, target, lines, star, level=estimator.level, about=about)


def _band(estimator: PublishedEstimator, name: str) -> RegressionBand:
    """Trace the estimate along the only feature."""
    repeats = sorted(set(estimator.table_["repeat"]))
    x = np.linspace(*estimator.regression_.training_range_[name], 50)
    rows = [pd.DataFrame({"repeat": repeats, "n_images": 0, name: at}) for at in x]
    estimates = [estimator.predict_rows(row) for row in rows]
    value = np.array([estimate.value for estimate in estimates])
    lower = np.array([estimate.lower for estimate in estimates])
    upper = np.array([estimate.upper for estimate in estimates])
    return RegressionBand(x, value, lower, upper, "the regression in use")


def compared_text(estimates: Mapping[str, Estimate], fit: FitResult | None) -> str:
    """Return the table of methods, and which to use, for the terminal; empty for one method.

    Parameters
    ----------
    estimates : mapping of str to Estimate
        By method, that in use first; empty where nothing was estimated.
    fit : FitResult, optional
        Its evaluation is of all methods, among them the constant.
    """
    if not several(fit):
        return ""
    target = find_target(fit.cross_validation[0].target)
    table = compared_table(estimates, fit).text()
    head = f"{target.name} by method, in {target.unit}:"
    return f"{head}\n\n{table}\n\n{recommendation(estimates, fit)}"


def compared_blocks(estimates: Mapping[str, Estimate], fit: FitResult | None) -> list[Block]:
    """Return the table of methods, and which to use; nothing for one method.

    Parameters
    ----------
    estimates : mapping of str to Estimate
        Of one site by each method; empty where there is no site.
    fit : FitResult or None
        With the errors of the methods.
    """
    if not several(fit):
        return []
    sentence = Text(recommendation(estimates, fit))
    return [Heading("By method"), compared_table(estimates, fit), sentence]


def compared_values(estimates: Mapping[str, Estimate], fit: FitResult | None) -> dict[str, Any]:
    """Return the estimates of the other methods, and which to use, as JSON has them.

    Parameters
    ----------
    estimates, fit
        See `compared_blocks`; the first estimate, that of the estimator itself, is left out.
    """
    if not several(fit):
        return {}
    other_estimates = {name: estimate_fields(e) for name, e in list(estimates.items())[1:]}
    return {"by_method": other_estimates, "recommendation": recommendation(estimates, fit)}


def several(fit: FitResult | None) -> TypeGuard[FitResult]:
    """Return whether there are methods to compare.

    Parameters
    ----------
    fit : FitResult or None
        What `PublishedEstimator.fit_result_` is.
    """
    return fit is not None and len(fit.cross_validation) > 1


def compared_table(estimates: Mapping[str, Estimate], fit: FitResult) -> Table:
    """Lay out one row a method: its estimate, and its error on held-out sources.

    Parameters
    ----------
    estimates, fit
        See `compared_blocks`.
    """
    target = find_target(fit.cross_validation[0].target)
    rows = []
    for result in fit.cross_validation:
        estimate = estimates.get(result.method)
        row: dict[str, Any] = {"method": result.method, "meaning": NAMES.get(result.method, "")}
        row["estimate"] = math.nan if estimate is None else estimate.value
        row["lower"] = math.nan if estimate is None else estimate.lower
        row["upper"] = math.nan if estimate is None else estimate.upper
        rows.append({**row, "MAE held out": result.summary()["mean_absolute_error"]})
    table = pd.DataFrame(rows)
    if not estimates:
        table = table.drop(columns=["estimate", "lower", "upper"])
    numbers = [name for name in table if name not in ("method", "meaning")]
    shown = table.assign(**{name: target.scale * table[name] for name in numbers})
    caption = f"{target.name} in {target.unit}; MAE on sources that were left out"
    return Table("compared", table, shown, dict.fromkeys(numbers, target.format), caption)


def recommendation(estimates: Mapping[str, Estimate], fit: FitResult) -> str:
    """Say in one sentence which method had the smallest error, and what to use.

    Parameters
    ----------
    estimates, fit
        See `compared_blocks`.
    """
    held_out = fit.cross_validation
    target = find_target(held_out[0].target)
    errors = {r.method: float(r.summary()["mean_absolute_error"]) for r in held_out}
    best = min(errors, key=lambda name: errors[name])
    n_sources, used = len(held_out[0].per_source), held_out[0].method
    where = f"on the {n_sources} held-out sources"
    if best == BASELINE:
        return (
            f"No method had a smaller error {where} than a constant "
            f"({target.text(errors[BASELINE])}): use none of these estimates, and label some "
            "images (autoeval label plan)."
        )
    estimate = estimates.get(best)
    value = "" if estimate is None else f", {target.text(estimate.value)}"
    if estimate is not None and not math.isnan(estimate.std):
        value += f" ± {target.text(estimate.std)} (repeats)"
    if best == used:
        return f"'{best}' had the smallest error {where}: use its estimate{value}."
    return (
        f"'{best}' had a smaller error {where} than '{used}', {target.text(errors[best])} "
        f"against {target.text(errors[used])}: use its estimate{value}."
    )


def least_stable_blocks(site: ScoredSite) -> list[Block]:
    """Return pictures of the images whose boxes move most; a table where they are not at hand.

    Nothing where there was no dropout.

    Parameters
    ----------
    site : ScoredSite
        With the images that it keeps.
    """
    rows = least_stable_table(site)
    if rows.empty:
        return []
    pictures, caption = least_stable_pictures(site), "The least stable of the unlabelled images"
    about = (
        f"The least stable of the unlabelled images ({LEGEND}; faint: score under .3). "
        "Stability is the mean GIoU of partners before and after dropout, where a lost box "
        "counts 0: 1 where no box moves, below 0 where partners lie apart."
    )
    formats, on_page = {"stability": "{:.3f}"}, not pictures
    table = Table("least_stable", rows, None, formats, caption, on_page=on_page)
    blocks: list[Block] = [Heading("Where boxes move most under dropout")]
    if pictures:
        from autoeval.report.charts import picture_rows

        sheet = picture_rows(pictures, f"Least stable images; {LEGEND}")
        blocks += [Thumbnails(pictures, about), Chart(sheet, name="least_stable", on_page=False)]
    return [*blocks, table]


def least_stable_table(site: ScoredSite) -> pd.DataFrame:
    """Lay out the images whose boxes move most, one row each.

    Parameters
    ----------
    site : ScoredSite
        With the images that it keeps.
    """
    unstable = site.least_stable
    columns = {
        "image": [image.image_id for image in unstable],
        "stability": [image.stability for image in unstable],
        "boxes": [len(image.clean) for image in unstable],
        "boxes with dropout": [_counts(image) for image in unstable],
    }
    return pd.DataFrame(columns)


def least_stable_pictures(site: ScoredSite) -> Pictures:
    """Draw the first `SHOWN` of them whose files are at hand, boxes before and after dropout.

    Parameters
    ----------
    site : ScoredSite
        With the images that it keeps.
    """
    files = {file.image_id: (k, file) for k, file in enumerate(site.images)}
    on_disk = [image for image in site.least_stable if image.image_id in files][:SHOWN]
    # In the order of the files: a video is decoded forward.
    order = sorted(on_disk, key=lambda image: files[image.image_id][0])
    drawn = {
        image.image_id: picture_of(
            files[image.image_id][1],
            image.clean,
            image.perturbed,
            f"{image.image_id}: stability {image.stability:.2f}, "
            f"{counted(len(image.clean), 'box', 'boxes')}, {_counts(image)} with dropout",
        )
        for image in order
    }
    return [drawn[image.image_id] for image in on_disk]


def _counts(image: UnstableImage) -> str:
    counts = [len(boxes) for boxes in image.perturbed]
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"
