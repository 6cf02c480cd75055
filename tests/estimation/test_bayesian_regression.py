"""The regression on pairs of site and category: what it takes from tables, and its estimates."""

import math

import numpy as np
import pandas as pd
import pytest

from autoeval.errors import InputError
from autoeval.estimation.category_scores import pair_rows
from autoeval.estimation.checks import of_scores, tightness
from autoeval.estimation.estimate import estimate_rows
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.model import Prior
from autoeval.model.pair_table import FEATURES, REFERENCE_FEATURES, REFERENCE_TRUE, TRAINED_HERE
from autoeval.model.regression import Regression
from autoeval.stability.methods.leave_one_out import leave_one_source_out


def pair_table(n=24, seed=0, noise=0.04, categories=("car", "van")):
    """Pairs of two places a group, whose accuracy is the expected AP and 0.05, up to noise."""
    rng = np.random.default_rng(seed)
    score = rng.uniform(0.1, 0.6, n)
    return pd.DataFrame(
        {
            "source": [f"place{k // 2}" for k in range(n)],
            "group": [f"group{k // 4}" for k in range(n)],
            "category": [categories[k % len(categories)] for k in range(n)],
            "n_images": 100,
            "expected_ap": score,
            "likely_share": 0.3,
            "box_size": -1.8,
            "mAP": np.clip(score + 0.05 + rng.normal(0, noise, n), 0, 1),
        }
    )


def test_it_follows_the_scores_and_says_how_surely():
    table = pair_table()
    asked = table.iloc[[0, 0]].assign(expected_ap=[0.2, 0.5])
    low, high = Regression().fit(table).predict(asked)
    assert low.value == pytest.approx(0.25, abs=0.05)
    assert high.value == pytest.approx(0.55, abs=0.05)
    assert low.lower < 0.25 < low.upper and high.lower < 0.55 < high.upper


def test_a_mean_over_categories_of_one_place_keeps_what_they_share():
    table = pair_table()
    estimator = Regression().fit(table)
    asked = table.iloc[:2]
    one, mean = estimator.predict(asked)[0], estimator.predict_mean(asked)
    assert mean.raw == pytest.approx(np.mean([t.raw for t in estimator.predict(asked)]))
    assert 0.5 * one.reach < mean.reach < one.reach


def test_held_out_pairs_are_estimated_without_their_group():
    """Turning the accuracies of a group upside down changes nothing of its own estimates."""
    table = pair_table()
    other = table.assign(mAP=table["mAP"].where(table["group"] != "group1", 1 - table["mAP"]))
    before, after = (pd.DataFrame(Regression().fit(t).left_out_) for t in (table, other))
    own = before["group"] == "group1"
    np.testing.assert_allclose(before.loc[own, "estimate"], after.loc[own, "estimate"])
    assert not np.allclose(before.loc[~own, "estimate"], after.loc[~own, "estimate"])


def trained_at(*groups):
    """Pairs of a detector that was trained at the sites of these groups."""
    table = pair_table()
    return table.assign(**{TRAINED_HERE: table["group"].isin(groups)})


def pairs_with_reference():
    """Pairs with a reference that counts in part, and more without group1."""
    table = pair_table()
    agreed = table["mAP"].where(table["group"] != "group1", 1 - table["mAP"])
    known = dict.fromkeys(REFERENCE_FEATURES, agreed)
    return table.assign(**known, **{REFERENCE_TRUE: table["mAP"] + 0.01})


@pytest.mark.parametrize(
    "table",
    [trained_at("group0"), trained_at("group1"), pairs_with_reference()],
    ids=["trained elsewhere", "trained there", "reference"],
)
def test_nothing_that_a_group_shows_is_used_where_it_is_left_out(table):
    """Neither how far the detector falls there, nor how much the reference counts there."""
    other = table.assign(mAP=table["mAP"].where(table["group"] != "group1", 1 - table["mAP"]))
    before, after = (Regression().fit(rows) for rows in (table, other))
    own = before.left_out_["group"] == "group1"
    estimates = [
        pd.DataFrame(fitted.left_out_)[["raw", "lower", "upper"]] for fitted in (before, after)
    ]
    np.testing.assert_array_equal(estimates[0][own], estimates[1][own])
    assert not np.allclose(estimates[0][~own], estimates[1][~own])
    for fitted in (before, after):  # the chart shows the same as the table of errors
        np.testing.assert_array_equal(
            fitted.predict_left_out(), np.clip(fitted.left_out_["raw"], 0, 1)
        )


def test_what_is_left_out_is_away_where_the_detector_was_not_trained():
    table = trained_at("group0")
    plain, fitted = Regression().fit(pair_table()), Regression().fit(table)
    there = table["group"] == "group0"
    np.testing.assert_array_equal(fitted.left_out_["raw"][there], plain.left_out_["raw"][there])
    alone = Regression().fit(table[table["group"] != "group1"])
    own = table["group"] == "group1"
    np.testing.assert_allclose(
        fitted.left_out_["raw"][own], alone.distribution(table[own].drop(columns="mAP")).mean
    )
    assert np.all(fitted.left_out_["raw"][own] < plain.left_out_["raw"][own])


