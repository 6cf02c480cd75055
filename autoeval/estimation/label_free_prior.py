"""Label-free estimates as priors, with the error that places show which were left out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.regressions import Regression
from autoeval.labels.prior import OF_ONE_SET, ErrorOfPrior, fit_error_of_prior
from autoeval.labels.value_with_error import NOTHING, ValueWithError, quantile

FEWEST_FAMILIES = 5


def priors_of(estimate: Estimate, error: ErrorOfPrior | None = None) -> dict[str, ValueWithError]:
    """Take label-free estimates with their errors out of an `Estimate`.

    Parameters
    ----------
    estimate : Estimate
        Of one category, or with its categories.
    error : ErrorOfPrior, optional
        From `error_elsewhere`; for single categories, since those are what was left out.

    Returns
    -------
    dict of str to ValueWithError
        By name: that of the target, such as ``mAP``, and ``mAP/<category>``; without those for
        which there is no interval.
    """
    whole = {"value": estimate.value, "lower": estimate.lower, "upper": estimate.upper}
    several = estimate.per_category
    priors = {estimate.target: with_error(whole, estimate.level, None if several else error)}
    for name, of in several.items():
        priors[f"{estimate.target}/{name}"] = with_error(of, estimate.level, error)
    return {name: prior for name, prior in priors.items() if prior.known}


def priors_of_targets(
    estimate: Estimate, regressions: Mapping[str, Regression]
) -> dict[str, ValueWithError]:
    """Take the label-free estimates of several targets; see `priors_of`.

    Parameters
    ----------
    estimate : Estimate
        Of a site.
    regressions : mapping of str to Regression
        By target, on the scores of the estimate; that of the estimate's own target is among them.
    """
    assert estimate.site is not None
    rows = pd.DataFrame(estimate.site.row["rows"])
    found: dict[str, ValueWithError] = {}
    for target, regression in regressions.items():
        of_target, error = estimate, None
        if isinstance(regression, BayesianRegression):
            if not estimate.site.known:
                error = error_elsewhere(regression.cross_validated_, estimate.level) or OF_ONE_SET
            if target != estimate.target:
                of_target = regression.predict_rows(rows, unseen=estimate.site.unseen)
        elif target != estimate.target:
            of_target = regression.predict_rows(rows, backbone=estimate.site.backbone)
        found |= priors_of(of_target, error)
    return found


def with_error(
    of: Mapping[str, Any], level: float, error: ErrorOfPrior | None = None
) -> ValueWithError:
    """Turn ``value``, ``lower`` and ``upper`` of an estimate into a value with its error.

    The error is that of a normal distribution with the same interval, of whose two arms the longer
    counts, since it may be cut at 0 or 1; with `error` it is brought to what left-out places show.
    """
    value, lower, upper = (float(of[name]) for name in ("value", "lower", "upper"))
    if not (math.isfinite(value) and math.isfinite(lower) and math.isfinite(upper)):
        return NOTHING
    stated = max(value - lower, upper - value) / quantile(level, math.inf)
    return ValueWithError(value, stated) if error is None else error.at(value, stated)


def error_elsewhere(held_out: pd.DataFrame, level: float) -> ErrorOfPrior | None:
    """Learn from pairs of place and category how far estimates are off, by what they state.

    Parameters
    ----------
    held_out : DataFrame
        See `BayesianRegression.cross_validated_`.
    level : float
        Nominal coverage of its intervals.

    Returns
    -------
    ErrorOfPrior or None
        None with fewer than `FEWEST_FAMILIES` families.
    """
    if not len(held_out):
        return None
    rows = held_out.rename(columns={"estimate": "value"}).to_dict("records")
    known = [(row, of) for row in rows if (of := with_error(row, level)).known]
    families = [str(row["family"]) for row, _ in known]
    if len(set(families)) < FEWEST_FAMILIES:
        return None
    figures = [(of.value, row["true"], of.error) for row, of in known]
    estimates, truths, stated = pd.DataFrame(figures).to_numpy(float).T
    return fit_error_of_prior(estimates, truths, families, stated=stated)
