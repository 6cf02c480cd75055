"""Average precision of ranked detections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from typing_extensions import Self

Interpolation = Literal["101-point", "all-point"]
RECALL_LEVELS = np.linspace(0, 1, 101)  # COCO's


def average_precision(
    hits: np.ndarray,
    counted: np.ndarray,
    n_true: np.ndarray | float,
    *,
    interpolation: Interpolation | None = "101-point",
) -> np.ndarray:
    """Area under the precision-recall curve of N detections by descending score, (...).

    Flags, weights and probabilities are all sums: a detection of weight w that is right with
    probability p has ``hits = w p``, 0 for a false positive, and ``counted = w``, 0 where it is
    ignored, as in a crowd, both (..., N); ``n_true`` (...) is the sum of the weights of the
    labelled boxes, and AP is NaN where that is 0.

    Precision at a recall is the highest at that recall or more. "101-point" averages it over the
    recalls 0, .01, ..., 1 (COCO's evaluation), "all-point" integrates it over all recalls (PASCAL
    VOC since 2010), None integrates precision as it is.

    Examples
    --------
    >>> hits, counted = np.array([1, 0, 1]), np.ones(3)
    >>> average_precision(hits, counted, 2, interpolation="all-point").round(4)
    np.float64(0.8333)
    """
    precision, _ = running_precision(hits, counted)
    if interpolation:
        precision = envelope(precision)
    if interpolation == "101-point":
        area = _sum_at_recall_levels(precision, np.cumsum(hits, axis=-1), n_true)
        n_true = len(RECALL_LEVELS) * (np.asarray(n_true) > 0)
    else:
        area = (hits * precision).sum(axis=-1)
    n_true = np.broadcast_to(n_true, area.shape)
    return np.divide(area, n_true, out=np.full(area.shape, np.nan), where=n_true > 0)[()]


def running_precision(hits: np.ndarray, counted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the precision of each detection and those above it, and their weight; (..., N).

    The weight is 1 where nothing is counted yet.
    """
    seen = np.cumsum(counted, axis=-1)
    seen = np.where(seen > 0, seen, 1)
    return np.cumsum(hits, axis=-1) / seen, seen


def envelope(precision: np.ndarray) -> np.ndarray:
    """Return the highest precision at each detection or below it, (..., N)."""
    return np.maximum.accumulate(precision[..., ::-1], axis=-1)[..., ::-1]


