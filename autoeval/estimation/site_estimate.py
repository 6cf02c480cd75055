"""The estimate of a site: a regression applied to its scores, with other targets beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from autoeval.accuracy.resampling import resampled_counts
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.category_scores import CategoryScores, site_rows, site_scores
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.intervals import RESAMPLES, SamplingError, bootstrap_std, few_blocks
from autoeval.estimation.known_site import GROUP, SITE
from autoeval.estimation.nothing_found import (
    HIGHEST,
    no_box_in_fit,
    nothing_found_text,
    nothing_over,
    nothing_over_text,
    undefined_at,
    without_boxes,
)
from autoeval.estimation.pair_table import category_weights, counted_rows, values_of
from autoeval.estimation.reference_warnings import reference_at_site
from autoeval.estimation.regression_estimate import UNDEFINED, bounds, estimate_site_rows
from autoeval.estimation.site import Site
from autoeval.notices import Notice
from autoeval.sites.score_range import unseen_warning

NEAREST, FEWEST = 8, 3
LOWEST = 0.02  # under it the ratio of two precisions says nothing
MATTERS = 0.05
TAILS = (10, 90)
STEP = 1e-3
AT_ONCE = 20_000_000  # counts that are held in memory
OF_PRECISION = (
    Notice(
        "precision-hardly-known",
        "precision without labels is hardly better known than from a constant, since objects that "
        "nobody labelled count as false: label a few images to measure it",
    ),
)
NOT_CORRECTED = (
    Notice(
        "precision-not-corrected",
        "precision is not corrected for a detector that was trained at the labelled site: nothing "
        "predicts how it falls elsewhere, and it is usually lower than estimated",
    ),
)


def tightness(rows: pd.DataFrame, estimates: Mapping[str, float]) -> tuple[str, ...]:
    """Warn of how far mAP may be from its estimate because of how tightly objects are labelled.

    Loosely drawn labels lower the precision at high overlaps and leave that at .5 as it is: by how
    much is seen in the ratio of mAP to mAP50 at the pairs `rows` of the fit nearest in mAP50, the
    tenth from below and from above. One warning, where that moves mAP by `MATTERS` or more to each
    side, or cannot be known.

    >>> rows = pd.DataFrame({"mAP50": [.5, .6, .7, .8], "mAP": [.2, .4, .3, .6]})
    >>> print(*tightness(rows, {"mAP": .4, "mAP50": .6}))
    mAP depends on how tightly boxes were labelled, which no score shows; mAP50 hardly \
does. At the 4 sources with the most similar mAP50, mAP is 41 to 72 % of mAP50: 25 to 44 at the \
estimated mAP50 of 60. The estimated mAP of 40 lies inside this range
    >>> tightness(rows.assign(mAP=rows["mAP50"] / 2), {"mAP": .3, "mAP50": .6})
    ()
    """
    if not {"mAP", "mAP50"} <= set(rows) or not np.isfinite(estimates.get("mAP50", np.nan)):
        return ()
    usable = rows[rows["mAP50"] > LOWEST]
    if len(usable) < FEWEST:
        return (
            Notice(
                "tightness-of-labels",
                "mAP depends on how tightly boxes were labelled, which no score shows; mAP50 "
                "hardly does. Fewer than three sources do not show by how much: rely on mAP50",
                severity="note",
            ),
        )
    at = estimates["mAP50"]
    near = usable.iloc[(usable["mAP50"] - at).abs().argsort(kind="stable")[:NEAREST]]
    # Not by a regression: tightness is a property of each set of labels, and the tails of what
    # similar ones show are its range.
    low_share, high_share = np.percentile(near["mAP"] / near["mAP50"], TAILS)
    low, high = at * low_share, at * high_share
    if high - low < 2 * MATTERS:
        return ()
    value = estimates["mAP"]
    where = "below" if value < low else "above" if value > high else "inside"
    return (
        Notice(
            "tightness-of-labels",
            "mAP depends on how tightly boxes were labelled, which no score shows; mAP50 hardly "
            f"does. At the {len(near)} sources with the most similar mAP50, mAP is "
            f"{100 * low_share:.0f} to {100 * high_share:.0f} % of mAP50: {100 * low:.0f} to "
            f"{100 * high:.0f} at the estimated mAP50 of {100 * at:.0f}. The estimated mAP of "
            f"{100 * value:.0f} lies {where} this range",
            severity="note",
        ),
    )


def site_sampling(
    regression: BayesianRegression,
    scores: Sequence[CategoryScores],
    rows: pd.DataFrame,
    *,
    n_images: int,
    blocks: np.ndarray | None = None,
) -> SamplingError:
    """Return the standard deviation of the estimate of all categories over draws of the images.

    The estimate is taken as linear in the scores: a prediction for each of the draws would take as
    many times as long, and over so small changes of scores the regression is nearly a line.

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
            drawn = pd.DataFrame(
                category.resample(counts[part][:, category.images].astype(np.int64))
            )
            moved[part] += weight * (values_of(drawn, regression.features_) @ slopes)
    std = bootstrap_std(moved, n_units)
    return SamplingError(std, few_blocks(n_images, n_units), n_units)


