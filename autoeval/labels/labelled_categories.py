"""Which categories an estimate with labels is about: those that are labelled, found or not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autoeval.io.labels.content import ANY, LabelSet
from autoeval.io.predictions import FoundBoxes
from autoeval.io.wording import listed
from autoeval.labels.estimators import LEVELS
from autoeval.labels.label_sampling import places_in_pool
from autoeval.labels.plan import LabelPlan
from autoeval.labels.value_with_error import NOTHING, ValueWithError
from autoeval.model.calibration import LIKELY
from autoeval.notices import Notice

ZERO = ValueWithError(0.0, 0.0)
"""Average precision of a category without a box, whatever there is."""

UNLIKELY = ValueWithError(LIKELY / 2, LIKELY / math.sqrt(12))
"""Average precision of a category without a likely box: precision is below `LIKELY` at any recall.
Mean and standard deviation of the uniform distribution from 0 to `LIKELY`."""


@dataclass(frozen=True)
class LabelledCategories:
    """Which categories an estimate is about once there are labels; see `labelled_categories`."""

    kept: list[str]  # of those that were found
    added: list[str]  # labelled ones of which nothing likely was found
    warnings: tuple[str, ...]  # that name the categories added and left out


def labelled_categories(
    found_categories: Sequence[str],
    labels: LabelSet,
    pool: FoundBoxes,
    words: Mapping[str, str] | None = None,
    *,
    named: bool = False,
) -> LabelledCategories:
    """Choose the categories that the labels distinguish.

    A labelled category counts also where the detector has found nothing of it, or nothing likely:
    its average precision is then 0 or low, as COCO's evaluation has it. Not so where categories are
    `named`, or `words` names those that count. A category that was found but is no category of the
    labels cannot be measured, and is no part of the mean.

    Parameters
    ----------
    found_categories : sequence of str
        Categories of the estimate without labels.
    labels : LabelSet
        Its `numbers` say that it lists its categories, whether they have a box or not.
    pool : FoundBoxes
        On the images of the pool: labels of other images do not count.
    words : mapping of str to str, optional
        Category of the pool for each word of the labels that counts; by default equal words.
    named : bool
    """
    labelled = categories_with_a_box(labels, pool)
    warnings = []
    lacking: list[str] = []
    if labels.numbers:
        translated = words or {word: word for word in labels.categories}
        vocabulary = {translated.get(word) for word in labels.categories}
        lacking = [name for name in found_categories if name not in vocabulary]
    added = [] if words or named else [word for word in labelled if word not in found_categories]
    if lacking and len(lacking) < len(found_categories):
        warnings.append(
            Notice(
                "categories-without-labels",
                "detected categories that the labels do not have, left out of the mean: "
                f"{len(lacking)} of {len(found_categories)} ({listed(lacking, 10)}). Where the "
                "labels have other words for them, translate with words=WORD=CATEGORY",
            )
        )
    else:  # the labels are of other words altogether, which `match_labels` refuses
        lacking = []
    if added and len(added) < len(labelled):
        warnings.append(
            Notice(
                "categories-not-detected",
                "labelled categories of which nothing likely was detected, so that their average "
                f"precision is 0 or low: {len(added)} ({listed(added, 10)}). If the detector does "
                "not know them, name those that count with words=WORD=CATEGORY",
            )
        )
    else:
        added = []
    kept = [name for name in found_categories if name not in lacking]
    return LabelledCategories(kept, added, tuple(warnings))


def categories_with_a_box(labels: LabelSet, pool: FoundBoxes) -> list[str]:
    """Return the words of the labels that have a box on the images of a pool."""
    places = places_in_pool(labels, pool)
    outside = {
        image.image_id for image, at in zip(labels.images, places, strict=True) if at is None
    }
    counted = (box for box in labels.boxes if not box.iscrowd and box.image_id not in outside)
    return list(dict.fromkeys(box.category for box in counted if box.category != ANY))


def on_labelled_categories(
    plan: LabelPlan, labels: LabelSet, words: Mapping[str, str] | None = None
) -> tuple[LabelPlan, tuple[str, ...]]:
    """Let an estimate be about the categories that the labels distinguish.

    See `labelled_categories`; where nothing was found at all, the labelled categories are those
    that count. Returns a plan of the same images, and warnings.
    """
    chosen = labelled_categories(plan.found.categories, labels, plan.found, words, named=plan.named)
    kept = chosen.kept
    if plan.nothing_found and not plan.named:
        labelled = categories_with_a_box(labels, plan.found)
        count = {(words or {}).get(word, word) for word in labelled}
        kept = [name for name in kept if name in count] or kept
    return with_categories(plan, kept, chosen.added), chosen.warnings


def with_categories(plan: LabelPlan, kept: list[str], added: list[str]) -> LabelPlan:
    """Keep some categories of a plan, and add some of which it has no likely box."""
    if len(kept) == len(plan.found.categories) and not added:
        return plan
    names = (*kept, *added)
    rows = [plan.found.categories.index(name) for name in kept]
    inside = np.isin(plan.found.label, rows)
    boxes = plan.found.as_categories(names, {name: name for name in kept})
    detected = set(plan.rest.categories if plan.rest is not None else ()).intersection(added)
    n_added = 0
    if plan.rest is not None and detected:
        unlikely = plan.rest.as_categories(names, {name: name for name in detected})
        n_added = len(unlikely)
        boxes = replace(
            boxes,
            image=np.concatenate([boxes.image, unlikely.image]),
            label=np.concatenate([boxes.label, unlikely.label]),
            boxes=np.concatenate([boxes.boxes, unlikely.boxes]),
            scores=np.concatenate([boxes.scores, unlikely.scores]),
        )
    changes: dict[str, object] = {}
    if plan.probabilities is not None:
        none = np.zeros(n_added, plan.probabilities.dtype)  # that an unlikely box is right
        changes["probabilities"] = np.concatenate([plan.probabilities[inside], none])
    if plan.objects is not None:
        changes["objects"] = plan.objects.of_categories(rows, len(added))
    if plan.holding is not None:
        seldom = np.tile([[1 / plan.n_pool], [1.0]], len(added))  # share of images, objects there
        changes["holding"] = np.hstack([plan.holding[:, rows], seldom])
    return replace(
        plan,
        found=boxes,
        influence=plan.influence.of_categories(rows, len(added)),
        priors=_priors(
            plan, kept, {name: UNLIKELY if name in detected else ZERO for name in added}
        ),
        **changes,  # type: ignore[arg-type]
    )


def _priors(
    plan: LabelPlan, kept: list[str], added: Mapping[str, ValueWithError]
) -> dict[str, ValueWithError]:
    """Return the label-free estimates of the categories, and of their mean.

    At a threshold the categories are counted together, so there is none of another choice of them.
    """
    priors: dict[str, ValueWithError] = {}
    n = len(kept) + len(added)
    for target in LEVELS:
        each = [plan.label_free(target, name) for name in kept]
        priors |= {
            f"{target}/{name}": estimate
            for name, estimate in zip(kept, each, strict=True)
            if estimate.known
        }
        priors |= {f"{target}/{name}": estimate for name, estimate in added.items()}
        mean = _mean_prior(plan, target, each)
        if mean.known:
            share = len(kept) / n
            value = share * mean.value + sum(estimate.value for estimate in added.values()) / n
            variance = (share * mean.error) ** 2 + sum(
                estimate.error**2 for estimate in added.values()
            ) / n**2
            priors[target] = ValueWithError(value, float(np.sqrt(variance)), mean.dof)
    return priors


def _mean_prior(plan: LabelPlan, target: str, each: list[ValueWithError]) -> ValueWithError:
    """Return the mean of label-free estimates of categories.

    The variance of one category's error is a + b and that of the mean of K a + b / K, where a is
    common to the categories of a site and b of each: both follow from the plan's own mean.
    """
    whole, n_before = plan.priors.get(target, NOTHING), len(plan.found.categories)
    if len(each) == n_before:  # also where single categories have no estimate, being too wide
        return whole
    if not each or not all(estimate.known for estimate in each):
        return NOTHING
    single = float(np.mean([estimate.error**2 for estimate in each]))
    common = single
    if whole.known and n_before > 1:
        of_each = np.clip((single - whole.error**2) * n_before / (n_before - 1), 0, single)
        common = single - float(of_each)
    variance = common + (single - common) / len(each)
    value = float(np.mean([estimate.value for estimate in each]))
    return ValueWithError(value, float(np.sqrt(variance)), min(estimate.dof for estimate in each))
