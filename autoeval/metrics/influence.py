"""Influence function of an image on average precision, in closed form."""

from __future__ import annotations

import numpy as np

from autoeval.metrics.average_precision import RankedDetections, envelope, running_precision


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

    Parameters
    ----------
    ranked : RankedDetections
    weights : ndarray of shape (N,), optional
        Of the images, not negative; 1 by default.
    interpolated : bool
        Whether AP is "all-point" interpolated; else not at all. The 101 recall levels of COCO's
        evaluation are steps, which have no derivative.

    Returns
    -------
    ndarray of shape (L, N)
        Of each image at each IoU threshold; NaN without labelled boxes.

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
