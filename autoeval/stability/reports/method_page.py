"""The page of a published method: of its fit, of an estimate, or of both."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from autoeval.estimation.estimate import Estimate
from autoeval.report.plots import RegressionBand
from autoeval.report.sections import Report
from autoeval.results.estimate.estimate_charts import PlottedScores, scores_to_plot
from autoeval.results.estimate.estimate_page import MethodContent, page_of_method
from autoeval.stability.methods import make_method
from autoeval.stability.methods.published_estimator import PublishedEstimator
from autoeval.stability.methods.scored_site import ScoredSite
from autoeval.stability.reports.compared_methods import ComparedMethods
from autoeval.stability.reports.least_stable_examples import LeastStableExamples


def method_page(
    title: str,
    estimator: PublishedEstimator,
    *,
    estimate: Estimate | None = None,
    others: Mapping[str, Estimate] | None = None,
    detector: str = "",
    given: Mapping[str, str] | None = None,
) -> Report:
    """Compose the page; see `autoeval.results.estimate.estimate_page.estimate_page`.

    others: estimates of the same site by other methods, from `PublishedEstimator.predict_others`.

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
    >>> report = method_page("a table of mine", PublishedEstimator("bos").fit(table))
    >>> report.text()[:50]
    'Mean absolute error on the 3 sources when each was'
    """
    site = estimate.site if estimate else None
    held_out = estimator.fit_result_.cross_validation if estimator.fit_result_ else ()
    estimates = {} if estimate is None else {estimator.method: estimate, **(others or {})}
    content = MethodContent(
        estimator.method,
        plotted_scores(estimator),
        compared=(ComparedMethods(estimates, held_out),),
        site_images=(LeastStableExamples(site),) if isinstance(site, ScoredSite) else (),
        facts=facts_of_dropout(estimator, estimate),
    )
    return page_of_method(
        title, estimator, content, estimate=estimate, detector=detector, given=given
    )


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


def plotted_scores(estimator: PublishedEstimator) -> PlottedScores:
    """Gather the scores of the training table, with the line of a method of one feature."""
    features = make_method(estimator.method).features
    lines = {name: _band(estimator, name) for name in features} if len(features) == 1 else {}
    return scores_to_plot(estimator, estimator.method, lines)


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
