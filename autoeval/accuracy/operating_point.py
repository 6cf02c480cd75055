r"""Precision, recall and F1 at one score threshold and one IoU: sums, ratios and their influence.

With the true positives t, the boxes b over the threshold and the labelled objects g of each image,

.. math:: R_a = \frac{\sum_i t_i}{\sum_i d_i}, \qquad d_i = a b_i + (1 - a) g_i

is precision for a = 1, recall for a = 0 and F1 for a = 1/2.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from typing_extensions import Self

from autoeval.accuracy.average_precision import RankedDetections
from autoeval.targets import OperatingPoint

SHARE_OF_BOXES = {"precision": 1.0, "recall": 0.0, "f1": 0.5}  # a
THRESHOLDS = np.arange(101) / 100


def image_counts(ranking: RankedDetections, score_thr: float, level: int = 0) -> np.ndarray:
    """Count true positives, boxes over the threshold and labelled objects of each image, (3, N).

    Matching goes from the highest score down, so boxes under the threshold change nothing over it.
    Boxes with a higher score than `score_thr`, compared in the precision of the scores, count,
    except in crowds; `level` is the IoU threshold of the ranking. With probabilities in place of
    labels the counts are expectations.

    Examples
    --------
    >>> scores, image = np.array([.9, .6, .2]), np.array([0, 1, 1])
    >>> ranked = RankedDetections.of(scores, image, np.array([[1, 0, 1]]), np.array([2, 1]))
    >>> image_counts(ranked, .3)
    array([[1., 0.],
           [1., 1.],
           [2., 1.]])
    """
    assert ranking.scores is not None
    n = int(np.sum(ranking.scores > ranking.scores.dtype.type(score_thr)))
    counted = ranking.counted[level, :n].astype(np.float64)
    image, hits = ranking.image[:n], counted * ranking.hits[level, :n]
    sums = [np.bincount(image, weights, minlength=len(ranking)) for weights in (hits, counted)]
    return np.array([*sums, ranking.n_true], np.float64)


def value_of(measure: str, counts: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return precision, recall or F1 of `image_counts`; NaN where the denominator is 0.

    Of several categories the counts are their sum (micro average); images have weight 1 by default.

    Examples
    --------
    >>> counts = np.array([[1., 0.], [1., 1.], [2., 1.]])
    >>> [round(value_of(name, counts), 3) for name in ("precision", "recall", "f1")]
    [0.5, 0.333, 0.4]
    """
    above, below = counts[0], denominators(measure, counts)
    weights = np.ones(counts.shape[-1]) if weights is None else weights
    total = float(below @ weights)
    return float(above @ weights) / total if total > 0 else float("nan")


def influence_on(measure: str, counts: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    r"""Influence function of each image on precision, recall or F1.

    .. math:: IF_i = \frac{W}{\sum_j w_j d_j} (t_i - R d_i)

    with W the sum of the weights: the linearisation of a ratio estimator (Särndal et al. 1992,
    section 5.6).

    It is (N,), NaN where the measure is not defined.

    Examples
    --------
    >>> influence_on("recall", np.array([[1., 0.], [1., 1.], [2., 1.]])).round(3)
    array([ 0.222, -0.222])
    """
    above, below = counts[0], denominators(measure, counts)
    value, total = value_of(measure, counts, weights), counts.shape[-1]
    if value != value:
        return np.full(total, np.nan)
    mean = below.mean() if weights is None else below @ weights / weights.sum()
    return np.asarray((above - value * below) / mean)


def denominators(measure: str, counts: np.ndarray) -> np.ndarray:
    """Return d of each image, (N,); parameters as in `value_of`."""
    share = SHARE_OF_BOXES[measure]
    return np.asarray(share * counts[1] + (1 - share) * counts[2])


@dataclass(frozen=True, eq=False)
class CountCurve:
    """Counts of one category at every threshold, summed over images: what a row of a table holds.

    `hits` and `boxes` (L, 101) float32 are true positives and boxes over each of `THRESHOLDS`, at
    each of L IoU thresholds; `objects` are labelled or expected.
    """

    hits: np.ndarray
    boxes: np.ndarray
    objects: float

    @classmethod
    def of(cls, ranking: RankedDetections) -> Self:
        """Count ranked boxes, with labels or with probabilities in place of them."""
        assert ranking.scores is not None
        rising = -ranking.scores
        over = np.searchsorted(rising, -THRESHOLDS.astype(rising.dtype))
        counted = ranking.counted.astype(np.float64)
        hits, boxes = (
            np.cumsum(np.pad(values, ((0, 0), (1, 0))), axis=1)[:, over].astype(np.float32)
            for values in (counted * ranking.hits, counted)
        )
        return cls(hits, boxes, float(ranking.n_true.sum()))

    def at(self, point: OperatingPoint) -> np.ndarray:
        """Return true positives, boxes and objects, (3, 1); between hundredths interpolated."""
        sums = [
            np.interp(point.score_thr, THRESHOLDS, counts[point.level])
            for counts in (self.hits, self.boxes)
        ]
        return np.array([*sums, self.objects])[:, None]

    def to_bytes(self) -> bytes:
        """Pack the curve; see `from_bytes`."""
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **vars(self))
        return buffer.getvalue()

    @classmethod
    @lru_cache(maxsize=1000)
    def from_bytes(cls, content: bytes) -> Self:
        """Read what `to_bytes` wrote."""
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return cls(stored["hits"], stored["boxes"], float(stored["objects"]))
