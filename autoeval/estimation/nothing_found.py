"""What is known of a site where nothing was found: no box over a threshold, or no likely one."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from autoeval.model import PredictionInterval
from autoeval.notices import Notice
from autoeval.targets import OperatingPoint
from autoeval.words import counted

HIGHEST = "highest_score"  # of the boxes of a category, over all images of a site


def nothing_over(rows: pd.DataFrame, target: str) -> np.ndarray:
    """Return which pairs have no box over the threshold of a target, (N,), bool.

    None for a target without a threshold, and where the rows have no column `HIGHEST`.

    >>> nothing_over(pd.DataFrame({HIGHEST: [.2, .9]}), "recall@0.5")
    array([ True, False])
    """
    point = OperatingPoint.of(target)
    if point is None or HIGHEST not in rows:
        return np.zeros(len(rows), bool)
    highest = rows[HIGHEST].fillna(0).to_numpy(np.float32)
    return np.asarray(highest <= np.float32(point.score_thr))  # as `image_counts` compares


def without_boxes(target: str) -> PredictionInterval:
    """Return recall, F1 or precision of images without a box over the threshold.

    Recall and F1 are 0 by their definition, which takes no regression: the interval has width 0.
    Precision is not defined.

    >>> without_boxes("recall@0.5").upper
    0.0
    """
    point = OperatingPoint.of(target)
    value = math.nan if point and point.measure == "precision" else 0.0
    return PredictionInterval(value, value, value, value, 0.0)


def undefined_at(target: str) -> bool:
    """Whether a target has no value where no box is over its threshold."""
    return OperatingPoint.of(target) is not None and math.isnan(without_boxes(target).value)


def nothing_found_text(n_images: int, target: str = "mAP") -> Notice:
    """State what it means that nothing was found in so many images, and what helps.

    >>> nothing_found_text(1, "recall@0.3").split(". ")[1][:24]
    'The recall@0.3 is near 0'
    """
    point = OperatingPoint.of(target)
    meaning = (
        f"The {target} is near 0 if there are objects of the detector's categories, and not "
        "defined if there are none; which of these it is cannot be known without labels"
    )
    if point and point.measure == "precision":  # of the boxes alone
        meaning = (
            f"The {target} is near 0 if a box is over the threshold, and not defined if none is"
        )
    return Notice(
        "nothing-found",
        f"nothing found in {counted(n_images, 'image')}: no box is likely to be right. {meaning}. "
        "Images to label are drawn as ever (`autoeval label plan`)",
        severity="refused",
    )


def no_box_in_fit(target: str) -> Notice:
    """State why precision is not estimated where boxes of the site are over the threshold."""
    return Notice(
        "no-box-over-threshold-in-fit",
        f"{target}: no estimate, since no box of the labelled images of the fit is over the "
        "threshold",
        severity="note",
    )


def nothing_over_text(target: str) -> Notice:
    """State what follows where no box is over the threshold of a target."""
    point = OperatingPoint.of(target)
    assert point is not None
    return Notice(
        "no-box-over-threshold",
        f"no box on these images has a score over {point.score_thr:g}: recall and F1 are 0 where "
        "there are objects, and precision is not defined",
    )
