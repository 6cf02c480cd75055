"""What labels need of an estimator: sites to learn from, priors of the targets, images to draw."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from autoeval.data.image_header import read_header
from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import FoundBoxes
from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.nothing_found import nothing_found_text, nothing_over
from autoeval.estimation.site import Site
from autoeval.labels.assistance import LabelAssistance
from autoeval.labels.estimators import LEVELS
from autoeval.labels.fit_assistance import fit_assistance
from autoeval.labels.joint_outlook import Holding, expected_holding
from autoeval.labels.label_sampling import blocks_of
from autoeval.labels.plan import LabelPlan, make_plan
from autoeval.labels.prior import OF_ONE_SET, ErrorOfPrior, fit_error_of_prior
from autoeval.labels.pseudo_labels import read_pseudo_labels
from autoeval.labels.value_with_error import NOTHING, ValueWithError, quantile
from autoeval.metrics.coco_matching import top_detections
from autoeval.notices import Notice
from autoeval.sites.labelled_set import LabelledSet
from autoeval.sites.pool import Pool, pool_of_evidence
from autoeval.targets import IOUS, OperatingPoint

FEWEST_FAMILIES = 5


def assistance_of(
    sets: Sequence[LabelledSet],
) -> tuple[LabelAssistance | None, tuple[str, ...]]:
    """Fit label assistance; where there is too little to learn from, say so instead."""
    try:
        return fit_assistance(sets), ()
    except InputError as error:
        return None, (
            Notice("no-label-assistance", f"estimates with labels are not possible: {error}"),
        )


def priors_of(estimate: Estimate, error: ErrorOfPrior | None = None) -> dict[str, ValueWithError]:
    """Take label-free estimates with their errors out of an `Estimate`.

    error: from `error_elsewhere`; for single categories, since those are what was left out.
    Returned: those with an interval, named as the target, such as ``mAP``, and ``mAP/<category>``.
    """
    whole = {"value": estimate.value, "lower": estimate.lower, "upper": estimate.upper}
    several = estimate.per_category
    priors = {estimate.target: with_error(whole, estimate.level, None if several else error)}
    for name, of in several.items():
        priors[f"{estimate.target}/{name}"] = with_error(of, estimate.level, error)
    return {name: prior for name, prior in priors.items() if prior.known}


def priors_of_targets(
    estimate: Estimate, regressions: Mapping[str, BayesianRegression | None]
) -> dict[str, ValueWithError]:
    """Take the label-free estimates of several targets; see `priors_of`.

    regressions: by target, on the scores of the estimate; its own target is among them. There is
        no such estimate of a target without a regression, nor where no box is over the threshold:
        the labels alone then measure recall, which is 0, and precision is not defined.
    """
    assert estimate.site is not None
    rows = pd.DataFrame(estimate.site.row["rows"])
    found: dict[str, ValueWithError] = {}
    if estimate.site.nothing_found:
        return found
    for target, regression in regressions.items():
        if regression is None or nothing_over(rows, target).all():
            continue
        of_target, error = estimate, None
        if not (estimate.site.known or estimate.site.group):
            error = error_elsewhere(regression.cross_validated_, estimate.level) or OF_ONE_SET
        if target != estimate.target:
            of_target = regression.predict_rows(rows, unseen=estimate.site.unseen)
        found |= priors_of(of_target, error)
    return found


def with_error(
    of: Mapping[str, Any], level: float, error: ErrorOfPrior | None = None
) -> ValueWithError:
    """Turn ``value``, ``lower`` and ``upper`` of an estimate into a value with its error.

    The error is that of a normal distribution with the same interval, of whose two arms the longer
    counts, since it may be cut at 0 or 1; with `error` it is brought to what left-out places show.
    """
    value, lower, upper = (float(of[name]) for name in ("value", "lower", "upper"))
    if not (math.isfinite(value) and math.isfinite(lower) and math.isfinite(upper)):
        return NOTHING
    stated = max(value - lower, upper - value) / quantile(level, math.inf)
    return ValueWithError(value, stated) if error is None else error.at(value, stated)


def error_elsewhere(held_out: pd.DataFrame, level: float) -> ErrorOfPrior | None:
    """Learn from pairs of place and category how far estimates are off, by what they state.

    Returned: None with fewer than `FEWEST_FAMILIES` families.
    """
    if not len(held_out):
        return None
    rows = held_out.rename(columns={"estimate": "value"}).to_dict("records")
    known = [(row, of) for row in rows if (of := with_error(row, level)).known]
    families = [str(row["family"]) for row, _ in known]
    if len(set(families)) < FEWEST_FAMILIES:
        return None
    figures = [(of.value, row["true"], of.error) for row, of in known]
    estimates, truths, stated = pd.DataFrame(figures).to_numpy(float).T
    return fit_error_of_prior(estimates, truths, families, stated=stated)


def plan_site(
    site: Site,
    assistance: LabelAssistance | None,
    priors: Mapping[str, ValueWithError],
    *,
    target: str,
    level: float,
    n: int,
    seed: int = 0,
    frames: int | None = None,
    pseudo_labels: str | os.PathLike[str] | None = None,
    pseudo_words: Mapping[str, str] | None = None,
    detector: str = "",
    point: OperatingPoint | None = None,
    everywhere: bool = False,
) -> LabelPlan:
    """Draw images of a site to label; for precision of those with a box over the threshold.

    priors: label-free estimates of each target, such as ``mAP``, and category, ``mAP/<category>``.
    frames: says that numbered files are frames; see `blocks_of`.
    pseudo_labels: COCO results of a better detector on the same images, where the estimator was
        fitted with such; pseudo_words: category for each of its words, by default equal words.
    detector: fingerprint; by default one of the boxes.
    point: threshold at which precision, recall and F1 are wanted, too.
    everywhere: for precision, too, draw from all images.
    """
    if target not in LEVELS and OperatingPoint.of(target) is None:
        raise InputError(
            f"Labels measure {', '.join(LEVELS)}, precision, recall and F1, but this estimator is "
            f"of {target}: fit one of mAP."
        )
    if pseudo_words and pseudo_labels is None:
        raise InputError(
            "`pseudo_words` translates words of pseudo-labels, and there are none: leave it out."
        )
    if assistance is None:
        raise InputError(
            "This estimator has no label assistance: too few labelled boxes were fitted on. Fit on "
            "20 labelled images with 10 boxes of a category, or more."
        )
    pool, own = _pool(site, assistance, priors, target), OperatingPoint.of(target)
    rest = None if site.named or site.nothing_found else _unlikely_boxes(site, pool)
    if own and own.measure == "precision" and not everywhere:
        pool, rest = pool.with_boxes_over(own.score_thr), None
        n = min(n, len(pool))
    known = {image.image_id for image in pool.found.images}
    images: Sequence[Any] = [image for image in site.images if image.image_id in known]
    named: Sequence[Any] = images or pool.found.images
    blocks = blocks_of(named, frames=frames)
    second = None
    if pseudo_labels is not None:
        second = read_pseudo_labels(pseudo_labels, pool.found, pseudo_words)
    plan = make_plan(
        pool,
        assistance,
        n=n,
        priors=priors,
        target=target,
        level=level,
        blocks=blocks,
        pseudo_labels=second,
        seed=seed,
        detector=detector or fingerprint_of(site),
        score_thr=point.score_thr if point else None,
        iou=point.iou if point else IOUS[0],
        named=site.named,
        rest=rest,
        nothing_found=site.nothing_found,
        holding=_holding(site, pool),
    )
    if site.nothing_found:
        plan = replace(plan, warnings=(*plan.warnings, nothing_found_text(len(site.boxes), target)))
    unreadable = site.row.get("unreadable")
    lost = (
        [Notice("images-unreadable", f"images that cannot be read: {unreadable}")]
        if unreadable
        else []
    )
    return replace(
        plan, known=site.known, group=site.group, warnings=(*plan.warnings, *site.left_out, *lost)
    )


def fingerprint_of(site: Site) -> str:
    """Return a short name of the boxes of a site, where no detector is known."""
    digest = hashlib.sha256()
    for array in (site.boxes.clean.boxes, site.boxes.clean.scores, site.boxes.clean.image):
        digest.update(np.ascontiguousarray(array).tobytes())
    return f"predictions {digest.hexdigest()[:16]}"


def _holding(site: Site, pool: Pool) -> Holding | None:
    """Say how often images hold the categories, by calibrated boxes."""
    if site.boxes.calibration is None:
        return None
    names = pool.found.categories
    label = np.array([names.index(n) if n in names else -1 for n in site.boxes.clean.categories])
    mine = label[site.boxes.clean.label] >= 0
    clean = site.boxes.clean.where(mine)
    clean = replace(clean, label=label[clean.label], categories=names)
    return expected_holding(clean, site.boxes.right_at_half[mine])


def _unlikely_boxes(site: Site, pool: Pool) -> FoundBoxes | None:
    """Return the boxes of the categories that are not estimated, since none is a likely one."""
    words = {site.boxes.clean.categories[k] for k in np.unique(site.boxes.clean.label)}
    others = sorted(words - set(pool.found.categories))
    if not others:
        return None
    boxes = site.boxes.clean.as_categories(others, {name: name for name in others})
    boxes = replace(boxes, images=pool.found.images)
    return boxes.where(top_detections(boxes.image, boxes.label, boxes.scores))


def _pool(
    site: Site,
    assistance: LabelAssistance,
    priors: Mapping[str, ValueWithError],
    target: str,
) -> Pool:
    """Describe the boxes; where categories are not given, those that were estimated."""
    if site.named and site.evidence:
        return pool_of_evidence(site.evidence, site.boxes.clean.categories)
    files = {image.image_id: getattr(image, "path", None) for image in site.images}
    images = []
    for image in site.boxes.clean.images:  # whose size is read where it is not known
        path = files.get(image.image_id) if image.size is None else None
        header = read_header(path) if path is not None else None
        size = (header.height, header.width) if header else image.size
        images.append(LabelledImage(image.image_id, image.file_name, size))
    boxes = site.boxes.with_images(tuple(images))
    if site.named:
        return boxes.as_pool()
    names = [name.partition("/")[2] for name in priors if name.startswith(f"{target}/")]
    if site.nothing_found:  # those that count are the ones that will be labelled
        return boxes.as_pool()
    names = names or [str(name) for name in pd.DataFrame(site.row["rows"])["category"]]
    return boxes.as_categories(names, {name: name for name in names}).as_pool()
