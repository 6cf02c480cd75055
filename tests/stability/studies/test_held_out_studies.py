import numpy as np
import pandas as pd
import pytest
from score_tables import WORLDS, score_table

from autoeval.errors import InputError
from autoeval.stability.methods.leave_one_out import leave_one_source_out
from autoeval.stability.methods.score_rows import Rows
from autoeval.stability.studies.set_sizes import (
    StudySettings,
    _draw,
    dropout_repeats,
    estimate_held_out,
    size_of_meta_set,
)


def exact(value, *_):
    return 2 * value + 1


def noisy(seed=0, spread=0.1):
    rng = np.random.default_rng(seed)
    return lambda value, *_: value + rng.normal(0, spread)


def test_held_out_estimates_are_those_of_the_protocol():
    table = score_table(WORLDS, repeats=2, bos=noisy())
    rows = StudySettings(["bos"]).rows(table)
    own = rows.of_kind("seed")
    estimates = estimate_held_out(rows, own, "bos", "mAP").reshape(4, 2)
    per_source = leave_one_source_out(table, "bos").per_source
    assert estimates.mean(axis=1) == pytest.approx(per_source["estimate"].to_numpy())


def test_sources_of_a_group_are_left_out_together():
    table = score_table({**WORLDS, "twin": 0.3}, repeats=2, bos=noisy())
    table["group"] = table["source"].replace({"twin": "a"})
    rows = StudySettings(["bos"]).rows(table)
    estimates = estimate_held_out(rows, rows.of_kind("seed"), "bos", "mAP").reshape(5, 2)
    per_source = leave_one_source_out(table, "bos").per_source
    assert estimates.mean(axis=1) == pytest.approx(per_source["estimate"].to_numpy())
    two = table.assign(group=table["source"].replace({"twin": "a", "c": "b", "d": "b"}))
    with pytest.raises(InputError, match="different groups"):
        StudySettings(["bos"]).rows(two)


def test_repeats_that_were_not_fitted_on():
    evaluated = Rows.of(score_table(WORLDS, repeats=3, bos=exact), ["bos", "mAP"])
    training = evaluated.where(evaluated["repeat"] < 2)
    with pytest.raises(InputError, match=r"repeats \[0, 1\], those fitted on, but got \[2\]"):
        estimate_held_out(training, evaluated, "bos", "mAP")


def test_an_exact_score_needs_two_sample_sets_and_a_constant_none():
    table = score_table(WORLDS, n_sets=6, bos=exact)
    result = size_of_meta_set(table, StudySettings(["bos", "constant"]), sizes=[2, 6], draws=3)
    assert result["sample_sets"].tolist() == [2, 2, 6, 6]
    errors = result.pivot(index="sample_sets", columns="method", values="error")
    assert errors["bos"].to_numpy() == pytest.approx([0, 0], abs=1e-12)
    # each world against the mean of the other three: .3 .5 .6 .8
    by_hand = np.mean([1 / 3, 1 / 15, 1 / 15, 1 / 3])
    assert errors["constant"].to_numpy() == pytest.approx([by_hand, by_hand])


def test_all_sample_sets_give_the_error_of_the_protocol_and_no_spread():
    table = score_table(WORLDS, n_sets=6, repeats=2, bos=noisy())
    last = size_of_meta_set(table, StudySettings(["bos"]), draws=4).iloc[-1]
    expected = leave_one_source_out(table, "bos").summary()["mean_absolute_error"]
    assert last["sample_sets"] == 6 and last["error"] == pytest.approx(expected)
    assert last["std"] == pytest.approx(0) and last["lower"] <= last["error"] <= last["upper"]


def test_fewer_sample_sets_spread_more():
    table = score_table(WORLDS, n_sets=40, step=0.005, bos=noisy(spread=0.2))
    result = size_of_meta_set(table, StudySettings(["bos"]), sizes=[2, 20], draws=20)
    assert result.loc[0, "std"] > 2 * result.loc[1, "std"]


