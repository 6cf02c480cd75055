"""What estimates with a few labels need, learned from the labelled sets of a fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autoeval.errors import InputError
from autoeval.estimation.site_boxes import SiteBoxes
from autoeval.estimation.training_set import TrainingSet
from autoeval.labels.assistance import LabelAssistance
from autoeval.labels.fit_assistance import fit_assistance
from autoeval.labels.labelled_site import LabelledSite
from autoeval.labels.pool import Pool, pool_of_predictions

MOST_IMAGES = 300  # of a labelled set


def site_of_set(labelled: TrainingSet) -> LabelledSite:
    """Take at most `MOST_IMAGES` images of a labelled set, drawn by a fixed seed."""
    boxes, truth = labelled.boxes, labelled.truth
    if len(boxes) > MOST_IMAGES:
        rng = np.random.default_rng(0)
        chosen = np.sort(rng.choice(len(boxes), MOST_IMAGES, replace=False))
        boxes, truth = boxes.on_images(chosen), truth.on_images(chosen)
    return LabelledSite(labelled.name, labelled.family, pool_of_boxes(boxes), truth)


def pool_of_boxes(boxes: SiteBoxes) -> Pool:
    """Make a pool of the boxes of a site."""
    return pool_of_predictions(boxes.clean, boxes.half_size)


def assistance_of(
    sites: Sequence[LabelledSite],
) -> tuple[LabelAssistance | None, tuple[str, ...]]:
    """Fit label assistance; where there is too little to learn from, say so instead."""
    try:
        return fit_assistance(sites), ()
    except InputError as error:
        return None, (f"estimates with labels are not possible: {error}",)
