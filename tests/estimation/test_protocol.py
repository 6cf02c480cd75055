import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from autoeval.errors import InputError
from autoeval.report.estimate import NO_SCORE, category_lines
from autoeval.report.fit import known_error
from autoeval.stability.methods.leave_one_out import leave_one_source_out
from autoeval.stability.methods.published_estimator import PublishedEstimator
from autoeval.stability.methods.source_regression import SourceRegression, source_interval


def make_table(worlds, *, repeats=1, n_sets=4, noise=0.0, seed=0):
    """Score table of worlds {name: mAP} in which mAP = bos / 2 + .1 but for noise."""
    rng = np.random.default_rng(seed)
    rows = []
    for source, true in worlds.items():
        for k in range(n_sets + 1):
            value = true if k == 0 else true * (1 - 0.1 * k)
            for repeat in range(repeats):
                rows.append(
                    {
                        "source": source,
                        "sample_set": f"{source}-{k}",
                        "kind": "sample" if k else "seed",
                        "repeat": repeat,
                        "n_images": 100,
                        "skipped_share": 0.0,
                        "bos": 2 * (value - 0.1) + rng.normal(0, noise),
                        "mAP": value,
                    }
                )
    return pd.DataFrame(rows)


WORLDS = {"a": 0.2, "b": 0.3, "c": 0.7}


def test_the_constant_predictor_worked_by_hand():
    result = leave_one_source_out(make_table(WORLDS), "constant")
    table = result.per_source.set_index("source")
    # a is estimated as the mean of .3 and .7, and so on
    assert table["estimate"].to_dict() == pytest.approx({"a": 0.5, "b": 0.45, "c": 0.25})
    summary = result.summary()
    assert summary["mean_absolute_error"] == pytest.approx((0.3 + 0.15 + 0.45) / 3)
    assert summary["pooled_rmse"] == pytest.approx(math.sqrt((0.09 + 0.0225 + 0.2025) / 3))
    # true mean .4, spread .04 + .01 + .09; squared errors .315
    assert summary["r2"] == pytest.approx(1 - 0.315 / 0.14)
    assert summary["spearman"] == pytest.approx(-1)


def test_a_perfectly_linear_world_is_estimated_exactly():
    result = leave_one_source_out(make_table(WORLDS, repeats=2), "bos")
    assert result.summary()["mean_absolute_error"] == pytest.approx(0, abs=1e-12)
    assert result.summary()["score_r2"] == pytest.approx(1)
    assert result.summary()["spearman"] == pytest.approx(1)


def test_the_held_out_source_has_no_say():
    # moving the score of c everywhere moves no estimate but that of c: a and b are estimated with
    # c in training, c is estimated without itself
    table = make_table(WORLDS, noise=0.05)
    changed = table.copy()
    changed.loc[changed["source"] == "c", "mAP"] *= 0.5
    before, after = (
        leave_one_source_out(t, "bos").per_source.set_index("source") for t in (table, changed)
    )
    assert before["estimate"]["c"] == after["estimate"]["c"]
    assert before["estimate"]["a"] != after["estimate"]["a"]


def test_repeats_are_fitted_one_by_one_and_spread_is_reported():
    table = make_table(WORLDS, repeats=3, noise=0.02)
    result = leave_one_source_out(table, "bos")
    alone = [leave_one_source_out(table[table["repeat"] == k], "bos").per_source for k in range(3)]
    expected = np.mean([part["estimate"] for part in alone], axis=0)
    assert result.per_source["estimate"].to_numpy() == pytest.approx(expected)
    assert result.error_by_repeat == pytest.approx([part["error"].mean() for part in alone])
    assert (result.per_source["std"] > 0).all()


@pytest.mark.parametrize("method", ["bos", "constant", "bayes"])
def test_sources_with_fewer_repeats_than_others_are_refused(method):
    """NumPy said that the shape of a sequence is inhomogeneous."""
    table = make_table({**WORLDS, "d": 0.5}, repeats=3)
    for source in ("a", "c"):
        fewer = table[(table["source"] != source) | (table["repeat"] < 2)]
        with pytest.raises(InputError, match="dropout repeats of every source"):
            leave_one_source_out(fewer, method)
    by_group = dict.fromkeys("abcd", table) | {"d": table[table["repeat"] < 2]}
    with pytest.raises(InputError, match="dropout repeats of every source"):
        leave_one_source_out(table, method, by_group=by_group)


