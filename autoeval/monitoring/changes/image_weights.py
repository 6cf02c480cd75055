r"""What a single image says of a change: weights that look past what differs from image to image.

A period's mean tells a change; an alarm must tell it from a few images. The number of boxes, for
one, tells much of a change and little in one image, where it goes with the traffic. So the weights
w are fitted image by image: the relative change of mAP of a whole set is regressed on how far each
of its images is from the place's baseline, with untouched images, whose change is 0, among them:

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
_OF_BOXES = np.isin(CONDITION, list(SCORES))


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


def fit_image_weights(
    untouched: Sequence[np.ndarray], changed: Sequence[np.ndarray], relative: np.ndarray
) -> np.ndarray:
    """Fit the weights of this module.

    Parameters
    ----------
    untouched, changed : sequence of ndarray of shape (n_images, len(NUMBERS))
        Of each known change, images of the place as it was, and after.
    relative : ndarray of shape (N,)
        Change of mAP over mAP before.

    Returns
    -------
    ndarray of shape (2, len(CONDITION))
        Of all quantities, and of `SCORES` alone; in units of relative mAP.
    """
    parts, targets = [], []
    for before, after, change in zip(untouched, changed, relative, strict=True):
        parts += [image_moves(before, before), image_moves(after, before)]
        targets += [np.zeros(len(before)), np.full(len(after), np.clip(change, -MOST, MOST))]
    x, y = np.concatenate(parts), np.concatenate(targets)
    return np.array([_ridge(x, y), _ridge(x * _OF_BOXES, y)])


def _ridge(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    spread = x.std(axis=0)
    spread[spread == 0] = np.inf  # a quantity that never moved says nothing
    z = x / spread
    return np.linalg.solve(z.T @ z + RIDGE * np.eye(z.shape[1]), z.T @ y) / spread
