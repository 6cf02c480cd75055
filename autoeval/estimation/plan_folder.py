"""The plan of a folder: made, or the one that is there enlarged, and written to be labelled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from autoeval.errors import InputError
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.plan_match import check_plan
from autoeval.io.find_images import UnlabelledImage
from autoeval.labels.plan import LabelPlan, blocks_of
from autoeval.labels.plan_folder import EMPTY, PLAN, load_plan, write_plan


def plan_in_folder(
    estimator: AccuracyEstimator,
    estimate: Estimate,
    folder: Path | None,
    *,
    n: int,
    seed: int | None = None,
    frames: int | None = None,
    prelabel: bool = False,
    everywhere: bool = False,
    change: Callable[[LabelPlan], LabelPlan] = lambda plan: plan,
) -> LabelPlan:
    """Make the plan of a folder, or enlarge the one that is there, and write it.

    folder: None to write nothing.
    n: how many images to label, those of an earlier plan among them.
    seed, frames: those of an earlier plan, which keeps its draw; by default these, else 0 and None.
    everywhere: see `Draw`; not read where a plan is there.
    change: applied to a plan that is made, such as to draw other images.
    """
    images = tuple(estimate.site.images) if estimate.site else ()
    if folder is not None and (folder / PLAN).exists():
        plan = load_plan(folder)
        check_plan(plan, estimate, folder)
        _check_draw(plan, folder, seed=seed, frames=frames, images=images)
        plan = plan.larger(n)
    elif folder is not None and (folder / EMPTY).exists():
        raise InputError(
            f"{folder} holds {EMPTY}, which no plan wrote. Name another folder with --work-dir."
        )
    else:
        draw = {"n": n, "seed": seed or 0, "frames": frames, "everywhere": everywhere}
        plan = change(estimator.plan_labels(estimate, **draw))
    plan = replace(plan, pictures=images)
    if folder is None:
        return plan
    return replace(plan, files=tuple(write_plan(plan, folder, images, prelabel=prelabel)))


def _check_draw(
    plan: LabelPlan,
    folder: Path,
    *,
    seed: int | None,
    frames: int | None,
    images: Sequence[UnlabelledImage],
) -> None:
    """Refuse another draw than that of the plan, which keeps what it drew."""
    plan_images = {image.image_id for image in plan.found.images}
    shown: list[Any] = [image for image in images if image.image_id in plan_images]
    pool = shown or list(plan.found.images)
    if seed is not None and seed != plan.seed:
        other = f"drawn with --seed {plan.seed}, not {seed}"
    elif frames is not None and (blocks_of(pool, frames=frames) != plan.blocks).any():
        other = f"with other blocks of frames than --frames {frames} makes"
    else:
        return
    raise InputError(f"{folder} holds a plan {other}: leave that out, or plan into another folder.")