def test_tables_of_several_categories_are_stacked():
    wide = pd.DataFrame(
        {"source": ["a"], "kind": ["seed"], "repeat": [0], "n_images": [9], "ac": [0.3]}
        | {"ac/car": [0.4], "ac/van": [0.2], "mAP": [0.3], "mAP/car": [0.5], "mAP/van": [0.1]}
    )
    rows = pair_rows(wide).set_index("category")
    assert rows["ac"].to_dict() == {"car": 0.4, "van": 0.2}
    assert rows["mAP"].to_dict() == {"car": 0.5, "van": 0.1}
    assert set(rows["group"]) == {"a"}


def test_a_score_that_is_undefined_counts_as_the_least_that_it_can_be():
    table = pair_table()
    estimator = Regression().fit(table)
    nothing = table.iloc[:1].assign(expected_ap=0.0, likely_share=0.0, box_size=-1.8)
    undefined = table.iloc[:1].assign(**dict.fromkeys(FEATURES, np.nan))
    assert estimator.predict(nothing)[0].raw == estimator.predict(undefined)[0].raw


def score_table(**options):
    """A score table of one category: a source a pair, with a transformed sample set each."""
    pairs = pair_table(categories=("car",), **options).drop(columns="category")
    pairs = pairs.assign(source=[f"place{k}" for k in range(len(pairs))], repeat=0, sample_set="o")
    own, sample = pairs.assign(kind="seed"), pairs.assign(kind="sample", sample_set="t", mAP=0.0)
    return pd.concat([own, sample], ignore_index=True)


def test_sample_sets_change_nothing():
    table = score_table()
    asked = table.iloc[:1]
    both = AccuracyEstimator(table).predict_rows(asked)
    own = AccuracyEstimator(table[table["kind"] == "seed"]).predict_rows(asked)
    assert (both.value, both.lower, both.upper) == (own.value, own.lower, own.upper)


def test_precision_at_other_overlaps_comes_from_the_same_rows():
    table = score_table()
    table = table.assign(mAP50=(table["mAP"] * 1.5).clip(0, 1), mAP75=table["mAP"] * 0.8)
    estimate = AccuracyEstimator(table).predict_rows(table.iloc[:1])
    assert list(estimate.other_targets) == ["mAP50", "mAP75"]
    assert (
        estimate.other_targets["mAP50"]["value"]
        > estimate.value
        > estimate.other_targets["mAP75"]["value"]
    )
    assert "mAP50: " in str(estimate) and "(repeats)" not in str(estimate)


def test_tightness_places_no_estimate_that_is_not_given():
    pairs = {"mAP50": [0.5, 0.6, 0.7, 0.8], "mAP": [0.2, 0.4, 0.3, 0.6]}
    (given,) = tightness(pairs, {"mAP": 0.4, "mAP50": 0.6})
    (unknown,) = tightness(pairs, {"mAP": math.nan, "mAP50": 0.6})
    assert "inside" in given and "inside" not in unknown and "nan" not in unknown


def test_an_interval_that_is_too_wide_is_the_reason_also_where_no_size_is_known():
    known = {"n_images": 60, "backbone": "ResNet", "target": "mAP"}
    reasons = [
        next(n for n in of_scores(math.nan, scores, {}, **known) if n.code == "no-estimate")
        for scores in ({"expected_ap": 0.5}, {"expected_ap": 0.5, "box_size": math.nan})
    ]
    assert reasons[0] == reasons[1]
    unknown = of_scores(math.nan, {"bos": math.nan}, {}, **known)
    assert reasons[0] not in unknown and "no-estimate" in [notice.code for notice in unknown]


def test_images_of_a_category_that_does_not_count_are_none_that_scores_rest_on():
    regression = Regression().fit(pair_table())
    row = {"likely_share": 0.4, "box_size": -2.0, "expected_ap": 0.5}
    rows = {
        "category": np.array(["car", "bus"], object),
        "n_images": np.array([10, 90]),
        **{name: np.full(2, value) for name, value in row.items()},
        "counted": np.array([True, False]),
        "likely_boxes": np.array([9, 1]),
        "expected_objects": np.array([9.0, 1.0]),
    }
    codes = [notice.code for notice in estimate_rows(regression, rows).warnings]
    assert "few-images" in codes


def warnings_of_tightness(table):
    asked = score_table().iloc[:1].assign(expected_ap=0.3)
    estimate = AccuracyEstimator(table).predict_rows(asked)
    return [warning for warning in estimate.warnings if "tightly" in warning]


