"""Missing scores widen the interval of their site alone, and blur its place in the order."""

import numpy as np
import pandas as pd
import pytest
from monitoring.fake_cameras import estimator

from autoeval.model.new_sites import NewSites

SITES = ("full", "cut")


@pytest.fixture(scope="module")
def regression():
    return estimator().regression_


def rows(regression):
    row = pd.DataFrame(regression.pairs_).iloc[[5]]
    both = row.loc[row.index.repeat(2)].reset_index(drop=True)
    return both.assign(site=SITES)


def test_the_interval_is_that_of_the_estimator(regression):
    intervals = NewSites(regression, rows(regression), unseen={"cut": 0.5}).predict()
    for interval, unseen in zip(intervals, (0.0, 0.5), strict=True):
        (expected,) = regression.predict(rows(regression).iloc[[0]], unseen=unseen)
        assert interval.lower == pytest.approx(expected.lower, abs=1e-9)
        assert interval.upper == pytest.approx(expected.upper, abs=1e-9)


def test_draws_have_the_same_variance_more(regression):
    options = {"draws": 4000, "seed": 3}
    plain = NewSites(regression, rows(regression)).draw(**options)
    blurred = NewSites(regression, rows(regression), unseen={"cut": 0.5}).draw(**options)
    assert blurred[:, 0].tolist() == plain[:, 0].tolist()
    added = np.std(blurred[:, 1] - plain[:, 1])
    assert added == pytest.approx(0.5 * regression.accuracy_std_, rel=0.05)
