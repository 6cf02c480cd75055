import numpy as np
import pytest
from scipy.stats import norm

from autoeval.monitoring.order.site_table import among_worst, worse_than


def test_of_two_normal_sites_the_probability_is_known():
    rng = np.random.default_rng(0)
    drawn = rng.normal([0.30, 0.35], [0.10, 0.05], (200_000, 2))
    expected = norm.cdf(0.05 / np.hypot(0.10, 0.05))
    assert worse_than(drawn, np.array([0]))[0, 1] == pytest.approx(expected, abs=0.005)
    assert among_worst(drawn, 1)[0] == pytest.approx(expected, abs=0.005)


def test_an_error_that_all_share_does_not_blur_their_order():
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 0.2, (10_000, 1))
    drawn = np.array([0.3, 0.4]) + shared + rng.normal(0, 0.01, (10_000, 2))
    assert worse_than(drawn, np.array([0]))[0].tolist() == [0.5, 1.0]


def test_equal_sites_are_as_likely_among_the_worst():
    drawn = np.random.default_rng(1).normal(size=(50_000, 8))
    probabilities = among_worst(drawn, 3)
    assert probabilities == pytest.approx(np.full(8, 3 / 8), abs=0.01)
    assert probabilities.sum() == pytest.approx(3)
    assert np.isnan(among_worst(drawn[:, :3], 3)).all()  # all three are, which says nothing
