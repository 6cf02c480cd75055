"""From a plan and labels to an estimate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from autoeval.data.labels.content import LabelSet
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.labels.estimators import FEWEST_HOLDING, LEVELS, LabelEstimates
from autoeval.labels.label_sampling import LabelledSubset, match_labels
from autoeval.labels.labelled_categories import on_labelled_categories, with_categories
from autoeval.labels.plan import LabelPlan
from autoeval.labels.sample_size import FEWEST_LABELS, WidthForecast, outlook_after
from autoeval.labels.target_estimates import TargetEstimates, estimate_target
from autoeval.labels.value_with_error import NOTHING, ValueWithError
from autoeval.metrics.average_precision import RankedDetections
from autoeval.metrics.coco_matching import rank_categories
from autoeval.notices import Notice, as_notice, codes_of
from autoeval.report.warning_lines import warning_lines
from autoeval.runtime.json_values import plain
from autoeval.sites.label_warnings import label_warnings
from autoeval.targets import OperatingPoint, points_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GOALS = (0.05, 0.03)
BESIDE = 0.3  # rows between the two intervals of a category, in a plot
FREE = ("label_free", "label_free_lower", "label_free_upper")
NOTHING_FOUND = "nothing-found"  # code of a plan's warning that only holds without labels
FIRST, STEPS = 5, 20  # labels, and numbers of labels, of the history


@dataclass(frozen=True, repr=False)
class LabelledEstimate:
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

    def more_labels(self, half_width: float) -> int:
        """Return how many more labels a half-width is expected to take; 0 where it is reached."""
        if self.recommended.half_width(self.level) <= half_width:
            return 0
        return max(self.outlook.needed(half_width) - self.n_labelled, 1)

    def __str__(self) -> str:
        warnings = warning_lines(self.warnings)
        return "\n".join([*self.headline(), *self.details(), *warnings])

    def headline(self) -> list[str]:
        """Return the lines with the value, its interval, other targets, and labels to go."""
        lower, upper = self.interval
        at_threshold = [name for name in self.whole if OperatingPoint.of(name)]
        lines = [
            f"estimated {self.target}: {100 * self.value:.1f}, {self.level:.0%} "
            f"interval {100 * lower:.1f} to {100 * upper:.1f}, from {self.n_labelled} labelled "
            f"images of {self.n_pool}"
        ]
        lines += [
            f"{name}: {self._at_threshold(name)}" for name in at_threshold if name != self.target
        ]
        lines += [
            f"{self.more_labels(goal)} more labels for ±{100 * goal:.0f}"
            if self.more_labels(goal)
            else f"±{100 * goal:.0f} is reached"
            for goal in GOALS
        ]
        return lines

    def details(self) -> list[str]:
        """Return a line for each estimate that the recommended one combines."""
        estimates = self.whole[self.target]
        named = {
            "label-free": estimates.prior,
            "sample estimate": estimates.sample,
            "difference estimator": estimates.difference,
        }
        lines = [f"{name}: {self.text(estimate)}" for name, estimate in named.items()]
        return [*lines, *filter(None, [self.about_label_free])]

    @property
    def about_label_free(self) -> str:
        """Say why the label-free estimate has another interval here; empty where it has not."""
        prior = self.whole[self.target].prior
        if not prior.known or math.isinf(prior.dof):
            return ""
        return (
            "The label-free estimate is that of `autoeval estimate`, but weighed by the error that "
            "such estimates turned out to have elsewhere, so that its interval is another one."
        )

    def _at_threshold(self, name: str) -> str:
        """Write a figure at a threshold; precision is not defined where no box is over it."""
        estimate = self.whole[name].combined.estimate
        point = OperatingPoint.of(name)
        if not np.isfinite(estimate.value) and point and point.measure == "precision":
            return "not defined, no box of the labelled images is over the threshold"
        return self.text(estimate)

    def text(self, estimate: ValueWithError) -> str:
        """Write a value with its half-width, in points of 100."""
        if not np.isfinite(estimate.value):
            return "not known"
        half = f" ± {100 * estimate.half_width(self.level):.1f}" if estimate.known else ""
        return f"{100 * estimate.value:.1f}{half}"

    def __repr__(self) -> str:
        return f"<{str(self).splitlines()[0]}, warnings: {len(self.warnings)}>"

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for the whole, called ``""``, and one for each category.

        The columns are ``category``, ``value``, ``lower`` and ``upper`` of the combined estimate,
        ``label_free``, ``label_free_lower`` and ``label_free_upper``, and ``measured``: whether
        labels measure it.
        """
        rows = []
        for name, estimates in {"": self.whole[self.target], **self.by_category}.items():
            without = np.clip([estimates.prior.value, *estimates.prior.interval(self.level)], 0, 1)
            free = dict(zip(FREE, without.tolist(), strict=True))
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON; what is not known becomes None."""
        lower, upper = self.interval
        return {
            "target": self.target,
            "value": plain(self.value),
            "lower": plain(lower),
            "upper": plain(upper),
            "level": self.level,
            "n_labelled": self.n_labelled,
            "n_pool": self.n_pool,
            "categories_behind": self.n_behind,
            "more_labels": {f"{goal:.2f}": self.more_labels(goal) for goal in GOALS},
            "whole": {name: plain(asdict(estimates)) for name, estimates in self.whole.items()},
            "per_category": {
                name: {**plain(self.per_category[name]), **plain(asdict(estimates))}
                for name, estimates in self.by_category.items()
            },
            "warnings": list(self.warnings),
            "warning_codes": codes_of(self.warnings),
        }


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
    plan, subset = _labelled_part(plan, labels, words, planned=planned)
    rankings = rank_categories(plan.found.on_images(subset.images), subset.truth)
    estimates = estimate_target(plan, subset.images, rankings, plan.target)
    whole, categories = estimates.whole, estimates.each
    others = {
        target: estimate_target(plan, subset.images, rankings, target).whole
        for target in (*LEVELS, *points)
        if target != plan.target and plan.measures(target)
    }
    k = len(subset.images)
    measured = [name for name, estimates in categories.items() if estimates.measured]
    return LabelledEstimate(
        plan.target,
        plan.level,
        k,
        plan.n_pool,
        {plan.target: whole, **others},
        categories,
        len(measured),
        _outlook(plan, subset.images, estimates),
        _history(plan, subset.images, rankings, whole),
        (
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
    """Estimate several targets of all categories together; see `estimate_with_labels`."""
    plan, subset = _labelled_part(plan, labels, words, planned=planned)
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
    plan: LabelPlan, labels: LabelSet, words: Mapping[str, str] | None, *, planned: bool
) -> tuple[LabelPlan, LabelledSubset]:
    """Match the labels with the pool, and let the plan be about the categories that they measure.

    Where every image is labelled a category without an object has no average precision.
    """
    plan, warnings = on_labelled_categories(plan, labels, words)
    plan = plan if planned else replace(plan, sizes=None)
    subset = match_labels(labels, plan.found, words)
    subset = drawn_by_plan(subset, plan) if planned else as_random_draw(subset, plan.n_pool)
    if len(subset.images) == plan.n_pool:
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
    default they are the same.
    """
    at = subset.images if places is None else places[subset.images]
    inside = np.isin(at, plan.drawn)
    warnings = list(subset.warnings)
    if not inside.all():
        names = [plan.found.images[k].image_id for k in at[~inside]]
        warnings.append(
            Notice(
                "images-not-planned",
                f"labelled images that the plan did not draw, left out: {len(names)} "
                f"({listed(names)}). Plan again with a larger --n, or estimate without the plan",
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
            )
        )
    elif few:
        warnings.append(
            Notice(
                "few-labels-of-category",
                f"fewer than {FEWEST_HOLDING} labelled images hold an object of any category: the "
                "result rests on the label-free estimate",
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
