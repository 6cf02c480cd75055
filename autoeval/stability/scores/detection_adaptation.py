"""The two parts of the Detection Adaptation Score (Yu et al., NeurIPS 2024).

It was made to rank checkpoints of one training run: both parts are normalised over the checkpoints
and added. Of one detector the parts are scores of their own.
"""

from __future__ import annotations

import math

import numpy as np
from typing_extensions import Self

from autoeval.boxes import box_iou
from autoeval.detections import Classified, Evidence
from autoeval.stability.scores.base import RatioScore, Score, falling, register, rising
from autoeval.stability.scores.frechet_distance import FeatureStatistics

LEAST = 1e-12  # of a probability
SOURCE = "Yu et al. 2024 (NeurIPS), Detection Adaptation Score"


def flatness_cost(clean: Classified, perturbed: Classified, *, weight: float = 1.0) -> float:
    r"""Mean cost of the best matching of the boxes of two passes.

    .. math:: \min_σ \frac{1}{\min(n, n')} \sum_i -IoU(b'_i, b_{σ(i)}) + λ KL(p'_i ‖ p_{σ(i)})

    Parameters
    ----------
    clean, perturbed : Classified
        n and n' boxes, at least one each, with the class probabilities p.
    weight : float
        λ.

    Returns
    -------
    float
        At least -1, which it is for two passes that find the same.
    """
    overlaps = box_iou(perturbed.boxes.astype(np.float64), clean.boxes.astype(np.float64))
    p = np.maximum(perturbed.probabilities.astype(np.float64), LEAST)
    q = np.maximum(clean.probabilities.astype(np.float64), LEAST)
    # KL(p || q) = sum p log p - sum p log q, for all pairs of boxes by one product of matrices.
    divergence = (p * np.log(p)).sum(axis=1)[:, None] - p @ np.log(q).T
    cost = weight * divergence - overlaps
    from scipy.optimize import linear_sum_assignment  # a quarter of a second

    return float(cost[linear_sum_assignment(cost)].mean())


@register
class FlatnessIndex(RatioScore):
    """Mean over images of `flatness_cost` between the network as it is and with perturbed weights.

    Images without a box in either pass are left out. The perturbation is that of
    `autoeval.stability.network.perturbable.weight_change`, one draw for all images. Choices that
    the paper leaves open: boxes count from the score threshold of the pass; a head of sigmoids gets
    a background of logit 0.
    """

    name = "das_flatness"
    meaning = "how boxes and class probabilities change when all weights are perturbed"
    features = falling("das_flatness")
    needs = frozenset({"reweighted"})
    source = SOURCE

    def measure(self, evidence: Evidence) -> tuple[float, int]:
        clean, perturbed = evidence.require("reweighted")
        clean, perturbed = clean.above(self.score_thr), perturbed.above(self.score_thr)
        if not len(clean) or not len(perturbed):
            return 0.0, 0
        return flatness_cost(clean, perturbed), 1


def prototype_ratio(source: np.ndarray, target: np.ndarray) -> float:
    r"""How far categories lie apart, compared with how far each has moved between two domains.

    .. math:: \frac{D(s_i, t_j)\, D(s_i, s_j)\, D(t_i, t_j)}{D(s_i, t_i)}

    where D is the mean Euclidean distance over the pairs of prototypes with i ≠ j, in the
    denominator over the categories.

    Parameters
    ----------
    source, target : ndarray of shape (K, C + 1)
        Sums of weighted features, and of the weights in the last column; categories that have no
        weight in both are left out.

    Returns
    -------
    float
        NaN with fewer than two categories, or if none has moved.

    Examples
    --------
    >>> source = np.array([[0., 0., 1.], [6., 0., 2.]])  # (0, 0) and (3, 0)
    >>> target = np.array([[0., 4., 1.], [3., 4., 1.]])  # (0, 4) and (3, 4)
    >>> prototype_ratio(source, target)  # 5 * 3 * 3 / 4
    11.25
    """
    present = (source[:, -1] > 0) & (target[:, -1] > 0)
    s = source[present, :-1] / source[present, -1:]
    t = target[present, :-1] / target[present, -1:]
    differ = ~np.eye(len(s), dtype=bool)
    if not differ.any():
        return math.nan
    between_domains = _distances(s, t)
    across, moved = between_domains[differ].mean(), np.diag(between_domains).mean()
    in_source = _distances(s, s)[differ].mean()
    in_target = _distances(t, t)[differ].mean()
    return float(across * in_source * in_target / moved) if moved else math.nan


def _distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(a[:, None] - b[None], axis=-1))


@register
class PrototypeRatio(Score):
    """`prototype_ratio` of the detector's training domain and a set of images.

    The prototype of a category is the mean of the backbone's last feature maps, averaged over each
    box, weighted by the probability of the category; the background is one of them. Choices: boxes
    are the 1,000 best candidates before non-maximum suppression, in place of region proposals,
    which one-stage detectors lack; a candidate's score is the probability of its category, what is
    left to 1 that of the background. Merged shards equal the whole up to rounding.

    Parameters
    ----------
    reference : FeatureStatistics, optional
        Of the detector's training domain, with ``prototypes``; without it there is no score.
    """

    name = "das_prototypes"
    meaning = "distances between categories' features, over their shift from the training domain"
    features = rising("das_prototypes")
    needs = frozenset({"prototypes"})
    given = ("reference",)
    ungiven = "no prototypes of the detector's training domain were given"
    needs_domain = True
    per_image = True
    source = SOURCE

    def __init__(self, reference: FeatureStatistics | None = None) -> None:
        self.reference = None if reference is None else reference.prototypes
        self.sums: np.ndarray | None = None

    def update(self, evidence: Evidence) -> None:
        self._add(evidence.require("prototypes").astype(np.float64))

    def merge(self, other: Self) -> None:
        if other.sums is not None:
            self._add(other.sums)

    def compute(self) -> dict[str, float]:
        """Return the ratio, NaN without a reference or an image."""
        if self.reference is None or self.sums is None:
            return {"das_prototypes": math.nan}
        return {"das_prototypes": prototype_ratio(self.reference, self.sums)}

    def _add(self, sums: np.ndarray) -> None:
        self.sums = sums if self.sums is None else self.sums + sums
