"""Fits that know that the detector was trained at the labelled site."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from commands.predicted_world import write_world

import autoeval
from autoeval.cli import main
from autoeval.model import DomainShift
from autoeval.model.pair_table import TRAINED_HERE
from autoeval.model.regression import NEW as NEW_SITE
from autoeval.model.regression import Regression
from tests.estimation.test_bayesian_regression import pair_table

# Every detector falls by exp(-2 h) at every site, and no site is like home.
SHIFT = DomainShift(
    constant=0.0,
    fall=2.0,
    fall_log_std=0.0,
    site_log_std=0.0,
    like_home=-40.0,
    like_home_slope=0.0,
    like_home_std=1.0,
    least_std=0.02,
    std_share=0.5,
)
NEW = pair_table().iloc[[0, 5]].drop(columns="mAP")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, few = tmp_path_factory.mktemp("trained"), {"skill": 0.4, "n_categories": 4}
    home = write_world(folder, "home", seed=0, **few)
    return *home, write_world(folder, "site", seed=1, **few)[1]


def test_average_precision_precision_and_recall_fall(files):
    labels, boxes, site = files
    plain, told = (autoeval.fit(labels, boxes, trained_here=of) for of in (False, True))
    one, other = (of.predict(site, score_thr=0.3) for of in (plain, told))
    assert other.value < one.value
    for target in ("recall@0.3", "precision@0.3"):
        assert other.other_targets[target]["value"] < one.other_targets[target]["value"]
    curves = [autoeval.threshold(of, site, precision=0.5).curve for of in (plain, told)]
    before, after = (of.query("measure == 'precision'") for of in curves)
    both = before.merge(after, on="threshold", suffixes=("", "_told"))
    given = both.dropna(subset=["value", "value_told"])  # most intervals are too wide for a value
    assert len(given) and (given["value_told"] < given["value"]).all()


def test_new_images_of_the_labelled_site_are_not_away(files):
    labels, boxes, _ = files
    plain, told = (autoeval.fit(labels, boxes, trained_here=of) for of in (False, True))
    name = plain.regression_.sites_[0]
    found = [of.predict(boxes, site=name).value for of in (plain, told)]
    assert found[0] == found[1]


def test_a_site_with_the_confidence_of_home_is_more_likely_to_be_like_home():
    """Half of the sites with the confidence of home, and nearly all with more."""
    table = pair_table().assign(**{TRAINED_HERE: True})
    domain_shift = replace(SHIFT, like_home=0.0, like_home_slope=100.0)
    fitted = Regression(domain_shift=domain_shift).fit(table)
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
        Regression(domain_shift=replace(SHIFT, fall_log_std=1.0)).fit(of)
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
    assert "--trained-here is for --labels" in capsys.readouterr().err


def test_estimates_of_other_sites_are_corrected_by_the_model_of_detectors_away():
    table = pair_table()
    usual = Regression().fit(table).predict(NEW)
    fitted = Regression(domain_shift=SHIFT).fit(table.assign(**{TRAINED_HERE: True}))
    factor = np.exp(-2.0 * table["mAP"].mean())
    for before, after in zip(usual, fitted.predict(NEW), strict=True):
        assert after.value == pytest.approx(factor * before.value, abs=1e-9)


def joined(accuracy):
    """Lay out half of the pairs as of home, and others that are `accuracy` of what is predicted."""
    table = pair_table()
    home = table.index < len(table) // 2
    of_home = table[home].assign(**{TRAINED_HERE: True})
    others = table[~home].reset_index(drop=True)
    predicted = Regression().fit(table[home]).distribution(others.drop(columns="mAP")).mean
    others["mAP"] = np.clip(accuracy * predicted, 0, 1)
    return pd.concat([of_home, others], ignore_index=True), table[home]


def test_new_sites_are_predicted_by_the_fit_at_home_and_the_fall():
    table, of_home = joined(0.3)
    usual = Regression().fit(of_home).predict(NEW)
    found = Regression(domain_shift=SHIFT).fit(table).predict(NEW)
    factor = np.exp(-2.0 * of_home["mAP"].mean())
    for before, after in zip(usual, found, strict=True):
        assert after.value == pytest.approx(factor * before.value, abs=1e-9)


def test_labels_of_other_sites_show_how_far_the_detector_falls():
    usual = replace(SHIFT, constant=0.2, fall_log_std=0.8)
    means = [
        Regression(domain_shift=usual).fit(joined(accuracy)[0]).distribution(NEW).mean
        for accuracy in (0.05, 1.0)
    ]
    unlabelled = Regression(domain_shift=usual).fit(joined(1.0)[0].query(f"{TRAINED_HERE} == True"))
    between = unlabelled.distribution(NEW).mean
    assert (means[0] < between).all() and (between < means[1]).all()
