"""An estimator by a published method, and an estimate by it, as text, page and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from autoeval.estimation.estimate import Estimate
from autoeval.report.estimate import (
    answer_blocks,
    category_blocks,
    estimate_fields,
    estimate_head,
    estimate_warnings,
    least_certain_blocks,
    own_details,
    unreadable,
)
from autoeval.report.fit import (
    BY_CATEGORY,
    error_headlines,
    evaluation_blocks,
    evaluation_details,
    evaluation_head,
    evaluation_values,
    fit_warnings,
    known_error,
    run_facts,
    time_table,
)
from autoeval.report.page import Block, Heading, Page, Warnings, facts_table
from autoeval.report.scatter import (
    OWN,
    RegressionBand,
    ScatterChart,
    chart_of_scores,
    scatter_blocks,
)
from autoeval.report.text import Table, result_text, warning_texts
from autoeval.stability.methods import make_method
from autoeval.stability.methods.published_estimator import PublishedEstimator
from autoeval.stability.methods.scored_site import ScoredSite
from autoeval.stability.reports.compared_methods import (
    compared_blocks,
    compared_text,
    compared_values,
)
from autoeval.stability.reports.least_stable_examples import least_stable_blocks, least_stable_table

NOTHING: Mapping[str, str] = MappingProxyType({})
NOBODY: Mapping[str, Estimate] = MappingProxyType({})


def method_text(
    estimator: PublishedEstimator,
    estimate: Estimate | None = None,
    others: Mapping[str, Estimate] = NOBODY,
) -> str:
    """Return what the terminal shows; the parameters are those of `method_page`.

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
    >>> method_text(PublishedEstimator("bos").fit(table))[:50]
    'Mean absolute error on the 3 sources when each was'
    """
    fit = estimator.fit_result_
    compared = compared_text(_estimates(estimator, estimate, others), fit)
    details = evaluation_details(estimator)
    if estimate is None:
        heads = [compared, evaluation_head(fit) or known_error(estimator)]
        return result_text(heads, fit_warnings(fit), details)
    heads = [estimate_head(estimate), compared, evaluation_head(fit)]
    own, of_fit_alone = estimate_warnings(estimate, fit)
    return result_text(heads, [*own, *of_fit_alone], [*own_details(estimate), *details])


def method_values(
    estimator: PublishedEstimator,
    estimate: Estimate | None = None,
    others: Mapping[str, Estimate] = NOBODY,
    *,
    detector: str = "",
    about: Mapping[str, str] = NOTHING,
) -> dict[str, Any]:
    """Return the content of ``result.json``; the parameters are those of `method_page`."""
    fit = estimator.fit_result_
    site = estimate.site if estimate else None
    shown = {str(warning) for warning in estimate.all_warnings()} if estimate else set()
    values = {
        "estimate": estimate and estimate_fields(estimate),
        **compared_values(_estimates(estimator, estimate, others), fit),
        "unreadable": unreadable(estimate) if estimate else "",
        **warning_texts(w for w in (fit.warnings if fit else ()) if str(w) not in shown),
    }
    if isinstance(site, ScoredSite):
        values["least_stable"] = least_stable_table(site).to_dict("records")
    facts = run_facts(estimator, estimator.method, detector, facts_of_dropout(estimator, estimate))
    return {**values, **evaluation_values(fit), "facts": facts, "about": dict(about)}


def method_page(
    title: str,
    estimator: PublishedEstimator,
    estimate: Estimate | None = None,
    others: Mapping[str, Estimate] = NOBODY,
    *,
    detector: str = "",
    about: Mapping[str, str] = NOTHING,
) -> Page:
    """Make the page of a fit by a published method, and of an estimate by it.

    others: estimates of the same site by other methods, from `PublishedEstimator.predict_others`.
    detector: its name, shown among what was run.
    about: what the page is about; see `autoeval.report.text.about`.
    """
    fit, site = estimator.fit_result_, estimate.site if estimate else None
    chart, compared = method_chart(estimator, estimate), _estimates(estimator, estimate, others)
    facts = run_facts(estimator, estimator.method, detector, facts_of_dropout(estimator, estimate))
    warnings = [warning for warning in fit_warnings(fit) if warning != BY_CATEGORY]
    of_fit = [*error_headlines(fit), Warnings(warnings)]
    blocks: list[Block] = [
        *(answer_blocks(estimate, fit) if estimate else of_fit),
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
        *facts_table("what_was_run", "", facts),
        *time_table(fit, site.row if site else None),
        sample_sets_table(chart),
        *facts_table("about", "What this page is about", about),
    ]
    return Page(title, blocks)


def sample_sets_table(chart: ScatterChart) -> Table:
    """Lay out every sample set with the id of its recipe, one row each."""
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
    estimator: PublishedEstimator, estimate: Estimate | None, others: Mapping[str, Estimate]
) -> dict[str, Estimate]:
    """Return the estimates by method, that in use first; empty where nothing was estimated."""
    return {} if estimate is None else {estimator.method: estimate, **others}


def facts_of_dropout(estimator: PublishedEstimator, estimate: Estimate | None) -> dict[str, str]:
    """Say where features were dropped and how often, as far as the estimator remembers.

    The pass of `estimate` may have had fewer repeats.
    """
    repeats = str(estimator.table_["repeat"].nunique())
    evidence = estimate.site.evidence if estimate and estimate.site else None
    seen = len(evidence[0].perturbed) if evidence else 0
    if seen and str(seen) != repeats:
        repeats = f"{repeats} fitted, {seen} on the unlabelled images"
    dropout = estimator.context_.get("pass", {}).get("dropout")
    if dropout is None:
        return {"repeats": repeats}
    where = f"{dropout['position']} stages {list(dropout['stages'])}, rate {dropout['rate']}"
    return {"dropout": where, "repeats": repeats}


def method_chart(estimator: PublishedEstimator, estimate: Estimate | None = None) -> ScatterChart:
    """Gather the scores of the training table, with the line of a method of one feature."""
    features = make_method(estimator.method).features
    lines = {name: _band(estimator, name) for name in features} if len(features) == 1 else {}
    return chart_of_scores(estimator, estimator.method, estimate, lines)


def _band(estimator: PublishedEstimator, name: str) -> RegressionBand:
    """Trace the estimate along the only feature."""
    repeats = sorted(set(estimator.table_["repeat"]))
    x = np.linspace(*estimator.regression_.training_range_[name], 50)
    rows = [pd.DataFrame({"repeat": repeats, "n_images": 0, name: at}) for at in x]
    estimates = [estimator.predict_rows(row) for row in rows]
    value, lower, upper = (
        np.array([getattr(estimate, part) for estimate in estimates])
        for part in ("value", "lower", "upper")
    )
    return RegressionBand(x, value, lower, upper, "the regression in use")
