"""The regression on pairs of site and category as an estimator uses it."""

import numpy as np
import pandas as pd
import pytest

from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.protocol import leave_one_source_out
from tests.estimation.test_bayesian_regression import pair_table


def score_table(**options):
    """A score table of one category: a source a pair, with a transformed sample set each."""
    pairs = pair_table(categories=("car",), **options).drop(columns="category")
    pairs = pairs.assign(source=[f"place{k}" for k in range(len(pairs))], repeat=0, sample_set="o")
    own, sample = pairs.assign(kind="seed"), pairs.assign(kind="sample", sample_set="t", mAP=0.0)
    return pd.concat([own, sample], ignore_index=True)


def test_sample_sets_change_nothing():
    table = score_table()
    asked = table.iloc[:1]
    both = AccuracyEstimator().fit_rows(table).predict_rows(asked)
    own = AccuracyEstimator().fit_rows(table[table["kind"] == "seed"]).predict_rows(asked)
    assert (both.value, both.lower, both.upper) == (own.value, own.lower, own.upper)


def test_precision_at_other_overlaps_comes_from_the_same_rows():
    table = score_table()
    table = table.assign(mAP50=(table["mAP"] * 1.5).clip(0, 1), mAP75=table["mAP"] * 0.8)
    estimate = AccuracyEstimator().fit_rows(table).predict_rows(table.iloc[:1])
    assert list(estimate.beside) == ["mAP50", "mAP75"]
    assert estimate.beside["mAP50"]["value"] > estimate.value > estimate.beside["mAP75"]["value"]
    assert "mAP50: " in str(estimate) and "(repeats)" not in str(estimate)


def warnings_of_tightness(table):
    asked = score_table().iloc[:1].assign(expected_ap=0.3)
    estimate = AccuracyEstimator().fit_rows(table).predict_rows(asked)
    return [warning for warning in estimate.warnings if "tightly" in warning]


def test_loosely_drawn_boxes_give_a_warning_where_the_sources_show_what_they_do():
    """Every second source keeps half of its mAP50, the others more; then all keep the same."""
    table = score_table()
    kept = np.where(np.arange(len(table)) % 2 == 0, 0.8, 0.5)
    (warning,) = warnings_of_tightness(table.assign(mAP50=table["mAP"] / kept))
    assert "8 sources with the most similar mAP50" in warning
    tight = table.assign(mAP50=1.3 * table["mAP"])
    assert not warnings_of_tightness(tight)
    (warning,) = warnings_of_tightness(tight[tight["source"].isin(["place0", "place1"])])
    assert "Fewer than three sources" in warning


def test_scores_far_below_the_sources_give_a_warning_and_an_interval():
    """The case of a line that runs to negative accuracy where the truth is at 15."""
    table = score_table()
    far = table.iloc[:1].assign(expected_ap=0.0, likely_share=0.0, box_size=-4.0)
    estimate = AccuracyEstimator().fit_rows(table).predict_rows(far)
    assert estimate.raw < 0 and estimate.value == 0
    assert estimate.lower == 0 and estimate.upper > 0.1
    assert any("points here, below 0" in warning for warning in estimate.warnings)


def test_scores_further_off_are_refused():
    table = score_table()
    estimate = (
        AccuracyEstimator().fit_rows(table).predict_rows(table.iloc[:1].assign(expected_ap=-1.0))
    )
    assert np.isnan(estimate.value) and np.isnan(estimate.lower) and np.isnan(estimate.upper)
    assert "no estimate of mAP" in str(estimate) and "none: it would reach" in str(estimate)


def test_an_interval_too_wide_to_act_on_is_printed_before_the_value():
    estimate = AccuracyEstimator().fit_rows(score_table(n=4)).predict_rows(score_table().iloc[:1])
    assert estimate.upper - estimate.lower > 0.3
    assert str(estimate).startswith("too wide to act on: ±")


def test_sources_of_a_family_are_left_out_together():
    table = score_table()
    other = table.assign(mAP=table["mAP"].where(table["source"] != "place5", 1 - table["mAP"]))
    before, after = (
        leave_one_source_out(t, "bayes").per_source.set_index("source") for t in (table, other)
    )
    assert before.loc["place5", "family"] == "family1"
    same = before["family"] == "family1"
    np.testing.assert_allclose(before.loc[same, "estimate"], after.loc[same, "estimate"])
    assert not np.allclose(before.loc[~same, "estimate"], after.loc[~same, "estimate"])


def test_a_family_counts_once():
    table = score_table(n=12)
    result = leave_one_source_out(table, "constant")
    errors = result.per_source.groupby("family")["error"].mean()
    assert len(errors) == 3
    assert result.summary()["mean_absolute_error"] == pytest.approx(errors.mean())
    # a fourth source like the first ones of its family, however often, moves it little
    crowd = [table.assign(source=table["source"] + f"-{k}", family="crowd") for k in range(2)]
    many = leave_one_source_out(pd.concat([table, *crowd]), "constant").summary()
    few = leave_one_source_out(pd.concat([table, crowd[0]]), "constant").summary()
    assert many["mean_absolute_error"] == pytest.approx(few["mean_absolute_error"], abs=0.02)


def test_bad_input():
    with pytest.raises(InputError, match="threshold, not count_mae"):
        BayesianRegression(target="count_mae").fit(score_table())
    with pytest.raises(InputError, match="over 0 and under 1"):
        BayesianRegression(level=1.5).fit(score_table())
    with pytest.raises(InputError, match=r"3 families of sources.*got 2"):
        leave_one_source_out(score_table(n=8), "bayes")
