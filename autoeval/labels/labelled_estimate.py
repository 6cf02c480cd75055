"""The accuracy on a pool by labels and the label-free estimate together, from top to bottom.

`estimate_with_labels` is behind `autoeval label estimate`. It takes a `LabelPlan` and a `LabelSet`:

1. `labels_of_plan` and `labelled_part` match images (`autoeval.labels.matching`) and categories
   (`autoeval.labels.labelled_categories`);
2. `estimate_rankings` estimates each target, of all categories together and of each
   (`autoeval.labels.category_estimates`; `_at_threshold` for precision, recall and F1);
3. the precision of more labels is forecast (`autoeval.labels.joint`), and what is odd is a warning.

`autoeval.comparison.paired_labels` and `autoeval.estimation.threshold_choice` call the first two
steps for two detectors and for many thresholds. Values are in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from autoeval.accuracy.coco_evaluation import rank_categories
from autoeval.accuracy.measures import OperatingPoint, RankedDetections, image_counts, points_at
from autoeval.boxes import Boxes, over_threshold
from autoeval.errors import InputError
from autoeval.io.labels.content import LabelSet
from autoeval.io.predictions.category_words import known_spellings
from autoeval.labels.assistance import MixingWeights
from autoeval.labels.category_estimates import (
    CategoryEstimates,
    LabelEstimates,
    LabelledSample,
    SampleAccuracy,
    estimate_categories,
    measure_counts,
    measure_levels,
    sample_estimate,
)
from autoeval.labels.joint import FEWEST_LABELS, JointOutlook, WidthForecast, outlook_after
from autoeval.labels.labelled_categories import (
    on_all_categories,
    on_labelled_categories,
    with_categories,
)
from autoeval.labels.matching import (
    as_random_draw,
    drawn_by_plan,
    in_categories,
    labels_on,
    match_labels,
)
from autoeval.labels.plan import LabelPlan, inverse_probabilities
from autoeval.labels.values import FEWEST_HOLDING, LEVELS, NOTHING, ValueWithError, combine
from autoeval.result_base import Result
from autoeval.sites.label_warnings import check_labels, contradicted, label_warnings
from autoeval.words import Notice, counted, listed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

GOALS = (0.05, 0.03)
BETWEEN = 0.3  # rows between the two intervals of a category, in a plot
NOTHING_FOUND = "nothing-found"  # code of a plan's warning that only holds without labels
FIRST = 5  # labels with which the history begins
STEPS = 20  # numbers of labels in the history


@dataclass(frozen=True, repr=False)
class LabelledEstimate(Result):
    """The accuracy on a pool, estimated with a few labels.

    Made by `estimate_with_labels`; `autoeval.report.labels` makes text, page and JSON of it. Values
    and half-widths are in [0, 1]; what is printed is in points of 100.

    Parameters
    ----------
    target : str
        What is estimated; a name in `autoeval.accuracy.measures.TARGETS`, or a measure at a score
        threshold.
    level : float
        Nominal coverage of the intervals.
    value, lower, upper : float
        The combined estimate and its interval, inside [0, 1]. The ends are NaN where there is no
        standard error.
    per_category : dict of str to dict
        ``value``, ``lower`` and ``upper`` of each category.
    n_labelled, n_pool : int
        Images with labels, and all images.
    whole : dict of str to LabelEstimates
        All that the plan's images measure: ``mAP``, ``mAP50`` and ``mAP75`` over all categories;
        with a score threshold ``precision@0.3``, ``recall@0.3`` and ``f1@0.3``, of all categories
        together.
    by_category : dict of str to LabelEstimates
        The target of each category.
    n_measured : int
        Number of the categories of `by_category` that enough labelled images hold.
    outlook : WidthForecast
        Forecast of the precision that more labels give.
    history : tuple of (int, LabelEstimates)
        The target with the first labels only, at numbers of labels in a geometric series, in the
        order of the plan; the last is with all labels, and the only one where these are fewer than
        `FIRST` or of all images.
    warnings : tuple of Notice
        Why the value may be wrong.
    printed : dict of str to dict
        Label-free estimates as the estimate without labels printed them; see `LabelPlan`.

    Examples
    --------
    By hand, for ten labelled images of a hundred with cars alone:

    >>> from autoeval.labels.joint import outlook_after
    >>> labels, free = ValueWithError(0.4, 0.06, 9), ValueWithError(0.5, 0.08)
    >>> car = LabelEstimates(labels, labels, free, combine(labels, free), 30, 10, True)
    >>> estimate = LabelledEstimate(
    ...     "mAP", 0.9, **car.combined.estimate.inside(0.9), per_category={}, n_labelled=10,
    ...     n_pool=100, whole={"mAP": car}, by_category={"car": car}, n_measured=1,
    ...     outlook=outlook_after(labels, 10, 100, prior=free), history=((10, car),), warnings=(),
    ... )
    >>> print(estimate)
    estimated mAP: 43.6 (90% interval 34.9 to 52.3), from 10 labelled images of 100
    >>> estimate.label_free()["value"], estimate.more_labels(half_width=0.05)
    (0.5, 19)
    """

    target: str
    level: float
    value: float
    lower: float
    upper: float
    per_category: dict[str, dict[str, float]]
    n_labelled: int
    n_pool: int
    whole: dict[str, LabelEstimates]
    by_category: dict[str, LabelEstimates]
    n_measured: int
    outlook: WidthForecast
    history: tuple[tuple[int, LabelEstimates], ...]
    warnings: tuple[Notice, ...]
    printed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def basis(self) -> str:
        """What the value rests on, in words."""
        return f"from {counted(self.n_labelled, 'labelled image')} of {self.n_pool}"

    @property
    def other_targets(self) -> dict[str, dict[str, float]]:
        """``value``, ``lower`` and ``upper`` of other targets, inside [0, 1]."""
        estimates = {name: estimate for name, estimate in self.whole.items() if name != self.target}
        return {
            name: estimate.combined.estimate.inside(self.level)
            for name, estimate in estimates.items()
        }

    def label_free(self, category: str | None = None, target: str = "") -> dict[str, float]:
        """Return the label-free estimate, as the estimate without labels printed it.

        Where it printed none of these categories together, as after labels have added or left out
        some, the value is that of `LabelEstimates.prior`, with an interval by its error.

        Parameters
        ----------
        category : str, optional
            By default all categories together; a category may have an empty name.
        target : str
            A name in `whole`; by default that of the estimate. Of a category only that target is
            known.

        Returns
        -------
        dict of str to float
            ``value``, ``lower`` and ``upper`` in [0, 1]; NaN where there was no estimate.
        """
        target = target or self.target
        names = [target if category is None else f"{target}/{category}"]
        if len(self.by_category) == 1:  # which is the whole
            names += [target, f"{target}/{next(iter(self.by_category))}"]
        for name in names:
            if (printed := self.printed.get(name)) is not None:
                return dict(printed)
        estimates = self.whole[target] if category is None else self.by_category[category]
        prior = estimates.prior
        return prior.inside(self.level)

    def label_free_half_width(self, target: str = "") -> float:
        """Return the longer arm of the label-free interval of all categories, in [0, 1].

        Parameters
        ----------
        target : str
            A name in `whole`; by default that of the estimate.
        """
        free = self.label_free(target=target)
        return max(free["value"] - free["lower"], free["upper"] - free["value"])

    @property
    def recommended(self) -> ValueWithError:
        """The combined estimate of the target."""
        return self.whole[self.target].combined.estimate

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends of the interval, inside [0, 1]."""
        return self.lower, self.upper

    @property
    def forecast_known(self) -> bool:
        """Whether it is known what more labels would give.

        Not where boxes contradict the labels: these may be of other images. With all labels nothing
        is left to forecast, and the value is that of these labels.
        """
        return self.n_labelled == self.n_pool or not contradicted(self.warnings)

    def more_labels(self, half_width: float) -> int:
        """Return how many more labels a half-width is expected to take; 0 where it is reached.

        Parameters
        ----------
        half_width : float
            Wanted half-width of the interval, in [0, 1].
        """
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
        for name, estimates in [(None, self.whole[self.target]), *self.by_category.items()]:
            free = self.label_free(name)
            rows.append(
                {
                    "category": name or "",
                    **estimates.combined.estimate.inside(self.level),
                    "label_free": free["value"],
                    "label_free_lower": free["lower"],
                    "label_free_upper": free["upper"],
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

        table = self.to_pandas()
        rows = pd.concat([table[:1], table[1:].sort_values("value", ascending=False)])
        if ax is None:
            size = (7, 1.2 + max(0.18, 0.3 - 0.004 * len(rows)) * len(rows))
            ax = Figure(figsize=size, layout="constrained").subplots()
        y = -np.arange(len(rows))
        value, lower, upper = 100 * rows["value"], 100 * rows["lower"], 100 * rows["upper"]
        ax.errorbar(value, y, xerr=[value - lower, upper - value], fmt="o", label="with labels")
        free = 100 * rows["label_free"]
        ends = [free - 100 * rows["label_free_lower"], 100 * rows["label_free_upper"] - free]
        marks = ax.errorbar(free, y + BETWEEN, xerr=ends, fmt="o", ms=4, lw=1, color="0.6")
        marks.set_label("without labels")
        marks.lines[0].set_markerfacecolor("white")
        ax.set_ylim(y[-1] - 1, 1)
        ax.set_yticks(y, ["all categories", *rows["category"][1:]], parse_math=False)
        ax.set(xlabel=f"{self.target} (points of 100, {self.level:.0%} interval)", xlim=(0, 100))
        ax.legend(frameon=False, loc="lower right")  # the lowest are at the left there
        return ax


@dataclass(frozen=True, eq=False)
class TargetEstimates:
    """Estimates of one target, as `estimate_rankings` returns them.

    Parameters
    ----------
    whole : LabelEstimates
        Of all categories together: the mean of average precisions, or the ratio of counts summed
        over categories. With a single category that of the category.
    by_category : dict of str to LabelEstimates
        Of each category.
    joint : CategoryEstimates, optional
        What the forecast needs of an average precision; None of a measure at a threshold.
    """

    whole: LabelEstimates
    by_category: dict[str, LabelEstimates]
    joint: CategoryEstimates | None = None


def estimate_rankings(
    plan: LabelPlan,
    images: np.ndarray,
    rankings: Sequence[RankedDetections],
    targets: Sequence[str],
) -> dict[str, TargetEstimates]:
    """Estimate targets from labelled images and the ranking of each category on them.

    Average precisions of several categories are estimated jointly (`estimate_categories`), measures
    at a threshold one by one (`estimate_category`).

    Parameters
    ----------
    plan : LabelPlan
        About the categories of `rankings`; it holds label-free estimates and predicted influence.
    images : ndarray of shape (k,), int
        Places of the labelled images in the pool, each once.
    rankings : sequence of RankedDetections
        The boxes of each category on these images, in this order, matched with labels.
    targets : sequence of str
        Names in `LEVELS`, or measures at a threshold such as ``recall@0.3``.

    Returns
    -------
    dict of str to TargetEstimates
        By target.

    Raises
    ------
    InputError
        If the plan does not know what a measure at a threshold needs, see
        `LabelPlan.expected_counts`.
    """
    weights = inverse_probabilities(plan.sizes, images)
    sample = LabelledSample(images, plan.n_pool, weights, plan.blocks[images])
    levels = []
    if any(target in LEVELS for target in targets):  # which are measured together
        levels = [measure_levels(ranking, sample) for ranking in rankings]
    estimates = {}
    for target in targets:
        if target not in LEVELS:
            estimates[target] = _at_threshold(plan, sample, rankings, target)
            continue
        names = plan.found.categories
        predicted = np.zeros((len(names) + 1, plan.n_pool))
        if not sample.complete:  # else no influence is needed, nor predicted
            predicted = plan.predicted(target)
        joint = estimate_categories(
            sample,
            [of_category[target] for of_category in levels],
            list(predicted[:-1]),
            [plan.label_free(target, name) for name in names],
            plan.priors.get(target, NOTHING),
            small_sample_bias=plan.small_sample_bias,
            n_objects=plan.n_objects,
        )
        by_category = dict(zip(names, joint.categories, strict=True))
        whole = joint.whole if len(names) > 1 else joint.categories[0]
        estimates[target] = TargetEstimates(whole, by_category, joint)
    return estimates


def _at_threshold(
    plan: LabelPlan, sample: LabelledSample, rankings: Sequence[RankedDetections], target: str
) -> TargetEstimates:
    """Estimate precision, recall or F1: of each category, and of their summed counts."""
    point, names = OperatingPoint.of(target), plan.found.categories
    assert point is not None
    predicted = np.zeros((len(names) + 1, plan.n_pool))
    if not sample.complete:
        predicted = plan.predicted(target)
    counts = [image_counts(ranking, point.score_thr, point.level) for ranking in rankings]
    counts.append(np.sum(counts, axis=0))
    # Without a box over the threshold in the whole pool recall and F1 are 0 by definition, and
    # precision is not defined.
    without_boxes = NOTHING if point.measure == "precision" else ValueWithError(0.0, 0.0)
    over = over_threshold(plan.found.scores, point.score_thr)
    shown = (np.bincount(plan.found.label[over], minlength=len(names)) > 0).tolist()
    priors = [plan.label_free(target, name) for name in names]
    estimates = []
    for count, influence, prior, is_shown in zip(
        counts,
        predicted,
        [*priors, plan.priors.get(target, NOTHING)],
        [*shown, any(shown)],
        strict=True,
    ):
        accuracy = measure_counts(point.measure, count, sample)
        if not is_shown:
            accuracy, prior = replace(accuracy, n_equal=0.0), without_boxes
        mixing = plan.points[point.measure]
        estimates.append(estimate_category(accuracy, sample, influence, mixing, prior=prior))
    *of_each, whole = estimates
    by_category = dict(zip(names, of_each, strict=True))
    return TargetEstimates(of_each[0] if len(by_category) == 1 else whole, by_category)


def estimate_category(
    accuracy: SampleAccuracy,
    sample: LabelledSample,
    predicted: np.ndarray,
    mixing: MixingWeights,
    *,
    small_sample_bias: float = 0.0,
    prior: ValueWithError,
) -> LabelEstimates:
    """Estimate one category from labels, predicted influence and a label-free estimate.

    Parameters
    ----------
    accuracy : SampleAccuracy
        What the labelled images say; where it is not `usable` the result is the label-free
        estimate, or nothing where all images are labelled: it is not defined then.
    sample : LabelledSample
        The labelled images.
    predicted : ndarray of shape (M,)
        Predicted influence of all images of the pool, made with `mixing`.
    mixing : MixingWeights
        Its residual variance is the prior of that of the difference, where the number of objects
        says nothing of it.
    small_sample_bias : float
        b of `autoeval.labels.assistance`; 0 of measures at a threshold.
    prior : ValueWithError
        Label-free estimate.
    """
    alone, difference = NOTHING, NOTHING
    if accuracy.usable:
        residual = None
        if len(sample.images) > 1:
            residual = mixing.residual.scaled(float(predicted.var(ddof=1)))
        alone = sample_estimate(accuracy, sample, prior)
        difference = sample_estimate(
            accuracy,
            sample,
            prior,
            predicted=predicted,
            small_sample_bias=small_sample_bias,
            residual=residual,
        )
    combined = combine(difference, prior if accuracy.usable or not accuracy.complete else NOTHING)
    combined = combined.moved_to(combined.estimate.value)
    n_true, n_holding = accuracy.n_true, accuracy.n_holding
    return LabelEstimates(alone, difference, prior, combined, n_true, n_holding, accuracy.measured)


@dataclass(frozen=True, eq=False)
class LabelledPart:
    """The labelled images of a plan, about the categories that their labels measure.

    Parameters
    ----------
    plan : LabelPlan
        About these categories.
    images : ndarray of shape (k,), int
        Places of the labelled images in the pool.
    boxes : Boxes
        Detected boxes on these images.
    truth : Boxes
        Labels on these images, in the categories of `boxes`.
    rankings : list of RankedDetections
        Of each category, on these images.
    warnings : tuple of Notice
        Of the plan, and of what was left out of the labels.
    """

    plan: LabelPlan
    images: np.ndarray
    boxes: Boxes
    truth: Boxes
    rankings: list[RankedDetections]
    warnings: tuple[Notice, ...]

    @property
    def all_warnings(self) -> tuple[Notice, ...]:
        """These, and what is odd about the labels."""
        return (*self.warnings, *label_warnings(self.boxes, self.truth, self.rankings))


def estimate_with_labels(
    plan: LabelPlan,
    labels: LabelSet,
    *,
    words: Mapping[str, str] | None = None,
    planned: bool = True,
    score_thr: float | None = None,
) -> LabelledEstimate:
    """Estimate the accuracy on the pool of a plan from the labels of some of its images.

    Parameters
    ----------
    plan : LabelPlan
        Images of the pool, label-free estimates and predicted influence.
    labels : LabelSet
        Labels as read, of images of the pool and possibly others.
    words : mapping of str to str, optional
        Category of the plan for each word of the labels that counts; by default equal words, and
        the detector's words for a category where these were given.
    planned : bool
        Whether only images that the plan drew are used. Otherwise all are, taken as a simple random
        draw.
    score_thr : float, optional
        Score over which a box counts for precision, recall and F1; by default that of the plan.
        None there, too: only average precisions are estimated.

    Raises
    ------
    InputError
        As `labels_on`, `match_labels`, `drawn_by_plan` and `LabelPlan.predicted`; also if the
        images that the plan drew measure nothing at `score_thr`.
    """
    score_thr = plan.score_thr if score_thr is None else score_thr
    points = () if score_thr is None else points_at(score_thr, plan.iou)
    if points and not any(map(plan.measures, points)):
        raise InputError(
            f"This plan drew the images that {plan.target} depends on, which measure nothing at "
            f"{score_thr:g}: choose a higher threshold, or plan for that one."
        )
    labels, plan = labels_of_plan(labels, plan, words), replace(plan, score_thr=score_thr)
    targets = [name for name in (*LEVELS, *points) if plan.measures(name)]
    targets = list(dict.fromkeys([plan.target, *targets]))
    estimates: dict[str, TargetEstimates] = {}
    parts = {}
    for at_threshold in (False, True):  # which are about other categories
        of_kind = [name for name in targets if (name not in LEVELS) == at_threshold]
        if of_kind:
            part = labelled_part(plan, labels, words, planned=planned, at_threshold=at_threshold)
            parts[at_threshold] = part
            estimates |= estimate_rankings(part.plan, part.images, part.rankings, of_kind)
    target_estimates, part = estimates[plan.target], parts[plan.target not in LEVELS]
    of_others = [
        warning
        for other_part in parts.values()
        for warning in other_part.warnings
        if warning not in part.warnings
    ]
    k, whole = len(part.images), target_estimates.whole
    return LabelledEstimate(
        plan.target,
        plan.level,
        **whole.combined.estimate.inside(plan.level),
        per_category={
            name: category.combined.estimate.inside(plan.level)
            for name, category in target_estimates.by_category.items()
        },
        n_labelled=k,
        n_pool=part.plan.n_pool,
        whole={name: estimates[name].whole for name in targets},
        by_category=target_estimates.by_category,
        n_measured=sum(
            of_category.measured for of_category in target_estimates.by_category.values()
        ),
        outlook=_outlook_after(part, target_estimates),
        history=_history(part, whole),
        printed=part.plan.printed,
        warnings=(
            *part.all_warnings,
            *of_others,
            *(warnings_of_few(target_estimates.by_category, k) if k < part.plan.n_pool else ()),
            *warnings_of_conflict(whole),
        ),
    )


def _outlook_after(part: LabelledPart, estimates: TargetEstimates) -> WidthForecast:
    """Return the forecast after k labels, by what they say of the categories."""
    whole, joint, k = estimates.whole, estimates.joint, len(part.images)
    sequence = part.plan.sequence
    others = sequence[np.isin(sequence, part.images, invert=True)]
    plan = replace(part.plan, sequence=np.concatenate([part.images, others]))
    if joint is None:
        if not whole.difference.known:
            return plan.outlook
        return outlook_after(
            whole.difference,
            k,
            plan.n_pool,
            prior=NOTHING if whole.combined.conflict else whole.prior,
            level=plan.level,
            n_blocks=plan.n_blocks,
        )
    before = plan.outlook
    assert isinstance(before, JointOutlook)
    return replace(
        before,
        prior=joint.prior,
        k=k,
        n_holding=joint.independent[1],
        n_true=joint.independent[0],
        by_labels=joint.measured,
    )


def _history(part: LabelledPart, whole: LabelEstimates) -> tuple[tuple[int, LabelEstimates], ...]:
    """Estimate the target with the first labels only, at `STEPS` numbers of labels at most.

    The first labels are those that the plan drew first. Where all images are labelled the values
    are exact, and what fewer would have given is not looked at.
    """
    plan, k = part.plan, len(part.images)
    if k < FIRST or k == plan.n_pool:
        return ((k, whole),)
    order = np.argsort(np.argsort(plan.sequence)[part.images], kind="stable")
    sizes = np.unique(np.geomspace(FIRST, k, STEPS).round().astype(int))
    history = []
    for size in sizes[:-1].tolist():
        rankings = [ranking.take(order[:size]) for ranking in part.rankings]
        first = estimate_rankings(plan, part.images[order[:size]], rankings, [plan.target])
        history.append((size, first[plan.target].whole))
    return (*history, (k, whole))


def labels_of_plan(labels: LabelSet, plan: LabelPlan, words: Mapping[str, str] | None) -> LabelSet:
    """Name images and categories of labels as a plan does; see `labels_on`, `in_categories`.

    Parameters
    ----------
    labels : LabelSet
        Labels as read.
    plan : LabelPlan
        Its images and categories, those without a likely box included.
    words : mapping of str to str or None
        Words that are translated later; their spelling is then the known one.

    Raises
    ------
    InputError
        As `labels_on`.
    """
    plan_words = [*(words or plan.all_categories)]
    over = plan.score_thr if plan.cut else None
    labels = labels_on(labels, plan.found.images, plan_words, over)
    if words or not plan.detector_words:
        return labels
    return in_categories(labels, plan.detector_words)


def labelled_part(
    plan: LabelPlan,
    labels: LabelSet,
    words: Mapping[str, str] | None = None,
    *,
    planned: bool = True,
    at_threshold: bool = False,
) -> LabelledPart:
    """Match labels with the pool, and let the plan be about the categories that they measure.

    Where every image is labelled, a category without an object has no average precision and is left
    out; for measures `at_threshold` its boxes are false positives.

    Parameters
    ----------
    plan : LabelPlan
        Images of the pool, and categories that count without labels.
    labels : LabelSet
        As `labels_of_plan` returns them.
    words : mapping of str to str, optional
        See `match_labels`.
    planned : bool
        See `estimate_with_labels`.
    at_threshold : bool
        Whether the part is for measures at a threshold, which are about all categories (see
        `on_all_categories`), rather than for average precisions.

    Raises
    ------
    InputError
        As `match_labels` and `drawn_by_plan`.
    """
    if words:  # categories that are spelt otherwise than those of the plan
        names = plan.all_categories
        words = {w: known_spellings([name], names).get(name, name) for w, name in words.items()}
    plan, chosen = on_labelled_categories(plan, labels, words)
    warnings = chosen.warnings
    if at_threshold:
        plan, of_boxes = on_all_categories(plan, labels, words, chosen.looked_for)
        warnings += of_boxes
    plan = plan if planned else replace(plan, sizes=None)
    subset = match_labels(labels, plan.found, words)
    if planned and len(subset.images) > np.isin(subset.images, plan.drawn).sum():
        # Labels of other images lie on few that the plan drew, and these may not show it alone.
        check_labels(subset.truth, [plan.found.on_images(subset.images)])
    subset = drawn_by_plan(subset, plan) if planned else as_random_draw(subset, plan.found)
    truth = subset.truth
    if len(subset.images) == plan.n_pool and not at_threshold:
        n_true = np.bincount(truth.label[~truth.crowd], minlength=len(truth.categories))
        kept = [name for name, n in zip(truth.categories, n_true, strict=True) if n]
        if len(kept) < len(n_true):
            plan = with_categories(plan, kept, [])
            truth = truth.as_categories(kept)
    boxes = plan.found.on_images(subset.images)
    # what labels decide is no warning any more
    of_plan = [warning for warning in plan.warnings if warning.code != NOTHING_FOUND]
    return LabelledPart(
        plan,
        subset.images,
        boxes,
        truth,
        rank_categories(boxes, truth),
        (*of_plan, *warnings, *subset.all_warnings),
    )


def warnings_of_few(categories: Mapping[str, LabelEstimates], k: int) -> tuple[Notice, ...]:
    """Warn of k labels that are few, and of categories that too few labelled images hold.

    Codes ``few-labels`` (fewer than `FEWEST_LABELS`) and ``few-labels-of-category`` (fewer than
    `FEWEST_HOLDING` images that hold the category); both are notes.

    Parameters
    ----------
    categories : mapping of str to LabelEstimates
        Estimates by category; those that are not ``measured`` have too few images.
    k : int
        Labelled images.
    """
    warnings = []
    if k < FEWEST_LABELS:
        text = (
            f"{counted(k, 'label')} {'is' if k == 1 else 'are'} too few for an interval of "
            "their own: the combined estimate depends on the label-free one"
        )
        warnings.append(Notice("few-labels", text, severity="note"))
    few = [name for name, estimates in categories.items() if not estimates.measured]
    if few and len(few) < len(categories):
        text = (
            f"fewer than {FEWEST_HOLDING} labelled images hold {listed(few)}: these rest on "
            "the label-free estimates and on what the labels show of the other categories. "
            f"The labels measure {len(categories) - len(few)} of {len(categories)} categories"
        )
        warnings.append(Notice("few-labels-of-category", text, severity="note"))
    elif few:
        text = (
            f"fewer than {FEWEST_HOLDING} labelled images hold an object of any category: the "
            "result rests on the label-free estimate"
        )
        warnings.append(Notice("few-labels-of-category", text, severity="note"))
    return tuple(warnings)


def warnings_of_conflict(whole: LabelEstimates) -> tuple[Notice, ...]:
    """Warn where labels and label-free estimate contradict each other (``labels-contradict``).

    Parameters
    ----------
    whole : LabelEstimates
        Estimates of all categories together.

    Returns
    -------
    tuple of Notice
        One warning, or none.
    """
    if not whole.combined.conflict:
        return ()
    text = (
        "the labels contradict the level of the label-free estimate, which the combined "
        "estimate leaves out: these images are unlike those that the estimator was fitted on, "
        "or the labels are of other images"
    )
    return (Notice("labels-contradict", text),)
