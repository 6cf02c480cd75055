r"""The mAP of a few images is too high on average; the bias is fitted on labelled sites.

Precision is interpolated upward, and a quotient of sums over few images is biased. Both fall with
the number of labelled boxes, so the bias is modelled as

.. math:: E[\theta_S] - \theta \approx b \, \Big( \frac{1}{g + 1} - \frac{1}{G + 1} \Big)

with g labelled boxes in the sample, G in the whole pool, and one b for all sites; the 1 was chosen
on categories with one or two objects in a sample. The pool is itself a sample: of a category that
it holds only a few times, its average precision is too high, too, and a sample exceeds it by less.
A jackknife needs no other sites, but doubles the standard deviation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autoeval.accuracy.average_precision import RankedDetections

OFFSET = 1.0  # objects
OBJECTS_OF_EXPECTED = 3.0  # that an expected number counts as, beside labelled objects
LARGEST_SHARE = 0.5  # of the value that may be subtracted
SAMPLE_SIZES = (10, 20)
USUAL = 0.35  # b over 37 pairs of site and category, with YOLO26-nano
USUAL_WEIGHT = 0.05**2  # of `USUAL`: a site with twenty labelled boxes in a sample


def measure_small_sample_bias(
    ranking: RankedDetections, *, draws: int = 40, seed: int = 0
) -> tuple[float, float]:
    """Measure by how much the mAP of a few images exceeds that of all N, on average.

    By `draws` simple random samples of each size k in `SAMPLE_SIZES`. Returns the mean difference,
    and the mean of `bias_scale`.
    """
    rng, n = np.random.default_rng(seed), len(ranking)
    whole = ranking.average_precision().mean()
    measured = []
    for k in (k for k in SAMPLE_SIZES if k < n for _ in range(draws)):
        few = ranking.take(rng.choice(n, k, replace=False))
        if few.n_true.any():
            excess = few.average_precision().mean() - whole
            scale_of_few = float(bias_scale(few.n_true.sum(), ranking.n_true.sum()))
            measured.append((excess, scale_of_few))
    excess, scale = np.mean(measured, axis=0) if measured else (0.0, 0.0)
    return float(excess), float(scale)


def fit_small_sample_bias(measured: Sequence[tuple[float, float]], groups: Sequence[str]) -> float:
    """Fit b to the excess measured at several sites; each group has the same weight.

    With a single group it is shrunk to `USUAL`: where images hold many objects, the excess is
    small, is mostly not in proportion to 1 / G, and a b from there is wrong elsewhere.

    Examples
    --------
    >>> fit_small_sample_bias([(.02, .1), (.04, .2)], ["a", "b"])
    0.2
    >>> round(fit_small_sample_bias([(.02, .05)], ["a"]), 3)  # between .4 and .35
    0.375
    """
    _, at, counts = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    excess, scale = np.array(measured).T
    weights = 1 / counts[at]
    if len(counts) == 1:
        usual = np.sqrt(USUAL_WEIGHT)
        excess, scale = np.append(excess, USUAL * usual), np.append(scale, usual)
        weights = np.ones(len(scale))
    below = float(weights @ scale**2)
    return round(float(weights @ (excess * scale)) / below, 12) if below > 0 else 0.0


def without_small_sample_bias(value: float, b: float, *, n_true: float, n_in_pool: float) -> float:
    """Subtract the expected excess from an average precision of a few images.

    Examples
    --------
    >>> without_small_sample_bias(.5, .4, n_true=19, n_in_pool=99)
    0.484
    """
    excess = b * float(bias_scale(n_true, n_in_pool))
    return value - min(excess, LARGEST_SHARE * max(value, 0.0))


def bias_scale(n_true: np.ndarray | float, n_in_pool: np.ndarray | float) -> np.ndarray:
    """Return how the bias falls with the number of labelled boxes; 0 where all are labelled."""
    few, all_of_them = np.asarray(n_true, float), np.asarray(n_in_pool, float)
    return np.maximum(1 / (few + OFFSET) - 1 / (all_of_them + OFFSET), 0.0)


def objects_in_pool(
    n_true: np.ndarray, n_labelled: int, n_pool: int, expected: np.ndarray | None = None
) -> np.ndarray:
    r"""Estimate how many objects of C categories a pool of N images holds from k labelled ones.

    .. math:: G = g + (N - k) \frac{a + g}{a N / (s e) + k}, \qquad
              s = \frac{N \sum g}{k \sum e}

    with g labelled objects, (C,), and e `expected` ones before there are labels, which are too few
    by about one factor s, as objects without a box are not expected. The posterior mean of a
    Poisson rate with a gamma prior, which counts as `OBJECTS_OF_EXPECTED` objects.

    Examples
    --------
    >>> objects_in_pool(np.array([3]), 10, 100)
    array([30.])
    >>> objects_in_pool(np.array([3, 0]), 10, 100, np.array([10, 5])).round(1)
    array([24.6,  6.8])
    """
    seen = np.asarray(n_true, float)
    each = seen / n_labelled
    if expected is not None and seen.sum() > 0 and expected.sum() > 0:
        rate = expected * (each.sum() / expected.sum())
        a = OBJECTS_OF_EXPECTED
        each = rate * (a + seen) / (a + n_labelled * rate)
    return np.asarray(seen + (n_pool - n_labelled) * each)
