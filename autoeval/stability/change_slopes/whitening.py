"""How signals of images vary about the mean of their site."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autoeval.monitoring.changes.image_numbers import signals_in

SHRINKING = 0.1  # of correlations


def fit_whitening(sites: Sequence[np.ndarray]) -> np.ndarray:
    """Fit the whitening of signals about the mean of their site, correlations shrunk.

    sites (n_images, len(NUMBERS)): untouched images of each site, two or more.
    Returned: (len(MEANINGS), len(MEANINGS)): 0 for a signal that never varies.
    """
    apart = np.concatenate(
        [signals_in(numbers) - signals_in(numbers).mean(axis=0) for numbers in sites]
    )
    # Each site has a mean of its own: that many degrees of freedom are lost.
    covariance = apart.T @ apart / max(len(apart) - len(sites), 1)
    spread = np.sqrt(np.diag(covariance))
    spread[spread == 0] = np.inf
    correlation = covariance / np.outer(spread, spread)
    shrunk = (1 - SHRINKING) * correlation + SHRINKING * np.eye(len(spread))
    # With V the eigenvectors and w the eigenvalues of the shrunk correlation, x / s V w^(-1/2) has
    # the identity as its covariance; without shrinking, directions that hardly vary would rule.
    values, vectors = np.linalg.eigh(shrunk)
    return vectors / np.sqrt(values) / spread[:, None]
