"""How much each image adds to an average precision: its influence function, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoeval.estimation.predictions.ranking import Ranking


@dataclass(frozen=True, eq=False)
class Precision:
    """Average precision of one category, and the influence of each image on it.

    Parameters
    ----------
    value : ndarray of shape (L,)
        At each IoU threshold, in [0, 1]; NaN without true boxes.
    influence : ndarray of shape (L, N)
        Of each image; see `average_precision`.
    """

    value: np.ndarray
    influence: np.ndarray


def average_precision(
    boxes: Ranking, weights: np.ndarray | None = None, *, interpolated: bool = True
) -> Precision:
    r"""Average precision and the influence function of each image.

    Boxes of N images are ranked by score; t_b says whether box b is right (or how probably), v_b
    whether it counts, w_i is the weight of image i. With the running sums :math:`T_b = \sum w t`
    and :math:`D_b = \sum w v` down to box b, :math:`P_b = T_b / D_b` and :math:`G = \sum w_i g_i`
    true boxes,

    .. math:: AP = \sum_b w_b t_b P_{m(b)} / G

    where m(b) = b, or, where precision is interpolated, the box at or below b at which precision is
    the highest. The influence of image i is the derivative of AP with respect to its weight, times
    the sum W of all weights:

    .. math:: IF_i = \frac{W}{G} \Big[ \sum_{b \in i} (t_b P_{m(b)} + t_b A_b - v_b C_b)
              - AP \, g_i \Big], \quad
              A_b = \sum_{c \ge b} \frac{s_c}{D_c}, \quad
              C_b = \sum_{c \ge b} \frac{s_c T_c}{D_c^2}

    with c running over the boxes at or below b, and :math:`s_c` the sum of w t over the boxes whose
    m is c. Weighted influences sum to 0; the mean of the influences of k labelled images is the
    first-order error of the average precision that these images give. One sort and three running
    sums.

    Parameters
    ----------
    boxes : Ranking
    weights : ndarray of shape (N,), optional
        Of the images, not negative; 1 by default.
    interpolated : bool
        Whether precision is that of the best box at or below, as in COCO's evaluation; COCO also
        rounds recall to hundredths, which `Ranking.precision` does and a derivative cannot.

    Examples
    --------
    >>> t = np.array([[1., 0., 1.]])
    >>> boxes = Ranking(np.array([0, 1, 1]), t, np.ones((1, 3)), np.array([1., 1.]))
    >>> result = average_precision(boxes)
    >>> result.value.round(4), result.influence.round(4)
    (array([0.8333]), array([[ 0.2778, -0.2778]]))
    """
    weights = np.ones(len(boxes)) if weights is None else weights
    total = float(weights @ boxes.n_true)
    if not total > 0:
        levels = len(boxes.right)
        return Precision(np.full(levels, np.nan), np.full((levels, len(boxes)), np.nan))
    hits, counts = (weights[boxes.image] * part for part in (boxes.right, boxes.counted))
    above, seen = hits.cumsum(axis=1), counts.cumsum(axis=1)
    seen = np.where(seen > 0, seen, 1.0)
    precision = above / seen
    stated, shares = _interpolate(precision, hits) if interpolated else (precision, hits)
    value = (hits * stated).sum(axis=1) / total
    gain = boxes.right * (stated + _from_below(shares / seen))
    loss = boxes.counted * _from_below(shares * above / seen**2)
    by_image = _sum_by_image(gain - loss, boxes) - value[:, None] * boxes.n_true
    return Precision(value, weights.sum() / total * by_image)


def _interpolate(precision: np.ndarray, hits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the best precision at or below each box, and the hits that each box speaks for."""
    stated = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    levels, n = precision.shape
    peaks = np.where(precision == stated, np.arange(n), n)
    speaker = np.minimum.accumulate(peaks[:, ::-1], axis=1)[:, ::-1]
    at = (speaker + n * np.arange(levels)[:, None]).ravel()
    return stated, np.bincount(at, hits.ravel(), minlength=levels * n).reshape(levels, n)


def _from_below(values: np.ndarray) -> np.ndarray:
    """Sum over each box and those below it."""
    return values[:, ::-1].cumsum(axis=1)[:, ::-1]


def _sum_by_image(values: np.ndarray, boxes: Ranking) -> np.ndarray:
    return np.array([np.bincount(boxes.image, row, minlength=len(boxes)) for row in values])
