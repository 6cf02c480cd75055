"""From a plan and labels to an estimate: alone, with the predicted influence, with the prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from autoeval.data.labels.content import LabelSet
from autoeval.data.wording import listed
from autoeval.estimation.labels.assess import (
    FEWEST_HOLDING,
    LEVELS,
    Drawn,
    FromLabels,
    Seen,
    assess,
    look,
    mean_of,
)
from autoeval.estimation.labels.given import Given, given_labels
from autoeval.estimation.labels.needed import FEWEST_LABELS, Outlook, outlook_after
from autoeval.estimation.labels.plan import LabelPlan
from autoeval.estimation.labels.value_with_error import NOTHING, ValueWithError
from autoeval.estimation.predictions.doubts.labelled_twice import labelled_twice
from autoeval.estimation.predictions.doubts.surer_than_right import surer_than_right
from autoeval.metrics.by_category import rank_categories

GOALS = (0.05, 0.03)
FIRST, STEP = 5, 5


@dataclass(frozen=True)
class LabelledEstimate:
    """What a few labels say of a pool.

    Parameters
    ----------
    target : str
    level : float
    n_labelled, n_pool : int
    whole : dict of str to FromLabels
        ``mAP``, ``mAP50`` and ``mAP75`` over all categories.
    per_category : dict of str to FromLabels
        The target of each category.
    n_behind : int
        Categories that enough labelled images hold, of those in `per_category`.
    outlook : Outlook
        Of more labels.
    history : tuple of (int, FromLabels)
        The target with the first labels only.
    doubts : tuple of str
    """

    target: str
    level: float
    n_labelled: int
    n_pool: int
    whole: dict[str, FromLabels]
    per_category: dict[str, FromLabels]
    n_behind: int
    outlook: Outlook
    history: tuple[tuple[int, FromLabels], ...]
    doubts: tuple[str, ...]

    @property
    def recommended(self) -> ValueWithError:
        """The combined estimate of the target."""
        return self.whole[self.target].combined.measured

    @property
    def value(self) -> float:
        """The recommended value, inside [0, 1]."""
        return min(max(self.recommended.value, 0.0), 1.0)

    @property
    def interval(self) -> tuple[float, float]:
        """Its interval, inside [0, 1]."""
        lower, upper = self.recommended.interval(self.level)
        return max(lower, 0.0), min(upper, 1.0)

    def more_labels(self, half_width: float) -> int:
        """Return how many more labels a half-width is expected to take; 0 where it is reached."""
        if self.recommended.half_width(self.level) <= half_width:
            return 0
        return max(self.outlook.needed(half_width) - self.n_labelled, 1)

    def __str__(self) -> str:
        lower, upper = self.interval
        told = self.whole[self.target]
        lines = [
            f"estimated {self.target}: {100 * self.value:.1f}, {self.level:.0%} "
            f"interval {100 * lower:.1f} to {100 * upper:.1f}, from {self.n_labelled} labelled "
            f"images of {self.n_pool}"
        ]
        named = {
            "label-free": told.prior,
            "labels alone": told.labels,
            "with predicted influence": told.difference,
        }
        lines += [f"  {name}: {self.text(found)}" for name, found in named.items()]
        lines += [
            f"{self.more_labels(goal)} more labels for ±{100 * goal:.0f}"
            if self.more_labels(goal)
            else f"±{100 * goal:.0f} is reached"
            for goal in GOALS
        ]
        return "\n".join([*lines, *(f"caution: {doubt}" for doubt in self.doubts)])

    def text(self, found: ValueWithError) -> str:
        """Write a value with its half-width, in points of 100."""
        if not np.isfinite(found.value):
            return "not known"
        half = f" ± {100 * found.half_width(self.level):.1f}" if found.known else ""
        return f"{100 * found.value:.1f}{half}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON; what is not known becomes None."""
        lower, upper = self.interval
        return {
            "target": self.target,
            "value": _plain(self.value),
            "lower": _plain(lower),
            "upper": _plain(upper),
            "level": self.level,
            "n_labelled": self.n_labelled,
            "n_pool": self.n_pool,
            "categories_behind": self.n_behind,
            "more_labels": {f"{goal:.2f}": self.more_labels(goal) for goal in GOALS},
            "whole": {name: _plain_dict(asdict(of)) for name, of in self.whole.items()},
            "per_category": {n: _plain_dict(asdict(of)) for n, of in self.per_category.items()},
            "doubts": list(self.doubts),
        }


def estimate_with_labels(
    plan: LabelPlan,
    labels: LabelSet,
    *,
    words: Mapping[str, str] | None = None,
    planned: bool = True,
) -> LabelledEstimate:
    """Estimate the accuracy on the pool of a plan from the labels of some of its images.

    Parameters
    ----------
    plan : LabelPlan
    labels : LabelSet
    words : mapping of str to str, optional
        See `given_labels`.
    planned : bool
        Whether the labelled images were drawn by the plan. Otherwise they are all used, and taken
        as a simple random draw.

    Raises
    ------
    InputError
        See `given_labels`.
    """
    given = given_labels(labels, plan.found, words)
    given = _by_plan(given, plan) if planned else _as_random(given)
    order = np.argsort(np.argsort(plan.sequence)[given.images], kind="stable")
    whole, categories = _assess_all(plan, given, np.arange(len(given.images)), plan.target)
    others = {
        target: _assess_all(plan, given, np.arange(len(given.images)), target)[0]
        for target in LEVELS
        if target != plan.target
    }
    k, prior = len(given.images), whole.prior
    outlook = outlook_after(
        whole.difference,
        k,
        plan.n_pool,
        prior=NOTHING if whole.combined.conflict else prior,
        level=plan.level,
    )
    history = [
        (size, _assess_all(plan, given, order[:size], plan.target)[0])
        for size in range(FIRST, k + 1, STEP)
    ]
    measured = [name for name, of in categories.items() if of.measured]
    return LabelledEstimate(
        plan.target,
        plan.level,
        k,
        plan.n_pool,
        {plan.target: whole, **others},
        categories,
        len(measured),
        outlook if whole.difference.known else plan.outlook(),
        tuple(history),
        (
            *plan.problems,
            *given.doubts,
            *_of_labels(plan, given),
            *_doubts(plan, whole, categories, k),
        ),
    )