@pytest.mark.parametrize(
    ("change", "sizes", "message"),
    [
        (lambda t: t[(t["source"] != "c") | (t["sample_set"].isin(["c-0", "c-1"]))], [], "c has 1"),
        (lambda t: t, [9], "from 1 to 4, the number of sample sets of a, but got 9"),
        (lambda t: t, [0], "but got 0"),
        (lambda t: t.drop(columns="bos"), [], "columns bos but they are missing"),
        (lambda t: t[t["source"].isin(["a", "b"])], [], "at least 3 sources"),
    ],
)
def test_meta_sets_that_cannot_be_drawn_from(change, sizes, message):
    table = change(score_table(WORLDS, bos=exact))
    with pytest.raises(InputError, match=message):
        size_of_meta_set(table, StudySettings(["bos"]), sizes=sizes)


def test_more_repeats_steady_an_estimate_that_dropout_shakes():
    table = score_table(WORLDS, n_sets=30, step=0.005, repeats=6, bos=noisy(spread=0.05))
    result = dropout_repeats(table, StudySettings(["bos"])).set_index("repeats")
    assert result.index.tolist() == [1, 2, 3, 4, 5, 6]
    assert result["std"].iloc[:5].is_monotonic_decreasing and np.isnan(result.loc[6, "std"])
    summary = leave_one_source_out(table, "bos").per_source
    # the protocol's deviation is over the six repeats there are; of fresh ones: 6/5 of its square
    fresh = summary["std"].mean() * np.sqrt(6 / 5)
    assert result["spread"].to_numpy() == pytest.approx(fresh / np.sqrt(np.arange(1, 7)))
    expected = np.abs(summary["estimate"] - summary["true"]).mean()
    assert result.loc[6, "error"] == pytest.approx(expected)


def test_a_single_repeat_cannot_be_compared():
    with pytest.raises(InputError, match="at least two dropout repeats but got 1"):
        dropout_repeats(score_table(WORLDS, bos=exact), StudySettings(["bos"]))


def test_intervals_of_errors_are_over_groups():
    """Twins double the sources and add no observation."""
    table = score_table(WORLDS, repeats=2, bos=noisy())
    twins = table.assign(source=table["source"] + "2", sample_set=table["sample_set"] + "2")
    twice = pd.concat([table, twins], ignore_index=True)
    twice["group"] = twice["source"].str[0]
    settings, ends = StudySettings(["bos", "constant"]), ["error", "lower", "upper"]
    for study in (dropout_repeats, size_of_meta_set):
        by_group, alone = (study(each, settings).iloc[-2:] for each in (twice, table))
        assert by_group[ends].to_numpy() == pytest.approx(alone[ends].to_numpy())
        assert by_group["sources"].tolist() == [8, 8]


def test_sample_sets_of_one_name_in_two_sources_are_drawn_apart():
    table = score_table(WORLDS, n_sets=6, bos=noisy())
    table["sample_set"] = table["sample_set"].str[2:]
    rows = StudySettings(["bos"]).rows(table)
    drawn = _draw(rows, list(WORLDS), 2, [0]).of_kind("sample")
    assert np.unique(drawn["source"], return_counts=True)[1].tolist() == [2, 2, 2, 2]


def test_a_source_without_labels_leaves_the_constant_of_the_others():
    table = score_table({**WORLDS, "unlabelled": 0.4}, repeats=2, bos=noisy())
    table["mAP"] = table["mAP"].mask(table["source"] == "unlabelled")
    result = dropout_repeats(table, StudySettings(["constant", "median"])).iloc[:2]
    # each world against the others: .3 .5 .6 .8; medians of three are .6 .6 .5 .5
    assert result["error"].tolist() == pytest.approx([0.2, np.mean([0.3, 0.1, 0.1, 0.3])])
    assert result["sources"].tolist() == [4, 4]


@pytest.mark.parametrize("study", [dropout_repeats, size_of_meta_set])
def test_a_source_without_labels_is_no_estimate_that_is_missing(study):
    table = score_table({**WORLDS, "unlabelled": 0.4}, repeats=2, bos=noisy())
    table["mAP"] = table["mAP"].mask(table["source"] == "unlabelled")
    result = study(table, StudySettings(["bos", "constant"]))
    assert set(result["sources"]) == {4} and set(result["no_estimate"]) == {0}
    two = table.assign(mAP=table["mAP"].mask(table["source"].isin(["a", "b"])))
    with pytest.raises(InputError, match="at least 3 sources"):
        study(two, StudySettings(["constant"]))
