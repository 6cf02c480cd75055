"""Predictions of a pass at half the input size, compared with those at full size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from autoeval.box_pairs import overlapping_pairs
from autoeval.data.predictions.box_columns import Predictions
from autoeval.data.wording import printable
from autoeval.errors import InputError

CONFIDENT = 0.3
ENOUGH_BOXES = 10
ON_IT, IDENTICAL = 0.5, 0.999


def within_images(found: Predictions) -> Predictions:
    """Take boxes of a grey canvas back to their images, as `on_half` does.

    Boxes that are centred beyond their image are dropped, others are clipped to it. Images of
    unknown size keep theirs.
    """
    unknown = (np.inf, np.inf)
    limits = np.array([image.size or unknown for image in found.images], float).reshape(-1, 2)
    limits = limits[:, ::-1][found.image]
    centres = (found.boxes[:, :2] + found.boxes[:, 2:]) / 2
    clipped = np.minimum(found.boxes, np.tile(limits, 2)).astype(np.float32)
    return replace(found, boxes=clipped).where((centres < limits).all(axis=1))


def check_half_size(clean: Predictions, half: Predictions, path: Path) -> None:
    """Refuse the same boxes twice, and boxes that are still half as large.

    Parameters
    ----------
    clean, half : Predictions
        Of the same images and categories.
    path : Path
        File of the second, for messages.

    Raises
    ------
    InputError
        If more than half of its boxes over .3 equal one of the first; or if more of them lie on a
        confident box of the first when multiplied by two than as they are, ten or more.
    """
    sure, other = (of.where(of.scores > np.float32(CONFIDENT)) for of in (clean, half))
    n_same = _n_on(sure, other, IDENTICAL, same_score=True)
    if len(other) >= ENOUGH_BOXES and n_same > len(other) / 2:
        raise InputError(
            f"{printable(path)}: {n_same} of {len(other)} boxes over {CONFIDENT} are exactly those "
            "of the predictions at full size. Expected those of a second pass, on images that are "
            "shrunk to half their sides."
        )
    n_on, n_on_doubled = (_n_on(sure, _scaled(other, factor), ON_IT) for factor in (1, 2))
    if n_on_doubled >= ENOUGH_BOXES and n_on_doubled > n_on:
        raise InputError(
            f"{printable(path)}: {n_on_doubled} of {len(other)} boxes over {CONFIDENT} lie on a "
            f"box of the predictions at full size when they are multiplied by two, and {n_on} as "
            "they are. Expected boxes in pixels of the full size: multiply them by two."
        )


def _scaled(found: Predictions, factor: float) -> Predictions:
    return replace(found, boxes=found.boxes * np.float32(factor))


def _n_on(a: Predictions, b: Predictions, least: float, *, same_score: bool = False) -> int:
    """Count the boxes of `b` that overlap one of `a` of their image and category."""
    group, of_a = (of.image * len(a.categories) + of.label for of in (b, a))
    rows, columns, _ = overlapping_pairs(
        b.boxes.astype(np.float64), group, a.boxes.astype(np.float64), of_a, least=least
    )
    kept = b.scores[rows] == a.scores[columns] if same_score else slice(None)
    return len(np.unique(rows[kept]))
