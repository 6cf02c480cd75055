"""Fits that know that the detector was trained at the labelled site."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from commands.predicted_world import write_world

import autoeval
from autoeval.cli import main
from autoeval.model import Away
from autoeval.model.pair_table import TRAINED_HERE
from autoeval.model.priors import away_prior
from autoeval.model.regression import NEW as NEW_SITE
from autoeval.model.regression import Regression
from tests.estimation.test_bayesian_regression import pair_table

CODE = "precision-not-corrected"
# Every detector falls by exp(-2 h) at every site, and no site is like home.
AWAY = Away(
    constant=0.0,
    fall=2.0,
    fall_log_std=0.0,
    site_log_std=0.0,
    alike=-40.0,
    alike_slope=0.0,
    alike_std=1.0,
    least_std=0.02,
    std_share=0.5,
)
NEW = pair_table().iloc[[0, 5]].drop(columns="mAP")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    return *write_world(folder, "home", seed=0, skill=0.4), write_world(
        folder, "site", seed=1, skill=0.4
    )[1]


def codes(result):
    return {warning.code for warning in result.warnings}


def test_recall_and_average_precision_fall_and_precision_is_left_with_a_warning(files):
    labels, boxes, site = files
    plain, told = (autoeval.fit(labels, boxes, trained_here=of) for of in (False, True))
    one, other = (of.predict(site, score_thr=0.3) for of in (plain, told))
    assert other.value < one.value
    assert other.beside["recall@0.3"]["value"] < one.beside["recall@0.3"]["value"]
    assert other.beside["precision@0.3"] == one.beside["precision@0.3"]
    assert CODE in codes(other) and CODE not in codes(one)
    assert CODE not in codes(told.predict(site))  # no precision is printed
    ends = [of.for_target("precision@0.3").predict(site).interval_method for of in (plain, told)]
    assert ends[0] == ends[1]
    thresholds = [autoeval.threshold(of, site, precision=0.5) for of in (plain, told)]
    assert [CODE in codes(of) for of in thresholds] == [False, True]
    curves = [of.curve.query("measure == 'precision'")["value"] for of in thresholds]
    np.testing.assert_array_equal(*curves)


def test_new_images_of_the_labelled_site_are_not_away(files):
    labels, boxes, _ = files
    plain, told = (autoeval.fit(labels, boxes, trained_here=of) for of in (False, True))
    name = plain.regression_.sources_[0]
    found = [of.predict(boxes, site=name).value for of in (plain, told)]
    assert found[0] == found[1]


def test_there_is_no_correction_of_precision():
    assert away_prior("precision@0.3") is None and away_prior("recall@0.3").fall > 0


def test_a_site_with_the_confidence_of_home_is_more_likely_to_be_like_home():
    """Half of the sites with the confidence of home, and nearly all with more."""
    table = pair_table().assign(**{TRAINED_HERE: True})
    away = replace(AWAY, alike=0.0, alike_slope=100.0)
    fitted = Regression(away=away).fit(table)
    home, factor = table["mAP"].mean(), np.exp(-2.0 * table["mAP"].mean())
    assert fitted.home_ == pytest.approx(home)
    for above, alike in ((-0.3, 0.0), (0.0, 0.5), (0.3, 1.0)):
        rows = NEW.assign(expected_ap=table["expected_ap"].mean() + above)
        mean = np.maximum(fitted.uncorrected(rows).mean, 0)
        expected = (alike + (1 - alike) * factor) * mean
        np.testing.assert_allclose(fitted.distribution(rows).mean, expected, atol=1e-9)
        weights = np.array([[0.5, 0.5]])
        (of_both,) = fitted.distribution(rows, weights).mean
        assert of_both == pytest.approx(expected.mean(), abs=1e-9)


def test_draws_of_new_sites_fall_together():
    table = pair_table()
    plain, told = (
        Regression(away=replace(AWAY, fall_log_std=1.0)).fit(of)
        for of in (table, table.assign(**{TRAINED_HERE: True}))
    )
    many = pd.concat([NEW.assign(group=f"{NEW_SITE}{k}", source=f"{NEW_SITE}{k}") for k in (0, 1)])
    before, drawn = (of.draw(many, draws=4000, seed=0) for of in (plain, told))
    expected = told.distribution(many).mean
    np.testing.assert_allclose(drawn.mean(axis=0), expected, atol=0.01)
    assert (drawn.mean(axis=0) < before.mean(axis=0)).all()
    assert np.corrcoef(drawn.T).min() > 0.3  # one detector: its fall is the same everywhere


def test_it_is_of_a_labelled_set_and_refused_with_a_task(files, capsys):
    boxes = str(files[1])
    assert main(["fit", "--task", "task.py", "--trained-here", "--predictions", boxes]) == 2
    assert "--trained-here goes with --labels" in capsys.readouterr().err


def test_estimates_of_other_sites_are_corrected_by_the_model_of_detectors_away():
    table = pair_table()
    usual = Regression().fit(table).predict(NEW)
    fitted = Regression(away=AWAY).fit(table.assign(**{TRAINED_HERE: True}))
    factor = np.exp(-2.0 * table["mAP"].mean())
    for before, after in zip(usual, fitted.predict(NEW), strict=True):
        assert after.value == pytest.approx(factor * before.value, abs=1e-9)


def test_a_join_is_corrected_by_the_share_of_the_pairs_that_it_holds_for():
    table = pair_table()
    half = table.assign(**{TRAINED_HERE: table.index < len(table) // 2})
    home = table["mAP"].iloc[: len(table) // 2].mean()
    usual = Regression().fit(table).predict(NEW)
    found = Regression(away=AWAY).fit(half).predict(NEW)
    for before, after in zip(usual, found, strict=True):
        assert after.value == pytest.approx(np.exp(-2.0 * home / 2) * before.value, abs=1e-9)
