"""Labels that a half-width takes, and coverage after stopping at one."""

import math

import numpy as np
import pytest
from scipy import stats

from autoeval.labels.category_estimates import LabelledSample, difference_estimate
from autoeval.labels.joint import BATCH, STRETCH, Outlook, next_batch, outlook_after
from autoeval.labels.values import ValueWithError, VariancePrior, combine

N_POOL = 300
STD = 0.08


def test_half_width_by_hand():
    outlook = Outlook(VariancePrior(0.04, 0.0), n_pool=10**9)
    expected = stats.t.ppf(0.95, 19) * math.sqrt(0.04 / 20)
    assert outlook.half_width(20) == pytest.approx(expected, rel=1e-6)


def test_the_number_needed_is_the_first_that_suffices():
    outlook = Outlook(VariancePrior(0.09, 6.0), 500, ValueWithError(0.5, 0.08))
    n = outlook.needed(0.05)
    assert outlook.half_width(n) <= 0.05 < outlook.half_width(n - 1)


def test_all_labels_leave_no_error():
    outlook = Outlook(VariancePrior(0.09, 6.0), 30)
    assert outlook.half_width(30) == 0
    assert outlook.needed(1e-9) == 30


def test_the_forecast_after_labels_starts_at_their_half_width():
    measured = ValueWithError(0.4, 0.05, 25.0)
    outlook = outlook_after(measured, 20, 200)
    assert outlook.half_width(20) == pytest.approx(measured.half_width(0.9))


def stopped(rng, draw, wanted, stretch):
    """Label in batches until the interval is narrow; return whether it covers the truth."""
    influence = draw(rng, N_POOL) * 0.2 * np.exp(0.3 * rng.normal())
    influence -= influence.mean()
    prior, order = ValueWithError(0.5 + STD * rng.normal(), STD), rng.permutation(N_POOL)
    for k in range(BATCH, N_POOL + 1, BATCH):
        influence_drawn = influence[order[:k]]
        difference = difference_estimate(
            0.5 + influence_drawn.mean(),
            influence_drawn - influence_drawn.mean(),
            sample=LabelledSample(order[:k], N_POOL),
            variance_prior=VariancePrior(0.04, 6),
        )
        measured = combine(difference, prior).estimate
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
