"""Which images to label to tell two detectors apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from autoeval.comparison.common_ground import check_fits, on_common_ground
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.plan_folder import plan_in_folder
from autoeval.estimation.site import Site
from autoeval.labels.label_sampling import balanced_order
from autoeval.labels.plan import BY_INFLUENCE, LabelPlan

BY_DIFFERENCE = "predicted influence on the difference of two detectors"


def plan_difference(
    fits: Mapping[str, AccuracyEstimator],
    sites: Mapping[str, Site],
    folder: Path,
    *,
    n: int,
    seed: int = 0,
    frames: int | None = None,
    prelabel: bool = False,
) -> tuple[LabelPlan, list[Path]]:
    """Draw images spread over their predicted influence on the difference of two detectors.

    Parameters
    ----------
    fits, sites : mapping of str to AccuracyEstimator and to Site
        Of two detectors, by name; the plan is that of the first.
    folder : Path
    n, seed, frames, prelabel
        See `plan_in_folder`.

    Raises
    ------
    InputError
        As `on_common_ground` and `plan_in_folder`.
    """
    check_fits(fits)
    common, warnings = on_common_ground(fits, sites)
    (first, one), (second, other) = fits.items()
    estimates = {name: fits[name].predict_site(site) for name, site in common.items()}
    against = other.plan_labels(estimates[second], n=n, seed=seed, frames=frames)

    def spread(plan: LabelPlan) -> LabelPlan:
        return by_difference(replace(plan, warnings=(*plan.warnings, *warnings)), against)

    return plan_in_folder(
        one,
        estimates[first],
        folder,
        n=n,
        prelabel=prelabel,
        change=spread,
        seed=seed,
        frames=frames,
    )


def by_difference(plan: LabelPlan, other: LabelPlan) -> LabelPlan:
    """Spread a draw over the difference of the influences that two plans predict.

    Images that move both detectors alike are all in the middle of that order; images that decide
    which is better are at its ends, and every beginning of the sequence holds some of both. A draw
    that is spread over time stays as it is.
    """
    if plan.order != BY_INFLUENCE:
        return plan
    difference = (plan.influence - other.influence).mean(axis=(0, 1))
    sequence = balanced_order(np.argsort(difference, kind="stable"), seed=plan.seed)
    return replace(plan, sequence=sequence, order=BY_DIFFERENCE)
