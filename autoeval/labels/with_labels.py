"""From a plan and labels to an estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from autoeval.accuracy.average_precision import RankedDetections
from autoeval.accuracy.coco_matching import rank_categories
from autoeval.errors import InputError
from autoeval.io.labels.content import LabelSet
from autoeval.io.wording import listed
from autoeval.labels.estimators import FEWEST_HOLDING, LEVELS, LabelEstimates
from autoeval.labels.label_sampling import LabelledSubset, match_labels
from autoeval.labels.labelled_categories import (
    on_all_categories,
    on_labelled_categories,
    with_categories,
)
from autoeval.labels.labelled_estimate import LabelledEstimate
from autoeval.labels.plan import LabelPlan
from autoeval.labels.sample_size import FEWEST_LABELS, WidthForecast, outlook_after
from autoeval.labels.target_estimates import TargetEstimates, estimate_target
from autoeval.labels.value_with_error import NOTHING
from autoeval.notices import Notice, as_notice
from autoeval.sites.label_warnings import label_warnings
from autoeval.targets import OperatingPoint, points_at

NOTHING_FOUND = "nothing-found"  # code of a plan's warning that only holds without labels
FIRST, STEPS = 5, 20  # labels, and numbers of labels, of the history


def estimate_with_labels(
    plan: LabelPlan,
    labels: LabelSet,
    *,
    words: Mapping[str, str] | None = None,
    planned: bool = True,
    score_thr: float | None = None,
) -> LabelledEstimate:
    """Estimate the accuracy on the pool of a plan from the labels of some of its images.

    For `words` see `match_labels`. Images that the plan did not draw are left out, unless they are
    not `planned`: all are then used, and taken as a simple random draw. `score_thr` is by default
    that of the plan. Raises as `match_labels` and `LabelPlan.predicted`.
    """
    score_thr = plan.score_thr if score_thr is None else score_thr
    points = () if score_thr is None else points_at(score_thr, plan.iou)
    if points and not any(map(plan.measures, points)):
        raise InputError(
            f"This plan drew the images that {plan.target} depends on, which measure nothing at "
            f"{score_thr:g}: choose a higher threshold, or plan for that one."
        )
    others = {
        target: estimates
        for of_kind in (tuple(LEVELS), points)
        for target, estimates in estimate_targets(
            plan,
            labels,
            [target for target in of_kind if target != plan.target and plan.measures(target)],
            words=words,
            planned=planned,
        ).items()
    }
    plan, subset = _labelled_part(
        plan, labels, words, planned=planned, at_threshold=at_threshold([plan.target])
    )
    rankings = rank_categories(plan.found.on_images(subset.images), subset.truth)
    estimates = estimate_target(plan, subset.images, rankings, plan.target)
    whole, categories = estimates.whole, estimates.each
    k = len(subset.images)
    measured = [name for name, estimates in categories.items() if estimates.measured]
    return LabelledEstimate(
        plan.target,
        plan.level,
        n_labelled=k,
        n_pool=plan.n_pool,
        whole={plan.target: whole, **others},
        by_category=categories,
        n_behind=len(measured),
        outlook=_outlook(plan, subset.images, estimates),
        history=_history(plan, subset.images, rankings, whole),
        printed=plan.printed,
        warnings=(
            *_warnings(plan, subset, rankings),
            *warnings_of_few(categories, k),
            *warnings_of_conflict(whole),
        ),
    )


def _history(
    plan: LabelPlan,
    images: np.ndarray,
    rankings: Sequence[RankedDetections],
    whole: LabelEstimates,
) -> tuple[tuple[int, LabelEstimates], ...]:
    """Estimate the target with the first labels only, at `STEPS` numbers of labels at most.

    Where all images are labelled the values are exact, and what fewer would have given is not
    looked at.
    """
    k = len(images)
    if k < FIRST or k == plan.n_pool:
        return ((k, whole),)
    order = np.argsort(np.argsort(plan.sequence)[images], kind="stable")
    sizes = np.unique(np.geomspace(FIRST, k, STEPS).round().astype(int))
    history = []
    for size in sizes[:-1].tolist():
        first = [ranking.take(order[:size]) for ranking in rankings]
        history.append(
            (size, estimate_target(plan, images[order[:size]], first, plan.target).whole)
        )
    return (*history, (k, whole))


def _outlook(plan: LabelPlan, images: np.ndarray, estimates: TargetEstimates) -> WidthForecast:
    """Forecast the precision that more labels give."""
    whole, k = estimates.whole, len(images)
    if estimates.joint is not None:
        return plan.outlook_after(estimates.joint, k)
    if not whole.difference.known:
        return plan.outlook()
    prior = NOTHING if whole.combined.conflict else whole.prior
    return outlook_after(whole.difference, k, plan.n_pool, prior=prior, level=plan.level)


def estimate_targets(
    plan: LabelPlan,
    labels: LabelSet,
    targets: Sequence[str],
    *,
    words: Mapping[str, str] | None = None,
    planned: bool = True,
) -> dict[str, LabelEstimates]:
    """Estimate several targets of all categories together; see `estimate_with_labels`.

    All are average precisions, or all measures at a threshold.
    """
    if not targets:
        return {}
    plan, subset = _labelled_part(
        plan, labels, words, planned=planned, at_threshold=at_threshold(targets)
    )
    rankings = rank_categories(plan.found.on_images(subset.images), subset.truth)
    return {
        target: estimate_target(plan, subset.images, rankings, target).whole for target in targets
    }


def at_threshold(targets: Sequence[str]) -> bool:
    """Whether targets are measures at a threshold."""
    return any(OperatingPoint.of(target) for target in targets)


def warnings_with_labels(
    plan: LabelPlan,
    labels: LabelSet,
    *,
    words: Mapping[str, str] | None = None,
    planned: bool = True,
) -> tuple[str, ...]:
    """Return the warnings of a plan and of labels, for what is made of them otherwise."""
    plan, subset = _labelled_part(plan, labels, words, planned=planned)
    rankings = rank_categories(plan.found.on_images(subset.images), subset.truth)
    return _warnings(plan, subset, rankings)


def _warnings(
    plan: LabelPlan, subset: LabelledSubset, rankings: Sequence[RankedDetections]
) -> tuple[str, ...]:
    """Return the warnings of a plan and of labels; what labels decide is no warning any more."""
    kept = [warning for warning in plan.warnings if as_notice(warning).code != NOTHING_FOUND]
    boxes = plan.found.on_images(subset.images)
    return (*kept, *subset.warnings, *label_warnings(boxes, subset.truth, rankings))


def _labelled_part(
    plan: LabelPlan,
    labels: LabelSet,
    words: Mapping[str, str] | None,
    *,
    planned: bool,
    at_threshold: bool = False,
) -> tuple[LabelPlan, LabelledSubset]:
    """Match the labels with the pool, and let the plan be about the categories that they measure.

    Where every image is labelled a category without an object has no average precision; at a
    threshold its boxes are false positives.
    """
    chosen = on_all_categories if at_threshold else on_labelled_categories
    plan, warnings = chosen(plan, labels, words)
    plan = plan if planned else replace(plan, sizes=None)
    subset = match_labels(labels, plan.found, words)
    subset = drawn_by_plan(subset, plan) if planned else as_random_draw(subset, plan.n_pool)
    if len(subset.images) == plan.n_pool and not at_threshold:
        objects = np.bincount(subset.truth.label, minlength=len(plan.found.categories))
        kept = [name for name, n in zip(plan.found.categories, objects, strict=True) if n]
        if len(kept) < len(objects):
            plan = with_categories(plan, kept, [])
            truth = match_labels(labels, plan.found, words).truth
            subset = replace(subset, truth=truth)
    return plan, replace(subset, warnings=(*warnings, *subset.warnings))


def drawn_by_plan(
    subset: LabelledSubset, plan: LabelPlan, places: np.ndarray | None = None
) -> LabelledSubset:
    """Keep the images that the plan drew: how others were chosen is unknown.

    `places` has the index into the plan's pool of each image that the subset counts from; by
    default they are the same. Raises InputError if the plan drew none of them.
    """
    at = subset.images if places is None else places[subset.images]
    inside = np.isin(at, plan.drawn)
    warnings = list(subset.warnings)
    if not inside.any():
        drawn, labelled = ([plan.found.images[k].image_id for k in of] for of in (plan.drawn, at))
        raise InputError(
            f"The plan drew none of the {len(at)} labelled images ({listed(labelled)}): label "
            f"those that it drew ({listed(drawn)}), or, if these are a random sample, estimate "
            "without the plan by `autoeval estimate --labels`."
        )
    if not inside.all():
        names = [plan.found.images[k].image_id for k in at[~inside]]
        warnings.append(
            Notice(
                "images-not-planned",
                f"labelled images that the plan did not draw, left out: {len(names)} "
                f"({listed(names)}). Plan again with a larger --n, or estimate without the plan",
                severity="note",
            )
        )
    if inside.sum() < plan.n:
        warnings.append(
            Notice(
                "plan-incomplete",
                f"{plan.n - int(inside.sum())} of {plan.n} planned images are not labelled: the "
                "estimate is biased if they were skipped for what they show",
            )
        )
    kept = np.flatnonzero(inside)
    truth = subset.truth.on_images(kept)
    return LabelledSubset(subset.images[kept], truth, tuple(warnings))


def as_random_draw(subset: LabelledSubset, n_pool: int) -> LabelledSubset:
    """Warn that images which no plan drew are taken as a simple random draw, if some are left."""
    if len(subset.images) == n_pool:
        return subset
    warning = Notice(
        "no-plan",
        "no plan drew these images: they are taken as a simple random draw of the pool, which "
        "images chosen for what they show are not",
        severity="note",
    )
    return replace(subset, warnings=(*subset.warnings, warning))


def warnings_of_few(categories: Mapping[str, LabelEstimates], k: int) -> tuple[str, ...]:
    """Warn of k labels that are few, and of categories that too few labelled images hold."""
    warnings = []
    if k < FEWEST_LABELS:
        warnings.append(
            Notice(
                "few-labels",
                f"{k} labels are too few for an interval of their own: the combined estimate "
                "depends on the label-free one",
                severity="note",
            )
        )
    few = [name for name, estimates in categories.items() if not estimates.measured]
    if few and len(few) < len(categories):
        warnings.append(
            Notice(
                "few-labels-of-category",
                f"fewer than {FEWEST_HOLDING} labelled images hold {listed(few)}: these rest on "
                "the label-free estimates and on what the labels show of the other categories. "
                f"The labels measure {len(categories) - len(few)} of {len(categories)} categories",
                severity="note",
            )
        )
    elif few:
        warnings.append(
            Notice(
                "few-labels-of-category",
                f"fewer than {FEWEST_HOLDING} labelled images hold an object of any category: the "
                "result rests on the label-free estimate",
                severity="note",
            )
        )
    return tuple(warnings)


def warnings_of_conflict(whole: LabelEstimates) -> tuple[str, ...]:
    """Warn where labels and label-free estimate contradict each other."""
    if not whole.combined.conflict:
        return ()
    return (
        Notice(
            "labels-contradict",
            "the labels contradict the level of the label-free estimate, which the combined "
            "estimate leaves out: these images are unlike those that the estimator was fitted on",
        ),
    )
