"""The accuracy on a pool by labels and the label-free estimate together, from top to bottom.

A plan and labels are matched, each target is estimated of all categories together and of each
(`estimate_target`), the precision of more labels is forecast: that is a `LabelledEstimate`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from autoeval.accuracy.coco_evaluation import rank_categories
from autoeval.accuracy.measures import RankedDetections, image_counts
from autoeval.errors import InputError
from autoeval.io.labels.content import LabelSet
from autoeval.labels.assistance import MixingWeights
from autoeval.labels.category_estimate import (
    FEWEST_HOLDING,
    LEVELS,
    LabelEstimates,
    LabelledSample,
    SampleAccuracy,
    difference_of_category,
    measure_counts,
    measure_sample,
    sample_estimate,
)
from autoeval.labels.joint import CategoryEstimates, CategorySample, estimate_categories
from autoeval.labels.matching import (
    LabelledSubset,
    labels_on,
    match_labels,
    on_all_categories,
    on_labelled_categories,
    with_categories,
)
from autoeval.labels.outlook import FEWEST_LABELS, WidthForecast, outlook_after
from autoeval.labels.plan import LabelPlan
from autoeval.labels.values import NOTHING, ValueWithError, combine
from autoeval.notices import Notice, as_notice
from autoeval.result_base import ENDS, Result
from autoeval.sites.label_warnings import contradicted, label_warnings
from autoeval.targets import OperatingPoint, points_at
from autoeval.words import listed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

GOALS = (0.05, 0.03)
BESIDE = 0.3  # rows between the two intervals of a category, in a plot
FREE = ("label_free", "label_free_lower", "label_free_upper")
NOTHING_FOUND = "nothing-found"  # code of a plan's warning that only holds without labels
FIRST, STEPS = 5, 20  # labels, and numbers of labels, of the history


@dataclass(frozen=True, repr=False)
class LabelledEstimate(Result):
    """The accuracy on a pool, estimated with a few labels.

    Parameters
    ----------
    target : str
    level : float
    n_labelled, n_pool : int
    whole : dict of str to LabelEstimates
        ``mAP``, ``mAP50`` and ``mAP75`` over all categories; at a threshold ``precision@0.3``,
        ``recall@0.3`` and ``f1@0.3``, of all categories together.
    by_category : dict of str to LabelEstimates
        The target of each category.
    n_behind : int
        Categories that enough labelled images hold, of those in `by_category`.
    outlook : WidthForecast
        Forecast of the precision that more labels give.
    history : tuple of (int, LabelEstimates)
        The target with the first labels only, at numbers of labels in a geometric series.
    warnings : tuple of str
    printed : dict of str to dict
        Label-free estimates as the estimate without labels printed them; see `LabelPlan`.
    """

    target: str
    level: float
    n_labelled: int
    n_pool: int
    whole: dict[str, LabelEstimates]
    by_category: dict[str, LabelEstimates]
    n_behind: int
    outlook: WidthForecast
    history: tuple[tuple[int, LabelEstimates], ...]
    warnings: tuple[str, ...]
    printed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def basis(self) -> str:
        """What the value rests on, in words."""
        return f"from {self.n_labelled} labelled images of {self.n_pool}"

    @property
    def other_targets(self) -> dict[str, dict[str, float]]:
        """``value``, ``lower`` and ``upper`` of other targets, inside [0, 1]."""
        others = {name: of for name, of in self.whole.items() if name != self.target}
        return {name: of.inside(self.level) for name, of in others.items()}

    def label_free(self, category: str = "", target: str = "") -> dict[str, float]:
        """Return ``value``, ``lower`` and ``upper`` of the label-free estimate, in [0, 1].

        As the estimate without labels printed it; where it printed none of these categories
        together, by its error. Of the target and of all categories by default.
        """
        target = target or self.target
        only = len(self.by_category) == 1
        printed = self.printed.get(f"{target}/{category}" if category else target)
        if printed is None and (only or not category):
            printed = self.printed.get(target)
        if printed is not None:
            return dict(printed)
        prior = (self.by_category[category] if category else self.whole[target]).prior
        ends = np.clip([prior.value, *prior.interval(self.level)], 0, 1).tolist()
        return dict(zip(ENDS, ends, strict=True))

    def label_free_half_width(self, target: str = "") -> float:
        """Return the longer arm of the label-free interval of all categories, in [0, 1]."""
        free = self.label_free(target=target)
        return max(free["value"] - free["lower"], free["upper"] - free["value"])

    @property
    def recommended(self) -> ValueWithError:
        """The combined estimate of the target."""
        return self.whole[self.target].combined.estimate

    @property
    def value(self) -> float:
        """The recommended value, inside [0, 1]."""
        return min(max(self.recommended.value, 0.0), 1.0)

    @property
    def interval(self) -> tuple[float, float]:
        """Its interval, inside [0, 1]."""
        lower, upper = self.recommended.interval(self.level)
        return max(lower, 0.0), min(upper, 1.0)

    @property
    def lower(self) -> float:
        """Lower end of the interval."""
        return self.interval[0]

    @property
    def upper(self) -> float:
        """Upper end of the interval."""
        return self.interval[1]

    @property
    def per_category(self) -> dict[str, dict[str, float]]:
        """``value``, ``lower`` and ``upper`` of each category, inside [0, 1]."""
        return {name: estimates.inside(self.level) for name, estimates in self.by_category.items()}

    @property
    def forecast_known(self) -> bool:
        """Whether it is known what more labels would give.

        Not where boxes contradict the labels: these may be of other images. With all labels nothing
        is left to forecast, and the value is that of these labels.
        """
        return self.n_labelled == self.n_pool or not contradicted(self.warnings)

    def more_labels(self, half_width: float) -> int:
        """Return how many more labels a half-width is expected to take; 0 where it is reached."""
        if self.recommended.half_width(self.level) <= half_width:
            return 0
        return max(self.outlook.needed(half_width) - self.n_labelled, 1)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for the whole, called ``""``, and one for each category.

        The columns are ``category``, ``value``, ``lower`` and ``upper`` of the combined estimate,
        ``label_free``, ``label_free_lower`` and ``label_free_upper``, and ``measured``: whether
        labels measure it.
        """
        import pandas as pd

        rows = []
        for name, estimates in {"": self.whole[self.target], **self.by_category}.items():
            free = dict(zip(FREE, self.label_free(name).values(), strict=True))
            rows.append(
                {
                    "category": name,
                    **estimates.inside(self.level),
                    **free,
                    "measured": estimates.measured,
                }
            )
        return pd.DataFrame(rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the whole and each category, the lowest last, with intervals, in points of 100.

        Parameters
        ----------
        ax : Axes, optional
            A new figure by default.
        """
        import pandas as pd
        from matplotlib.figure import Figure

        whole, rest = (self.to_pandas()[part] for part in (slice(0, 1), slice(1, None)))
        rows = pd.concat([whole, rest.sort_values("value", ascending=False)])
        if ax is None:
            size = (7, 1.2 + max(0.18, 0.3 - 0.004 * len(rows)) * len(rows))
            ax = Figure(figsize=size, layout="constrained").subplots()
        y = -np.arange(len(rows))
        value, lower, upper = (100 * rows[name] for name in ("value", "lower", "upper"))
        ax.errorbar(value, y, xerr=[value - lower, upper - value], fmt="o", label="with labels")
        free, low, high = (100 * rows[name] for name in FREE)
        ends = [free - low, high - free]
        marks = ax.errorbar(free, y + BESIDE, xerr=ends, fmt="o", ms=4, lw=1, color="0.6")
        marks.set_label("without labels")
        marks.lines[0].set_markerfacecolor("white")
        ax.set_ylim(y[-1] - 1, 1)
        ax.set_yticks(y, ["all categories", *rows["category"][1:]], parse_math=False)
        ax.set(xlabel=f"{self.target} (points of 100, {self.level:.0%} interval)", xlim=(0, 100))
        ax.legend(frameon=False, loc="lower right")  # the lowest are at the left there
        return ax


@dataclass(frozen=True, eq=False)
class TargetEstimates:
    """Estimates of one target: of all categories together and of each."""

    whole: LabelEstimates
    each: dict[str, LabelEstimates]
    joint: CategoryEstimates | None = None  # of an average precision


def estimate_target(
    plan: LabelPlan, images: np.ndarray, rankings: Sequence[RankedDetections], target: str
) -> TargetEstimates:
    """Estimate a target of all categories and of each from labelled images, (k,), and rankings."""
    weights = plan.weights(images)
    sample = LabelledSample(images, plan.n_pool, weights, plan.blocks[images])
    accuracies = [
        measure_sample(ranking, target, weights, complete=sample.complete) for ranking in rankings
    ]
    names, whole = plan.found.categories, plan.priors.get(target, NOTHING)
    priors = [plan.label_free(target, name) for name in names]
    if sample.complete:  # no influence is needed, nor predicted
        predicted, together = list(np.zeros((len(names), plan.n_pool))), np.zeros(plan.n_pool)
    else:
        *predicted, together = plan.predicted(target)
    point, mixing = OperatingPoint.of(target), plan.mixing_of(target)
    if point is None:
        bias = plan.small_sample_bias
        joint = estimate_categories(
            CategorySample(
                sample,
                accuracies,
                predicted,
                bias,
                priors,
                whole,
                plan.expected_holding.in_pool(plan.n_pool),
            )
        )
        each = dict(zip(names, joint.each, strict=True))
        return TargetEstimates(joint.whole if len(names) > 1 else joint.each[0], each, joint)
    parts = zip(accuracies, predicted, priors, strict=True)
    estimates = [
        estimate_category(one, sample, influence, mixing, small_sample_bias=0, prior=prior)
        for one, influence, prior in parts
    ]
    each = dict(zip(names, estimates, strict=True))
    if len(each) == 1:
        return TargetEstimates(estimates[0], each)
    counts = [image_counts(ranking, point.score_thr, point.level) for ranking in rankings]
    accuracy = measure_counts(point.measure, np.sum(counts, axis=0), weights)
    accuracy = replace(accuracy, complete=sample.complete)
    pooled = estimate_category(accuracy, sample, together, mixing, small_sample_bias=0, prior=whole)
    return TargetEstimates(pooled, each)


def estimate_category(
    accuracy: SampleAccuracy,
    sample: LabelledSample,
    predicted: np.ndarray,
    mixing: MixingWeights,
    *,
    small_sample_bias: float,
    prior: ValueWithError = NOTHING,
) -> LabelEstimates:
    """Estimate from labelled images, with a predicted influence and a label-free estimate.

    `predicted` (M,) is that of all images of the pool, made with `mixing`.
    """
    alone, difference = NOTHING, NOTHING
    if accuracy.usable:
        residual = None
        if len(sample) > 1 and mixing.residual.dof > 0:
            residual = mixing.residual.scaled(float(predicted.var(ddof=1)))
        alone = sample_estimate(accuracy, sample, prior)
        difference = difference_of_category(
            accuracy, sample, predicted, small_sample_bias, prior, residual
        )
    both = combine(difference, prior).possible
    n_true, n_holding = accuracy.n_true, accuracy.n_holding
    return LabelEstimates(alone, difference, prior, both, n_true, n_holding, accuracy.measured)


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
    labels = labels_of_plan(labels, plan, words)
    of_plan = plan  # as it was, for targets that are about other categories
    own_kind = OperatingPoint.of(plan.target) is not None
    plan, subset = _labelled_part(plan, labels, words, planned=planned, at_threshold=own_kind)
    rankings = rank_categories(plan.found.on_images(subset.images), subset.truth)
    others: dict[str, LabelEstimates] = {}
    for at_threshold, of_kind in ((False, tuple(LEVELS)), (True, points)):
        targets = [name for name in of_kind if name != plan.target and plan.measures(name)]
        if at_threshold == own_kind:  # labels are matched already
            for name in targets:
                others[name] = estimate_target(plan, subset.images, rankings, name).whole
        else:
            others |= estimate_targets(of_plan, labels, targets, words=words, planned=planned)
    estimates = estimate_target(plan, subset.images, rankings, plan.target)
    whole, categories = estimates.whole, estimates.each
    k = len(subset.images)
    if estimates.joint is not None:
        outlook: WidthForecast = plan.outlook_after(estimates.joint, k)
    elif whole.difference.known:
        prior = NOTHING if whole.combined.conflict else whole.prior
        outlook = outlook_after(whole.difference, k, plan.n_pool, prior=prior, level=plan.level)
    else:
        outlook = plan.outlook()
    measured = [name for name, estimates in categories.items() if estimates.measured]
    return LabelledEstimate(
        plan.target,
        plan.level,
        n_labelled=k,
        n_pool=plan.n_pool,
        whole={plan.target: whole, **others},
        by_category=categories,
        n_behind=len(measured),
        outlook=outlook,
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


def labels_of_plan(
    labels: LabelSet, plan: LabelPlan, words: Mapping[str, str] | None = None
) -> LabelSet:
    """Call images and categories of labels as a plan does; see `labels_on`.

    words: translated later; their spelling is then the known one.
    """
    rest = () if plan.rest is None else plan.rest.categories
    return labels_on(labels, plan.found.images, [*(words or (*plan.found.categories, *rest))])


def estimate_targets(
    plan: LabelPlan,
    labels: LabelSet,
    targets: Sequence[str],
    *,
    words: Mapping[str, str] | None = None,
    planned: bool = True,
) -> dict[str, LabelEstimates]:
    """Estimate several targets of all categories together; see `estimate_with_labels`.

    All are average precisions, or all measures at a threshold. Labels are `labels_of_plan`.
    """
    if not targets:
        return {}
    plan, subset = _labelled_part(
        plan,
        labels,
        words,
        planned=planned,
        at_threshold=any(OperatingPoint.of(target) for target in targets),
    )
    rankings = rank_categories(plan.found.on_images(subset.images), subset.truth)
    return {
        target: estimate_target(plan, subset.images, rankings, target).whole for target in targets
    }


def warnings_with_labels(
    plan: LabelPlan,
    labels: LabelSet,
    *,
    words: Mapping[str, str] | None = None,
    planned: bool = True,
) -> tuple[str, ...]:
    """Return the warnings of a plan and of `labels_of_plan`, for what is made of them otherwise."""
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
