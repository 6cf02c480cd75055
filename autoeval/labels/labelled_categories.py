"""Which categories an estimate with labels is about: those that the labels distinguish.

`on_labelled_categories` restricts a plan to them, and `on_all_categories` adds those of which all
boxes are wrong, where labels are of all images; `with_categories` gives a plan the categories that
only labels know. `autoeval.labels.labelled_estimate` and `autoeval.comparison` call them, when
`autoeval.labels.matching` has found the images.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autoeval.boxes import Boxes, LabelledImage, over_threshold
from autoeval.io.labels.content import (
    ANY,
    LabelSet,
)
from autoeval.labels.plan import LabelPlan
from autoeval.labels.values import LEVELS, NOTHING, ValueWithError
from autoeval.model.calibration import LIKELY
from autoeval.words import Notice, listed

ZERO = ValueWithError(0.0, 0.0)
"""Average precision of a category without a box, whatever there is."""

UNLIKELY = ValueWithError(LIKELY / 2, LIKELY / math.sqrt(12))
"""Average precision of a category without a likely box: precision is below `LIKELY` at any recall.
Mean and standard deviation of the uniform distribution from 0 to `LIKELY`."""

MISSED_BY_ALL = 8.0
"""Expected objects of a category that no label is of, from which on nobody looked for it. With all
objects of 64 photos labelled, 1 to 64 of which are drawn, no category without a label has over 4.1;
of 156 sets and detectors with categories that were not labelled 129 have one over 8."""


@dataclass(frozen=True)
class LabelledCategories:
    """Which categories an estimate is about once there are labels; see `labelled_categories`.

    Parameters
    ----------
    kept : list of str
        Of those that count without labels.
    added : list of str
        Labelled ones that do not count without labels.
    warnings : tuple of Notice
        That name the categories added and left out.
    looked_for : frozenset of str, optional
        Categories that somebody looked for, with an object or without; None where nobody knows, and
        these may be all.
    """

    kept: list[str]
    added: list[str]
    warnings: tuple[Notice, ...]
    looked_for: frozenset[str] | None


def labelled_categories(
    found_categories: Sequence[str],
    labels: LabelSet,
    pool: Boxes,
    words: Mapping[str, str] | None,
    *,
    named: Collection[str] | None,
    expected: Mapping[str, float],
) -> LabelledCategories:
    """Choose the categories that the labels distinguish.

    A labelled category counts also where it does not without labels, since the detector has found
    little or nothing of it: its average precision is mostly low, as COCO's evaluation has it. Where
    `words` names those that count, or categories were named, only those of `named` are added. A
    category that was found but is no category of the labels cannot be measured, and is no part of
    the mean. Labels that do not list their categories, such as Pascal VOC's, have those that they
    hold an object of where one without a label has over `MISSED_BY_ALL` expected objects; otherwise
    they may have all. Where the labels share no category with the estimate, nothing is changed:
    `match_labels` refuses them.

    Parameters
    ----------
    found_categories : sequence of str
        Categories of the estimate without labels.
    labels : LabelSet
        Whether it lists its categories decides which were looked for without a box.
    pool : Boxes
        On the images of the pool: labels of other images do not count.
    words : mapping of str to str or None
        Category of the pool for each word of the labels that counts; by default equal words.
    named : collection of str or None
        Categories that may be added; by default all words of the labels, or none where there are
        `words`.
    expected : mapping of str to float
        Objects of each category on the labelled images by the boxes alone, as far as they are
        known.
    """
    labelled = categories_with_a_box(labels, pool)
    if words:
        labelled = list(dict.fromkeys(words[word] for word in labelled if word in words))
    warnings = []
    lacking: list[str] = []
    # the categories that somebody looked for; None where that may be all
    translated = words or {word: word for word in labels.categories}
    listed_names = frozenset(translated[word] for word in labels.categories if word in translated)
    missed = any(n > MISSED_BY_ALL for word, n in expected.items() if word not in listed_names)
    looked_for = listed_names if labels.lists_categories or missed else None
    if looked_for is not None:
        lacking = [name for name in found_categories if name not in looked_for]
    share_words = labels.lists_categories and not lacking
    if words and named is None:
        named = ()
    added = [
        word
        for word in labelled
        if word not in found_categories and (named is None or word in named)
    ]
    uncounted = [word for word in labelled if word not in (*found_categories, *added)]
    if uncounted and len(uncounted) < len(labelled):
        text = (
            f"labelled categories that are none of those named, left out: {len(uncounted)} "
            f"({listed(uncounted, 10)}). What is detected there counts as wrong: if one of "
            "them is a word for a category that counts, give all such words with --words "
            "WORD=CATEGORY"
        )
        warnings.append(Notice("categories-not-named", text, severity="note"))
    if lacking and len(lacking) < len(found_categories):
        text = (
            "detected categories that the labels do not have, left out of the mean: "
            f"{len(lacking)} of {len(found_categories)} ({listed(lacking, 10)}). Where the "
            "labels have other words for them, translate with --words WORD=CATEGORY, or make "
            "several one category as the labels do (--category vehicle=car,bus,truck)"
        )
        warnings.append(Notice("categories-without-labels", text))
    else:  # the labels are of other words altogether, which `match_labels` refuses
        lacking = []
    if added and (share_words or len(added) < len(labelled)):
        text = (
            "labelled categories of which little or nothing was detected, so that their "
            f"average precision is mostly low: {len(added)} ({listed(added, 10)}). If the "
            "detector does not know them, name those that count with --words WORD=CATEGORY"
        )
        warnings.append(Notice("categories-not-detected", text))
    else:
        added = []
    kept = [name for name in found_categories if name not in lacking]
    return LabelledCategories(kept, added, tuple(warnings), looked_for)


def categories_with_a_box(labels: LabelSet, pool: Boxes) -> list[str]:
    """Return the words of the labels that have a box on the images of a pool.

    Parameters
    ----------
    labels : LabelSet
        With the images of the pool, see `labels_on`. Their crowds do not count, nor the word `ANY`.
    pool : Boxes
        On the images of the pool; its boxes are not read.

    Returns
    -------
    list of str
        Each word once, in the order of the first such box.
    """
    inside = {image.image_id for image in pool.images}
    boxes = labels.boxes
    words = boxes.words(boxes.on(inside) & ~boxes.iscrowd)
    return [word for word in words if word != ANY]


def on_labelled_categories(
    plan: LabelPlan, labels: LabelSet, words: Mapping[str, str] | None = None
) -> tuple[LabelPlan, LabelledCategories]:
    """Let an estimate be about the categories that the labels distinguish.

    See `labelled_categories`; where nothing was found at all, the labelled categories are those
    that count.

    Parameters
    ----------
    plan : LabelPlan
        Its categories count without labels.
    labels : LabelSet
        With the images of the pool, see `labels_on`.
    words : mapping of str to str, optional
        Category of the plan for each word of the labels that counts; by default equal words.

    Returns
    -------
    plan : LabelPlan
        Of the same images.
    chosen : LabelledCategories
        Which these are.
    """
    rest_names = () if plan.rest is None else plan.rest.categories
    named = rest_names if plan.named or words else None
    boxes, expected = plan.found, dict[str, float]()
    if plan.probabilities is not None and not plan.named:
        on_labelled = has_labels(boxes.images, labels)
        expected = expected_objects(boxes, plan.probabilities, on_labelled)
    chosen = labelled_categories(
        boxes.categories, labels, boxes, words, named=named, expected=expected
    )
    kept = chosen.kept
    if plan.nothing_found:
        labelled = categories_with_a_box(labels, plan.found)
        count = {(words or {}).get(word, word) for word in labelled}
        kept = [name for name in kept if name in count] or kept
    return with_categories(plan, kept, chosen.added), chosen


def has_labels(images: Sequence[LabelledImage], labels: LabelSet) -> np.ndarray:
    """Return which of M images are labelled.

    Parameters
    ----------
    images : sequence of M LabelledImages
        Of a pool.
    labels : LabelSet
        With the ids of these images, see `labels_on`.

    Returns
    -------
    ndarray of shape (M,), bool
        Also true of images that the labels say are empty.
    """
    labelled = {image.image_id for image in labels.images}
    return np.array([image.image_id in labelled for image in images], bool)


def expected_objects(boxes: Boxes, right: np.ndarray, on_images: np.ndarray) -> dict[str, float]:
    """Return the sum of the true-positive probabilities of each category on some images.

    Parameters
    ----------
    boxes : Boxes
        N boxes on M images.
    right : ndarray of shape (N,)
        True-positive probability of each at IoU .5.
    on_images : ndarray of shape (M,), bool
        The images.
    """
    inside = on_images[boxes.image]
    n = len(boxes.categories)
    sums = np.bincount(boxes.label[inside], right[inside], minlength=n).tolist()
    return dict(zip(boxes.categories, sums, strict=True))


def on_all_categories(
    plan: LabelPlan,
    labels: LabelSet,
    words: Mapping[str, str] | None,
    looked_for: frozenset[str] | None,
) -> tuple[LabelPlan, tuple[Notice, ...]]:
    """Let measures at a threshold be about every category that somebody looked for.

    A box of a category that has no object is a false positive like any other, so that precision is
    the same number whichever categories were found, or hold an object. Where categories are named,
    those count.

    Parameters
    ----------
    plan : LabelPlan
        About the categories that the labels distinguish; those of its ``rest`` may be added.
    labels : LabelSet
        With the images of the pool, see `labels_on`.
    words : mapping of str to str, optional
        Category of the plan for each word of the labels that counts; by default equal words.
    looked_for : frozenset of str, optional
        See `LabelledCategories`.

    Returns
    -------
    plan : LabelPlan
        Of the same images.
    warnings : tuple of Notice
        Those of `false_without_labels`.
    """
    names, more = list(plan.found.categories), list[str]()
    if plan.rest is not None and not plan.named and not words:
        rest_labels = np.unique(plan.rest.label)
        more = [plan.rest.categories[k] for k in rest_labels.tolist()]
        allowed = more if looked_for is None else looked_for
        more = [name for name in more if name in allowed and name not in names]
    full_plan, warnings = with_categories(plan, names, more), tuple[Notice, ...]()
    if looked_for is None and not plan.named:
        on_labelled = has_labels(full_plan.found.images, labels)
        score_thr = plan.score_thr or 0.0
        warnings = false_without_labels(full_plan.found, on_labelled, labels, words, score_thr)
    # The label-free estimates are of the categories with a likely box, which hold nearly all boxes.
    return replace(full_plan, priors={**plan.priors, **full_plan.priors}), warnings


def false_without_labels(
    boxes: Boxes,
    on_labelled: np.ndarray,
    labels: LabelSet,
    words: Mapping[str, str] | None,
    score_thr: float,
) -> tuple[Notice, ...]:
    """Note boxes of categories that no label is of, where the labels list no categories.

    Parameters
    ----------
    boxes : Boxes
        Of the categories that count, on the M images of the pool.
    on_labelled : ndarray of shape (M,), bool
        Which of these are labelled; see `has_labels`.
    labels : LabelSet
        Theirs.
    words : mapping of str to str, optional
        See `labelled_categories`.
    score_thr : float
        Over which boxes count.
    """
    translated = words or {word: word for word in labels.categories}
    label_names = {translated.get(word) for word in labels.categories}
    inside = on_labelled[boxes.image] & over_threshold(boxes.scores, score_thr)
    n = np.bincount(boxes.label[inside], minlength=len(boxes.categories))
    counts = zip(boxes.categories, n.tolist(), strict=True)
    of_none = {name: k for name, k in counts if k and name not in label_names}
    if not of_none:
        return ()
    text = (
        f"boxes over {score_thr:g} of categories that no label is of: {sum(of_none.values())} "
        f"({listed([f'{name} {k}' for name, k in of_none.items()], 10)}). The labels do not list "
        "their categories, and these boxes count as false positives: if nobody looked for them, "
        "name the categories that count (--category)"
    )
    return (Notice("categories-not-listed", text, "note"),)


def with_categories(plan: LabelPlan, kept: list[str], added: list[str]) -> LabelPlan:
    """Keep some categories of a plan, and add some that do not count without labels.

    An added category has the boxes of `LabelPlan.rest`, which are never right by the box model, no
    influence, and is expected in one image of the pool.

    Parameters
    ----------
    plan : LabelPlan
        The plan.
    kept : list of str
        Categories of ``plan.found`` to keep, in this order.
    added : list of str
        Further ones, which follow.
    """
    if len(kept) == len(plan.found.categories) and not added:
        return plan
    names = (*kept, *added)
    rows = [plan.found.categories.index(name) for name in kept]
    inside = np.isin(plan.found.label, rows)
    boxes = plan.found.as_categories(names)
    detected = {plan.rest.categories[k] for k in np.unique(plan.rest.label)} if plan.rest else set()
    detected &= set(added)
    n_added = 0
    if plan.rest is not None and detected:
        unlikely = plan.rest.as_categories(names)
        n_added = len(unlikely)
        boxes = replace(
            boxes,
            image=np.concatenate([boxes.image, unlikely.image]),
            label=np.concatenate([boxes.label, unlikely.label]),
            boxes=np.concatenate([boxes.boxes, unlikely.boxes]),
            scores=np.concatenate([boxes.scores, unlikely.scores]),
            crowd=np.concatenate([boxes.crowd, unlikely.crowd]),
            features=None,  # type: ignore[arg-type]  # the draw alone reads them
        )
    changes: dict[str, object] = {}
    if plan.probabilities is not None:
        none = np.zeros(n_added, plan.probabilities.dtype)  # that such a box is right
        changes["probabilities"] = np.concatenate([plan.probabilities[inside], none])
    if plan.objects is not None:
        changes["objects"] = plan.objects.of_categories(rows, len(added))
    seldom = np.tile([[1 / plan.n_pool], [1.0]], len(added))  # share of images, objects there
    return replace(
        plan,
        found=boxes,
        holding=np.hstack([plan.holding[:, rows], seldom]),
        influence=plan.influence.of_categories(rows, len(added)),
        priors=_priors(plan, kept, added, detected),
        # what was printed of the mean is of other categories
        printed={name: interval for name, interval in plan.printed.items() if "/" in name},
        **changes,  # type: ignore[arg-type]
    )


def _priors(
    plan: LabelPlan, kept: list[str], names: Sequence[str], detected: Collection[str]
) -> dict[str, ValueWithError]:
    """Return the label-free estimates of the categories kept and added, and of their mean.

    At a threshold the categories are counted together, so there is none of another choice of
    several: each keeps its own, and a single one is the whole.

    Parameters
    ----------
    plan : LabelPlan
        Its estimates.
    kept : list of str
        Categories that are kept.
    names : sequence of str
        Those that are added; their value is `ZERO`, or `UNLIKELY` with a box.
    detected : collection of str
        Those of `names` that have a box.
    """
    n, counted = len(kept) + len(names), {*kept, *names}
    priors = {
        name: prior
        for name, prior in plan.priors.items()
        if "/" in name and name.partition("/")[2] in counted
    }
    if n == 1:
        priors |= {name.partition("/")[0]: prior for name, prior in priors.items()}
    for target in LEVELS:
        added = {
            name: plan.priors.get(f"{target}/{name}", UNLIKELY if name in detected else ZERO)
            for name in names
        }
        kept_estimates = [plan.label_free(target, name) for name in kept]
        priors |= {
            f"{target}/{name}": estimate
            for name, estimate in zip(kept, kept_estimates, strict=True)
            if estimate.known
        }
        priors |= {f"{target}/{name}": estimate for name, estimate in added.items()}
        mean = _mean_prior(plan, target, kept_estimates)
        if mean.known:
            share = len(kept) / n
            value = share * mean.value + sum(estimate.value for estimate in added.values()) / n
            variance = (share * mean.error) ** 2 + sum(
                estimate.error**2 for estimate in added.values()
            ) / n**2
            priors[target] = ValueWithError(value, float(np.sqrt(variance)), mean.dof)
    return priors


def _mean_prior(plan: LabelPlan, target: str, estimates: list[ValueWithError]) -> ValueWithError:
    """Return the mean of label-free estimates of categories.

    The variance of one category's error is a + b and that of the mean of K a + b / K, where a is
    common to the categories of a site and b of each: both follow from the plan's own mean.
    """
    whole, n_before = plan.priors.get(target, NOTHING), len(plan.found.categories)
    if len(estimates) == n_before:  # also where single categories have no estimate, being too wide
        return whole
    if not estimates or not all(estimate.known for estimate in estimates):
        return NOTHING
    single = float(np.mean([estimate.error**2 for estimate in estimates]))
    common = single
    if whole.known and n_before > 1:
        of_each = np.clip((single - whole.error**2) * n_before / (n_before - 1), 0, single)
        common = single - float(of_each)
    variance = common + (single - common) / len(estimates)
    value = float(np.mean([estimate.value for estimate in estimates]))
    return ValueWithError(
        value, float(np.sqrt(variance)), min(estimate.dof for estimate in estimates)
    )
