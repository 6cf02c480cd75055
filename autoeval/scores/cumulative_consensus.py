"""Cumulative Consensus Score: whether boxes come back in other views of the image."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from autoeval.boxes import box_iou
from autoeval.detections import Detections, Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.direction import rising
from autoeval.scores.registry import register

LEAST_OVERLAP = 0.5


@register
class CumulativeConsensus(RatioScore):
    r"""Best overlaps of boxes with those of another view, mean over pairs of views and images.

    .. math:: CCS = \frac{1}{M} \sum_i \frac{1}{|P_i|} \sum_{(a, b) \in P_i}
              \frac{\sum_{j \in a} o_j(b) + \sum_{k \in b} o_k(a)}{n_a + n_b}

    where o is the largest IoU of a box with a box of the same category in the other view, 0 under
    β, and P holds the pairs of views of an image of which at least one has a box; images without
    such a pair are left out.

    The paper leaves open what follows; here the views are the image as it is and its photometric
    alterations (`autoeval.detectors.inputs.views`), so that no box has to be mapped back; β is .5;
    both directions of a pair count; boxes count from the score threshold of the pass.
    """

    name = "ccs"
    meaning = "how well boxes of every two views of an image overlap"
    features = rising("ccs")
    needs = frozenset({"views"})
    source = "Manoharan et al. 2025, Cumulative Consensus Score"

    def measure(self, evidence: Evidence) -> tuple[float, int]:
        """Return the mean over the pairs of views, and whether there is one."""
        views = [of.above(self.score_thr) for of in (evidence.clean, *evidence.views)]
        pairs = [(a, b) for a, b in combinations(views, 2) if len(a.labels) + len(b.labels)]
        return (float(np.mean([consensus(a, b) for a, b in pairs])), 1) if pairs else (0.0, 0)


def consensus(a: Detections, b: Detections) -> float:
    """Return the mean over the boxes of two views, at least one, of the best overlap."""
    overlaps = box_iou(a.boxes.astype(np.float64), b.boxes.astype(np.float64))
    overlaps = np.where(a.labels[:, None] == b.labels[None, :], overlaps, 0.0)
    overlaps = np.where(overlaps >= LEAST_OVERLAP, overlaps, 0.0)
    best = (overlaps.max(axis=axis, initial=0.0).sum() for axis in (0, 1))
    return float(sum(best)) / (len(a.labels) + len(b.labels))