def test_loosely_drawn_boxes_give_a_warning_where_the_sources_show_what_they_do():
    """Every second source keeps half of its mAP50, the others more; then all keep the same."""
    table = score_table()
    kept = np.where(np.arange(len(table)) % 2 == 0, 0.8, 0.5)
    (warning,) = warnings_of_tightness(table.assign(mAP50=table["mAP"] / kept))
    assert "8 sites with the most similar mAP50" in warning
    tight = table.assign(mAP50=1.3 * table["mAP"])
    assert not warnings_of_tightness(tight)
    (warning,) = warnings_of_tightness(tight[tight["source"].isin(["place0", "place1"])])
    assert "Fewer than three sites" in warning


def test_scores_far_below_the_sources_give_a_warning_and_an_interval():
    """The case of a line that runs to negative accuracy where the truth is at 15."""
    table = score_table()
    far = table.iloc[:1].assign(expected_ap=0.0, likely_share=0.0, box_size=-4.0)
    estimate = AccuracyEstimator(table).predict_rows(far)
    assert estimate.raw < 0 and estimate.value == 0
    assert estimate.lower == 0 and estimate.upper > 0.1
    assert "outside-range" in [warning.code for warning in estimate.warnings]


def test_scores_further_off_are_refused():
    table = score_table()
    far = table.iloc[:1].assign(expected_ap=-1.0)
    estimate = AccuracyEstimator(table).predict_rows(far)
    assert np.isnan(estimate.value) and np.isnan(estimate.lower) and np.isnan(estimate.upper)
    assert "mAP: not known" in str(estimate) and "none: it would reach" in str(estimate)


def test_an_interval_too_wide_to_act_on_is_printed_below_the_value():
    estimate = AccuracyEstimator(score_table(n=4)).predict_rows(score_table().iloc[:1])
    assert estimate.upper - estimate.lower > 0.3
    first, *rest = str(estimate).splitlines()
    assert first.startswith("estimated mAP: ") and "90% interval" in first
    assert sum(line.startswith("note: too wide to act on: ±") for line in rest) == 1


def test_sources_of_a_group_are_left_out_together():
    table = score_table()
    other = table.assign(mAP=table["mAP"].where(table["source"] != "place5", 1 - table["mAP"]))
    before, after = (
        leave_one_source_out(t, "bayes").per_source.set_index("source") for t in (table, other)
    )
    assert before.loc["place5", "group"] == "group1"
    same = before["group"] == "group1"
    np.testing.assert_allclose(before.loc[same, "estimate"], after.loc[same, "estimate"])
    assert not np.allclose(before.loc[~same, "estimate"], after.loc[~same, "estimate"])


def test_a_group_counts_once():
    table = score_table(n=12)
    result = leave_one_source_out(table, "constant")
    errors = result.per_source.groupby("group")["error"].mean()
    assert len(errors) == 3
    assert result.summary()["mean_absolute_error"] == pytest.approx(errors.mean())
    # a fourth source like the first ones of its group, however often, moves it little
    crowd = [table.assign(source=table["source"] + f"-{k}", group="crowd") for k in range(2)]
    many = leave_one_source_out(pd.concat([table, *crowd]), "constant").summary()
    few = leave_one_source_out(pd.concat([table, crowd[0]]), "constant").summary()
    assert many["mean_absolute_error"] == pytest.approx(few["mean_absolute_error"], abs=0.02)


def test_bad_input():
    table = pair_table()
    with pytest.raises(InputError, match="no box is labelled"):
        Regression().fit(table.assign(mAP=np.nan))
    with pytest.raises(InputError, match="column mAP75"):
        Regression(target="mAP75").fit(table)
    twice = table.assign(group=[f"group{k}" for k in range(len(table))])
    with pytest.raises(InputError, match="place0 is in the groups group0, group1"):
        Regression().fit(twice)
    with pytest.raises(InputError, match=r"columns expected_ap but"):
        Regression().fit(table).predict(table.drop(columns="expected_ap"))
    with pytest.raises(InputError, match="of all categories, mAP, but got mAP/car"):
        Regression(target="mAP/car").fit(table.assign(**{"mAP/car": 0.5}))
    half = table.assign(**{"stability_ap@0.30": table["expected_ap"]})
    read = ("expected_ap", "stability_ap@0.30")
    prior = Prior((0.1, 0.1), location=(0.3, 0.3), scale=(0.2, 0.2), features=read)
    estimator = Regression(prior=prior).fit(half)
    asked = half.assign(**{"stability_ap@0.30": np.nan})
    with pytest.raises(InputError, match=r"stability_ap@0\.30 of .* 24 of 24 lack it"):
        estimator.predict(asked)
    with pytest.raises(InputError, match="threshold, not count_mae"):
        Regression(target="count_mae").fit(score_table())
    with pytest.raises(InputError, match="over 0 and under 1"):
        Regression(level=1.5).fit(score_table())
    with pytest.raises(InputError, match=r"3 groups of sources.*got 2"):
        leave_one_source_out(score_table(n=8), "bayes")
