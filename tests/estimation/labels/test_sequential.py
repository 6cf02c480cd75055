"""Stopping at a wanted width: the loss of coverage is there, and is made up for."""

import numpy as np
import pytest

from autoeval.estimation.labels.difference import difference_estimate
from autoeval.estimation.labels.prior import combine
from autoeval.estimation.labels.sequential import BATCH, STRETCH, next_batch
from autoeval.estimation.labels.spread import Spread
from autoeval.estimation.labels.value_with_error import ValueWithError

N_POOL, STD = 300, 0.08


def stopped(rng, draw, wanted, stretch):
    """Label in batches until the interval is narrow; return whether it holds the truth."""
    influence = draw(rng, N_POOL) * 0.2 * np.exp(0.3 * rng.normal())
    influence -= influence.mean()
    prior, order = ValueWithError(0.5 + STD * rng.normal(), STD), rng.permutation(N_POOL)
    for k in range(BATCH, N_POOL + 1, BATCH):
        own = influence[order[:k]]
        found = difference_estimate(
            0.5 + own.mean(), own - own.mean(), n_pool=N_POOL, spread=Spread(0.04, 6)
        )
        measured = combine(found, prior).measured
        half = stretch * measured.half_width(0.9)
        if half <= wanted:
            break
    return abs(measured.value - 0.5) <= half


DRAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "skewed": lambda rng, n: rng.gamma(1.0, size=n),
}


@pytest.mark.parametrize("wanted", [0.05, 0.08])
@pytest.mark.parametrize("kind", DRAWS)
def test_coverage_after_stopping(kind, wanted):
    rng = np.random.default_rng(0)
    hits = np.mean([stopped(rng, DRAWS[kind], wanted, STRETCH) for _ in range(400)])
    assert 0.865 <= hits <= 0.955


def test_without_the_stretch_coverage_is_lost():
    def coverage(stretch):
        rng = np.random.default_rng(1)
        return np.mean([stopped(rng, DRAWS["skewed"], 0.05, stretch) for _ in range(400)])

    assert coverage(1.0) < coverage(STRETCH) - 0.01


def test_the_next_batch():
    wide = ValueWithError(0.5, 0.1)
    assert next_batch(wide, 0.05, n_labelled=20, needed=80).more == 30
    assert next_batch(wide, 0.05, n_labelled=20, needed=22).more == 10
    assert next_batch(ValueWithError(0.5, 0.01), 0.05, n_labelled=20, needed=20).reached
