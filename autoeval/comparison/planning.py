"""Which images to label to tell two detectors apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from autoeval.comparison.common_ground import at_floors, check_fits, on_common_ground
from autoeval.comparison.pair_model import pair_prior
from autoeval.comparison.paired_labels import SPREAD, outlook_without_labels
from autoeval.comparison.unlabelled_difference import Side, compare_label_free
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.plan_folder import plan_in_folder
from autoeval.labels.outlook import Outlook
from autoeval.labels.plan import BY_INFLUENCE, LabelPlan, balanced_order
from autoeval.sites.site import Site

BY_DIFFERENCE = "predicted influence on the difference of two detectors"


def plan_difference(
    fits: Mapping[str, AccuracyEstimator],
    sites: Mapping[str, Site],
    folder: Path | None,
    *,
    n: int,
    seed: int | None = None,
    frames: int | None = None,
    prelabel: bool = False,
) -> LabelPlan:
    """Draw images spread over their predicted influence on the difference of two detectors.

    The plan is that of the first, with the forecast of the precision that labels give of the
    difference; see `plan_in_folder`. Raises as `on_common_ground` and `plan_in_folder`.
    """
    check_fits(fits)
    fits, sites = at_floors(fits, sites)
    common, warnings = on_common_ground(fits, sites)
    (first, one), (second, other) = fits.items()
    estimates = {name: fits[name].predict_site(site) for name, site in common.items()}
    against = other.plan_labels(
        estimates[second], n=n, seed=seed or 0, frames=frames, everywhere=True
    )

    def spread(plan: LabelPlan) -> LabelPlan:
        return by_difference(replace(plan, warnings=(*plan.warnings, *warnings)), against)

    plan = plan_in_folder(
        one,
        estimates[first],
        folder,
        n=n,
        prelabel=prelabel,
        change=spread,
        seed=seed,
        frames=frames,
        everywhere=True,
    )
    a, b = (Side.of(name, fits[name], site) for name, site in common.items())
    return replace(plan, difference=outlook_of(a, b, one.target, one.level, plan))


def outlook_of(a: Side, b: Side, target: str, level: float, plan: LabelPlan) -> Outlook:
    """Forecast the precision that labels give of the difference of two detectors."""
    free = compare_label_free(a, b, target, pair_prior(), {})
    outlook = outlook_without_labels(free, len(a.site), level)
    if outlook is not None:
        return outlook
    # at a threshold, of two detectors that are taken to be independent
    residual = plan.residual_variance().scaled(2.0 * SPREAD**2)
    return Outlook(residual, len(a.site), free.whole, level)


def by_difference(plan: LabelPlan, other: LabelPlan) -> LabelPlan:
    """Spread a draw over the difference of the influences that two plans predict.

    Images that move both detectors alike are all in the middle of that order; images that decide
    which is better are at its ends, and every beginning of the sequence holds some of both. A draw
    that is spread over time stays as it is.
    """
    if plan.order != BY_INFLUENCE:
        return plan
    difference = plan.predicted(plan.target)[-1] - other.predicted(other.target)[-1]
    sequence = balanced_order(np.argsort(difference, kind="stable"), seed=plan.seed)
    return replace(plan, sequence=sequence, order=BY_DIFFERENCE)
