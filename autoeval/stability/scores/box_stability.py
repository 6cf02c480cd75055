"""Bounding box stability (BoS): how well boxes stay put when features are perturbed."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import ClassVar

import numpy as np

from autoeval.boxes import OVERLAPS, box_iou, match_boxes
from autoeval.detections import SCORE_THR, Detections, Evidence
from autoeval.stability.scores.base import (
    THRESHOLDS,
    RatioScore,
    count_over,
    feature_names,
    observed_sum,
    register,
    rising,
    scores,
    undirected,
)

REMEMBERED = 1024  # pairs of passes: several scores read those of a batch, with all its repeats
LEAST_OVERLAP = 0.5


@dataclass(frozen=True, eq=False)
class Matching:
    """Pairs of the boxes of two passes over one image.

    Parameters
    ----------
    overlaps : ndarray of shape (P,)
        IoU or GIoU of each pair.
    score_changes : ndarray of shape (P,)
        Absolute difference of the scores of each pair.
    n_first, n_second : int
        Boxes on either side, matched or not.
    """

    overlaps: np.ndarray
    score_changes: np.ndarray
    n_first: int
    n_second: int


@lru_cache(maxsize=REMEMBERED)
def match_detections(
    first: Detections, second: Detections, *, cost: str, class_aware: bool, score_thr: float
) -> Matching:
    """Match the boxes of two passes so that the sum of their overlaps is the largest.

    The last results are remembered, by the identity of the arguments.

    Parameters
    ----------
    first, second : Detections
        Of the two passes.
    cost : str
        ``giou`` or ``iou``.
    class_aware : bool
        Whether only boxes of one category are matched.
    score_thr : float
        Only boxes with a score above it are matched.
    """
    first, second = first.above(score_thr), second.above(score_thr)
    groups = np.intersect1d(first.labels, second.labels) if class_aware else [None]
    overlaps, changes = [np.zeros(0)], [np.zeros(0)]
    for label in groups:
        a, b = first, second
        if label is not None:
            a, b = first[first.labels == label], second[second.labels == label]
        rows, columns, values = match_boxes(a.boxes, b.boxes, cost=cost)
        overlaps.append(values)
        changes.append(np.abs(a.scores[rows].astype(np.float64) - b.scores[columns]))
    return Matching(np.concatenate(overlaps), np.concatenate(changes), len(first), len(second))


@dataclass(frozen=True)
class BoxStabilitySettings:
    """How two sets of boxes become one number; the defaults are those of Yang et al. 2024.

    Parameters
    ----------
    cost : {"giou", "iou"}
        Overlap that the matching maximises and the score averages.
    class_aware : bool
        Whether only boxes of one category are matched.
    empty : {"zero", "skip"}
        Policy for an image with no box on at least one side: counted as 0, as equation 4 does,
        whose mean is over all images; or left out of the mean.
    normalise : {"min", "max"}
        Divide the sum of overlaps by the smaller or the larger number of boxes; the smaller is
        summed over categories where only boxes of one are matched.
    score_thr : float
        Only boxes with a score above it count.

    Raises
    ------
    ValueError
        If a setting is none of these.
    """

    cost: str = "giou"
    class_aware: bool = False
    empty: str = "zero"
    normalise: str = "min"
    score_thr: float = SCORE_THR

    def __post_init__(self) -> None:
        allowed = {"cost": OVERLAPS, "empty": ("zero", "skip"), "normalise": ("min", "max")}
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                raise ValueError(
                    f"Expected `{name}` to be one of {sorted(values)} but got "
                    f"{getattr(self, name)!r}."
                )

    def match(self, clean: Detections, other: Detections) -> Matching:
        """Match the boxes of two passes over one image.

        Parameters
        ----------
        clean, other : Detections
            Of both passes.
        """
        return match_detections(
            clean,
            other,
            cost=self.cost,
            class_aware=self.class_aware,
            score_thr=self.score_thr,
        )


STRICT = BoxStabilitySettings(empty="zero", normalise="max")


def box_stability(
    clean: Detections, perturbed: Detections, settings: BoxStabilitySettings | None = None
) -> float:
    """Stability of the boxes of one image.

    Boxes of both passes are matched so that the sum of their overlaps is the largest, and the
    overlaps of the pairs are averaged. Source: Yang et al. 2024, section 3, equations 2 to 4, in
    the direction "larger is more stable".

    Parameters
    ----------
    clean, perturbed : Detections
        Of both passes; those over ``settings.score_thr`` count.
    settings : BoxStabilitySettings, optional
        How they are compared; by default as in the paper.

    Returns
    -------
    float
        Mean overlap of the matched pairs, in [-1, 1] with GIoU and in [0, 1] with IoU; for an image
        without a box on one side 0, or NaN where such images are skipped.

    Examples
    --------
    >>> import numpy as np
    >>> boxes = np.array([[0, 0, 2, 2], [4, 4, 8, 8]])
    >>> found = Detections(boxes, np.array([.9, .8]), np.array([0, 0]))
    >>> box_stability(found, found), box_stability(found, Detections.empty())
    (1.0, 0.0)
    >>> box_stability(found, found[:1])  # the paper divides by the smaller number of boxes
    1.0
    >>> box_stability(found, found[:1], BoxStabilitySettings(normalise="max"))
    0.5
    """
    settings = settings or BoxStabilitySettings()
    matching = settings.match(clean, perturbed)
    if not matching.n_first or not matching.n_second:
        return 0.0 if settings.empty == "zero" else math.nan
    # Equation 3 divides by N, the smaller number of boxes, each of which has a partner; divided by
    # the larger number, boxes that were lost or came new count as overlaps of 0.
    pairs, larger = len(matching.overlaps), max(matching.n_first, matching.n_second)
    divisor = pairs if settings.normalise == "min" else larger
    return math.fsum(matching.overlaps) / divisor if divisor else 0.0


class ImageStability(RatioScore):
    """Base of the scores that are the mean over (image, repeat) of one number.

    Parameters
    ----------
    settings : BoxStabilitySettings, optional
        How boxes are compared; those of `BoxStabilitySettings` by default.
    """

    needs = frozenset({"perturbed"})
    given: ClassVar[tuple[str, ...]] = ("settings",)

    def __init__(self, settings: BoxStabilitySettings | None = None) -> None:
        self.settings = settings or BoxStabilitySettings()
        super().__init__(score_thr=self.settings.score_thr)

    @abstractmethod
    def stability(self, clean: Detections, perturbed: Detections) -> float:
        """Return the number of one image and repeat, NaN where it is skipped.

        Parameters
        ----------
        clean, perturbed : Detections
            Of the same image.
        """

    def measure(self, evidence: Evidence) -> tuple[float, int]:
        """Return the sum over the repeats that are not skipped, and their number.

        Parameters
        ----------
        evidence : Evidence
            Of one image, with its perturbed passes.
        """
        return observed_sum([self.stability(evidence.clean, p) for p in evidence.perturbed])


def image_stabilities() -> dict[str, type[ImageStability]]:
    """Return the registered scores of this kind, by name."""
    return {n: score for n, score in scores().items() if issubclass(score, ImageStability)}


@register
class BoxStability(ImageStability):
    r"""Mean box stability of a set of images.

    .. math:: BoS = \frac{1}{M} \sum_{i=1}^{M} \frac{1}{P_i} \sum_{p=1}^{P_i} overlap_{ip}

    over the P pairs of each of the M (image, repeat). One without pairs adds 0, or is not among
    the M where ``empty`` is ``"skip"``; see `box_stability`.
    """

    name = "bos"
    meaning = "how well boxes stay put under feature dropout"
    features = rising("bos")
    source = "Yang et al. 2024, section 3"
    revision = 2

    def stability(self, clean: Detections, perturbed: Detections) -> float:
        return box_stability(clean, perturbed, self.settings)


@register
class StrictBoxStability(BoxStability):
    """Box stability in which a lost box has overlap 0, and so has an image without boxes.

    Its settings are its own, whatever those of the pass. See `BoxStability`.
    """

    name = "bos_strict"
    meaning = "box stability in which lost boxes and empty images count against it"
    features = rising("bos_strict")
    given = ()
    source = "Yang et al. 2024, section 3, divided by the larger number of boxes"

    def __init__(self) -> None:
        super().__init__(STRICT)


@register
class ViewConsistency(RatioScore):
    r"""Mean IoU of the boxes of an image with those of photometrically altered views of it.

    .. math:: VC = \frac{1}{M} \sum_{i=1}^{M} \frac{1}{P_i} \sum_{p=1}^{P_i} IoU_{ip}

    over the P matched pairs of each of the M (image, view) with boxes on both sides:
    `box_stability` with views in the place of perturbed passes and IoU as the overlap.

    Parameters
    ----------
    settings : BoxStabilitySettings, optional
        Apart from its ``cost`` and ``empty``.
    """

    name = "view_consistency"
    meaning = "how well boxes stay put when light and colour of the image change"
    features = rising("view_consistency")
    needs = frozenset({"views"})
    given = ("settings",)
    source = "this project, after the matching of Yang et al. 2024, section 3"

    def __init__(self, settings: BoxStabilitySettings | None = None) -> None:
        self.settings = replace(settings or BoxStabilitySettings(), cost="iou", empty="skip")
        super().__init__(score_thr=self.settings.score_thr)

    def measure(self, evidence: Evidence) -> tuple[float, int]:
        views = evidence.views
        return observed_sum([box_stability(evidence.clean, view, self.settings) for view in views])


def confidence_stability(
    clean: Detections, perturbed: Detections, settings: BoxStabilitySettings | None = None
) -> float:
    """Stability of the scores of one image: one less the mean change of a score.

    Pairs are those of box stability, matched by box: matching on signed differences of scores makes
    every assignment tie. Source: Yang et al. 2024, section 5.1, "variant study".

    Parameters
    ----------
    clean, perturbed : Detections
        Of both passes.
    settings : BoxStabilitySettings, optional
        How they are matched; ``normalise`` plays no part.

    Returns
    -------
    float
        In [0, 1]; where nothing can be matched, 0 or NaN as ``settings.empty`` says.

    Examples
    --------
    >>> import numpy as np
    >>> box, label = np.array([[0, 0, 2, 2]]), np.array([0])
    >>> first, second = (Detections(box, np.array([s]), label) for s in (.75, .5))
    >>> confidence_stability(first, second)
    0.75
    """
    settings = settings or BoxStabilitySettings()
    changes = settings.match(clean, perturbed).score_changes
    if not len(changes):
        return 0.0 if settings.empty == "zero" else math.nan
    return 1 - math.fsum(changes) / len(changes)


@register
class ConfidenceStability(ImageStability):
    r"""Mean confidence stability of a set of images.

    .. math:: CS = 1 - \frac{1}{M} \sum_{i=1}^{M} \frac{1}{P_i} \sum_{p=1}^{P_i} |s_{ip} - s'_{ip}|

    over the P matched pairs of each of the M (image, repeat). One without pairs has stability 0,
    or is not among the M where ``empty`` is ``"skip"``.
    """

    name = "confidence_stability"
    meaning = "how well confidences stay put under feature dropout"
    features = rising("confidence_stability")
    source = "Yang et al. 2024, section 5.1"
    revision = 2

    def stability(self, clean: Detections, perturbed: Detections) -> float:
        return confidence_stability(clean, perturbed, self.settings)


@register
class CountStability(RatioScore):
    r"""Stability of a detector's counts under feature dropout.

    With n clean and n' perturbed boxes over a threshold, the change of an image's count is
    \|n - n'\| / max(n, n'), and 0 where both are 0. Two features for each τ of `THRESHOLDS`, both
    in [0, 1] and larger where counts are more stable:

    ``count_stability@τ``
        1 - mean change over (image, repeat).
    ``count_stability_pooled@τ``
        1 - Σ \|n - n'\| / Σ max(n, n') over (image, repeat), in which images count by their boxes
        and those without any say nothing; NaN where there is no box at all.

    Boxes under ``score_thr`` never count, whatever τ.

    Examples
    --------
    >>> many = Detections(np.zeros((4, 4)), np.full(4, .9), np.zeros(4))
    >>> score = CountStability()
    >>> score.update(Evidence("street", (9, 9), many, (many[:3],)))
    >>> score.update(Evidence("lawn", (9, 9), many[:0], (many[:0],)))
    >>> features = score.compute()
    >>> features["count_stability@0.30"], features["count_stability_pooled@0.30"]
    (0.875, 0.75)
    """

    name = "count_stability"
    meaning = "how well the number of boxes stands up to feature dropout"
    features = undirected(
        *feature_names("count_stability"), *feature_names("count_stability_pooled")
    )
    needs = frozenset({"perturbed"})
    source = "this project"

    def measure(self, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums over repeats of what stayed, and their denominators, (2T,).

        Parameters
        ----------
        evidence : Evidence
            Of one image, with its perturbed passes.
        """
        clean = self._counts(evidence.clean)
        perturbed = np.array([self._counts(boxes) for boxes in evidence.perturbed])
        perturbed = perturbed.reshape(-1, len(THRESHOLDS))
        fewer, more = np.minimum(clean, perturbed), np.maximum(clean, perturbed)
        unchanged = np.divide(fewer, more, out=np.ones(more.shape), where=more > 0)
        repeats = np.full(len(THRESHOLDS), len(perturbed))
        return (
            np.concatenate([unchanged.sum(axis=0), fewer.sum(axis=0)]),
            np.concatenate([repeats, more.sum(axis=0)]),
        )

    def _counts(self, boxes: Detections) -> np.ndarray:
        scores = boxes.scores[boxes.scores > self.score_thr]
        return count_over(THRESHOLDS, scores, np.zeros(len(scores), int), 1)[0]


