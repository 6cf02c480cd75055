"""What the default regression predicts of one set of images, as an estimate with its warnings."""

from __future__ import annotations

import math

import pandas as pd

from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.intervals import SamplingError
from autoeval.estimation.known_site import GROUP, SITE
from autoeval.estimation.nothing_found import nothing_over, nothing_over_text, undefined_at
from autoeval.estimation.pair_table import category_weights
from autoeval.estimation.warnings import estimate_warnings, width_warning
from autoeval.io.wording import listed
from autoeval.model import PredictionInterval
from autoeval.notices import Notice
from autoeval.targets import find_target

NO_SAMPLING_ERROR = SamplingError()
UNDEFINED = dict.fromkeys(("value", "lower", "upper"), math.nan)


def estimate_site_rows(
    regression: BayesianRegression,
    rows: pd.DataFrame,
    *,
    backbone: str = "ResNet",
    sampling: SamplingError = NO_SAMPLING_ERROR,
    unseen: float = 0.0,
) -> Estimate:
    """Estimate from the scores of one set of images: a category, or the mean over several.

    rows: scores of a new site: of one category, of several in columns ``score/category``, or
        one row a category with a column ``category``. Of repeats the first is read.
    sampling: what drawing the images again says of the estimate.
    """
    rows = regression.site_rows(rows)
    n_images = int(rows["n_images"].max())
    rows = sampling.independent(rows)
    interval = regression.predict_mean(rows, unseen=unseen)
    none_over = bool(nothing_over(rows, regression.target).all())
    features = {name: _mean(rows[name]) for name in regression.features_}
    warnings: tuple[str, ...] = ()
    if none_over:
        warnings, sampling = (nothing_over_text(regression.target),), NO_SAMPLING_ERROR
    else:
        warnings = estimate_warnings(
            interval.value,
            features,
            regression.training_range_,
            n_images=n_images,
            skipped_share=0.0,
            backbone=backbone,
            doubtful=find_target(regression.target).doubtful,
        )
    several = len(rows) > 1
    intervals = regression.predict(rows, unseen=unseen) if several else []
    # the precision of a category without a box over the threshold is undefined
    undefined = category_weights(rows, regression.target) == 0
    each = [
        UNDEFINED if no else bounds(category_interval)
        for no, category_interval in zip(undefined, intervals, strict=several)
    ]
    names = rows["category"].astype(str) if several else ()
    return Estimate(
        value=interval.value,
        lower=interval.lower,
        upper=interval.upper,
        level=regression.level,
        interval_method=_basis(regression, rows, interval, none_over=none_over),
        target=regression.target,
        n_images=n_images,
        features=features,
        warnings=(*outside_range(interval), *warnings, *sampling.warnings),
        sampling_std=sampling.std,
        per_category=dict(zip(names, each, strict=True)),
        raw=interval.raw,
        width_warning=width_warning(interval, regression.target),
        undefined=(regression.target,) if none_over and undefined_at(regression.target) else (),
    )


def _basis(
    regression: BayesianRegression,
    rows: pd.DataFrame,
    interval: PredictionInterval,
    *,
    none_over: bool,
) -> str:
    """Say in words what an interval rests on: the part behind ``method:`` in the text."""
    method = "predictive"
    if none_over:
        method = "by definition, no box is over the threshold"
    elif interval.refused:
        method = f"none: it would reach {100 * interval.reach:.0f} points to each side"
    elif GROUP in rows:
        group = str(rows[GROUP].iloc[0])
        of_group = regression.rows_[regression.rows_["group"].astype(str) == group]
        method += f"; group {group}, in the fit {listed(sorted(set(of_group['source'])))}"
    elif SITE in rows:
        site = regression.known_site(str(rows[SITE].iloc[0]))
        labelled = [f"{k} {100 * v:.1f}" for k, v in site.accuracies.items()]
        method += f"; {regression.target} on the labelled images of {site.name}: {listed(labelled)}"
    elif regression.away_prior_:
        home = 100 * regression.home_
        method += f"; trained at the labelled site, {regression.target} {home:.1f}"
    if regression.reads_reference(rows).any() and not none_over and not interval.refused:
        method += f"; reference detector with a weight of {regression.reference_weight_:.2f}"
    effects = regression.prior_effects(rows)
    of_categories = [f"{name} {100 * effect:+.1f}" for name, effect in effects.items() if effect]
    if of_categories and not interval.refused:
        method += f"; prior effect of the category, in points: {listed(of_categories)}"
    return method


def bounds(interval: PredictionInterval) -> dict[str, float]:
    """Return the ``value``, ``lower`` and ``upper`` of an interval."""
    return {"value": interval.value, "lower": interval.lower, "upper": interval.upper}


def outside_range(interval: PredictionInterval) -> tuple[str, ...]:
    """Warn where the regression predicts an accuracy below 0 or above 1."""
    if not interval.outside:
        return ()
    edge = "below 0" if interval.outside == "below" else "above 100"
    return (
        Notice(
            "outside-range",
            f"the regression predicts {100 * interval.raw:.0f} points here, {edge}: these images "
            "are unlike the labelled ones, so the value is set to the edge and the interval is "
            "wider by the distance",
            severity="note",
        ),
    )


def _mean(values: pd.Series) -> float:
    return float(values.mean()) if values.notna().any() else math.nan
