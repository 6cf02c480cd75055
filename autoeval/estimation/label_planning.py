"""Which images of a site to label, from what is known of it without labels."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autoeval.data.image_header import read_header
from autoeval.data.labels.content import LabelledImage
from autoeval.errors import InputError
from autoeval.estimation.label_assistance import pool_of_boxes
from autoeval.estimation.site import Site
from autoeval.estimation.site_boxes import SiteBoxes
from autoeval.labels.assistance import LabelAssistance
from autoeval.labels.estimators import LEVELS
from autoeval.labels.label_sampling import blocks_of
from autoeval.labels.plan import LabelPlan, make_plan
from autoeval.labels.pool import Pool, pool_of_evidence
from autoeval.labels.pseudo_labels import read_pseudo_labels
from autoeval.labels.value_with_error import ValueWithError
from autoeval.targets import IOUS, OperatingPoint


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
) -> LabelPlan:
    """Draw images of a site to label.

    Parameters
    ----------
    site : Site
    assistance : LabelAssistance or None
        Of the estimator.
    priors : mapping of str to ValueWithError
        Label-free estimates: of each target, such as ``mAP``, and of each category,
        ``mAP/<category>``.
    target : str
        ``mAP``, ``mAP50``, ``mAP75``, or one at a threshold such as ``recall@0.3``.
    level : float
        Nominal coverage of the intervals.
    n : int
        How many images.
    seed : int
        Of the draw.
    frames : int, optional
        Says that numbered files are frames; see `blocks_of`.
    pseudo_labels : path-like, optional
        COCO results of a better detector on the same images, where the estimator was fitted with
        such.
    pseudo_words : mapping of str to str, optional
        Category for each of its words that counts; by default equal words.
    detector : str
        Fingerprint; by default one of the boxes.
    point : OperatingPoint, optional
        Threshold at which precision, recall and F1 are wanted, too.

    Raises
    ------
    InputError
        If the estimator has no label assistance or is of no average precision, or as `make_plan`.
    """
    if target not in LEVELS and OperatingPoint.of(target) is None:
        raise InputError(
            f"Labels measure {', '.join(LEVELS)}, precision, recall and F1, but this estimator is "
            f"of {target}: fit one of mAP."
        )
    if assistance is None:
        raise InputError(
            "This estimator has no label assistance: too few labelled boxes were fitted on. Fit on "
            "20 labelled images with 10 boxes of a category, or more."
        )
    pool = _pool(site, assistance, priors, target)
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
    )
    unreadable = site.row.get("unreadable")
    if unreadable:
        warning = f"images that cannot be read: {unreadable}"
        plan = replace(plan, warnings=(*plan.warnings, warning))
    return plan


def fingerprint_of(site: Site) -> str:
    """Return a short name of the boxes of a site, where no detector is known."""
    digest = hashlib.sha256()
    for array in (site.boxes.clean.boxes, site.boxes.clean.scores, site.boxes.clean.image):
        digest.update(np.ascontiguousarray(array).tobytes())
    return f"predictions {digest.hexdigest()[:16]}"


def _pool(
    site: Site,
    assistance: LabelAssistance,
    priors: Mapping[str, ValueWithError],
    target: str,
) -> Pool:
    """Describe the boxes; where categories are not given, those that were estimated."""
    if site.named and site.evidence:
        return pool_of_evidence(site.evidence, site.boxes.clean.categories)
    boxes = _with_sizes(site)
    if site.named:
        return pool_of_boxes(boxes)
    names = [name.partition("/")[2] for name in priors if name.startswith(f"{target}/")]
    names = names or [site.only_category]
    return pool_of_boxes(boxes.as_categories(names, {name: name for name in names}))


def _with_sizes(site: Site) -> SiteBoxes:
    """Read the sizes of images that are at hand and whose size is not known."""
    files = {image.image_id: getattr(image, "path", None) for image in site.images}
    images = []
    for image in site.boxes.clean.images:
        path = files.get(image.image_id) if image.size is None else None
        header = read_header(path) if path is not None else None
        size = (header.height, header.width) if header else image.size
        images.append(LabelledImage(image.image_id, image.file_name, size))
    return site.boxes.with_images(tuple(images))
