r"""The mAP of a few images is too high on average; the bias is fitted on labelled sites.

Precision is interpolated upward, and a quotient of sums over few images is biased. Both fall with
the number of labelled boxes G in the sample, so the bias is modelled as

.. math:: E[\theta_S] - \theta \approx b \, \Big(1 - \frac{k}{N}\Big) \Big/ (G + 1)

with one b for all sites; the 1 was chosen on categories with one or two objects in a sample. A
jackknife needs no other sites, but doubles the standard deviation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autoeval.metrics.average_precision import RankedDetections

OFFSET = 1.0  # objects
LARGEST_SHARE = 0.5  # of the value that may be subtracted
SAMPLE_SIZES = (10, 20)
USUAL = 0.35  # b over 37 pairs of site and category, with YOLO26-nano
USUAL_WEIGHT = 0.05**2  # of `USUAL`: a site with twenty labelled boxes in a sample


def measure_small_sample_bias(
    ranking: RankedDetections, *, draws: int = 40, seed: int = 0
) -> tuple[float, float]:
    """Measure by how much the mAP of a few images exceeds that of all N, on average.

    By `draws` simple random samples of each size k in `SAMPLE_SIZES`. Returns the mean difference,
    and the mean of ``(1 - k / N) / (G + 1)``, with G the labelled boxes of the sample.
    """
    rng, n = np.random.default_rng(seed), len(ranking)
    whole = ranking.average_precision().mean()
    found = []
    for k in (k for k in SAMPLE_SIZES if k < n for _ in range(draws)):
        few = ranking.take(rng.choice(n, k, replace=False))
        if few.n_true.any():
            excess = few.average_precision().mean() - whole
            found.append((excess, (1 - k / n) * float(bias_scale(few.n_true.sum()))))
    excess, scale = np.mean(found, axis=0) if found else (0.0, 0.0)
    return float(excess), float(scale)


def fit_small_sample_bias(
    measured: Sequence[tuple[float, float]], families: Sequence[str]
) -> float:
    """Fit b to the excess measured at several sites; each family has the same weight.

    With a single family it is shrunk to `USUAL`: where images hold many objects, the excess is
    small, is mostly not in proportion to 1 / G, and a b from there is wrong elsewhere.

    Examples
    --------
    >>> fit_small_sample_bias([(.02, .1), (.04, .2)], ["a", "b"])
    0.2
    >>> round(fit_small_sample_bias([(.02, .05)], ["a"]), 3)  # between .4 and .35
    0.375
    """
    _, at, counts = np.unique(np.asarray(families), return_inverse=True, return_counts=True)
    excess, scale = np.array(measured).T
    weights = 1 / counts[at]
    if len(counts) == 1:
        usual = np.sqrt(USUAL_WEIGHT)
        excess, scale = np.append(excess, USUAL * usual), np.append(scale, usual)
        weights = np.ones(len(scale))
    below = float(weights @ scale**2)
    return round(float(weights @ (excess * scale)) / below, 12) if below > 0 else 0.0


def without_small_sample_bias(
    value: float, b: float, *, n_true: float, n_labelled: int, n_pool: int
) -> float:
    """Subtract the expected excess from an average precision of a few images.

    Examples
    --------
    >>> without_small_sample_bias(.5, .4, n_true=19, n_labelled=10, n_pool=100)
    0.482
    """
    excess = b * max(1 - n_labelled / n_pool, 0.0) * float(bias_scale(n_true))
    return value - min(excess, LARGEST_SHARE * max(value, 0.0))


def bias_scale(n_true: np.ndarray | float) -> np.ndarray:
    """Return how the bias falls with the number of labelled boxes."""
    return np.asarray(1 / (np.asarray(n_true, float) + OFFSET))