def _slopes(regression: BayesianRegression, rows: pd.DataFrame) -> np.ndarray:
    """Return how the estimate of each row changes with each of its scores, (N, F)."""
    features = regression.features_
    filled = rows.assign(**dict(zip(features, values_of(rows, features).T, strict=True)))
    # one score at a time: the regression compares all rows that it is given with each other
    moved = (filled.assign(**{name: filled[name] + STEP}) for name in features)
    mean = regression.distribution(filled).mean
    means = [regression.distribution(moved_rows).mean for moved_rows in moved]
    return (np.array(means) - mean).T / STEP


def estimate_site(
    site: Site, regression: BayesianRegression, others: Mapping[str, Any]
) -> Estimate:
    """Estimate the accuracy at a site.

    others: of other targets: average precisions, and precision, recall and F1 at a threshold; None
        for one that the fit cannot estimate, see `FitState.regressions_of`.
    Returned: with the site, whose row holds the scores; without a value where nothing was found.
    """
    regressions = (regression, *filter(None, others.values()))
    features = dict.fromkeys(name for fitted in regressions for name in fitted.features_)
    presence = site.presence
    scores = site_scores(site.boxes, list(features), presence)
    if not any(category.found for category in scores):
        return _nothing_found(site, regression, others)
    rows = site_rows(scores, presence)
    if site.known:
        rows = rows.assign(**{SITE: site.known})
    if site.group:
        rows = rows.assign(**{GROUP: site.group})
    n_images = len(site.boxes)
    sampling = site_sampling(regression, scores, rows, n_images=n_images, blocks=site.boxes.blocks)
    estimate = estimate_site_rows(
        regression, rows, backbone=site.backbone, sampling=sampling, unseen=site.unseen
    )
    rows = sampling.independent(rows)
    estimate = _with_other_targets(estimate, rows, regression, others, site.unseen)
    warnings = (
        *site.warnings,
        *site.left_out,
        *reference_at_site(rows[counted_rows(rows)], regression.features_),
        *unseen_warning(site.unseen),
        *estimate.warnings,
    )
    site = replace(site, row={**site.row, "rows": rows})
    return replace(estimate, n_images=n_images, warnings=warnings, site=site)


def _nothing_found(
    site: Site, regression: BayesianRegression, others: Mapping[str, Any]
) -> Estimate:
    """Return an estimate without a value, for a site without a likely box.

    No interval stands in for it: every score is of boxes, so none says whether there are objects
    that the detector missed. With objects the accuracy is near 0, and without it is not defined; an
    interval from 0 to somewhere would claim the first.
    """
    n_images, highest = len(site.boxes), float(site.boxes.clean.scores.max(initial=0.0))
    rows = pd.DataFrame({HIGHEST: [highest]})
    estimates = {
        name: bounds(without_boxes(name)) if nothing_over(rows, name).all() else UNDEFINED
        for name in (regression.target, *others)
    }
    undefined = tuple(
        name for name in estimates if nothing_over(rows, name).all() and undefined_at(name)
    )
    interval = estimates.pop(regression.target)
    return Estimate(
        value=interval["value"],
        lower=interval["lower"],
        upper=interval["upper"],
        level=regression.level,
        interval_method="none, nothing was found",
        target=regression.target,
        n_images=n_images,
        warnings=site.warnings,
        beside=estimates,
        width_warning=nothing_found_text(n_images, regression.target),
        undefined=undefined,
        site=replace(site, nothing_found=True, row={**site.row, "rows": pd.DataFrame()}),
    )


def estimate_rows(
    rows: pd.DataFrame,
    regression: BayesianRegression,
    others: Mapping[str, Any],
    *,
    backbone: str = "ResNet",
) -> Estimate:
    """Estimate from the scores of one set of images, and of each of its categories."""
    estimate = estimate_site_rows(regression, rows, backbone=backbone)
    return _with_other_targets(estimate, regression.site_rows(rows), regression, others, 0.0)


def _with_other_targets(
    estimate: Estimate,
    rows: pd.DataFrame,
    regression: BayesianRegression,
    others: Mapping[str, Any],
    unseen: float,
) -> Estimate:
    """Add the estimates of the other average precisions, and what they say of loose boxes."""
    beside = {
        name: bounds(other.predict_mean(rows, unseen=unseen)) if other else UNDEFINED
        for name, other in others.items()
    }
    values = {
        estimate.target: estimate.value,
        **{n: interval["value"] for n, interval in beside.items()},
    }
    loose = tightness(regression.rows_, values)
    none_over = [name for name in others if nothing_over(rows, name).all()]
    undefined = tuple(name for name in none_over if undefined_at(name))
    of_threshold: tuple[str, ...] = ()
    if none_over:
        beside |= {name: bounds(without_boxes(name)) for name in none_over}
        of_threshold = (nothing_over_text(none_over[0]),)
    elif any(name.startswith("precision@") for name in values):
        unknown = [name for name, other in others.items() if other is None]
        elsewhere = SITE not in rows and GROUP not in rows
        at_home = NOT_CORRECTED if regression.trained_share_ and elsewhere else ()
        every = {estimate.target: regression, **others}
        precise = [
            fitted for name, fitted in every.items() if fitted and name.startswith("precision@")
        ]
        read_by_all = bool(precise) and all(
            fitted.reads_reference(rows).all() for fitted in precise
        )
        hardly = () if read_by_all else OF_PRECISION
        of_threshold = (*hardly, *at_home, *map(no_box_in_fit, unknown))
    return replace(
        estimate,
        beside=beside,
        warnings=tuple(dict.fromkeys((*estimate.warnings, *loose, *of_threshold))),
        undefined=(*estimate.undefined, *undefined),
    )
