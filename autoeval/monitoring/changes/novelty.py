r"""Novelty of an image for its camera, by the signals of its pixels, whatever accuracy does.

Weights know only how the changes that were fitted on look. What they have not seen, such as harder
compression, shows in signals that leave the range in which this camera's own images lie. That range
has the same shape at most sites: with :math:`\Sigma` the covariance of the signals within known
sites, correlations shrunk by a tenth, W such that :math:`W W^T = \Sigma^{-1}`, and :math:`\mu`
the mean of the baseline, the novelty of an image with signals v is

.. math:: \sum_j \min(z_j^2, 9), \qquad z = W^T (v - \mu)

which is the squared Mahalanobis distance, bounded in each direction (Mahalanobis 1936). An image of
the baseline is compared with the mean of the others, as being part of it lowers novelty.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autoeval.monitoring.changes.image_numbers import OF_BOXES

SHRINKING = 0.1  # of correlations
MOST = 9.0  # of a squared distance, in each direction


def fit_whitening(sites: Sequence[np.ndarray]) -> np.ndarray:
    """Return the W of this module.

    Parameters
    ----------
    sites : sequence of ndarray of shape (n_images, len(NUMBERS))
        Untouched images of each site, two or more.

    Returns
    -------
    ndarray of shape (len(MEANINGS), len(MEANINGS))
        0 for a signal that never varies.
    """
    apart = np.concatenate([_signals(own) - _signals(own).mean(axis=0) for own in sites])
    covariance = apart.T @ apart / max(len(apart) - len(sites), 1)
    spread = np.sqrt(np.diag(covariance))
    spread[spread == 0] = np.inf
    correlation = covariance / np.outer(spread, spread)
    shrunk = (1 - SHRINKING) * correlation + SHRINKING * np.eye(len(spread))
    values, vectors = np.linalg.eigh(shrunk)
    return vectors / np.sqrt(values) / spread[:, None]


def novelty(
    before: np.ndarray, after: np.ndarray, whitening: np.ndarray, blocks: np.ndarray | None = None
) -> np.ndarray:
    """Return the novelty of each image, those of the baseline first, (N + M,).

    Parameters
    ----------
    before, after, blocks
        As in `ChangeModel.image_series`.
    whitening : ndarray
        From `fit_whitening`.
    """
    own = _signals(before)
    blocks = np.arange(len(own)) if blocks is None else np.unique(blocks, return_inverse=True)[1]
    together = np.zeros((blocks.max() + 1, own.shape[1]))
    np.add.at(together, blocks, own)
    n_others = len(own) - np.bincount(blocks)[blocks, None]
    others = (own.sum(axis=0) - together[blocks]) / np.maximum(n_others, 1)
    apart = np.concatenate([(own - others) * (n_others > 0), _signals(after) - own.mean(axis=0)])
    return np.minimum((apart @ whitening) ** 2, MOST).sum(axis=1)


def _signals(numbers: np.ndarray) -> np.ndarray:
    return numbers[:, len(OF_BOXES) :]
