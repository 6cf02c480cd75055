import numpy as np
import pandas as pd
import pytest

from autoeval.errors import InputError
from autoeval.stability.commands.meta_set_options import MetaSetOptions
from autoeval.stability.methods import (
    BestThreshold,
    Fused,
    Linear,
    make_method,
    methods,
    readable,
)
from autoeval.stability.methods.leave_one_out import leave_one_source_out
from autoeval.stability.methods.published_estimator import PublishedEstimator
from autoeval.stability.methods.score_rows import Rows
from autoeval.stability.scores.base import feature_names

N_SOURCES = 6
N_SETS = 8
PS = feature_names("ps")
ES = feature_names("es")


def world(**columns):
    """Score rows of six sources, their own images first; every score is noise unless given."""
    rng = np.random.default_rng(0)
    n = N_SOURCES * (N_SETS + 1)
    rows = {name: rng.uniform(size=n) for name in ("bos", *Fused.features, *PS, *ES)}
    rows |= {
        "source": np.repeat([f"s{k}" for k in range(N_SOURCES)], N_SETS + 1),
        "kind": np.array((["seed"] + ["sample"] * N_SETS) * N_SOURCES),
    }
    return rows | columns


def rng_column(seed):
    return np.random.default_rng(seed).uniform(size=N_SOURCES * (N_SETS + 1))


def test_the_fused_regressor_finds_the_scores_that_make_up_the_accuracy():
    rows = world()
    rows["mAP"] = 0.1 + 0.4 * rows["stability_ap@0.50"] + 0.3 * rows["stability_ap@0.30"]
    fitted = Fused().fit(Rows(**rows), "mAP")
    slopes = dict(zip(fitted.selected_, fitted.coefficients_, strict=False))
    assert fitted.penalty_ == 0.01
    assert slopes.pop("stability_ap@0.50") == pytest.approx(0.4, abs=0.01)
    assert slopes.pop("stability_ap@0.30") == pytest.approx(0.3, abs=0.01)
    assert all(slope < 0.01 for slope in slopes.values())
    np.testing.assert_allclose(fitted.predict(Rows(**rows)), rows["mAP"], atol=0.01)


def test_slopes_solve_the_penalised_least_squares_with_source_weights():
    rows = world(mAP=rng_column(11) + rng_column(12))
    rows |= {"stability_ap@0.50": rng_column(11), "stability_ap@0.20": rng_column(12)}
    fitted = Fused().fit(Rows(**rows), "mAP")
    own = rows["kind"] == "seed"
    weights = np.where(own, 0.5, 0.5 / N_SETS) / N_SOURCES
    x = np.stack([rows[name] for name in fitted.selected_], 1)
    z = x - weights @ x
    z /= np.sqrt(weights @ z**2)
    error = rows["mAP"] - fitted.predict(Rows(**rows))
    slopes = fitted.coefficients_[:-1] * np.sqrt(weights @ (x - weights @ x) ** 2)
    np.testing.assert_allclose(z.T @ (weights * error), fitted.penalty_ * slopes, atol=1e-12)


def test_accuracy_that_falls_with_agreement_is_not_believed():
    rows = world(mAP=1 - 0.5 * rng_column(1))
    rows["stability_ap@0.50"] = rng_column(1)
    assert "stability_ap@0.50" not in Fused().fit(Rows(**rows), "mAP").selected_


def test_without_a_helpful_score_the_fused_regressor_is_a_constant():
    constant = {name: np.full(N_SOURCES * (N_SETS + 1), 0.5) for name in Fused.features}
    rows = world(**constant, mAP=rng_column(2))
    fitted = Fused().fit(Rows(**rows), "mAP")
    assert fitted.selected_ == ()
    own = rows["kind"] == "seed"
    expected = (rows["mAP"][own].mean() + rows["mAP"][~own].mean()) / 2
    np.testing.assert_allclose(fitted.predict(Rows(**rows)), expected, atol=1e-12)


def test_a_missing_score_counts_as_the_worst_and_one_that_many_rows_lack_is_left_out():
    rows = world(mAP=rng_column(3))
    name = "stability_ap@0.30"
    rows[name] = rows["mAP"].copy()
    rows["mAP"][5], rows[name][5] = 0, np.nan
    fitted = Fused().fit(Rows(**rows), "mAP")
    assert name in fitted.selected_
    assert fitted.predict(Rows(**rows))[5] == pytest.approx(0, abs=0.05)
    rows[name][::5] = np.nan
    assert name not in Fused().fit(Rows(**rows), "mAP").selected_


