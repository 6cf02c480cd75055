"""Objects that labels hold twice, of which a detector finds one."""

from __future__ import annotations

import numpy as np

from autoeval.box_pairs import overlapping_pairs
from autoeval.data.labels.truth import Truth

SAME_OBJECT = 0.9
MANY = 0.02


def labelled_twice(truth: Truth) -> tuple[str, ...]:
    """Count labelled boxes that overlap another of their image and category by an IoU of .9.

    Returns
    -------
    tuple of str
        One doubt where they are more than 2 %: the second of each pair counts as missed.
    """
    single = truth.where(~truth.crowd)
    group = single.image * len(single.categories) + single.label
    rows, columns, _ = overlapping_pairs(
        single.boxes, group, single.boxes, group, least=SAME_OBJECT
    )
    twice = len(np.unique(rows[rows != columns]))
    if twice <= MANY * len(single):
        return ()
    return (
        f"{twice} of {len(single)} labelled boxes lie on another one of their category: is each "
        "object labelled once? Those that are labelled twice count as missed",
    )