def test_a_source_without_an_estimate_counts_as_the_constants_error():
    table = make_table(WORLDS)
    own = (table["source"] == "c") & (table["kind"] == "seed")
    table = table.assign(bos=table["bos"].mask(own))  # as where no box is found
    result, constant = (leave_one_source_out(table, name) for name in ("bos", "constant"))
    rows = result.per_source.set_index("source")
    assert rows["missing"].to_dict() == {"a": False, "b": False, "c": True}
    # c is estimated as the mean of .2 and .3; a and b lie on the line
    assert rows.loc["c", "estimate"] == pytest.approx(0.25)
    assert rows.loc["c", "error"] == pytest.approx(0.45)
    summary = result.summary()
    assert summary["missing"] == 1 and summary["mean_absolute_error"] == pytest.approx(0.15)
    assert summary["pooled_rmse"] == pytest.approx(0.45 / math.sqrt(3))
    assert all(math.isfinite(summary[name]) for name in ("r2", "spearman"))
    assert summary["mean_absolute_error"] <= constant.summary()["mean_absolute_error"]


def test_a_source_of_unknown_accuracy_is_left_out_for_all_methods():
    table = make_table({**WORLDS, "d": 0.5})
    unknown = (table["source"] == "d") & (table["kind"] == "seed")
    table = table.assign(mAP=table["mAP"].mask(unknown))
    for method in ("bos", "constant"):
        held = leave_one_source_out(table, method)
        assert held.per_source["source"].tolist() == ["a", "b", "c"]
        expected = leave_one_source_out(make_table(WORLDS), method)
        pd.testing.assert_frame_equal(held.per_source, expected.per_source)


def test_two_sources_cannot_be_judged():
    with pytest.raises(InputError, match="at least 3 groups"):
        leave_one_source_out(make_table({"a": 0.2, "b": 0.4}), "bos")


def test_jackknife_plus_worked_by_hand():
    left_out = np.linspace(0.41, 0.49, 9)
    residuals = np.array([0.1, 0.05, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.2])
    interval = source_interval(0.45, left_out, residuals, level=0.9)
    # nine sources at 90 %: the extreme of the nine on each side; .49 -+ .2
    assert (interval.lower, interval.upper) == pytest.approx((0.29, 0.69))
    assert interval.method == "jackknife+"
    # at 80 % the second: .41 - .1 below, .41 + .1 above
    interval = source_interval(0.45, left_out, residuals, level=0.8)
    assert (interval.lower, interval.upper) == pytest.approx((0.31, 0.51))


def test_few_sources_fall_back_on_students_t_and_two_give_none():
    interval = source_interval(0.5, np.full(4, 0.5), np.full(4, 0.1), level=0.9)
    # t(3) at 95 % is 2.353
    assert interval.method == "student-t"
    assert interval.upper - 0.5 == pytest.approx(0.2353, abs=1e-4)
    none = source_interval(0.5, np.zeros(2), np.zeros(2))
    assert none.method == "none: fewer than 3 groups of sources" and np.isnan(none.lower)


def test_a_source_without_an_error_says_nothing_of_the_interval():
    left_out, residuals = np.linspace(0.41, 0.49, 9), np.linspace(0.01, 0.09, 9)
    expected = source_interval(0.45, left_out, residuals, level=0.9)
    for missing in ([np.nan, 0.5], [0.45, np.nan]):
        pairs = np.vstack([np.column_stack([left_out, residuals]), missing[::-1]])
        assert source_interval(0.45, *pairs.T, level=0.9) == expected
    table = make_table({"a": 0.2, "b": 0.4, "c": 0.3, "d": 0.35}, noise=0.05)
    table.loc[(table["source"] == "d") & (table["kind"] == "seed"), "bos"] = np.nan
    fitted = PublishedEstimator("bos").fit(table)  # nothing was detected on the images of d
    known = fitted.regression_.residuals_[:3]
    estimate = fitted.predict_rows(pd.DataFrame({"repeat": [0], "n_images": [9], "bos": [0.5]}))
    reach = stats.t.ppf(0.95, 2) * np.sqrt(np.mean(known**2))
    assert estimate.upper - estimate.value == pytest.approx(reach)
    assert estimate.interval_method == "student-t"
    assert "nan" not in known_error(fitted)


def test_each_group_has_the_same_weight_in_the_interval():
    left_out = np.full(12, 0.5)
    residuals = np.array([0.3, 0.1, 0.1, 0.1, *np.arange(1, 9) / 100])
    groups = np.array(["a"] * 4 + list("bcdefghi"))
    # nine groups at 90 %: all of the weight of the sources
    interval = source_interval(0.5, left_out, residuals, groups=groups, level=0.9)
    assert (interval.lower, interval.upper) == pytest.approx((0.2, 0.8))
    # .1 for each group: .8 for b to i, .025 for each of a; 87.5 % are reached at the third .1
    for level, reach in ((0.8, 0.08), (0.875, 0.1), (0.88, 0.3)):
        interval = source_interval(0.5, left_out, residuals, groups=groups, level=level)
        assert interval.upper - 0.5 == pytest.approx(reach), level
        assert interval.method == "jackknife+"


