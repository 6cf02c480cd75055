"""The estimate of a site, from top to bottom: pairs, targets, intervals, notices, result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from autoeval.accuracy.resampling import bootstrap_std, resampled_counts
from autoeval.estimation import checks
from autoeval.estimation.category_scores import CategoryScores, site_rows, site_scores
from autoeval.estimation.estimate import PREDICTIVE, Estimate
from autoeval.io.wording import listed
from autoeval.model.pair_table import (
    COUNTED,
    EXPECTED_OBJECTS,
    GROUP,
    HIGHEST,
    LIKELY_BOXES,
    SITE,
    Table,
    category_weights,
    counted_rows,
    floats,
    n_rows,
    names,
    nothing_over,
    rows_where,
    table_of,
    undefined_at,
    values_of,
    without_boxes,
)
from autoeval.model.prediction_interval import PredictionInterval, mean_of_possible
from autoeval.model.regression import Regression
from autoeval.notices import Notice
from autoeval.sites.site import Site

RESAMPLES = 200
STEP = 1e-3
AT_ONCE = 20_000_000  # counts that are held in memory
FEWEST_OF_RANGE = 20
"""Pairs whose range says something: a new one like n others is outside theirs, by chance alone, in
2 of n + 1 cases."""

Bounds = dict[str, float]
Others = Mapping[str, Regression | None]
"""Regressions of other targets; None for precision at a threshold that no box of the labelled
images is over."""


def estimate_site(site: Site, regression: Regression, others: Others) -> Estimate:
    """Estimate the accuracy at a site, with other targets from the same boxes.

    Returned: with the site, whose row holds the scores; without a value where nothing was found.
    """
    regressions = (regression, *filter(None, others.values()))
    features = dict.fromkeys(name for fitted in regressions for name in fitted.features_)
    presence = site.presence
    scores = site_scores(site, list(features))
    if not any(category.found for category in scores):
        return _nothing_found(site, regression, others)
    rows = site_rows(scores, presence)
    for column, name in ((SITE, site.known), (GROUP, site.group)):
        if name:
            rows[column] = np.full(n_rows(rows), name, object)
    n_images, blocks = len(site), site.blocks
    n_units = n_images if blocks is None else int(blocks.max()) + 1
    std = sampling_std(regression, scores, rows, n_images=n_images, blocks=blocks)
    estimate = estimate_rows(
        regression, rows, others, backbone=site.backbone, unseen=site.unseen, n_units=n_units
    )
    rows["n_images"] = np.minimum(rows["n_images"], n_units)
    if estimate.interval_method != checks.NONE_OVER:
        estimate = replace(estimate, sampling_std=std)
        estimate = _warned(estimate, checks.few_blocks(n_images, n_units))
    of_site = (
        *site.warnings,
        *site.left_out,
        *checks.reference_at_site(rows_where(rows, counted_rows(rows)), regression.features_),
        *checks.unseen(site.unseen),
    )
    return replace(
        estimate,
        n_images=n_images,
        warnings=tuple(dict.fromkeys((*of_site, *estimate.warnings))),
        site=replace(site, row={**site.row, "rows": rows}),
    )


def estimate_rows(
    regression: Regression,
    rows: Table,
    others: Others | None = None,
    *,
    backbone: str = "ResNet",
    unseen: float = 0.0,
    n_units: int = 0,
) -> Estimate:
    """Estimate from the scores of one set of images: a category, or all that count together.

    rows: one row a category. With columns of `autoeval.sites.presence` those that do not count are
        left out of the mean.
    others: what is estimated beside, from the same rows.
    unseen: see `Regression.predict`.
    n_units: images that are independent, where that is known: no more count.
    """
    target, rows = regression.target, regression.site_rows(rows)
    n_images = int(floats(rows, "n_images").max())
    if n_units:
        rows["n_images"] = np.minimum(rows["n_images"], n_units)
    counted = rows_where(rows, counted_rows(rows))
    none_over = bool(nothing_over(counted, target).all())
    interval = regression.predict_mean(rows, unseen=unseen)
    features = {name: _mean(floats(counted, name)) for name in regression.features_}
    of_value: tuple[Notice, ...] = (checks.nothing_over_text(target),) if none_over else ()
    if not none_over:
        known = regression.training_range_ if n_rows(regression.pairs_) >= FEWEST_OF_RANGE else {}
        of_value = checks.of_scores(
            interval.value, features, known, n_images=n_images, backbone=backbone, target=target
        )
    each: dict[str, PredictionInterval] = {}
    if COUNTED in rows or n_rows(rows) > 1:
        intervals = regression.predict(rows, unseen=unseen)
        each = dict(zip(names(rows, "category"), intervals, strict=True))
    # the precision of a category without a box over the threshold is undefined
    without = {name for name, weight in _weights(counted, target) if not weight} if each else set()
    estimate = Estimate(
        value=interval.value,
        lower=interval.lower,
        upper=interval.upper,
        level=regression.level,
        interval_method=_basis(regression, counted, interval, none_over=none_over),
        target=target,
        n_images=n_images,
        features=features,
        warnings=(*checks.outside_range(each or {"": interval}), *of_value),
        per_category={
            name: bounds(None) if name in without else category_bounds(each[name])
            for name in names(counted, "category")
            if name in each
        },
        left_out=_left_out(rows, each, target),
        raw=interval.raw,
        width_warning=checks.width(interval, target),
        category_effects={n: of for n, of in regression.prior_effects(counted).items() if of},
        undefined=(target,) if none_over and undefined_at(target) else (),
    )
    return estimate if not others else _beside(estimate, rows, regression, others, unseen)


def _beside(
    estimate: Estimate, rows: Table, regression: Regression, others: Others, unseen: float
) -> Estimate:
    """Add the estimates of other targets, and what they say of loosely drawn boxes."""
    none_over = [name for name in others if nothing_over(rows, name).all()]
    beside = {
        name: bounds(
            without_boxes(name)
            if name in none_over
            else other.predict_mean(rows, unseen=unseen)
            if other
            else None
        )
        for name, other in others.items()
    }
    values = {estimate.target: estimate.value}
    values |= {name: math.nan if name in none_over else of["value"] for name, of in beside.items()}
    notices = list(checks.tightness(regression.pairs_, values))
    if none_over:
        notices.append(checks.nothing_over_text(none_over[0]))
    elif any(name.startswith("precision@") for name in values):
        every: Others = {estimate.target: regression, **others}
        precise = [
            fitted for name, fitted in every.items() if name.startswith("precision@") and fitted
        ]
        read = bool(precise) and all(fitted.reads_reference(rows).all() for fitted in precise)
        notices += () if read else (checks.PRECISION_HARDLY_KNOWN,)
        notices += [checks.no_box_in_fit(name) for name, other in others.items() if other is None]
    undefined = tuple(name for name in none_over if undefined_at(name))
    estimate = replace(estimate, beside=beside, undefined=(*estimate.undefined, *undefined))
    return _warned(estimate, notices)


def _warned(estimate: Estimate, more: Sequence[Notice]) -> Estimate:
    return replace(estimate, warnings=tuple(dict.fromkeys((*estimate.warnings, *more))))


def _nothing_found(site: Site, regression: Regression, others: Others) -> Estimate:
    """Return an estimate without a value, for a site without a likely box.

    No interval stands in for it: every score is of boxes, so none says whether there are objects
    that the detector missed. With objects the accuracy is near 0, and without it is not defined; an
    interval from 0 to somewhere would claim the first.
    """
    n_images, target = len(site), regression.target
    rows = table_of([{HIGHEST: float(site.boxes.scores.max(initial=0.0))}])
    every = (target, *others)
    none_over = [name for name in every if nothing_over(rows, name).all()]
    estimates = {name: bounds(without_boxes(name) if name in none_over else None) for name in every}
    interval = estimates.pop(target)
    return Estimate(
        value=interval["value"],
        lower=interval["lower"],
        upper=interval["upper"],
        level=regression.level,
        interval_method="none, nothing was found",
        target=target,
        n_images=n_images,
        warnings=site.warnings,
        beside=estimates,
        width_warning=checks.nothing_found_text(n_images, target),
        undefined=tuple(name for name in none_over if undefined_at(name)),
        site=replace(site, nothing_found=True, row={**site.row, "rows": {}}),
    )


def sampling_std(
    regression: Regression,
    scores: Sequence[CategoryScores],
    rows: Table,
    *,
    n_images: int,
    blocks: np.ndarray | None = None,
) -> float:
    """Return the standard deviation of the estimate over draws of its images; see `bootstrap_std`.

    The estimate is taken as linear in the scores: a prediction for each of the draws would take as
    many times as long, and over so small changes of scores the regression is nearly a line.

    scores, rows: of each category of the site.
    blocks (n_images,), int64: images of one block of time are drawn together.
    """
    n_units = n_images if blocks is None else int(blocks.max()) + 1
    counts = resampled_counts(n_images, resamples=RESAMPLES, seed=0, blocks=blocks, dtype=np.uint8)
    moved = np.zeros(RESAMPLES)
    weights = category_weights(rows, regression.target)
    of_category = zip(scores, _slopes(regression, rows), weights, strict=True)
    for category, slopes, weight in of_category:
        at_once = max(AT_ONCE // max(len(category.images), 1), 1)
        for start in range(0, RESAMPLES, at_once):
            part = slice(start, start + at_once)
            drawn = category.resample(counts[part][:, category.images].astype(np.int64))
            moved[part] += weight * (values_of(drawn, regression.features_) @ slopes)
    return bootstrap_std(moved, n_units)


def _slopes(regression: Regression, rows: Table) -> np.ndarray:
    """Return how the estimate of each row changes with each of its scores, (N, F)."""
    features = regression.features_
    filled = {**rows, **dict(zip(features, values_of(rows, features).T, strict=True))}
    mean = regression.distribution(filled).mean
    # one score at a time: the regression compares all rows that it is given with each other
    moved = ({**filled, name: filled[name] + STEP} for name in features)
    return (np.array([regression.distribution(r).mean for r in moved]) - mean).T / STEP


def _left_out(
    rows: Table, each: Mapping[str, PredictionInterval], target: str
) -> dict[str, Bounds]:
    """Return what is known of each category that was found and does not count."""
    counted, left_out = counted_rows(rows), {}
    categories = names(rows, "category")
    for k in np.flatnonzero(~counted).tolist():
        with_it = counted.copy()
        with_it[k] = True
        weights = category_weights({**rows, COUNTED: with_it}, target)
        values = np.nan_to_num([each[name].raw for name in categories])
        objects = floats(rows, EXPECTED_OBJECTS)
        left_out[categories[k]] = {
            **category_bounds(each[categories[k]]),
            "likely_boxes": int(rows[LIKELY_BOXES][k]),
            "share_of_objects": float(objects[k] / objects.sum()),
            "mean_with_it": float(mean_of_possible(values, weights)),
        }
    return left_out


def _basis(
    regression: Regression, rows: Table, interval: PredictionInterval, *, none_over: bool
) -> str:
    """Say in words what an interval rests on beside the boxes of the site."""
    if none_over:
        return checks.NONE_OVER
    if interval.refused:
        return f"none: it would reach {100 * interval.reach:.0f} points to each side"
    parts = []
    if GROUP in rows:
        group = str(rows[GROUP][0])
        of_group = names(regression.pairs_, "group") == group
        sites = sorted({*names(regression.pairs_, "source")[of_group]})
        parts.append(f"group {group}, in the fit {listed(sites)}")
    elif SITE in rows:
        site = regression.known_site(str(rows[SITE][0]))
        labelled = [f"{name} {100 * value:.1f}" for name, value in site.accuracies.items()]
        parts.append(
            f"{regression.target} on the labelled images of {site.name}: {listed(labelled)}"
        )
    elif regression.away_:
        home = 100 * regression.home_
        parts.append(f"trained at the labelled site, {regression.target} {home:.1f}")
    if regression.reads_reference(rows).any():
        parts.append(f"reference detector with a weight of {regression.reference_weight_:.2f}")
    return "; ".join(parts) or PREDICTIVE


def bounds(interval: PredictionInterval | None) -> Bounds:
    """Return the ``value``, ``lower`` and ``upper`` of an interval; NaN where there is none."""
    if interval is None:
        return dict.fromkeys(("value", "lower", "upper"), math.nan)
    return {"value": interval.value, "lower": interval.lower, "upper": interval.upper}


def category_bounds(interval: PredictionInterval) -> Bounds:
    """Return value and ends of a category: the value also where its interval is too wide."""
    return {**bounds(interval), "value": float(np.clip(interval.raw, 0, 1))}


def _weights(rows: Table, target: str) -> list[tuple[str, float]]:
    return list(zip(names(rows, "category"), category_weights(rows, target), strict=True))


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan
