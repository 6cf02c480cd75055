r"""The mAP of a few images is too high on average; how much so is learned from labelled places.

Precision is interpolated upward, and a quotient of sums over few images is biased. Both fall with
the number of true boxes G among the labelled images, so the excess is taken to be

.. math:: E[\theta_S] - \theta \approx b \, \Big(1 - \frac{k}{N}\Big) \Big/ G

with one b for all places. A jackknife would remove it without other places, for twice the spread.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LARGEST_SHARE = 0.5  # of the value that may be taken off


def fit_optimism(measured: Sequence[tuple[float, float]], families: Sequence[str]) -> float:
    """Fit b to the excess measured at several places, families alike.

    Parameters
    ----------
    measured : sequence of tuple of float
        See `autoeval.estimation.labels.places.excess_of_small_sets`.
    families : sequence of str

    Examples
    --------
    >>> fit_optimism([(.02, .1), (.04, .2)], ["a", "b"])
    0.2
    """
    _, at, counts = np.unique(np.asarray(families), return_inverse=True, return_counts=True)
    excess, scale = np.array(measured).T
    weights = 1 / counts[at]
    below = float(weights @ scale**2)
    return round(float(weights @ (excess * scale)) / below, 12) if below > 0 else 0.0


def less_optimism(value: float, b: float, *, n_true: float, n_labelled: int, n_pool: int) -> float:
    """Take the expected excess off an average precision of a few images.

    Examples
    --------
    >>> less_optimism(.5, .4, n_true=20, n_labelled=10, n_pool=100)
    0.482
    """
    excess = b * max(1 - n_labelled / n_pool, 0.0) / max(n_true, 1.0)
    return value - min(excess, LARGEST_SHARE * value)
