"""Labels matched with the pool of a plan: which images and which categories they measure.

`labels_on` and `in_categories` name images and categories of labels as the pool does,
`match_labels` finds the labels of a pool, `drawn_by_plan` and `as_random_draw` say how the labelled
images were drawn, and `on_labelled_categories` and `on_all_categories` which categories the
estimate is about.
`autoeval.labels.labelled_estimate` and `autoeval.comparison` call them, in this order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.special import gammaln

from autoeval.accuracy.coco_evaluation import image_ranks
from autoeval.boxes import Boxes, LabelledImage, over_threshold
from autoeval.detections import CONFIDENT
from autoeval.errors import InputError
from autoeval.io.image_identity import AMBIGUOUS, match_images
from autoeval.io.labels.content import (
    ANY,
    LabelSet,
    ignoring_unchecked,
    labelled_boxes,
    renamed,
)
from autoeval.io.predictions.category_words import known_spellings, spelt_otherwise
from autoeval.labels.plan import LabelPlan
from autoeval.labels.values import LEVELS, NOTHING, ValueWithError
from autoeval.model.calibration import LIKELY
from autoeval.words import Notice, listed

NONE_EXPECTED: Mapping[str, float] = MappingProxyType({})
ZERO = ValueWithError(0.0, 0.0)
"""Average precision of a category without a box, whatever there is."""

UNLIKELY = ValueWithError(LIKELY / 2, LIKELY / math.sqrt(12))
"""Average precision of a category without a likely box: precision is below `LIKELY` at any recall.
Mean and standard deviation of the uniform distribution from 0 to `LIKELY`."""

MISSED_BY_ALL = 8.0
"""Expected objects of a category that no label is of, from which on nobody looked for it. With all
objects of 64 photos labelled, 1 to 64 of which are drawn, no category without a label has over 4.1;
of 156 sets and detectors with categories that were not labelled 129 have one over 8."""

IMPROBABLE = 1e-4  # of a simple random draw
LET_DRAW = "Let `autoeval label plan` draw images, or estimate on images like these alone"


@dataclass(frozen=True, eq=False)
class LabelledSubset:
    """Labelled images of a pool, and their labels in the same order.

    Parameters
    ----------
    images : ndarray of shape (k,), int
        Places of the labelled images in the pool.
    truth : Boxes
        Labels on these images, in the categories of the pool.
    warnings : tuple of Notice
        What was left out or is odd, one sentence each.
    """

    images: np.ndarray
    truth: Boxes
    warnings: tuple[Notice, ...]

    @property
    def all_warnings(self) -> tuple[Notice, ...]:
        """The warnings, and how many of the images hold no object (``empty-labelled-images``)."""
        n = len(self.images)
        empty = n - len(np.unique(self.truth.image))
        if not empty:
            return self.warnings
        notice = Notice(
            "empty-labelled-images",
            f"{empty} of {n} labelled images hold no object: right if somebody looked at them, "
            "wrong if they are not labelled yet",
        )
        return (*self.warnings, notice)


def labels_on(
    labels: LabelSet,
    images: Sequence[LabelledImage],
    known_words: Sequence[str],
    over: float | None = None,
) -> LabelSet:
    """Name labelled images as a pool does, and categories as they are known, once for all.

    All that follows finds images by their ids, and categories by their words. For how images are
    known see `match_images`, for words `known_spellings`.

    Parameters
    ----------
    labels : LabelSet
        Labels as read.
    images : sequence of LabelledImage
        Of the pool.
    known_words : sequence of str
        Words of categories; those of the labels that differ in capitals and separators alone become
        these.
    over : float, optional
        Score threshold over which each image of the pool has a box; None of a pool of all images.

    Returns
    -------
    LabelSet
        With the images of the pool alone, each with the size that the labels state, where they do.

    Raises
    ------
    InputError
        If no labelled image is in the pool, or one is labelled twice.
    """
    matches = match_images(labels.images, images)
    at = matches.index.tolist()
    kept = {labels.images[k].image_id: place for k, place in enumerate(at) if place >= 0}
    unknown = [labels.images[k].file_name for k, place in enumerate(at) if place < 0]
    if not kept:
        raise _none_in_pool(labels, images)
    twice = [images[k].image_id for k, n in Counter(kept.values()).items() if n > 1]
    if twice:
        raise InputError(
            f"{labels.path}: images labelled twice: {listed(twice)}. Keep one entry of each."
        )
    spelt = known_spellings(labels.categories, known_words)
    notices = [
        *matches.by_rules("the pool"),
        *_not_in_pool(unknown, over, several=AMBIGUOUS in at),
        *([spelt_otherwise(spelt)] if spelt else []),
    ]
    named = {name: images[place] for name, place in kept.items()}
    for image in labels.images:
        in_pool = named.get(image.image_id)
        # the size that the labels state is theirs: where it is another one, their boxes are, too
        if in_pool is not None and image.size not in (None, in_pool.size):
            named[image.image_id] = replace(in_pool, size=image.size)
    renamed_labels = renamed(labels, named, spelt)
    return replace(renamed_labels, warnings=(*labels.warnings, *notices))


def in_categories(content: LabelSet, words: Mapping[str, str]) -> LabelSet:
    """Call labels with a detector's words for categories by the names of these, as in a fit.

    Words that differ by case or separators alone are the same; see `known_spellings`.

    Parameters
    ----------
    content : LabelSet
        Labels.
    words : mapping of str to str
        Category of each word of the detector.

    Examples
    --------
    >>> from autoeval.io.labels.content import BoxColumns, LabelledBox
    >>> image = LabelledImage("7", "7.jpg", None)
    >>> bus = BoxColumns.of([LabelledBox("7", "bus", (10, 20, 30, 40))])
    >>> labels = LabelSet("a.json", (image,), ("bus", "dog"), bus)
    >>> named = in_categories(labels, {"car": "vehicle", "bus": "vehicle"})
    >>> named.categories, named.boxes[0].category
    (('vehicle', 'dog'), 'vehicle')
    """
    categories = {*words.values()}
    others = {word: name for word, name in words.items() if word not in categories}
    left = [word for word in content.categories if word not in categories]
    spelt = known_spellings(left, [*others])
    if not spelt and others.keys().isdisjoint(left):
        return content
    images = {image.image_id: image for image in content.images}
    content = renamed(content, images, others | {word: others[spelt[word]] for word in spelt})
    return replace(
        content, warnings=(*content.warnings, *([spelt_otherwise(spelt)] if spelt else []))
    )


def _none_in_pool(labels: LabelSet, images: Sequence[LabelledImage]) -> InputError:
    names = [image.file_name for image in labels.images]
    return InputError(
        f"None of the {len(names)} labelled images of {labels.path} is in the pool "
        f"(labelled: {listed(names)}; pool: {listed([image.image_id for image in images])}). "
        "Keep the file names as they were."
    )


def _not_in_pool(
    names: Sequence[str], over: float | None = None, *, several: bool = False
) -> list[Notice]:
    if not names:
        return []
    where = "are not in the pool"
    if several:
        where += " or could be several of its images, by names without their folders"
    if over is not None:
        where = f"have no box over {over:g}, on which precision does not depend, or {where}"
    text = f"labelled images that {where}, left out: {len(names)} ({listed(names)})"
    return [Notice("images-not-in-pool", text, severity="warning" if over is None else "note")]


def match_labels(
    labels: LabelSet, pool: Boxes, words: Mapping[str, str] | None = None
) -> LabelledSubset:
    """Find the labels of a pool, in its categories; images in the order of their ids.

    Parameters
    ----------
    labels : LabelSet
        With the images of the pool, see `labels_on`; others are left out with a warning.
    pool : Boxes
        Detected boxes on the images of the pool.
    words : mapping of str to str, optional
        Category of the pool for each word of the labels that counts; by default equal words.

    Raises
    ------
    InputError
        If no labelled image is in the pool, `words` names a category that the pool lacks, the
        labels have none of the categories, or no labelled image holds an object.
    """
    place_of = {image.image_id: place for place, image in enumerate(pool.images)}
    in_pool = [image for image in labels.images if image.image_id in place_of]
    if not in_pool:
        raise _none_in_pool(labels, pool.images)
    unknown = [image.file_name for image in labels.images if image.image_id not in place_of]
    images = np.array([place_of[image.image_id] for image in in_pool], np.int64)
    # slopes are fitted in folds of these: in which order files list images changes nothing
    order = np.argsort(image_ranks([image.file_name for image in pool.images])[images])
    in_pool, images = [in_pool[k] for k in order], images[order]
    translated = dict(words) if words else {name: name for name in pool.categories}
    wrong = sorted(set(translated.values()) - set(pool.categories))
    used = set(labels.boxes.words(np.ones(len(labels.boxes), bool)))
    if wrong:
        raise InputError(
            f"The words of labels are translated into {listed(wrong)}, and the categories of the "
            f"estimate are {listed(pool.categories)}: name one of these for each word (--words "
            "WORD=CATEGORY)."
        )
    looked_for = used | {*(labels.categories if labels.lists_categories else ())}
    if used and not looked_for & {*translated}:
        raise InputError(
            f"Expected labels of {listed(pool.categories)} but got {listed(sorted(used))}. "
            "Translate them with --words WORD=CATEGORY; where a word of the labels stands for "
            "several of these, make them one category (--category vehicle=car,bus,truck)."
        )
    truth = labelled_boxes(labels, pool.categories, translated, in_pool)
    truth = ignoring_unchecked(truth, labels, pool.on_images(images), translated)
    if not len(truth.where(~truth.crowd)):
        # Precision would be 0, but `autoeval label plan` writes such a file for labels to come.
        they_hold = f" They hold {listed(sorted(used))}." if used else ""
        raise InputError(
            f"None of the {len(in_pool)} labelled images holds a {' or '.join(pool.categories)}."
            f"{they_hold} Labels that nobody has made yet look the same, so that no accuracy is "
            "estimated of them. Are these finished, and in these words? If so, label images that "
            "hold one, too."
        )
    warnings = (*labels.warnings, *_not_in_pool(unknown), *truth.left_out)
    return LabelledSubset(images, truth, warnings)


def drawn_by_plan(
    subset: LabelledSubset, plan: LabelPlan, places: np.ndarray | None = None
) -> LabelledSubset:
    """Keep the images that the plan drew: how others were chosen is unknown.

    Warns of images left out (``images-not-planned``), of planned ones without labels
    (``plan-incomplete``), and where these differ in their boxes from the rest
    (``labels-not-random``).

    Parameters
    ----------
    subset : LabelledSubset
        Labelled images.
    plan : LabelPlan
        The plan.
    places : ndarray, int, optional
        Place in the plan's pool of each image that the subset counts from; by default they are the
        same.

    Raises
    ------
    InputError
        If the plan drew none of them.
    """
    at = subset.images if places is None else places[subset.images]
    inside = np.isin(at, plan.drawn)
    warnings = list(subset.warnings)
    if not inside.any():
        drawn = [plan.found.images[k].image_id for k in plan.drawn]
        labelled = [plan.found.images[k].image_id for k in at]
        raise InputError(
            f"The plan drew none of the {len(at)} labelled images ({listed(labelled)}): label "
            f"those that it drew ({listed(drawn)}), or, if these are a random sample, estimate "
            "without the plan by `autoeval estimate --labels`."
        )
    if not inside.all():
        names = [plan.found.images[k].image_id for k in at[~inside]]
        remedy = "Plan again with a larger --n, or estimate without the plan"
        if inside.sum() < plan.n:
            remedy = "If the plan drew these images, give them the names that they have in it"
        warnings.append(
            Notice(
                "images-not-planned",
                f"labelled images that the plan did not draw, left out: {len(names)} "
                f"({listed(names)}). {remedy}",
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
        warnings += chosen_for_boxes(np.isin(plan.drawn, at), _shown(plan.found)[plan.drawn])
    kept = np.flatnonzero(inside)
    truth = subset.truth.on_images(kept)
    return LabelledSubset(subset.images[kept], truth, tuple(warnings))


def as_random_draw(subset: LabelledSubset, boxes: Boxes) -> LabelledSubset:
    """Warn that images which no plan drew are taken as a simple random draw, if some are left.

    Where they cannot be one, as the boxes in all images and the names of these show, that is a
    warning of its own.

    Parameters
    ----------
    subset : LabelledSubset
        Labelled images; with all images of the pool it is returned as it is.
    boxes : Boxes
        Detected boxes on all images of the pool.
    """
    n = len(boxes.images)
    if len(subset.images) == n:
        return subset
    no_plan = Notice(
        "no-plan",
        "no plan drew these images: they are taken as a simple random draw of the pool, which "
        "images chosen for what they show are not",
        severity="note",
    )
    chosen = np.isin(np.arange(n), subset.images)
    in_order = np.argsort(image_ranks([image.image_id for image in boxes.images]))
    odd = chosen_for_boxes(chosen, _shown(boxes)) or chosen_in_a_row(chosen[in_order])
    return replace(subset, warnings=(*subset.warnings, no_plan, *odd))


def _shown(boxes: Boxes) -> np.ndarray:
    """Count the confident boxes of each image, (M,)."""
    return np.bincount(
        boxes.image[over_threshold(boxes.scores, CONFIDENT)], minlength=len(boxes.images)
    )


def chosen_for_boxes(chosen: np.ndarray, shown: np.ndarray) -> list[Notice]:
    """Warn where chosen images show other numbers of boxes than a draw would.

    How many of them show more than the median is a hypergeometric number (Fisher's exact test); the
    probability of either tail is at most `IMPROBABLE` for a warning.

    Parameters
    ----------
    chosen : ndarray of shape (M,), bool
        Which images were chosen.
    shown : ndarray of shape (M,), int
        Confident boxes of each image.
    """
    many = shown > np.median(shown)
    k, n_many, found_many = int(chosen.sum()), int(many.sum()), int((many & chosen).sum())
    other_side = hypergeometric_cdf(k - found_many, len(many), len(many) - n_many, k)
    if min(hypergeometric_cdf(found_many, len(many), n_many, k), other_side) > IMPROBABLE:
        return []
    return [
        Notice(
            "labels-not-random",
            f"the labelled images are no random draw: {found_many} of {k} show more boxes over "
            f"{CONFIDENT:g} than the median image, as {n_many} of all {len(many)} do, so the "
            f"estimate is biased. {LET_DRAW}",
        )
    ]


def chosen_in_a_row(chosen: np.ndarray) -> list[Notice]:
    """Warn where chosen images are neighbours in the order of their names.

    The number of rows that k images drawn at random of M make is hypergeometric (Wald & Wolfowitz
    1940); few of them are improbable.

    Parameters
    ----------
    chosen : ndarray of shape (M,), bool
        Which images were chosen, in the order of their names.

    Examples
    --------
    >>> [notice.code for notice in chosen_in_a_row(np.arange(40) < 20)]
    ['labels-not-random']
    >>> chosen_in_a_row(np.arange(40) % 2 == 0)
    []
    """
    n, k = len(chosen), int(chosen.sum())
    rows = int(chosen[0]) + int((chosen[1:] & ~chosen[:-1]).sum())
    if hypergeometric_cdf(rows, n, n - k + 1, k) > IMPROBABLE:
        return []
    return [
        Notice(
            "labels-not-random",
            f"by their names the {k} labelled images are neighbours ({rows} "
            f"{'row' if rows == 1 else 'rows'}), as of one camera, day or video: as a random draw "
            f"of all images they are biased, unless the names are random. {LET_DRAW}",
        )
    ]


def hypergeometric_cdf(x: int, n: int, n_good: int, k: int) -> float:
    """Return the probability that at most x of k items drawn of n are among `n_good`.

    The items are drawn without replacement.

    Parameters
    ----------
    x : int
        Largest number of drawn items that are good.
    n : int
        All items.
    n_good : int
        Good items, 0 to n.
    k : int
        Drawn items, 0 to n.

    Returns
    -------
    float
        In [0, 1], rounded to six decimals.

    Examples
    --------
    >>> hypergeometric_cdf(0, 10, 4, 2)  # 6/10 of 5/9
    0.333333
    """
    numbers = np.arange(max(0, k - (n - n_good)), min(x, n_good, k) + 1)

    def log_choose(total: Any, chosen: Any) -> Any:
        return gammaln(total + 1) - gammaln(chosen + 1) - gammaln(total - chosen + 1)

    logs = log_choose(n_good, numbers) + log_choose(n - n_good, k - numbers) - log_choose(n, k)
    return round(float(np.exp(logs).sum()), 6)


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
    if lacking and len(lacking) < len(found_categories):
        warnings.append(
            Notice(
                "categories-without-labels",
                "detected categories that the labels do not have, left out of the mean: "
                f"{len(lacking)} of {len(found_categories)} ({listed(lacking, 10)}). Where the "
                "labels have other words for them, translate with --words WORD=CATEGORY, or make "
                "several one category as the labels do (--category vehicle=car,bus,truck)",
            )
        )
    else:  # the labels are of other words altogether, which `match_labels` refuses
        lacking = []
    if added and (share_words or len(added) < len(labelled)):
        warnings.append(
            Notice(
                "categories-not-detected",
                "labelled categories of which little or nothing was detected, so that their "
                f"average precision is mostly low: {len(added)} ({listed(added, 10)}). If the "
                "detector does not know them, name those that count with --words WORD=CATEGORY",
            )
        )
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
) -> tuple[LabelPlan, tuple[Notice, ...]]:
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
    warnings : tuple of Notice
        That name the categories added and left out.
    """
    chosen = _chosen(plan, labels, words)
    kept = chosen.kept
    if plan.nothing_found:
        labelled = categories_with_a_box(labels, plan.found)
        count = {(words or {}).get(word, word) for word in labelled}
        kept = [name for name in kept if name in count] or kept
    return with_categories(plan, kept, chosen.added), chosen.warnings


def _chosen(
    plan: LabelPlan, labels: LabelSet, words: Mapping[str, str] | None
) -> LabelledCategories:
    """Choose the categories of a plan that the labels distinguish, by its boxes on their images."""
    rest_names = () if plan.rest is None else plan.rest.categories
    named = rest_names if plan.named or words else None
    boxes, expected = plan.found, dict[str, float]()
    if plan.probabilities is not None and not plan.named:
        on_labelled = has_labels(boxes.images, labels)
        expected = expected_objects(boxes, plan.probabilities, on_labelled)
    return labelled_categories(
        boxes.categories, labels, boxes, words, named=named, expected=expected
    )


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
    plan: LabelPlan, labels: LabelSet, words: Mapping[str, str] | None = None
) -> tuple[LabelPlan, tuple[Notice, ...]]:
    """Let measures at a threshold be about every category that somebody looked for.

    A box of a category that has no object is a false positive like any other, so that precision is
    the same number whichever categories were found, or hold an object. Where categories are named,
    those count.

    Parameters
    ----------
    plan : LabelPlan
        Its categories count without labels, and those of its ``rest`` may be added.
    labels : LabelSet
        With the images of the pool, see `labels_on`.
    words : mapping of str to str, optional
        Category of the plan for each word of the labels that counts; by default equal words.

    Returns
    -------
    plan : LabelPlan
        Of the same images.
    warnings : tuple of Notice
        Those of `on_labelled_categories` and of `false_without_labels`.
    """
    whole, warnings = on_labelled_categories(plan, labels, words)
    looked_for = _chosen(plan, labels, words).looked_for
    names, more = list(whole.found.categories), list[str]()
    if plan.rest is not None and not plan.named and not words:
        rest_labels = np.unique(plan.rest.label)
        more = [plan.rest.categories[k] for k in rest_labels.tolist()]
        allowed = more if looked_for is None else looked_for
        more = [name for name in more if name in allowed and name not in names]
    full_plan = with_categories(whole, names, more)
    if looked_for is None and not plan.named:
        on_labelled = has_labels(full_plan.found.images, labels)
        score_thr = plan.score_thr or 0.0
        warnings += false_without_labels(full_plan.found, on_labelled, labels, words, score_thr)
    # The label-free estimates are of the categories with a likely box, which hold nearly all boxes.
    return replace(full_plan, priors={**whole.priors, **full_plan.priors}), warnings


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
        f"{sum(of_none.values())} boxes over {score_thr:g} are of categories that no label is of "
        f"({listed([f'{name} {k}' for name, k in of_none.items()], 10)}), and the labels do not "
        "list their categories: they count as false positives. If nobody looked for them, name "
        "those that count (--category)"
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
    boxes = plan.found.as_categories(names, {name: name for name in kept})
    detected = {plan.rest.categories[k] for k in np.unique(plan.rest.label)} if plan.rest else set()
    detected &= set(added)
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

    At a threshold the categories are counted together, so there is none of another choice of them.

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
    priors: dict[str, ValueWithError] = {}
    n = len(kept) + len(names)
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
