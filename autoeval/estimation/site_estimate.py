"""The estimate of a site: a regression applied to its scores, with other targets beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from autoeval.estimation.bayesian_regression import BayesianRegression, bounds
from autoeval.estimation.categories import estimate_categories
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.known_site import SITE
from autoeval.estimation.regressions import Regression
from autoeval.estimation.score_range import unseen_warning
from autoeval.estimation.site import Site
from autoeval.estimation.site_sampling import site_sampling
from autoeval.estimation.source_regression import SourceRegression
from autoeval.estimation.tightness import tightness

OF_PRECISION = (
    "precision without labels is hardly better known than from a constant, since objects that "
    "nobody labelled count as false: label a few images to measure it",
)


def estimate_site(
    site: Site, regression: Regression, others: Mapping[str, Any], score_thr: float
) -> Estimate:
    """Estimate the accuracy at a site.

    Parameters
    ----------
    site : Site
        For a regression on sample sets with its scores; see `score_images`.
    regression : Regression
    others : mapping of str to Regression
        Of other targets: average precisions, and precision, recall and F1 at a threshold.
    score_thr : float
        Boxes with a lower score count in no score.

    Returns
    -------
    Estimate
        With the site, whose row holds the scores.

    Raises
    ------
    InputError
        If nothing is detected, or a score is missing.
    """
    if isinstance(regression, BayesianRegression):
        regressions = (regression, *others.values())
        features = dict.fromkeys(name for of in regressions for name in of.features_)
        scores = site.scores(list(features), score_thr)
        rows = pd.DataFrame([of.row() for of in scores])
        if site.known:
            rows = rows.assign(**{SITE: site.known})
        n_images = len(site.boxes)
        sampling = site_sampling(
            regression, scores, rows, n_images=n_images, blocks=site.boxes.blocks
        )
        estimate = regression.predict_rows(
            rows, backbone=site.backbone, sampling=sampling, unseen=site.unseen
        )
        rows = sampling.independent(rows)
        estimate = _with_other_targets(estimate, rows, regression, others, site.unseen)
        estimate = replace(estimate, n_images=n_images)
        site = replace(site, row={**site.row, "rows": rows})
    else:
        rows = pd.DataFrame(site.row["rows"])
        estimate = estimate_rows(rows, regression, others, backbone=site.backbone)
    warnings = (*site.warnings, *unseen_warning(site.unseen), *estimate.warnings)
    return replace(estimate, warnings=warnings, site=site)


def estimate_rows(
    rows: pd.DataFrame,
    regression: Regression,
    others: Mapping[str, Any],
    *,
    backbone: str = "ResNet",
) -> Estimate:
    """Estimate from the scores of one set of images, and each category where it has its own."""
    estimate = regression.predict_rows(rows, backbone=backbone)
    if isinstance(regression, BayesianRegression):
        rows = regression.site_rows(rows)
        return _with_other_targets(estimate, rows, regression, others, 0.0)
    if estimate.per_category or not any("/" in str(name) for name in rows):
        return estimate
    assert isinstance(regression, SourceRegression)
    categories = estimate_categories(
        regression.table_,
        rows,
        method=regression.method,
        target=regression.target,
        level=regression.level,
    ).rename(columns={"estimate": "value"})
    table = categories.set_index("category")[["value", "lower", "upper"]]
    return replace(estimate, per_category=table.to_dict("index"))


def _with_other_targets(
    estimate: Estimate,
    rows: pd.DataFrame,
    regression: BayesianRegression,
    others: Mapping[str, Any],
    unseen: float,
) -> Estimate:
    """Add the estimates of the other average precisions, and what they say of loose boxes."""
    beside = {n: bounds(of.predict_mean(rows, unseen=unseen)) for n, of in others.items()}
    values = {estimate.target: estimate.value, **{n: of["value"] for n, of in beside.items()}}
    loose = tightness(regression.rows_, values)
    precise = OF_PRECISION if any(name.startswith("precision@") for name in values) else ()
    return replace(estimate, beside=beside, warnings=(*estimate.warnings, *loose, *precise))
