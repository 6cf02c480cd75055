"""What the default regression predicts of one set of images, as an estimate with its warnings."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.estimate import PREDICTIVE, Estimate
from autoeval.estimation.intervals import SamplingError
from autoeval.estimation.known_site import GROUP, SITE
from autoeval.estimation.nothing_found import nothing_over, nothing_over_text, undefined_at
from autoeval.estimation.pair_table import (
    COUNTED,
    EXPECTED_OBJECTS,
    LIKELY_BOXES,
    category_weights,
    counted_rows,
)
from autoeval.estimation.warnings import FEWEST_OF_RANGE, estimate_warnings, width_warning
from autoeval.io.wording import listed
from autoeval.model import PredictionInterval, mean_of_possible
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
        With columns of `autoeval.sites.presence` those that do not count are left out of it.
    sampling: what drawing the images again says of the estimate.
    """
    rows = regression.site_rows(rows)
    n_images = int(rows["n_images"].max())
    rows = sampling.independent(rows)
    interval = regression.predict_mean(rows, unseen=unseen)
    counted = rows[counted_rows(rows)]
    none_over = bool(nothing_over(counted, regression.target).all())
    features = {name: _mean(counted[name]) for name in regression.features_}
    warnings: tuple[str, ...] = ()
    if none_over:
        warnings, sampling = (nothing_over_text(regression.target),), NO_SAMPLING_ERROR
    else:
        warnings = estimate_warnings(
            interval.value,
            features,
            known_range(regression),
            n_images=n_images,
            skipped_share=0.0,
            backbone=backbone,
            doubtful=find_target(regression.target).doubtful,
        )
    by_category: dict[str, PredictionInterval] = {}
    if COUNTED in rows or len(rows) > 1:
        names = rows["category"].astype(str)
        by_category = dict(zip(names, regression.predict(rows, unseen=unseen), strict=True))
    # the precision of a category without a box over the threshold is undefined
    weights = category_weights(counted, regression.target)
    undefined = set(counted["category"][weights == 0]) if by_category else set()
    return Estimate(
        value=interval.value,
        lower=interval.lower,
        upper=interval.upper,
        level=regression.level,
        interval_method=_basis(regression, counted, interval, none_over=none_over),
        target=regression.target,
        n_images=n_images,
        features=features,
        warnings=(*outside_range(by_category, interval), *warnings, *sampling.warnings),
        sampling_std=sampling.std,
        per_category={
            name: UNDEFINED if name in undefined else category_bounds(by_category[name])
            for name in counted["category"].astype(str)
            if name in by_category
        },
        left_out=left_out_of(rows, by_category, regression.target),
        raw=interval.raw,
        width_warning=width_warning(interval, regression.target),
        category_effects={
            name: effect for name, effect in regression.prior_effects(counted).items() if effect
        },
        undefined=(regression.target,) if none_over and undefined_at(regression.target) else (),
    )


def known_range(regression: BayesianRegression) -> dict[str, tuple[float, float]]:
    """Return the range of each score over the pairs of a fit; of few pairs none is known."""
    return regression.training_range_ if len(regression.rows_) >= FEWEST_OF_RANGE else {}


def left_out_of(
    rows: pd.DataFrame, by_category: Mapping[str, PredictionInterval], target: str
) -> dict[str, dict[str, float]]:
    """Return what is known of each category that was found and does not count.

    rows: of one site; by_category: the interval of each row.
    """
    counted, left_out = counted_rows(rows), {}
    for k in np.flatnonzero(~counted).tolist():
        with_it = counted.copy()
        with_it[k] = True
        weights = category_weights(rows.assign(**{COUNTED: with_it}), target)
        values = np.nan_to_num([by_category[str(name)].raw for name in rows["category"]])
        row = rows.iloc[k]
        left_out[str(row["category"])] = {
            **category_bounds(by_category[str(row["category"])]),
            "likely_boxes": int(row[LIKELY_BOXES]),
            "share_of_objects": float(row[EXPECTED_OBJECTS] / rows[EXPECTED_OBJECTS].sum()),
            "mean_with_it": float(mean_of_possible(values, weights)),
        }
    return left_out


def category_bounds(interval: PredictionInterval) -> dict[str, float]:
    """Return value and ends of a category: the value also where its interval is too wide."""
    return {**bounds(interval), "value": float(np.clip(interval.raw, 0, 1))}


def _basis(
    regression: BayesianRegression,
    rows: pd.DataFrame,
    interval: PredictionInterval,
    *,
    none_over: bool,
) -> str:
    """Say in words what an interval rests on beside the boxes of the site."""
    if none_over:
        return "by definition, no box is over the threshold"
    if interval.refused:
        return f"none: it would reach {100 * interval.reach:.0f} points to each side"
    parts = []
    if GROUP in rows:
        group = str(rows[GROUP].iloc[0])
        of_group = regression.rows_[regression.rows_["group"].astype(str) == group]
        parts.append(f"group {group}, in the fit {listed(sorted(set(of_group['source'])))}")
    elif SITE in rows:
        site = regression.known_site(str(rows[SITE].iloc[0]))
        labelled = [f"{k} {100 * v:.1f}" for k, v in site.accuracies.items()]
        parts.append(
            f"{regression.target} on the labelled images of {site.name}: {listed(labelled)}"
        )
    elif regression.away_prior_:
        home = 100 * regression.home_
        parts.append(f"trained at the labelled site, {regression.target} {home:.1f}")
    if regression.reads_reference(rows).any():
        parts.append(f"reference detector with a weight of {regression.reference_weight_:.2f}")
    return "; ".join(parts) or PREDICTIVE


def bounds(interval: PredictionInterval) -> dict[str, float]:
    """Return the ``value``, ``lower`` and ``upper`` of an interval."""
    return {"value": interval.value, "lower": interval.lower, "upper": interval.upper}


def outside_range(
    by_category: Mapping[str, PredictionInterval], whole: PredictionInterval
) -> tuple[str, ...]:
    """Note where the regression predicts an accuracy below 0 or above 1.

    by_category: of each category; empty where `whole` is of one that has no name.
    """
    intervals = by_category or {"": whole}
    outside = {name: interval for name, interval in intervals.items() if interval.outside}
    if not outside:
        return ()
    what = [f"{name} {100 * interval.raw:.0f}".strip() for name, interval in outside.items()]
    return (
        Notice(
            "outside-range",
            f"the regression predicts less than 0 or more than 100 points ({listed(what, 10)}): "
            "these images are unlike the labelled ones, so such a value is set to the edge and its "
            "interval is wider by the distance",
            severity="note",
        ),
    )


def _mean(values: pd.Series) -> float:
    return float(values.mean()) if values.notna().any() else math.nan
