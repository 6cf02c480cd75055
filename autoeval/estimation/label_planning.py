"""Which images of a site to label, with the label-free estimates that a plan keeps.

What labels need of an estimator: priors of all targets with the errors that they had elsewhere, the
images drawn, and the folder to label, where a plan that is there already must belong to the same
site and detector.

`autoeval.plan_labels` calls `plan_in_folder`, `AccuracyEstimator.plan_labels` `plan_estimated`, and
labels that no plan drew go through `plan_of_sample`; all of them end in `make_plan`, which draws.
The order of the draw and the forecast are in `autoeval.labels.plan` and `autoeval.labels.joint`.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from typing_extensions import Self

from autoeval.accuracy.coco_evaluation import AT_HALF, image_ranks, top_detections
from autoeval.accuracy.measures import IOUS, MEASURES, OperatingPoint
from autoeval.boxes import Boxes, LabelledImage, over_threshold
from autoeval.errors import InputError
from autoeval.estimation.checks import nothing_found_text
from autoeval.estimation.estimate import Estimate, estimate_rows
from autoeval.io.image_identity import match_images
from autoeval.io.images import image_size
from autoeval.io.labels.content import LabelSet
from autoeval.io.predictions.covered_images import ODD, SHIFT
from autoeval.labels import PLAN
from autoeval.labels.assistance import NO_INFLUENCE, LabelAssistance, ProbableLabels, probability
from autoeval.labels.joint import expected_holding
from autoeval.labels.plan import (
    BY_CHANCE,
    BY_DISAGREEMENT,
    BY_INFLUENCE,
    BY_TIME,
    ByImage,
    LabelPlan,
    balanced_order,
    blocks_of,
    unequal_order,
    with_few_bits,
)
from autoeval.labels.plan_folder import EMPTY, load_plan, write_plan
from autoeval.labels.values import (
    LEVELS,
    NOTHING,
    OF_ONE_SET,
    ErrorOfPrior,
    ValueWithError,
    fit_error_of_prior,
    quantile,
)
from autoeval.model.pair_table import COUNTED, Table, nothing_over
from autoeval.model.regression import Regression
from autoeval.result_base import ENDS
from autoeval.sites.site import Site
from autoeval.words import Notice, listed

FEWEST_GROUPS = 5  # left out, for their errors to stand for those of a new site
COMPARED_IMAGES = 20  # at most, at equal distances, to see whether the boxes are those of the plan
NEAR = 2.0  # pixels: the same network on another machine rounds otherwise, and moves no box further
SAME_ESTIMATE = 0.005  # rounding moves no end of an estimate further; another fit does
OF_POOL = frozenset(
    {
        "another-split",
        "boxes-limited",
        "category-numbers-differ",
        "category-numbers-guessed",
        "copies-left-out",
        "image-numbers-ambiguous",
        "images-merged",
        "images-not-covered",
        "images-not-placed",
        "images-of-the-fit",
        "images-unreadable",
        "images-without-box-unknown",
        "low-scores-missing",
        "reference-elsewhere",
        "same-boxes",
    }
)
"""Codes of warnings of a site that say of which boxes and images a plan is."""


@dataclass(frozen=True)
class PlanRequest:
    """How many images are to be labelled, and how they are drawn.

    Parameters
    ----------
    n : int
        Number of images to label; where a plan is enlarged those of it among them.
    seed : int, optional
        Of the draw: by default 0, or that of the plan that is enlarged.
    frames : int, optional
        Numbered files are frames, in blocks of so many; see `blocks_of`.
    everywhere : bool
        For precision, too, draw from all images, not only from those with a box over its threshold;
        each with the same probability, also where a reference detector disagrees.
    predicted : bool
        Whether the influence of images is predicted: where all have labels nothing needs it.
    """

    n: int = 20
    seed: int | None = None
    frames: int | None = None
    everywhere: bool = False
    predicted: bool = True


def make_plan(
    boxes: Boxes,
    assistance: LabelAssistance | None,
    request: PlanRequest,
    *,
    targets: Sequence[str] = ("mAP",),
    blocks: np.ndarray | None = None,
    reference_boxes: ProbableLabels | None = None,
    nothing_found: bool = False,
) -> LabelPlan:
    """Draw images to label.

    Where some blocks of time hold several images the draw is spread over the order of the blocks,
    so that labelled frames lie apart; otherwise over the predicted influence, or over nothing where
    nothing was found. Images on which a reference detector disagrees are drawn more often (see
    `ProbableLabels.draw_sizes`), unless the draw is from `everywhere`, over time, or for a target
    at a threshold.

    Parameters
    ----------
    boxes : Boxes
        Those of the categories that count, on M images, as of `Site.pool`.
    assistance : LabelAssistance, optional
        Fitted on boxes of the same detector; None where no influence is predicted.
    request : PlanRequest
        How many are drawn, and how.
    targets : sequence of str
        What labels are to measure. The draw is for the first; at the threshold and the IoU of the
        first that has them precision, recall and F1 are wanted.
    blocks : ndarray of shape (M,), optional
        Blocks of time, in the order of the images; by default each image is its own.
    reference_boxes : ProbableLabels, optional
        Boxes of another detector on the same images.
    nothing_found : bool
        Whether no category has a likely box.

    Returns
    -------
    LabelPlan
        Without what the draw does not depend on: label-free estimates and their level, the
        detector, warnings.

    Raises
    ------
    InputError
        If `n` is not from 1 to the number of images.
    """
    n, n_images = request.n, len(boxes.images)
    if not 1 <= n <= n_images:
        raise InputError(f"Expected 1 to {n_images} images to label (all there are) but got {n}.")
    points = [OperatingPoint.of(target) for target in targets]
    point = next(filter(None, points), None)
    n_categories, likely, objects = len(boxes.categories), None, None
    # where no box says how often images hold a category, or where it need not be known
    holding = np.array([np.zeros(n_categories), np.ones(n_categories)])
    if assistance is not None and request.predicted:
        model = assistance.box_model
        probabilities = probability(model.true_positive, boxes.features)
        rankings = model.rankings(boxes, probabilities)
        n_true = [ranking.n_true for ranking in rankings]
        if not nothing_found:
            holding = expected_holding(boxes, probabilities[AT_HALF], n_true)
        by_levels = (
            np.stack([of_category[levels].mean(axis=0) for levels in LEVELS.values()])
            for of_category in assistance.predict(boxes, reference_boxes, rankings)
        )
        influence = ByImage.of(by_levels, n_images)
        likely = with_few_bits(probabilities[point.level if point else AT_HALF])
        objects = ByImage.of((expected[None] for expected in n_true), n_images)
    else:
        influence = ByImage.unknown(n_categories, len(LEVELS), n_images)
    blocks = np.arange(n_images) if blocks is None else np.asarray(blocks)
    by_time = len(np.unique(blocks)) < n_images
    by_influence = request.predicted and not nothing_found
    plan = LabelPlan(
        found=boxes,
        influence=influence,
        holding=holding,
        sequence=np.arange(n_images),
        n=n,
        seed=request.seed or 0,
        order=BY_TIME if by_time else BY_INFLUENCE if by_influence else BY_CHANCE,
        blocks=blocks,
        mixing=assistance.mixing_weights(reference_boxes) if assistance else NO_INFLUENCE,
        small_sample_bias=assistance.small_sample_bias if assistance else 0.0,
        priors={},
        target=targets[0],
        detector="",
        score_thr=point.score_thr if point else None,
        iou=point.iou if point else IOUS[0],
        probabilities=likely,
        objects=objects,
        points=assistance.points if assistance else dict.fromkeys(MEASURES, NO_INFLUENCE),
        nothing_found=nothing_found,
    )
    if plan.order == BY_CHANCE:
        return replace(plan, sequence=np.random.default_rng(plan.seed).permutation(n_images))
    # files may list frames in another order than that of time
    across = np.argsort(blocks if by_time else plan.predicted(plan.target)[-1], kind="stable")
    if reference_boxes is None or by_time or request.everywhere or points[0] is not None:
        return replace(plan, sequence=balanced_order(across, seed=plan.seed))
    sizes = reference_boxes.draw_sizes(boxes, probabilities[AT_HALF])
    sequence = unequal_order(across, sizes, seed=plan.seed)
    return replace(plan, sequence=sequence, sizes=sizes, order=BY_DISAGREEMENT)


def priors_of(estimate: Estimate, error: ErrorOfPrior | None = None) -> dict[str, ValueWithError]:
    """Take label-free estimates with their errors out of an `Estimate`.

    Parameters
    ----------
    estimate : Estimate
        Of one target.
    error : ErrorOfPrior, optional
        From `error_elsewhere`; for single categories, since those are what was left out.

    Returns
    -------
    dict of str to ValueWithError
        Those with an interval, named as the target, such as ``mAP``, and ``mAP/<category>``,
        also of categories that were found and do not count.
    """
    whole = {"value": estimate.value, "lower": estimate.lower, "upper": estimate.upper}
    several = len(estimate.per_category) > 1
    priors = {estimate.target: with_error(whole, estimate.level, None if several else error)}
    for name, interval in (estimate.per_category | estimate.left_out).items():
        priors[f"{estimate.target}/{name}"] = with_error(interval, estimate.level, error)
    return {name: prior for name, prior in priors.items() if prior.known}


def priors_of_targets(
    estimate: Estimate, regressions: Mapping[str, Regression | None]
) -> dict[str, ValueWithError]:
    """Take the label-free estimates of several targets; see `priors_of`.

    Parameters
    ----------
    estimate : Estimate
        With its site.
    regressions : mapping of str to Regression or None
        By target, on the scores of the estimate; its own target is among them. There is
        no such estimate of a target without a regression, nor where no box is over the threshold:
        the labels alone then measure recall, which is 0, and precision is not defined.

    Returns
    -------
    dict of str to ValueWithError
        Empty where nothing was found.
    """
    assert estimate.site is not None
    rows = estimate.site.row["rows"]
    priors: dict[str, ValueWithError] = {}
    if estimate.site.nothing_found:
        return priors
    for target, regression in regressions.items():
        if regression is None or not (rows[COUNTED] & ~nothing_over(rows, target)).any():
            continue
        of_target, error = estimate, None
        if not (estimate.site.known or estimate.site.group):
            error = error_elsewhere(regression.left_out_, estimate.level) or OF_ONE_SET
        if target != estimate.target:
            of_target = estimate_rows(regression, rows)
        priors |= priors_of(of_target, error)
    return priors


def with_error(
    interval: Mapping[str, Any], level: float, error: ErrorOfPrior | None = None
) -> ValueWithError:
    """Turn ``value``, ``lower`` and ``upper`` of an estimate into a value with its error.

    The error is that of a normal distribution with the same interval, of whose two arms the longer
    counts, since it may be cut at 0 or 1; with `error` it is brought to what left-out sites show,
    but for one of width 0.

    Parameters
    ----------
    interval : mapping of str to float
        The three numbers, in [0, 1].
    level : float
        Nominal coverage of the interval.
    error : ErrorOfPrior, optional
        See `error_elsewhere`.

    Returns
    -------
    ValueWithError
        `NOTHING` where one of the numbers is not finite.

    Examples
    --------
    >>> round(with_error({"value": 0.4, "lower": 0.3, "upper": 0.45}, 0.9).error, 3)
    0.061
    """
    value = float(interval["value"])
    lower, upper = float(interval["lower"]), float(interval["upper"])
    if not (math.isfinite(value) and math.isfinite(lower) and math.isfinite(upper)):
        return NOTHING
    stated = max(value - lower, upper - value) / quantile(level, math.inf)
    if error is None or stated == 0:  # of a category without a box the value is known
        return ValueWithError(value, stated)
    return error.at(value, stated)


def error_elsewhere(held_out: Table, level: float) -> ErrorOfPrior | None:
    """Fit the errors of estimates at sites that were left out, relative to those they state.

    Parameters
    ----------
    held_out : Table
        `Regression.left_out_`; may be empty.
    level : float
        Nominal coverage of its intervals.

    Returns
    -------
    ErrorOfPrior or None
        None with fewer than `FEWEST_GROUPS` groups.
    """
    if not len(held_out):
        return None
    ends = zip(held_out["estimate"], held_out["lower"], held_out["upper"], strict=True)
    priors = [
        with_error({"value": value, "lower": lower, "upper": upper}, level)
        for value, lower, upper in ends
    ]
    rows = [k for k, prior in enumerate(priors) if prior.known]
    groups = held_out["group"][rows].tolist()
    if len(set(groups)) < FEWEST_GROUPS:
        return None
    estimates, stated = np.array([(priors[k].value, priors[k].error) for k in rows]).T
    truths = held_out["true"][rows]
    return fit_error_of_prior(estimates, truths, groups, stated=stated)


class Planning(Protocol):
    """What a plan takes of an estimator."""

    @property
    def target(self) -> str:
        """What is estimated."""

    @property
    def level(self) -> float:
        """Nominal coverage."""

    @property
    def label_assistance_(self) -> LabelAssistance | None:
        """What estimates with a few labels need."""

    def at_floor(self, floor: float) -> Self:
        """Return the same fit for files that begin at another score.

        Parameters
        ----------
        floor : float
            As of `AccuracyEstimator.at_floor`.
        """

    def regressions_of(self, targets: Iterable[str]) -> dict[str, Regression | None]:
        """Return the regression of each target.

        Parameters
        ----------
        targets : iterable of str
            As of `AccuracyEstimator.regressions_of`.
        """


def plan_estimated(fit: Planning, estimate: Estimate, request: PlanRequest) -> LabelPlan:
    """Draw images of the site of an estimate; priors are all that was estimated there.

    For precision images are drawn from those with a box over the threshold, unless the request is
    from `everywhere`.

    Parameters
    ----------
    fit : Planning
        The estimator.
    estimate : Estimate
        Of its site.
    request : PlanRequest
        Its target and all that follows from it are replaced by those of the fit.

    Returns
    -------
    LabelPlan

    Raises
    ------
    InputError
        If the estimate holds no site, the fit has no label assistance, its target is neither an
        average precision nor precision, recall or F1, there are not so many images, or none has a
        box over the threshold of precision.
    """
    site = estimate.site
    if site is None:
        raise InputError("Expected an estimate from `predict`: this one holds no boxes.")
    threshold = OperatingPoint.of(fit.target)
    if fit.target not in LEVELS and threshold is None:
        raise InputError(
            f"Labels measure {', '.join(LEVELS)}, precision, recall and F1, but this estimator is "
            f"of {fit.target}: fit one of mAP."
        )
    assistance = fit.label_assistance_
    if assistance is None and request.predicted:
        raise InputError(
            "This estimator has no label assistance: too few labelled boxes were fitted on. Fit on "
            "20 labelled images that hold a category, or show a box of it, with 10 labelled boxes."
        )
    targets = (fit.target, *estimate.other_targets)
    n, counted = request.n, _counted_part(site)
    right: np.ndarray | None = None
    if request.predicted:
        pool, reference_boxes = counted.pool, ProbableLabels.of_reference(counted)
    else:
        pool, reference_boxes = counted.boxes, None
        top = top_detections(pool.image, pool.label, pool.scores)
        pool, right = pool.where(top), counted.right_at_half[top]
    rest, of_pool = None if site.nothing_found else _other_boxes(site, pool), site.boxes
    blocks = blocks_of(pool.images, files=site.images, frames=request.frames, known=site.blocks)
    without_box: tuple[Notice, ...] = ()
    if threshold and threshold.measure == "precision":
        images_over, of_others = with_boxes_over(pool, rest, threshold.score_thr)
        if not len(images_over):
            raise InputError(
                f"None of the {len(site)} images has a box over {threshold.score_thr:g}: precision "
                "is not defined there, and no label would show it. Choose a lower threshold, or "
                "plan for recall or F1."
            )
        if not request.everywhere:
            without_box = of_others
            right = None if right is None else right[np.isin(pool.image, images_over)]
            pool, reference_boxes = pool.on_images(images_over), None
            rest = None if rest is None else rest.on_images(images_over)
            of_pool = of_pool.on_images(images_over)
            blocks = np.unique(blocks[images_over], return_inverse=True)[1]
            n = min(n, len(images_over)) if without_box else n
    nothing = (nothing_found_text(len(site), fit.target),) if site.nothing_found else ()
    names = [image.file_name for image in of_pool.images]
    plan = make_plan(
        pool,
        assistance,
        replace(request, n=n),
        targets=targets,
        blocks=blocks,
        reference_boxes=reference_boxes,
        nothing_found=site.nothing_found,
    )
    whole = {end: getattr(estimate, end) for end in ENDS}
    per_category = {
        f"{fit.target}/{name}": interval for name, interval in estimate.per_category.items()
    }
    return replace(
        plan,
        priors=priors_of_targets(estimate, fit.at_floor(site.floor).regressions_of(targets)),
        printed={fit.target: whole, **estimate.other_targets, **per_category},
        level=fit.level,
        probabilities=plan.probabilities if request.predicted else right,
        detector=site.detector or _fingerprint_of(of_pool, names),
        named=site.named,
        detector_words=site.detector_words,
        rest=rest,
        cut=bool(without_box),
        known=site.known,
        group=site.group,
        warnings=(
            *without_box,
            *nothing,
            *(notice for notice in site.warnings if notice.code in OF_POOL),
            *site.left_out,
        ),
    )


def plan_of_sample(fit: Planning, estimate: Estimate, labels: LabelSet) -> LabelPlan:
    """Return what labels that no plan drew need: they are a simple random sample of the site.

    Where all images have labels nothing is predicted of any.

    Parameters
    ----------
    fit : Planning
        The estimator.
    estimate : Estimate
        Of its site.
    labels : LabelSet
        Of some of the images.

    Raises
    ------
    InputError
        As `plan_estimated`.
    """
    some = True
    if estimate.site is not None and len(labels.images) >= len(estimate.site):
        index = match_images(labels.images, estimate.site.boxes.images).index
        some = len(np.unique(index[index >= 0])) < len(estimate.site)
    return plan_estimated(fit, estimate, PlanRequest(1, predicted=some))


def _fingerprint_of(boxes: Boxes, names: Sequence[str]) -> str:
    """Return a short name of the boxes of a site, where no detector is known.

    It changes with any box, with its score, word or image, but neither with the order in which
    files list boxes, images and categories, nor with ids of images, nor with names that keep their
    order.

    Parameters
    ----------
    boxes : Boxes
        Of a site.
    names : sequence of str
        File name of each image, by which images are ordered.
    """
    image = image_ranks(names)[boxes.image]
    words = np.array([zlib.crc32(word.encode()) for word in boxes.categories])[boxes.label]
    # sums of a hash of each box, since to sort two million of them takes seconds
    hashed = np.zeros(len(boxes), np.uint64)
    for column in (image, words, *boxes.boxes.T, boxes.scores):
        bits = (column + np.float64(0)).astype(np.float64).view(np.uint64)  # no -0.0
        hashed = (hashed ^ bits) * ODD
        hashed ^= hashed >> SHIFT
    sums = int(hashed.sum()), int((hashed * hashed).sum())
    digest = hashlib.sha256(f"{len(boxes)} {sums}".encode()).hexdigest()
    return f"predictions {digest[:16]}"


def with_boxes_over(
    boxes: Boxes, rest: Boxes | None, score_thr: float
) -> tuple[np.ndarray, tuple[Notice, ...]]:
    """Return the images with a box over a threshold: precision there depends on no other.

    Parameters
    ----------
    boxes : Boxes
        Of the categories that count.
    rest : Boxes, optional
        Boxes of other categories on the same images, which labels may show to count.
    score_thr : float
        Boxes with a higher score count, compared in single precision.

    Returns
    -------
    tuple of ndarray and tuple of Notice
        Indices of the images, rising; a note where images are left out.
    """
    parts = (boxes,) if rest is None else (boxes, rest)
    found = [part.image[over_threshold(part.scores, score_thr)] for part in parts]
    images, n_images = np.unique(np.concatenate(found)), len(boxes.images)
    if len(images) == n_images:
        return images, ()
    text = (
        f"{n_images - len(images)} of {n_images} images have no box over {score_thr:g}, and "
        "precision does not depend on them: none of them is drawn"
    )
    return images, (Notice("images-without-box-over-threshold", text, severity="note"),)


def _other_boxes(site: Site, pool: Boxes) -> Boxes | None:
    """Return the boxes of the categories that do not count; named ones may have none."""
    vocabulary = site.boxes.categories
    words = set(vocabulary)
    if not site.named:
        words = {vocabulary[k] for k in np.unique(site.boxes.label)}
    other_words = sorted(words - set(pool.categories))
    if not other_words:
        return None
    boxes = site.boxes.as_categories(other_words)
    boxes = replace(boxes, images=pool.images)
    return boxes.where(top_detections(boxes.image, boxes.label, boxes.scores))


def _counted_part(site: Site) -> Site:
    """Return a site in the categories that count; in all where nothing was found."""
    files = {image.image_id: getattr(image, "path", None) for image in site.images}
    images = []
    for image in site.boxes.images:  # whose size is read where it is not known
        path = files.get(image.image_id) if image.size is None else None
        size = image.size if path is None else image_size(path)
        images.append(LabelledImage(image.image_id, image.file_name, size))
    site = site.with_images(tuple(images))
    if site.nothing_found:  # those that count will be labelled
        return site
    rows = site.row["rows"]
    names = rows["category"][rows[COUNTED]].tolist()
    if tuple(names) == site.boxes.categories:
        return site
    return site.as_categories(names)


def check_plan(plan: LabelPlan, estimate: Estimate, folder: Path) -> LabelPlan:
    """Return a plan with the ids that its images have now; one for something else is refused.

    A plan holds boxes, categories and label-free estimates of its own, which labels correct; where
    they are not those of `estimate`, another detector's accuracy would come out. Images are found
    by `match_images`: programs number them anew.

    Parameters
    ----------
    plan : LabelPlan
        As read.
    estimate : Estimate
        From `AccuracyEstimator.predict`, with its site; its target and its level are those
        that the plan must have, and its score threshold, where it has one.
    folder : Path
        That the plan was read from, for the message.

    Raises
    ------
    InputError
        If images, categories, known site, group, boxes or detector, target, level, label-free
        estimate, score threshold or IoU differ.
    """
    assert estimate.site is not None
    planned, images = plan.found.images, estimate.site.boxes.images
    places = match_images(planned, images).index
    if len(np.unique(places[places >= 0])) == len(planned):
        planned = tuple(
            replace(image, image_id=images[k].image_id)
            for image, k in zip(planned, places, strict=True)
        )
        rest = None if plan.rest is None else replace(plan.rest, images=planned)
        plan = replace(plan, found=replace(plan.found, images=planned), rest=rest)
    difference = _difference(plan, estimate)
    if difference:
        raise InputError(
            f"{folder} holds a plan for {difference}. Take the folder of a plan for this, plan "
            "into another folder, or keep the labels elsewhere: without a plan in their folder "
            "they are taken as a simple random sample."
        )
    return plan


def _difference(plan: LabelPlan, estimate: Estimate) -> str:
    """Say what a plan is for, where that is not the site of an estimate; else an empty text."""
    site = estimate.site
    assert site is not None
    names = {image.image_id for image in site.boxes.images}
    planned_names = {image.image_id for image in plan.found.images}
    if planned_names - names:
        return "other images than these"
    later = names - planned_names  # of which the plan draws none
    if plan.cut and plan.score_thr is not None:
        over = np.unique(site.boxes.image[over_threshold(site.boxes.scores, plan.score_thr)])
        later &= {site.boxes.images[k].image_id for k in over}
    if later:
        return f"{len(planned_names)} images, not {len(planned_names | later)}"
    wanted = sorted(site.boxes.categories) if site.named else []
    planned = sorted(plan.all_categories) if plan.named else []
    if wanted != planned:
        return f"{_categories(planned)}, not {_categories(wanted)}"
    if plan.known != site.known:
        return f"{_site(plan.known)}, not {_site(site.known)}"
    if plan.group != site.group:
        return f"{_group(plan.group)}, not {_group(site.group)}"
    # on the images of the plan, by its names, which are ids where it was made without a list
    planned_as = {image.image_id: image.file_name for image in plan.found.images}
    boxes = site.boxes.on_images([image.image_id in planned_as for image in site.boxes.images])
    called = [planned_as[image.image_id] for image in boxes.images]
    if plan.detector != (site.detector or _fingerprint_of(boxes, called)):
        if site.detector:
            return "another detector"
        return "other boxes: another site with images of the same names, or another detector"
    if site.detector and not _same_boxes(plan.found, site.boxes):
        return "another site with images of the same names: the same detector finds other boxes"
    if plan.target != estimate.target:
        return f"{plan.target}, not {estimate.target}"
    if plan.level != estimate.level:
        return f"intervals of {plan.level:.0%}, not {estimate.level:.0%}"
    printed = [plan.printed[estimate.target][end] for end in ENDS]
    ends = [getattr(estimate, end) for end in ENDS]
    same = np.allclose(printed, ends, rtol=0, atol=SAME_ESTIMATE, equal_nan=True)
    if names == planned_names and not same:  # images without a box may have come since
        texts = ["{:.1f} ({:.1f} to {:.1f})".format(*np.multiply(100, x)) for x in (printed, ends)]
        return f"another fit, by which the label-free estimate is {texts[0]}, not {texts[1]}"
    points = map(OperatingPoint.of, (estimate.target, *estimate.other_targets))
    point = next(filter(None, points), None)
    if point and plan.score_thr is None:
        return f"no score threshold, not {point.score_thr:g} (`label estimate` takes one, too)"
    if point and (point.score_thr, point.iou) != (plan.score_thr, plan.iou):
        planned = f"a score threshold of {plan.score_thr:g} at an IoU of {plan.iou:g}"
        return f"{planned}, not {point.score_thr:g} at {point.iou:g}"
    return ""


def _same_boxes(planned: Boxes, seen: Boxes) -> bool:
    """Whether most images with boxes still have their first one, as far as some of them show.

    Up to `COMPARED_IMAGES` images are compared; a box is the same if no corner moved by more than
    `NEAR` pixels.
    """
    number = {image.image_id: k for k, image in enumerate(seen.images)}
    with_boxes = np.unique(planned.image)
    if not len(with_boxes):
        return True
    step = -(-len(with_boxes) // COMPARED_IMAGES)
    again = []
    for k in with_boxes[::step]:
        first = planned.detections(k).boxes[:1]
        boxes = seen.detections(number[planned.images[k].image_id]).boxes
        again.append((np.abs(boxes - first).max(axis=1) <= NEAR).any())
    return 2 * sum(again) > len(again)


def _categories(names: list[str]) -> str:
    """Say which categories a plan is of."""
    return f"the categories {listed(names)}" if names else "every category that is detected"


def _group(name: str) -> str:
    """Say of which group a plan is."""
    return f"a site of the group {name!r}" if name else "a site of no group of the fit"


def _site(name: str) -> str:
    """Say of which site of the fit a plan is."""
    return f"the site {name!r} of the fit" if name else "a site that the fit does not hold"


def plan_in_folder(
    fit: Planning,
    estimate: Estimate,
    folder: Path | None,
    request: PlanRequest,
    *,
    prelabel: bool = False,
    change: Callable[[LabelPlan], LabelPlan] = lambda plan: plan,
) -> LabelPlan:
    """Make the plan of a folder, or enlarge the one that is there, and write it.

    Parameters
    ----------
    fit : Planning
        The estimator.
    estimate : Estimate
        Of its site.
    folder : Path, optional
        None to write nothing.
    request : PlanRequest
        A plan that is there keeps its draw; another seed or other frames are refused.
    prelabel : bool
        Whether boxes of the detector are offered to annotation programs; see `write_plan`.
    change : callable
        From a plan that is made to another one, such as to draw other images.

    Returns
    -------
    LabelPlan
        With the files that were written.

    Raises
    ------
    InputError
        As `plan_estimated` and `check_plan`, if the draw is another one, or the folder holds labels
        that no plan wrote.
    """
    images = tuple(estimate.site.images) if estimate.site else ()
    if folder is not None and (folder / PLAN).exists():
        plan = load_plan(folder)
        plan = check_plan(plan, estimate, folder)
        _check_draw(plan, folder, request, estimate.site)
        plan = plan.larger(request.n)
    elif folder is not None and (folder / EMPTY).exists():
        raise InputError(
            f"{folder} holds {EMPTY}, which no plan wrote. Name another folder with --work-dir."
        )
    else:
        plan = change(plan_estimated(fit, estimate, request))
    plan = replace(plan, pictures=images)
    if folder is None:
        return plan
    return replace(plan, files=tuple(write_plan(plan, folder, images, prelabel=prelabel)))


def _check_draw(plan: LabelPlan, folder: Path, request: PlanRequest, site: Site | None) -> None:
    """Raise `InputError` for another draw than that of the plan, which keeps what it drew."""
    assert site is not None  # `check_plan` has compared it
    seed, frames = request.seed, request.frames
    images = site.boxes.images
    blocks = blocks_of(images, files=site.images, frames=frames, known=site.blocks)
    block_of = {image.image_id: block for image, block in zip(images, blocks, strict=True)}
    # in the order of the plan, which files may list otherwise by now; numbered as they appear
    planned = plan.found.images
    known = np.array([block_of[image.image_id] for image in planned])
    changed = blocks_of(planned, known=known) != blocks_of(planned, known=plan.blocks)
    if request.everywhere and (plan.cut or plan.order in (BY_INFLUENCE, BY_DISAGREEMENT)):
        difference = f"drawn by {plan.order}, not by the difference to another detector (--compare)"
    elif seed is not None and seed != plan.seed:
        difference = f"drawn with --seed {plan.seed}, not {seed}"
    elif frames is not None and changed.any():
        difference = f"with other blocks of frames than --frames {frames} makes"
    else:
        return
    raise InputError(
        f"{folder} holds a plan {difference}: leave that out, or plan into another folder."
    )