def test_a_detector_without_dropout_is_estimated_without_those_scores():
    rows = world(mAP=rng_column(3))
    rows["atc@0.30"] = rows["mAP"]
    known = {name: values for name, values in rows.items() if not name.startswith("stability_ap")}
    fitted = Fused().fit(Rows(**known), "mAP")
    assert fitted.selected_ and np.isfinite(fitted.predict(Rows(**known))).all()
    assert set(readable(Fused(), known)) == {n for n in Fused.features if n in known}
    del known["contrastive_confidence"]
    assert "contrastive_confidence" in readable(Fused(), known)


@pytest.mark.parametrize("lone", ["seed", "sample"])
def test_a_source_with_rows_of_one_kind_weighs_as_much_as_the_others(lone):
    rows = Rows(
        source=np.array(["a", "a", "a", "b"]),
        kind=np.array(["seed", "sample", "sample", lone]),
        no_box_share=np.zeros(4),
        mAP=np.array([0.2, 0.2, 0.2, 0.6]),
    )
    np.testing.assert_allclose(Fused().fit(rows, "mAP").predict(rows), 0.4)  # (.2 + .6) / 2


def test_the_fit_does_not_depend_on_the_order_of_rows():
    rows = world(mAP=rng_column(4))
    rows["stability_ap@0.40"] = rng_column(4) + 0.1 * rng_column(5)
    shuffled = np.random.default_rng(0).permutation(len(rows["mAP"]))
    one = Fused().fit(Rows(**rows), "mAP")
    other = Fused().fit(Rows(**{name: values[shuffled] for name, values in rows.items()}), "mAP")
    assert one.selected_ == other.selected_
    np.testing.assert_allclose(one.coefficients_, other.coefficients_, rtol=1e-8)


@pytest.mark.parametrize(
    ("name", "slopes"),
    [
        ("es", {"es@0.35": -0.5}),
        ("bos_ps", {"ps@0.50": 0.4, "bos": 0.4}),  # which neither explains alone
        ("es+ps+bos", {"es@0.35": -0.3, "ps@0.50": 0.4, "bos": 0.2}),
        ("ps@0.50+bos+es", {"ps@0.50": 0.4, "bos": 0.2, "es@0.35": -0.3}),
    ],
)
def test_the_thresholds_that_explain_training_best_are_chosen_together(name, slopes):
    rows = world()
    rows["mAP"] = 0.9 + sum(slope * rows[score] for score, slope in slopes.items())
    fitted = make_method(name).fit(Rows(**rows), "mAP")
    assert fitted.selected_ == tuple(slopes)
    np.testing.assert_allclose(fitted.predict(Rows(**rows)), rows["mAP"])


@pytest.mark.parametrize("name", ["bos+magic", "bos+", "constant+bos"])
def test_only_scores_are_fused(name):
    with pytest.raises(InputError, match=r"or scores joined by '\+', but got"):
        make_method(name)


def test_a_threshold_that_most_sample_sets_do_not_reach_is_not_considered():
    rows = world(mAP=rng_column(6))
    rows["es@0.95"] = np.where(np.arange(len(rows["mAP"])) % 3 == 0, rows["mAP"], np.nan)
    rows["es@0.00"] = np.ones(len(rows["mAP"]))
    assert BestThreshold(ES).fit(Rows(**rows), "mAP").selected_[0] not in ("es@0.95", "es@0.00")
    for name in ES:
        rows[name] = np.full(len(rows["mAP"]), np.nan)
    with pytest.raises(InputError, match=r"finite es@0\.00 to es@0\.95"):
        BestThreshold(ES).fit(Rows(**rows), "mAP")


def test_rows_without_a_finite_target_are_refused():
    rows = world(mAP=np.full(N_SOURCES * (N_SETS + 1), np.nan))
    with pytest.raises(InputError, match="finite mAP but there are none"):
        Fused().fit(Rows(**rows), "mAP")


