"""The accuracy of each of several detectors by the same labelled images, one at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autoeval.comparison.paired_labels import PairedLabels
from autoeval.errors import InputError
from autoeval.estimation.estimate import estimate_site
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.label_planning import Draw, plan_site
from autoeval.estimation.labelling import priors_of_targets
from autoeval.labels.assistance import MODEL, MixingWeights
from autoeval.labels.category_estimate import LEVELS, LabelEstimates
from autoeval.labels.compact import ByImage
from autoeval.labels.labelled_estimate import estimate_target
from autoeval.labels.plan import BY_INFLUENCE, LabelPlan
from autoeval.labels.values import ValueWithError, VariancePrior
from autoeval.sites.site import Site
from autoeval.targets import IOUS, MEASURES, OperatingPoint

NO_ASSISTANCE = MixingWeights({MODEL: 0.0}, VariancePrior(0.0, 0.0), 0.0)


def labelled_level(
    name: str, fitted: AccuracyEstimator, labelled: PairedLabels
) -> tuple[LabelEstimates, dict[str, LabelEstimates]]:
    """Estimate one detector as `estimate --labels` does: the whole, and each category."""
    plan = replace(
        _plan(fitted, labelled.sites[name]), blocks=labelled.blocks, sizes=labelled.sizes
    )
    images, rankings = labelled.sample.images, labelled.rankings[name]
    estimate = estimate_target(plan, images, rankings, fitted.target)
    return estimate.whole, estimate.each


def _plan(fitted: AccuracyEstimator, site: Site) -> LabelPlan:
    """Describe the site for an estimate with labels; without assistance where the fit has none."""
    regression, target = fitted.regression_, fitted.target
    estimate = estimate_site(site, regression, {})
    assert estimate.site is not None
    priors = priors_of_targets(estimate, {target: regression})
    point = OperatingPoint.of(target)
    try:
        return plan_site(estimate.site, fitted.fit_, priors, Draw(n=1, everywhere=True), point)
    except InputError:  # too few labelled boxes in the fit, or a pass that the site lacks
        return _plan_without_assistance(site, priors, target, fitted.level, point)


def _plan_without_assistance(
    site: Site,
    priors: dict[str, ValueWithError],
    target: str,
    level: float,
    point: OperatingPoint | None,
) -> LabelPlan:
    """Make a plan that predicts no influence: labels then count by themselves."""
    boxes = site.boxes
    n, n_categories = len(boxes.images), len(boxes.categories)
    return LabelPlan(
        boxes,
        influence=ByImage.of(np.zeros((n_categories, len(LEVELS), n)), n),
        sequence=np.arange(n),
        n=1,
        seed=0,
        order=BY_INFLUENCE,
        blocks=np.arange(n),
        mixing=NO_ASSISTANCE,
        small_sample_bias=0.0,
        priors=priors,
        target=target,
        level=level,
        detector="",
        iou=point.iou if point else IOUS[0],
        probabilities=np.zeros(len(boxes)),
        objects=ByImage.of(np.zeros((n_categories, 1, n)), n),
        points=dict.fromkeys(MEASURES, NO_ASSISTANCE),
    )
