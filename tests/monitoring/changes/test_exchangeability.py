"""The alarm keeps its rate whatever the values are like, and does not wait for ever."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from autoeval.monitoring.changes.site_watch import capital, onset, raise_alarm, shares_below

ALPHA = 0.1


def normal(rng, n):
    return rng.standard_normal(n)


def heavy(rng, n):
    return rng.standard_cauchy(n)


def tied(rng, n):
    return rng.integers(3, size=n).astype(float)


def alarms(draw, *, n_baseline, n, fall=0.0, at=0, streams=200):
    found = []
    for seed in range(streams):
        values = draw(np.random.default_rng(seed), n_baseline + n)
        values[n_baseline + at :] -= fall
        found.append(raise_alarm(values[None], n_baseline, alpha=ALPHA, seed=seed))
    return found


@pytest.mark.parametrize("draw", [normal, heavy, tied])
def test_while_nothing_changes_there_is_hardly_ever_an_alarm(draw):
    found = alarms(draw, n_baseline=20, n=150)
    n_false = sum(alarm.at is not None for alarm in found)
    # The rate is at most ALPHA: more than this would happen once in a thousand such tests.
    assert n_false <= stats.binom.ppf(0.999, len(found), ALPHA)


def test_a_fall_is_seen_soon_and_dated():
    found = alarms(normal, n_baseline=40, n=60, fall=3.0, at=20, streams=60)
    assert all(alarm.at is not None for alarm in found)
    assert np.median([alarm.at - 20 for alarm in found]) <= 6
    assert np.mean([abs(alarm.since - 20) <= 1 for alarm in found]) > 0.85


def test_of_two_series_one_that_falls_is_enough_and_two_keep_the_rate():
    def pair(seed, fall):
        values = np.random.default_rng(seed).standard_normal((2, 60))
        values[1, 40:] -= fall
        return raise_alarm(values, 30, alpha=ALPHA, seed=seed)

    assert all(pair(seed, 4.0).at is not None for seed in range(40))
    found = [pair(seed, 0.0).at is not None for seed in range(200)]
    assert sum(found) <= stats.binom.ppf(0.999, len(found), ALPHA)


def test_a_rise_is_no_alarm():
    found = alarms(normal, n_baseline=20, n=60, fall=-3.0, at=0, streams=100)
    assert sum(alarm.at is not None for alarm in found) <= 1


def test_a_bet_is_fair():
    """The mean of a uniform share's bet is the stake: integrated over p = exp(-s)."""
    mean, _ = quad(lambda s: capital(np.exp([-s]))[0] * np.exp(-s), 0, 200, limit=200)
    assert mean == pytest.approx(1, abs=1e-6)


def test_shares_are_counted_by_hand():
    rng = np.random.default_rng(0)
    values = np.array([1.0, 3.0, 2.0, 0.0])
    found = shares_below(values, 2, rng)
    ties = np.random.default_rng(0).uniform(1e-12, 1, 2)
    assert found == pytest.approx([(1 + ties[0]) / 3, ties[1] / 4])


def test_shares_of_exchangeable_values_are_uniform():
    shares = np.concatenate(
        [
            shares_below(tied(np.random.default_rng(s), 40), 10, np.random.default_rng(s))
            for s in range(80)
        ]
    )
    assert stats.kstest(shares, "uniform").pvalue > 0.01


def test_the_onset_is_where_the_likelihood_says():
    values = np.array([0.0, 0, 0, 0, 0, 0, -1, -1.2, -0.9])
    assert onset(values, 3) == 6
    sums = [
        ((values[:k] - values[:k].mean()) ** 2).sum()
        + ((values[k:] - values[k:].mean()) ** 2).sum()
        for k in range(3, 9)
    ]
    assert onset(values, 3) == 3 + int(np.argmin(sums))