@register
class CumulativeConsensus(RatioScore):
    r"""Best overlaps of boxes with those of another view, mean over pairs of views and images.

    .. math:: CCS = \frac{1}{M} \sum_i \frac{1}{|P_i|} \sum_{(a, b) \in P_i}
              \frac{\sum_{j \in a} o_j(b) + \sum_{k \in b} o_k(a)}{n_a + n_b}

    where o is the largest IoU of a box with a box of the same category in the other view, 0 under
    β, and P holds the pairs of views of an image of which at least one has a box; images without
    such a pair are left out.

    The paper leaves open what follows; here the views are the image as it is and its photometric
    alterations (`autoeval.stability.network.viewed_black_box.VIEWS`), so that no box has to be
    mapped back; β is .5; both directions of a pair count; boxes count from the score threshold of
    the pass.
    """

    name = "ccs"
    meaning = "how well boxes of every two views of an image overlap"
    features = rising("ccs")
    needs = frozenset({"views"})
    source = "Manoharan et al. 2025, Cumulative Consensus Score"

    def measure(self, evidence: Evidence) -> tuple[float, int]:
        views = [
            detections.above(self.score_thr) for detections in (evidence.clean, *evidence.views)
        ]
        pairs = [(a, b) for a, b in combinations(views, 2) if len(a.labels) + len(b.labels)]
        return (float(np.mean([consensus(a, b) for a, b in pairs])), 1) if pairs else (0.0, 0)


def consensus(a: Detections, b: Detections) -> float:
    """Return the mean over the boxes of two views, at least one, of the best overlap.

    An overlap is the IoU with a box of the same category, 0 where it is under `LEAST_OVERLAP`.

    Parameters
    ----------
    a, b : Detections
        At least one box together; xyxy.

    Examples
    --------
    >>> box = np.array([[0, 0, 2, 2]])
    >>> one, none = Detections(box, np.array([.9]), np.array([0])), Detections.empty()
    >>> consensus(one, one), consensus(one, none)
    (1.0, 0.0)
    """
    overlaps = box_iou(a.boxes.astype(np.float64), b.boxes.astype(np.float64))
    overlaps = np.where(a.labels[:, None] == b.labels[None, :], overlaps, 0.0)
    overlaps = np.where(overlaps >= LEAST_OVERLAP, overlaps, 0.0)
    best = (overlaps.max(axis=axis, initial=0.0).sum() for axis in (0, 1))
    return float(sum(best)) / (len(a.labels) + len(b.labels))
