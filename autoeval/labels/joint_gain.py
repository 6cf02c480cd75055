r"""Which categories more labels would help most, by the joint estimate.

With the covariance V that the labels leave of the C average precisions, one more independent value
of category c, of variance s, reduces the variance of their mean by

.. math:: \frac{\big(\tfrac1C \sum_j V_{cj}\big)^2}{V_{cc} + s}

the update of a normal distribution by one observation.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from autoeval.labels.joint import JointPrior, MeasuredCategories


def variance_with_one_more(
    prior: JointPrior, measured: MeasuredCategories, sampling: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the variance of the mean, and with one more value of each category, (C,).

    `sampling` (C,) is the variance of that value.
    """
    at, c = measured.at, len(prior.values)
    with_mean = prior.common @ prior.common.mean(axis=0) + prior.specific**2 / c
    of_each = (prior.common**2).sum(axis=1) + prior.specific**2
    if len(at):
        reach = prior.common[at] @ prior.common.T  # covariance of measured and all, (M, C)
        reach[np.arange(len(at)), at] += prior.specific[at] ** 2
        factor = cho_factor(prior.covariance(at) + measured.covariance, lower=True)
        solved = cho_solve(factor, reach)
        with_mean = with_mean - solved.T @ with_mean[at]
        of_each = of_each - (reach * solved).sum(axis=0)
    now = max(float(with_mean.mean()), 0.0)
    gain = with_mean**2 / np.maximum(of_each + sampling, np.finfo(float).tiny)
    return now, np.maximum(now - gain, 0.0)
