"""No interval of any method is empty, upside down or without its value."""

import numpy as np

from autoeval.estimation.intervals import Interval, inside, source_interval


def test_intervals_of_drawn_residuals():
    rng = np.random.default_rng(0)
    for _ in range(500):
        m = int(rng.integers(3, 14))
        estimate = float(rng.choice([rng.normal(0.4, 0.5), 0.0, 1.0, -0.3, 1.4]))
        residuals = np.abs(rng.normal(0, rng.choice([0.0, 0.05, 0.2]), m))
        left_out = estimate + rng.normal(0, rng.choice([0.0, 0.02, 0.3]), m)
        found = inside(source_interval(estimate, left_out, residuals), estimate)
        value = min(max(estimate, 0.0), 1.0)
        assert 0 <= found.lower <= value <= found.upper <= 1
        assert found.upper - found.lower >= 0.005


def test_an_estimate_below_0_reaches_up_by_its_distance_and_its_errors():
    """The line says -20, errors are 10: the truth may be at 30."""
    found = inside(Interval(-0.3, -0.1, "jackknife+"), -0.2)
    assert (found.lower, round(found.upper, 9)) == (0.0, 0.3)


def test_a_count_has_no_upper_bound():
    found = inside(Interval(2.0, 9.0, "jackknife+"), 5.0, most=np.inf)
    assert (found.lower, found.upper) == (2.0, 9.0)
