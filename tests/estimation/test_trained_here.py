"""A fit whose detector was trained at the labelled site."""

import numpy as np
import pytest

from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.pair_table import TRAINED_HERE
from autoeval.estimation.panel_prior import away_prior
from autoeval.regression import Away
from tests.estimation.test_bayesian_regression import pair_table

NEW = pair_table().iloc[[0, 5]].drop(columns="mAP")


def test_estimates_of_other_sites_are_corrected_by_the_model_of_detectors_away():
    table, away = pair_table(), Away(2.0, 0.02, 0.5)
    usual = BayesianRegression().fit(table).predict(NEW)
    fitted = BayesianRegression(away=away).fit(table.assign(**{TRAINED_HERE: True}))
    factor = np.exp(-2.0 * table["mAP"].mean())
    for before, after in zip(usual, fitted.predict(NEW), strict=True):
        assert after.value == pytest.approx(factor * before.value, abs=1e-9)
    assert "trained at the labelled site" in fitted.predict_rows(NEW).interval_method


def test_a_join_is_corrected_by_the_share_of_the_pairs_that_it_holds_for():
    table, away = pair_table(), Away(2.0, 0.02, 0.5)
    half = table.assign(**{TRAINED_HERE: table.index < len(table) // 2})
    home = table["mAP"].iloc[: len(table) // 2].mean()
    usual = BayesianRegression().fit(table).predict(NEW)
    for before, after in zip(
        usual, BayesianRegression(away=away).fit(half).predict(NEW), strict=True
    ):
        assert after.value == pytest.approx(np.exp(-2.0 * home / 2) * before.value, abs=1e-9)


@pytest.mark.parametrize("target", ["precision@0.3", "f1@0.3"])
def test_precision_and_f1_are_not_corrected(target):
    assert away_prior(target) is None
    assert away_prior("recall@0.3").fall > 0
