r"""Weights of single images in a change, which look past what differs from image to image.

A period's mean predicts a change; an alarm must predict it from a few images. The number of boxes,
for one, is much in a period and little in one image, where it goes with the traffic. So the weights
w are fitted image by image: the relative change of mAP of a whole set is regressed on how far each
of its images is from the site's baseline, with untouched images, whose change is 0, among them:

.. math:: \min_w \sum_i (y_i - x_i^T w)^2 + \lambda \sum_j (s_j w_j)^2

with s the standard deviation of each quantity over images (ridge regression, Hoerl & Kennard 1970).
They are fitted twice: on all quantities, and on the scores of boxes alone, for changes that the
signals of the camera mistake, such as coarse pixels, which look sharp.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autoeval.monitoring.changes.condition import CONDITION, SCORES, condition

RIDGE = 300.0  # images
MOST = 1.5  # a relative change beyond this counts as this
BOUNDS = {"boxes": 1.5, "half": 1.5, "noise": 3.0}
BOUND = 1.0


def bounds_of(names: Sequence[str] = CONDITION) -> np.ndarray:
    """Return the largest difference that counts, of each name of `CONDITION`, (P,)."""
    return np.array([BOUNDS.get(name, BOUND) for name in names])


def image_moves(numbers: np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """Return how far each image's own condition is from the mean of a baseline's, bounded.

    Parameters
    ----------
    numbers : ndarray of shape (N, len(NUMBERS))
    baseline : ndarray of shape (M, len(NUMBERS))

    Returns
    -------
    ndarray of shape (N, len(CONDITION))
    """
    bounds = bounds_of()
    difference = condition(numbers) - condition(baseline).mean(axis=0)
    return bounds * np.tanh(difference / bounds)


def image_products(before: np.ndarray, after: np.ndarray, change: float) -> np.ndarray:
    """Sum up what `fit_image_weights` needs of one known change; such sums add up.

    Parameters
    ----------
    before, after : ndarray of shape (n_images, len(NUMBERS))
        Images of the site as it was, and after.
    change : float
        Of mAP, over mAP before.

    Returns
    -------
    ndarray of shape (len(CONDITION) + 2, len(CONDITION) + 2)
        Products of the moves of all images, their target, and 1. Zeros without images before: of
        which a site has none where all were changed.
    """
    if not len(before):
        return np.zeros((len(CONDITION) + 2,) * 2)
    x = image_moves(np.concatenate([before, after]), before)
    target = np.zeros(len(x))
    target[len(before) :] = np.clip(change, -MOST, MOST)
    row = np.column_stack([x, target, np.ones(len(x))])
    return row.T @ row


def fit_image_weights(
    products: np.ndarray, series: Sequence[Sequence[str]] = (CONDITION, tuple(SCORES))
) -> np.ndarray:
    """Fit the weights of this module.

    Parameters
    ----------
    products : ndarray
        Sum of `image_products` over the known changes.
    series : sequence of sequence of str
        Which names of `CONDITION` each series reads: by default all quantities, and `SCORES` alone.

    Returns
    -------
    ndarray of shape (len(series), len(CONDITION))
        In units of relative mAP.
    """
    n, sums = products[-1, -1], products[-1, :-2]
    stds = np.sqrt(np.maximum(np.diag(products)[:-2] / n - (sums / n) ** 2, 0))
    stds[stds == 0] = np.inf  # a quantity that never moved has no weight
    inner, moments = products[:-2, :-2], products[:-2, -2]
    scales = [np.where(np.isin(CONDITION, list(names)), stds, np.inf) for names in series]
    return np.array([_ridge(inner, moments, scale) for scale in scales])


def _ridge(inner: np.ndarray, moments: np.ndarray, scale: np.ndarray) -> np.ndarray:
    scaled = inner / np.outer(scale, scale) + RIDGE * np.eye(len(scale))
    return np.linalg.solve(scaled, moments / scale) / scale
