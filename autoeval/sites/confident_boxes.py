"""Confident boxes at a new site beside those of the fit: signs of boxes where nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from autoeval.boxes import Boxes, overlapping_pairs
from autoeval.notices import Notice

SURE, FEWEST = 0.5, 20  # score of a confident box; fewer of them say nothing
COMPANION, OVERLAP = 0.3, 0.05  # IoU with a less confident box, and with another confident one
MOST_ALONE, MOST_OVERLAPPING = 0.32, 0.43
"""By how much a share may exceed the greatest one of the fit; see docs/results/confident_boxes.md,
where density and place of confident boxes are measured, too, and find no more than by chance."""


class ConfidentBoxes(NamedTuple):
    """How the confident boxes of one set of images look."""

    n: int
    alone: float  # share without a less confident box of their category on them
    overlapping: float  # share that overlap another confident box of their category

    @classmethod
    def of(cls, boxes: Boxes) -> ConfidentBoxes:
        """Look at the boxes over .5."""
        sure = np.flatnonzero(boxes.scores > SURE)
        group = boxes.image * len(boxes.categories) + boxes.label
        corners = boxes.boxes.astype(np.float64)
        mine, other, overlaps = overlapping_pairs(
            corners[sure], group[sure], corners, group, least=OVERLAP
        )
        mine = sure[mine]
        companion = (boxes.scores[other] < boxes.scores[mine]) & (overlaps >= COMPANION)
        n_with_one = len(np.unique(mine[companion]))
        n_overlapping = len(np.unique(mine[(boxes.scores[other] > SURE) & (other != mine)]))
        n = max(len(sure), 1)
        return cls(len(sure), 1 - n_with_one / n, n_overlapping / n)


def unlike_fit(
    fit: Sequence[ConfidentBoxes], site: ConfidentBoxes, *, cut: bool = False
) -> tuple[str, ...]:
    """Warn of confident boxes unlike those of every labelled set of the fit.

    Around an object a detector mostly finds less confident boxes, too; a box where nothing is often
    stands alone, or lies across others.

    cut: whether the boxes of the site begin at a higher score than those of the fit: with the less
        confident ones left out all stand alone, so that this says nothing.
    """
    known = [labelled for labelled in fit if labelled.n >= FEWEST]
    if site.n < FEWEST or not known:
        return ()
    signs = []
    alone = max(labelled.alone for labelled in known)
    overlapping = max(labelled.overlapping for labelled in known)
    if site.alone > alone + MOST_ALONE and not cut:
        signs.append(f"{site.alone:.0%} have no less confident box on them, {alone:.0%} in the fit")
    if site.overlapping > overlapping + MOST_OVERLAPPING:
        signs.append(f"{site.overlapping:.0%} overlap another, {overlapping:.0%} in the fit")
    if not signs:
        return ()
    return (
        Notice(
            "confident-boxes-unlike-fit",
            f"of {site.n} boxes over {SURE:g} {'; '.join(signs)}: does the detector find objects "
            "here that are not there? If so, estimates without labels are too high, and 20 "
            "labelled images give the right number (`autoeval label plan`)",
        ),
    )
