"""Labels matched with the pool of a plan: of which of its images they are, and how it drew these.

`labels_on` and `in_categories` name images and categories of labels as the pool does,
`match_labels` finds the labels of a pool, `drawn_by_plan` and `as_random_draw` say how the labelled
images were drawn. `autoeval.labels.labelled_estimate` and `autoeval.comparison` call them, in this
order; then `autoeval.labels.labelled_categories` says which categories the estimate is about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from autoeval.accuracy.coco_evaluation import image_ranks
from autoeval.boxes import Boxes, LabelledImage, over_threshold
from autoeval.detections import CONFIDENT
from autoeval.errors import InputError
from autoeval.io.image_identity import AMBIGUOUS, match_images, names_before_upload
from autoeval.io.image_lists import natural_order
from autoeval.io.labels.content import (
    LabelSet,
    ignoring_unchecked,
    labelled_boxes,
    renamed,
)
from autoeval.io.predictions.category_words import known_spellings, spelt_otherwise
from autoeval.labels.plan import LabelPlan
from autoeval.words import Notice, listed

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
        empty = np.setdiff1d(np.arange(n), self.truth.image)
        if not len(empty):
            return self.warnings
        names = listed([self.truth.images[k].file_name for k in empty], 3)
        notice = Notice(
            "empty-labelled-images",
            f"{len(empty)} of {n} labelled images hold no object ({names}): right if somebody "
            "looked at them. Leave those that are not labelled yet out of the labels, in COCO out "
            "of their `images`: here they count as labelled, and each box in them as wrong",
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
        raise _none_in_pool(labels, images, over)
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


def _none_in_pool(
    labels: LabelSet, images: Sequence[LabelledImage], over: float | None = None
) -> InputError:
    names = [image.file_name for image in labels.images]
    remedy = "Keep the file names as they were"
    if over is not None:
        remedy += f", and label images with a box over {over:g}: precision depends on these alone"
    return InputError(
        f"None of the {len(names)} labelled images of {labels.path} is in the pool "
        f"(labelled: {listed(names)}; pool: {listed([image.image_id for image in images])}). "
        f"{remedy}."
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
    labels: LabelSet,
    pool: Boxes,
    words: Mapping[str, str] | None = None,
    others: Sequence[Boxes] = (),
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
    others : sequence of Boxes
        Of other detectors on these images, which the labels are compared with, too.

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
    detectors = [boxes.on_images(images) for boxes in (pool, *others)]
    truth = ignoring_unchecked(truth, labels, detectors, translated)
    if not len(truth.where(~truth.crowd)):
        # Precision would be 0, but `autoeval label plan` writes such a file for labels to come.
        they_hold = f" They hold {listed(sorted(used))}." if used else ""
        raise InputError(
            f"None of the {len(in_pool)} labelled images holds an object of a category that counts "
            f"({listed(pool.categories)}).{they_hold} Labels that nobody has made yet look the "
            "same, so that no accuracy is estimated of them. Are these finished, and in these "
            "words? If so, label images that hold one, too."
        )
    misspelt = set(words or ()) - {*labels.categories} if labels.lists_categories else ()
    warnings = (*labels.warnings, *_not_in_pool(unknown), *truth.left_out)
    if misspelt:
        text = f"no label is called {listed(sorted(misspelt))}, which --words translates: check it"
        warnings = (*warnings, Notice("word-not-known", text))
    if labels.checked:
        n_partly = sum(bool(labels.unchecked(image.image_id, translated)) for image in in_pool)
        text = (
            f"in {n_partly} of {len(in_pool)} labelled images nobody looked for some of the "
            "categories. They count as labelled for these, too: their intervals are too narrow, "
            "and have no width where all images of the pool are labelled"
        )
        warnings += (Notice("labels-not-exhaustive", text),) * (n_partly > 0)
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
        text = (
            f"labelled images that the plan did not draw, left out: {len(names)} "
            f"({listed(names)}). {remedy}"
        )
        warnings.append(Notice("images-not-planned", text, severity="note"))
    if inside.sum() < plan.n:
        text = (
            f"{plan.n - int(inside.sum())} of {plan.n} planned images are not labelled: the "
            "estimate is biased if they were skipped for what they show"
        )
        warnings.append(Notice("plan-incomplete", text))
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
    names = names_before_upload(image.file_name for image in boxes.images)
    in_order = sorted(range(n), key=lambda k: natural_order(names[k]))
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
