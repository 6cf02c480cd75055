"""Which images of a site to label, with the label-free estimates that a plan keeps."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autoeval.accuracy.coco_matching import top_detections
from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.estimation.checks import nothing_found_text
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.fit_state import FitState
from autoeval.estimation.labelling import priors_of_targets
from autoeval.estimation.read_site import unreadable_warning
from autoeval.io.image_header import read_header
from autoeval.labels.assistance import ProbableLabels
from autoeval.labels.category_estimate import LEVELS
from autoeval.labels.plan import LabelPlan, PlannedSite, PlanRequest, blocks_of, make_plan
from autoeval.labels.values import ValueWithError
from autoeval.model.pair_table import counted_rows
from autoeval.sites.pool import Pool
from autoeval.sites.site import Site
from autoeval.targets import IOUS, OperatingPoint


@dataclass(frozen=True)
class Draw:
    """How images to label are drawn.

    n: how many.
    frames: says that numbered files are frames; see `blocks_of`.
    everywhere: for precision, too, draw from all images, not only from those with a box over its
        threshold; each with the same probability.
    """

    n: int = 20
    seed: int = 0
    frames: int | None = None
    everywhere: bool = False


def plan_estimated(fit: FitState, estimate: Estimate, draw: Draw) -> LabelPlan:
    """Draw images of the site of an estimate; priors are all that was estimated there."""
    if estimate.site is None:
        raise InputError("Expected an estimate from `predict`: this one holds no boxes.")
    targets = (fit.target, *fit.other_targets, *estimate.beside)
    points = [point for point in map(OperatingPoint.of, targets) if point]
    regressions = fit.at_floor(estimate.site.floor).regressions_of(targets)
    priors = priors_of_targets(estimate, regressions)
    plan = plan_site(estimate.site, fit, priors, draw, points[0] if points else None)
    whole = {end: getattr(estimate, end) for end in ("value", "lower", "upper")}
    each = {f"{fit.target}/{name}": interval for name, interval in estimate.per_category.items()}
    return replace(plan, printed={fit.target: whole, **estimate.beside, **each})


def plan_site(
    site: Site,
    fit: FitState,
    priors: Mapping[str, ValueWithError],
    draw: Draw,
    point: OperatingPoint | None,
) -> LabelPlan:
    """Draw images of a site to label; for precision of those with a box over the threshold.

    priors: label-free estimates of each target, such as ``mAP``, and category, ``mAP/<category>``.
    point: threshold at which precision, recall and F1 are wanted, too.
    """
    if fit.target not in LEVELS and OperatingPoint.of(fit.target) is None:
        raise InputError(
            f"Labels measure {', '.join(LEVELS)}, precision, recall and F1, but this estimator is "
            f"of {fit.target}: fit one of mAP."
        )
    if fit.label_assistance is None:
        raise InputError(
            "This estimator has no label assistance: too few labelled boxes were fitted on. Fit on "
            "20 labelled images with 10 boxes of a category, or more."
        )
    n = draw.n
    counted, threshold = _counted_part(site), OperatingPoint.of(fit.target)
    pool, others = counted.pool, ProbableLabels.of_reference(counted)
    rest = None if site.nothing_found else _other_boxes(site, pool)
    if threshold and threshold.measure == "precision" and not draw.everywhere:
        pool, rest, others = pool.with_boxes_over(threshold.score_thr), None, None
        n = min(n, len(pool))
    blocks = blocks_of(_images_of_pool(site, pool), frames=draw.frames)
    request = PlanRequest(
        n,
        target=fit.target,
        level=fit.level,
        seed=draw.seed,
        score_thr=point.score_thr if point else None,
        iou=point.iou if point else IOUS[0],
        equal=draw.everywhere,
    )
    planned = PlannedSite(
        priors,
        detector=site.detector or fingerprint_of(site),
        blocks=blocks,
        others=others,
        named=site.named,
        rest=rest,
        nothing_found=site.nothing_found,
        known=site.known,
        group=site.group,
        warnings=_warnings(site, fit.target),
    )
    return make_plan(pool, fit.label_assistance, request, planned)


def _images_of_pool(site: Site, pool: Pool) -> Sequence[Any]:
    """Return the images of a pool as the site has them, with their times where these are known."""
    in_pool = {image.image_id for image in pool.found.images}
    images = [image for image in site.images if image.image_id in in_pool]
    return images or pool.found.images


def _warnings(site: Site, target: str) -> tuple[str, ...]:
    """Return what a plan says of a site: nothing found, and images or boxes left out."""
    unreadable = str(site.row.get("unreadable") or "")
    warnings: list[str] = []
    if site.nothing_found:
        warnings.append(nothing_found_text(len(site), target))
    warnings += site.left_out
    return (*warnings, *unreadable_warning(unreadable.split("; ") if unreadable else ()))


def fingerprint_of(site: Site) -> str:
    """Return a short name of the boxes of a site, where no detector is known."""
    digest = hashlib.sha256()
    for array in (site.boxes.boxes, site.boxes.scores, site.boxes.image):
        digest.update(np.ascontiguousarray(array).tobytes())
    return f"predictions {digest.hexdigest()[:16]}"


def _other_boxes(site: Site, pool: Pool) -> Boxes | None:
    """Return the boxes of the categories that do not count; named ones may have none."""
    vocabulary = site.boxes.categories
    words = set(vocabulary)
    if not site.named:
        words = {vocabulary[k] for k in np.unique(site.boxes.label)}
    others = sorted(words - set(pool.found.categories))
    if not others:
        return None
    boxes = site.boxes.as_categories(others, {name: name for name in others})
    boxes = replace(boxes, images=pool.found.images)
    return boxes.where(top_detections(boxes.image, boxes.label, boxes.scores))


def _counted_part(site: Site) -> Site:
    """Return a site in the categories that count; in all where nothing was found."""
    files = {image.image_id: getattr(image, "path", None) for image in site.images}
    images = []
    for image in site.boxes.images:  # whose size is read where it is not known
        path = files.get(image.image_id) if image.size is None else None
        header = read_header(path) if path is not None else None
        size = (header.height, header.width) if header else image.size
        images.append(LabelledImage(image.image_id, image.file_name, size))
    site = site.with_images(tuple(images))
    if site.nothing_found:  # those that count will be labelled
        return site
    rows = site.row["rows"]
    names = rows["category"][counted_rows(rows)].tolist()
    if tuple(names) == site.boxes.categories:
        return site
    return site.as_categories(names, {name: name for name in names})