def test_many_sources_of_few_groups_fall_back_on_students_t():
    levels = {"a": 0.5, "b": 0.52, "c": 0.56}
    table = make_table({f"{group}{k}": level for group, level in levels.items() for k in range(5)})
    table["group"] = table["source"].str[0]
    fitted = SourceRegression("constant").fit(table)
    estimate = fitted.predict_rows(table.head(1))
    groups = np.array(list(levels.values()))
    errors = groups - (groups.sum() - groups) / (len(groups) - 1)
    # as `interval_forecast` promises: Student's t of the groups less one
    reach = stats.t.ppf(0.95, len(groups) - 1) * np.sqrt(np.mean(errors**2))
    assert estimate.interval_method == "student-t"
    assert estimate.source_upper == pytest.approx(estimate.value + reach)


def test_a_source_without_own_images_has_no_error_and_its_sample_sets_count():
    table = make_table({"a": 0.2, "b": 0.3, "c": 0.4, "d": 0.6})
    without = table[(table["source"] != "d") | (table["kind"] != "seed")]
    whole, fitted = (SourceRegression("bos").fit(rows) for rows in (table, without))
    assert np.isnan(fitted.residuals_).tolist() == [False, False, False, True]
    np.testing.assert_allclose(fitted.residuals_[:3], whole.residuals_[:3])
    assert np.isfinite(fitted.predict_rows(table.head(1)).lower)


def test_a_score_without_a_value_is_the_reason_for_no_estimate():
    fitted = SourceRegression("bos").fit(make_table({"a": 0.2, "b": 0.3, "c": 0.4, "d": 0.6}))
    rows = pd.DataFrame([{"repeat": 0, "n_images": 60, "bos": np.nan}])
    estimate = fitted.predict_rows(rows)
    assert np.isnan(estimate.value) and estimate.interval_method == "none: no estimate"
    nothing = dict.fromkeys(("value", "lower", "upper"), np.nan)
    assert list(category_lines(replace(estimate, per_category={"car": nothing}))) == [
        f"car: {NO_SCORE}"
    ]


def test_intervals_cover_a_source_of_a_new_group():
    rng = np.random.default_rng(0)
    covered, group = [], np.repeat(np.arange(4), 6)
    for _ in range(1000):
        means = rng.normal(0.5, 0.1, 5)
        new, known = rng.normal(means[-1], 0.02), rng.normal(means[group], 0.02)
        left_out = np.array([known[group != g].mean() for g in group])
        residuals = np.abs(known - left_out)
        interval = source_interval(known.mean(), left_out, residuals, groups=group, level=0.9)
        covered.append(interval.lower <= new <= interval.upper)
    assert np.mean(covered) > 0.87


def test_sources_of_a_group_have_no_part_in_the_errors_behind_the_interval():
    table = make_table({"a": 0.2, "b": 0.3, "twin": 0.2, "c": 0.7})
    table["group"] = table["source"].replace({"a": "home", "twin": "home"})
    fitted = SourceRegression("constant").fit(table)
    # a and its twin against (.3 + .7) / 2, b against (.2 + .2 + .7) / 3, c against .7 / 3
    errors = [0.3, 0.3 - 1.1 / 3, 0.3, 0.7 - 0.7 / 3]
    assert fitted.residuals_ == pytest.approx(np.abs(errors))
    assert fitted.predict_left_out()[table["kind"] == "seed"] == pytest.approx(
        [0.5, 1.1 / 3, 0.5, 0.7 / 3]
    )


def test_sources_of_two_groups_give_no_interval():
    table = make_table({"a": 0.2, "b": 0.3, "c": 0.7, "d": 0.6})
    table["group"] = table["source"].replace({"b": "a", "c": "d"})
    estimate = SourceRegression("bos").fit(table).predict_rows(table.head(1))
    assert estimate.interval_method == "none: fewer than 3 groups of sources"
    assert np.isnan(estimate.lower) and estimate.value == pytest.approx(0.2)


@pytest.mark.parametrize("n_sources", [6, 10])
def test_intervals_cover_new_sources(n_sources):
    """Law: with exchangeable sources, nine in ten new ones lie in the interval."""
    rng = np.random.default_rng(n_sources)
    covered = []
    for _ in range(1000):
        new, *known = rng.normal(0.5, 0.1, n_sources + 1)
        known = np.array(known)
        left_out = (known.sum() - known) / (n_sources - 1)
        interval = source_interval(known.mean(), left_out, np.abs(known - left_out), level=0.9)
        covered.append(interval.lower <= new <= interval.upper)
    # standard error of the share is .01
    assert np.mean(covered) > 0.87
