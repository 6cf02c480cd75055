"""Missing scores of a site blur its place in the order, and that of no other."""

import numpy as np
import pandas as pd
import pytest
from monitoring.fake_cameras import estimator

from autoeval.model.regression import draw_sites

SITES = ("full", "cut")


@pytest.fixture(scope="module")
def regression():
    return estimator().regression_


def rows(regression):
    row = pd.DataFrame(regression.pairs_).iloc[[5]]
    both = row.loc[row.index.repeat(2)].reset_index(drop=True)
    return both.assign(site=SITES, unseen=(0.0, 0.5))


def test_draws_are_distributed_as_the_estimate_of_each_site_alone(regression):
    drawn = draw_sites(regression, rows(regression), draws=40_000)
    for values, unseen in zip(drawn.T, (0.0, 0.5), strict=True):
        (expected,) = regression.predict(rows(regression).iloc[[0]].assign(unseen=unseen))
        low, high = np.quantile(values, [0.05, 0.95])
        assert values.mean() == pytest.approx(expected.raw, abs=2e-3)
        assert (high - low) / 2 == pytest.approx(expected.reach, rel=0.02)


def test_draws_have_the_same_variance_more(regression):
    options = {"draws": 4000, "seed": 3}
    plain = draw_sites(regression, rows(regression).assign(unseen=0.0), **options)
    blurred = draw_sites(regression, rows(regression), **options)
    assert blurred[:, 0].tolist() == plain[:, 0].tolist()
    added = np.std(blurred[:, 1] - plain[:, 1])
    assert added == pytest.approx(0.5 * regression.accuracy_std_, rel=0.05)