def _assess_all(
    plan: LabelPlan, given: Given, chosen: np.ndarray, target: str
) -> tuple[FromLabels, dict[str, FromLabels]]:
    """Assess the mean and each category from some of the labelled images."""
    images = given.images[chosen]
    drawn = Drawn(images, plan.n_pool, clusters=plan.blocks[images])
    rankings = rank_categories(plan.found.on_images(given.images), given.truth)
    seen = [look(ranking.take(chosen), target) for ranking in rankings]
    predicted = plan.influence[:, LEVELS[target]].mean(axis=1)
    told, parts, rest = {}, [], []
    for name, one, own in zip(plan.found.categories, seen, predicted, strict=True):
        prior = _prior(plan, target, name)
        told[name] = assess(one, drawn, own, plan.mix, optimism=plan.optimism, prior=prior)
        if one.measured:
            parts.append((one, own, prior))
        else:
            rest.append(prior)
    if len(told) == 1:
        return next(iter(told.values())), told
    prior = plan.priors.get(target, NOTHING)
    if not parts:
        empty = Seen(float("nan"), np.zeros(len(images)), 0, 0)
        return assess(empty, drawn, predicted.mean(axis=0), plan.mix, optimism=0, prior=prior), told
    whole = mean_of(parts, drawn, plan.mix, optimism=plan.optimism, rest=rest, prior=prior)
    return whole, told


def _prior(plan: LabelPlan, target: str, category: str) -> ValueWithError:
    only = len(plan.found.categories) == 1
    return plan.priors.get(
        f"{target}/{category}", plan.priors.get(target, NOTHING) if only else NOTHING
    )


def _by_plan(given: Given, plan: LabelPlan) -> Given:
    """Keep what the plan drew: of other images it is not known how they were chosen."""
    drawn = set(plan.drawn.tolist())
    inside = np.array([k in drawn for k in given.images.tolist()])
    doubts = list(given.doubts)
    if not inside.all():
        names = [plan.found.images[k].image_id for k in given.images[~inside]]
        doubts.append(
            f"labelled images that the plan did not draw, left out: {len(names)} "
            f"({listed(names)}). Plan again with a larger --n, or estimate without the plan"
        )
    if inside.sum() < plan.n:
        doubts.append(
            f"{plan.n - int(inside.sum())} of {plan.n} planned images are not labelled: the others "
            "stand for them only if they were not skipped for what they show"
        )
    return replace(_only(given, np.flatnonzero(inside)), doubts=tuple(doubts))


def _only(given: Given, kept: np.ndarray) -> Given:
    place = np.full(len(given.images), -1)
    place[kept] = np.arange(len(kept))
    truth = given.truth.where(place[given.truth.image] >= 0)
    images = tuple(given.truth.images[k] for k in kept)
    truth = replace(truth, images=images, image=place[truth.image])
    return replace(given, images=given.images[kept], truth=truth)


def _as_random(given: Given) -> Given:
    doubt = (
        "no plan drew these images: they are taken as a simple random draw of the pool, which "
        "images chosen for what they show are not"
    )
    return replace(given, doubts=(*given.doubts, doubt))


def _of_labels(plan: LabelPlan, given: Given) -> tuple[str, ...]:
    """Doubt labels that the confident boxes, or each other, speak against."""
    found = plan.found.on_images(given.images)
    surer = surer_than_right(found, rank_categories(found, given.truth))
    return (*labelled_twice(given.truth), *surer)


def _doubts(
    plan: LabelPlan, whole: FromLabels, categories: Mapping[str, FromLabels], k: int
) -> list[str]:
    doubts = []
    if k < FEWEST_LABELS:
        doubts.append(
            f"{k} labels are too few for an interval of their own: the combined one leans on the "
            "label-free estimate"
        )
    if whole.combined.conflict:
        doubts.append(
            "the labels contradict the label-free estimate, which was dropped: something here is "
            "unlike the places that the estimator knows"
        )
    few = [name for name, of in categories.items() if not of.measured]
    if few and len(few) < len(categories):
        doubts.append(
            f"held by fewer than {FEWEST_HOLDING} labelled images, so the label-free estimate "
            f"stands: {listed(few)}. The mean rests on {len(categories) - len(few)} of "
            f"{len(categories)} categories"
        )
    elif few:
        doubts.append(
            f"fewer than {FEWEST_HOLDING} labelled images hold an object: only the label-free "
            "estimate is left"
        )
    return doubts


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _plain_dict(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _plain_dict(value)
        if isinstance(value, Mapping)
        else _plain(value)
        if isinstance(value, float)
        else value
        for name, value in values.items()
    }
