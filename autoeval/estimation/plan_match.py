"""Whether a plan that was read belongs to the site, the detector and the estimate at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from autoeval.boxes import Boxes
from autoeval.errors import InputError
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.label_planning import fingerprint_of
from autoeval.io.wording import listed
from autoeval.labels.plan import LabelPlan

COMPARED_IMAGES = 20
NEAR = 2.0  # pixels: the same network on another machine rounds otherwise, and moves no box further


def check_plan(
    plan: LabelPlan, estimate: Estimate, folder: Path, *, iou: float | None = None
) -> None:
    """Refuse a plan that was made for something else.

    A plan holds boxes, categories and label-free estimates of its own, which labels correct; where
    they are not those of `estimate`, another detector's accuracy would come out.

    estimate: from `AccuracyEstimator.predict`, with its site; its target and its level are those
        that the plan must have.
    folder: that the plan was read from, for the message.
    iou: of true positives at a score threshold, where one is wanted.

    Raises InputError if images, categories, known site, group, boxes or detector, target, level or
    IoU differ.
    """
    other = _difference(plan, estimate)
    if not other and iou not in (None, plan.iou):
        other = f"an IoU of {plan.iou:g}, not {iou:g}"
    if other:
        raise InputError(
            f"{folder} holds a plan for {other}. Take the folder of a plan for this, plan into "
            "another folder, or keep the labels elsewhere: without a plan beside them they are "
            "taken as a simple random sample."
        )


def _difference(plan: LabelPlan, estimate: Estimate) -> str:
    site = estimate.site
    assert site is not None
    names = {image.image_id for image in site.boxes.images}
    if any(image.image_id not in names for image in plan.found.images):
        return "other images than these"
    wanted = sorted(site.boxes.categories) if site.named else []
    planned = sorted(plan.found.categories) if plan.named else []
    if wanted != planned:
        return f"{_categories(planned)}, not {_categories(wanted)}"
    if plan.known != site.known:
        return f"{_site(plan.known)}, not {_site(site.known)}"
    if plan.group != site.group:
        return f"{_group(plan.group)}, not {_group(site.group)}"
    if plan.detector != (site.detector or fingerprint_of(site)):
        if site.detector:
            return "another detector"
        return "other boxes: another site with images of the same names, or another detector"
    if site.detector and not _same_boxes(plan.found, site.boxes):
        return "another site with images of the same names: the same detector finds other boxes"
    if plan.target != estimate.target:
        return f"{plan.target}, not {estimate.target}"
    if plan.level != estimate.level:
        return f"intervals of {plan.level:.0%}, not {estimate.level:.0%}"
    return ""


def _same_boxes(planned: Boxes, seen: Boxes) -> bool:
    """Whether most images with boxes still have their first one, as far as some of them show."""
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
    return f"the categories {listed(names)}" if names else "every category that is detected"


def _group(name: str) -> str:
    return f"a site of the group {name!r}" if name else "a site of no group of the fit"


def _site(name: str) -> str:
    return f"the site {name!r} of the fit" if name else "a site that the fit does not hold"