def pool_ties(scores: np.ndarray, hits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum detections of equal score, so that their order does not matter.

    `scores` is (N,), `hits` (L, N); returned are hits (L, n) of the n different scores in
    descending order, and the number of detections (n,) of each.

    Examples
    --------
    >>> pool_ties(np.array([.5, .9, .5]), np.array([[True, False, True]]))
    (array([[0., 2.]]), array([1, 2]))
    """
    different, tied = np.unique(-scores, return_inverse=True)
    hits = np.array([np.bincount(tied, row, len(different)) for row in hits])
    return hits, np.bincount(tied, minlength=len(different))


def _sum_at_recall_levels(
    precision: np.ndarray, found: np.ndarray, n_true: np.ndarray | float
) -> np.ndarray:
    """Add up precision at each recall level, 0 at those that are not reached; (...)."""
    recall = found / np.where(np.asarray(n_true) > 0, n_true, 1)[..., None]
    sums = np.zeros(recall.shape[:-1])
    for row in np.ndindex(sums.shape):
        first = np.searchsorted(recall[row], RECALL_LEVELS, side="left")
        sums[row] = precision[row][first[first < recall.shape[-1]]].sum()
    return sums


@dataclass(frozen=True, eq=False)
class RankedDetections:
    """B detections of one category on N images, by descending score.

    `image` (B,) int is the image of each; `hits` (L, B) says whether it is a true positive at each
    of L IoU thresholds, or how probably; `counted` (L, B) is 0 where it is ignored, as it lies in a
    crowd; `n_true` (N,) is the number of labelled boxes of each image, or its expectation; `scores`
    (B,) are needed for measures at a threshold alone.
    """

    image: np.ndarray
    hits: np.ndarray
    counted: np.ndarray
    n_true: np.ndarray
    scores: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        scores: np.ndarray,
        image: np.ndarray,
        hits: np.ndarray,
        n_true: np.ndarray,
        counted: np.ndarray | None = None,
    ) -> Self:
        """Rank detections by their scores (B,); equal scores keep their order."""
        order = np.argsort(-scores, kind="stable")
        counted = np.ones(hits.shape, bool) if counted is None else counted
        n_true = np.asarray(n_true, np.float64)
        return cls(image[order], hits[:, order], counted[:, order], n_true, scores[order])

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.n_true)

    def take(self, images: np.ndarray) -> Self:
        """Keep some of the images, (k,) int without repetition, in the order given."""
        place = np.full(len(self), -1)
        place[images] = np.arange(len(images))
        kept = place[self.image] >= 0
        return type(self)(
            place[self.image[kept]],
            self.hits[:, kept],
            self.counted[:, kept],
            self.n_true[images],
            None if self.scores is None else self.scores[kept],
        )

    def weighted(self, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, float]:
        """Weight images (N,), by default equally: hits (L, B), counted (L, B), labelled boxes."""
        if weights is None:
            return self.hits, self.counted, float(self.n_true.sum())
        of_detection = weights[self.image]
        total = float(weights @ self.n_true)
        return of_detection * self.hits, of_detection * self.counted, total

    def average_precision(
        self,
        weights: np.ndarray | None = None,
        *,
        interpolation: Interpolation | None = "101-point",
    ) -> np.ndarray:
        """Average precision at each IoU threshold, (L,), of images weighted equally or by (N,).

        NaN without labelled boxes; see `average_precision`.
        """
        return average_precision(*self.weighted(weights), interpolation=interpolation)


def influence_function(
    ranked: RankedDetections, weights: np.ndarray | None = None, *, interpolated: bool = True
) -> np.ndarray:
    r"""Influence function of each image on the average precision of a category.

    Detections of N images are ranked by score; t_b says whether detection b is a true positive (or
    how probably), v_b whether it counts, w_i is the weight of image i. With the running sums
    :math:`T_b = \sum w t` and :math:`D_b = \sum w v` down to detection b, :math:`P_b = T_b / D_b`
    and :math:`G = \sum w_i g_i` labelled boxes,

    .. math:: AP = \sum_b w_b t_b P_{m(b)} / G

    where m(b) = b, or, where precision is interpolated, the detection at or below b at which
    precision is the highest. The influence of image i is the derivative of AP with respect to its
    weight, times the sum W of all weights:

    .. math:: IF_i = \frac{W}{G} \Big[ \sum_{b \in i} (t_b P_{m(b)} + t_b A_b - v_b C_b)
              - AP \, g_i \Big], \quad
              A_b = \sum_{c \ge b} \frac{s_c}{D_c}, \quad
              C_b = \sum_{c \ge b} \frac{s_c T_c}{D_c^2}

    with c running over the detections at or below b, and :math:`s_c` the sum of w t over the
    detections whose m is c. Weighted influences sum to 0; the mean of the influences of k labelled
    images is the first-order error of the average precision that these images give. One sort and
    three running sums.

    Images (N,) have weight 1 by default. `interpolated` AP is "all-point", else not at all: the 101
    recall levels of COCO's evaluation are steps, which have no derivative. Returns (L, N), NaN
    without labelled boxes.

    Examples
    --------
    >>> t = np.array([[1., 0., 1.]])
    >>> ranked = RankedDetections(np.array([0, 1, 1]), t, np.ones((1, 3)), np.array([1., 1.]))
    >>> influence_function(ranked).round(4)
    array([[ 0.2778, -0.2778]])
    """
    hits, counted, total = ranked.weighted(weights)
    n_images = len(ranked)
    if not total > 0:
        return np.full((len(hits), n_images), np.nan)
    precision, seen = running_precision(hits, counted)
    stated, shares = _interpolate(precision, hits) if interpolated else (precision, hits)
    ap = (hits * stated).sum(axis=1) / total
    gain = ranked.hits * (stated + _from_below(shares / seen))
    loss = ranked.counted * _from_below(shares * precision / seen)
    by_image = [np.bincount(ranked.image, row, minlength=n_images) for row in gain - loss]
    all_weights = n_images if weights is None else weights.sum()
    return all_weights / total * (np.array(by_image) - ap[:, None] * ranked.n_true)


def _interpolate(precision: np.ndarray, hits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the envelope of precision, and the hits at whose precision it is reached; (L, B)."""
    highest = envelope(precision)
    levels, n = precision.shape
    peaks = np.where(precision == highest, np.arange(n), n)
    peak = np.minimum.accumulate(peaks[:, ::-1], axis=1)[:, ::-1]
    at = (peak + n * np.arange(levels)[:, None]).ravel()
    return highest, np.bincount(at, hits.ravel(), minlength=levels * n).reshape(levels, n)


def _from_below(values: np.ndarray) -> np.ndarray:
    """Sum over each detection and those below it, (L, B)."""
    return values[:, ::-1].cumsum(axis=1)[:, ::-1]