def test_without_sample_sets_the_option_that_makes_them_is_named():
    rows = Rows(**world(mAP=rng_column(11))).of_kind("seed")
    with pytest.raises(InputError, match=r"--n-sets N"):
        Linear("bos").fit(rows, "mAP")
    assert "n_sets" in MetaSetOptions.__annotations__


def test_a_score_that_never_varies_is_refused():
    n = N_SOURCES * (N_SETS + 1)
    table = pd.DataFrame(world(mAP=rng_column(9), bos=np.full(n, 0.5), repeat=np.zeros(n)))
    table = table.assign(sample_set=np.arange(n).astype(str), n_images=60)
    with pytest.raises(InputError, match="Expected bos to vary"):
        PublishedEstimator("bos").fit(table)


def test_a_score_that_varies_at_one_site_alone_names_the_others():
    n = N_SOURCES * (N_SETS + 1)
    table = pd.DataFrame(world(mAP=rng_column(9), bos=np.full(n, 0.5), repeat=np.zeros(n)))
    table = table.assign(sample_set=np.arange(n).astype(str), n_images=60)
    table.loc[table["source"] == "s1", "bos"] = np.linspace(0, 1, N_SETS + 1)
    PublishedEstimator("bos").fit(table)
    with pytest.raises(InputError, match="Expected bos to vary") as refused:
        leave_one_source_out(table, "bos")
    assert f"all {(N_SOURCES - 1) * N_SETS} of s0, s2" in str(refused.value)
    for name in ES:
        table[name] = table["bos"]
    with pytest.raises(InputError, match=r"finite es@0\.00") as refused:
        leave_one_source_out(table, "es")
    # Without s0, whose interval is that of errors at each of the others: here at s1.
    assert f"of the {(N_SOURCES - 2) * N_SETS} of s2, s3, s4, s5 " in str(refused.value)


def test_one_sample_set_of_a_source_is_enough():
    rows = world(mAP=0.2 + 0.5 * rng_column(10), bos=rng_column(10))
    last = (rows["source"] == "s5") & (rows["kind"] == "sample")
    keep = ~last | (np.cumsum(last) == 1)
    few = Rows(**{name: values[keep] for name, values in rows.items()})
    for name in ("bos", "fused", "constant"):
        assert np.isfinite(make_method(name).fit(few, "mAP").predict(few)).all()


def test_every_method_has_a_name_and_says_what_it_reads():
    for name in methods():
        assert isinstance(make_method(name).features, tuple)
    with pytest.raises(InputError, match=r"Expected a method out of ac, .*but got 'magic'"):
        make_method("magic")


def test_the_fused_regressor_chooses_a_penalty_by_three_sources_and_is_for_precisions():
    rows = Rows(**world(mAP=rng_column(7)))
    fitted = Fused().fit(rows.where(np.isin(rows["source"], ["s0", "s1"])), "mAP")
    assert fitted.penalty_ == 0.1
    with pytest.raises(InputError, match="not with count_mae"):
        Fused().fit(Rows(**world(count_mae=rng_column(8))), "count_mae")


def test_the_penalty_is_chosen_without_the_group_of_a_source():
    """Each source is there twice: its twin would choose the penalty that suits it."""
    rows = world(mAP=rng_column(35))
    rows["atc@0.30"] = 0.3 * rng_column(35) + rng_column(135)
    rows["contrastive_confidence"] = 0.3 * rng_column(35) + rng_column(235)
    twice = {name: np.concatenate([values, values]) for name, values in rows.items()}
    twice["source"] = np.concatenate([rows["source"], np.char.add(rows["source"], "-twin")])
    alone, by_source = Fused().fit(Rows(**rows), "mAP"), Fused().fit(Rows(**twice), "mAP")
    twice["group"] = np.concatenate([rows["source"], rows["source"]])
    by_group = Fused().fit(Rows(**twice), "mAP")
    assert by_source.penalty_ == 0.01
    assert by_group.penalty_ == alone.penalty_ == 0.03
    np.testing.assert_allclose(by_group.coefficients_, alone.coefficients_, rtol=1e-8)
    two = np.where(np.isin(twice["group"], ["s0", "s1", "s2"]), "one", "other")
    assert Fused().fit(Rows(**{**twice, "group": two}), "mAP").penalty_ == 0.1
