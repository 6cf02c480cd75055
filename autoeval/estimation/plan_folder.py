"""The plan of a folder: made, or the one that is there enlarged, and written to be labelled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from autoeval.errors import InputError
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.labelling import fingerprint_of
from autoeval.estimation.site import Site
from autoeval.labels.plan import LabelPlan
from autoeval.labels.plan_file import PLAN, load_plan
from autoeval.labels.to_label import EMPTY, write_plan


def plan_in_folder(
    estimator: AccuracyEstimator,
    estimate: Estimate,
    folder: Path,
    *,
    n: int,
    prelabel: bool = False,
    change: Callable[[LabelPlan], LabelPlan] = lambda plan: plan,
    **options: Any,
) -> tuple[LabelPlan, list[Path]]:
    """Make the plan of a folder, or enlarge the one that is there, and write it.

    n: how many images to label, those of an earlier plan among them.
    change: applied to a plan that is made, such as to draw other images.
    """
    site = estimate.site
    if (folder / PLAN).exists():
        assert site is not None
        plan = load_plan(folder)
        names = {image.image_id for image in site.boxes.clean.images}
        other_images = any(image.image_id not in names for image in plan.found.images)
        if other_images or (site.detector or fingerprint_of(site)) != plan.detector:
            raise InputError(
                f"{folder} holds a plan for {_difference(site, other_images=other_images)}. Name "
                "another folder with --work-dir, or take that away."
            )
        plan = plan.larger(n)
    elif (folder / EMPTY).exists():
        raise InputError(
            f"{folder} holds {EMPTY}, which no plan wrote. Name another folder with --work-dir."
        )
    else:
        plan = change(estimator.plan_labels(estimate, n=n, **options))
    return plan, write_plan(plan, folder, site.images if site else (), prelabel=prelabel)


def _difference(site: Site, *, other_images: bool) -> str:
    """Say how a site is not that of a plan; boxes alone do not tell sites from detectors."""
    if other_images:
        return "other images"
    if site.detector:
        return "another detector"
    return "other boxes: another site with images of the same names, or another detector"
