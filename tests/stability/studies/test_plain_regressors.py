"""Regressors of scikit-learn, evaluated as the project's own is."""

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge, LinearRegression

from autoeval.model.calibrated_features import FEATURES
from autoeval.stability.reports.other_regressors import (
    REGRESSORS,
    PlainRegression,
    regressors_report,
)
from autoeval.stability.studies.transfer import groups_left_out, sites_of
from tests.stability.studies.test_transfer import scores


def plain(make):
    return PlainRegression(make, target="mAP", level=0.9, features=FEATURES)


def test_least_squares_is_that_of_numpy_with_the_spread_it_leaves():
    table = sites_of(scores())
    x = np.c_[np.ones(len(table)), table[list(FEATURES[:1])]]
    line = x @ np.linalg.lstsq(x, table["mAP"], rcond=None)[0]
    predicted = plain(LinearRegression).fit(table).predict(table)
    np.testing.assert_allclose([t.raw for t in predicted], line)
    reach = 1.6449 * np.std(table["mAP"] - line)
    np.testing.assert_allclose([t.reach for t in predicted], reach, rtol=1e-3)


def test_a_spread_that_the_regressor_tells_is_taken():
    table = sites_of(scores())
    near, far = (
        plain(BayesianRidge)
        .fit(table)
        .predict(table.iloc[[0, 0]].assign(**{"expected_ap": [table["expected_ap"].mean(), 3.0]}))
    )
    assert near.reach < far.reach


def test_the_report_holds_every_regressor_and_the_default_is_itself():
    report = regressors_report({"one": scores(), "two": sites_of(scores())}, draws=1)
    table = report.parts[0].for_people.set_index(["detector", "regressor"])
    assert list(table.loc["one"].index) == list(REGRESSORS)
    assert table.loc[("two", "bayes"), "loss"] == 1
    every = report.parts[0].table.query("detector == 'two' and way == 'groups left out'")
    own = groups_left_out(sites_of(scores()), features=FEATURES)
    errors = (own["estimate"] - own["true"]).abs().groupby([own["category"], own["group"]]).mean()
    mine = every[every["regressor"] == "bayes"].set_index("category")["error"]
    assert mine["car"] == pytest.approx(errors["car"].mean())
    by_hand = partial(groups_left_out, features=FEATURES, estimator=REGRESSORS["least squares"])
    assert not np.allclose(by_hand(sites_of(scores()))["estimate"], own["estimate"])
