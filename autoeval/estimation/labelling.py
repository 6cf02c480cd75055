"""What labels need of an estimator: sites to learn from, priors of the targets, images to draw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autoeval.errors import InputError
from autoeval.estimation.estimate import Estimate, estimate_rows
from autoeval.labels.assistance import LabelAssistance, fit_assistance
from autoeval.labels.values import (
    NOTHING,
    OF_ONE_SET,
    ErrorOfPrior,
    ValueWithError,
    fit_error_of_prior,
    quantile,
)
from autoeval.model.pair_table import Table, floats, names, nothing_over
from autoeval.model.regression import Regression
from autoeval.notices import Notice
from autoeval.sites.site import Site

FEWEST_GROUPS = 5


def assistance_of(
    sets: Sequence[Site],
) -> tuple[LabelAssistance | None, tuple[str, ...]]:
    """Fit label assistance; where there is too little to learn from, say so instead."""
    try:
        return fit_assistance(sets), ()
    except InputError as error:
        return None, (
            Notice(
                "no-label-assistance",
                f"estimates with labels are not possible: {error}",
                severity="note",
            ),
        )


def priors_of(estimate: Estimate, error: ErrorOfPrior | None = None) -> dict[str, ValueWithError]:
    """Take label-free estimates with their errors out of an `Estimate`.

    error: from `error_elsewhere`; for single categories, since those are what was left out.
    Returned: those with an interval, named as the target, such as ``mAP``, and ``mAP/<category>``,
        also of categories that were found and do not count.
    """
    whole = {"value": estimate.value, "lower": estimate.lower, "upper": estimate.upper}
    several = len(estimate.per_category) > 1
    priors = {estimate.target: with_error(whole, estimate.level, None if several else error)}
    for name, interval in (estimate.per_category | estimate.left_out).items():
        priors[f"{estimate.target}/{name}"] = with_error(interval, estimate.level, error)
    return {name: prior for name, prior in priors.items() if prior.known}


def priors_of_targets(
    estimate: Estimate, regressions: Mapping[str, Regression | None]
) -> dict[str, ValueWithError]:
    """Take the label-free estimates of several targets; see `priors_of`.

    regressions: by target, on the scores of the estimate; its own target is among them. There is
        no such estimate of a target without a regression, nor where no box is over the threshold:
        the labels alone then measure recall, which is 0, and precision is not defined.
    """
    assert estimate.site is not None
    rows = estimate.site.row["rows"]
    priors: dict[str, ValueWithError] = {}
    if estimate.site.nothing_found:
        return priors
    for target, regression in regressions.items():
        if regression is None or nothing_over(rows, target).all():
            continue
        of_target, error = estimate, None
        if not (estimate.site.known or estimate.site.group):
            error = error_elsewhere(regression.left_out_, estimate.level) or OF_ONE_SET
        if target != estimate.target:
            of_target = estimate_rows(regression, rows, unseen=estimate.site.unseen)
        priors |= priors_of(of_target, error)
    return priors


def with_error(
    interval: Mapping[str, Any], level: float, error: ErrorOfPrior | None = None
) -> ValueWithError:
    """Turn ``value``, ``lower`` and ``upper`` of an estimate into a value with its error.

    The error is that of a normal distribution with the same interval, of whose two arms the longer
    counts, since it may be cut at 0 or 1; with `error` it is brought to what left-out places show.
    """
    value, lower, upper = (float(interval[name]) for name in ("value", "lower", "upper"))
    if not (math.isfinite(value) and math.isfinite(lower) and math.isfinite(upper)):
        return NOTHING
    stated = max(value - lower, upper - value) / quantile(level, math.inf)
    return ValueWithError(value, stated) if error is None else error.at(value, stated)


def error_elsewhere(held_out: Table, level: float) -> ErrorOfPrior | None:
    """Learn from pairs of place and category how far estimates are off, by what they state.

    Returned: None with fewer than `FEWEST_GROUPS` groups.
    """
    if not len(held_out):
        return None
    ends = zip(held_out["estimate"], held_out["lower"], held_out["upper"], strict=True)
    priors = [
        with_error({"value": value, "lower": lower, "upper": upper}, level)
        for value, lower, upper in ends
    ]
    known = [k for k, prior in enumerate(priors) if prior.known]
    groups = names(held_out, "group")[known].tolist()
    if len(set(groups)) < FEWEST_GROUPS:
        return None
    estimates, stated = np.array([(priors[k].value, priors[k].error) for k in known]).T
    truths = floats(held_out, "true")[known]
    return fit_error_of_prior(estimates, truths, groups, stated=stated)
