"""What joined fits keep of each."""

from types import SimpleNamespace

import numpy as np
import pytest

from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.joining_fits import join_fits
from autoeval.estimation.panel_prior import away_prior
from autoeval.model.calibration import ScoreCalibration
from autoeval.sites.reference_statistics import ReferenceStatistics
from tests.estimation.test_bayesian_regression import pair_table

BOXES = ReferenceStatistics(("car", "van"), floor=0.01, most_boxes=20, highest=0.9)
CONTEXT = {"detector": {"name": "one"}, "pass": {"stability": 0.5}, "boxes": BOXES.to_dict()}


def fit(name, *, assistance=None, boxes=BOXES, calibration=None, **of_pass):
    table = pair_table().assign(kind="seed", repeat=0)
    table["n_images"] = table["n_images"] + ord(name)  # a set of its own
    table["source"], table["group"] = name + table["source"], name + table["group"]
    described = {**CONTEXT["pass"], **of_pass}
    context = {**CONTEXT, "pass": described, "boxes": boxes.to_dict(), "task": {"name": name}}
    return AccuracyEstimator().fit_rows(
        table, context=context, calibration=calibration, label_assistance=assistance
    )


def test_settings_and_label_assistance_are_those_of_the_first():
    assistance = SimpleNamespace(needs=frozenset())
    joined = join_fits({"a": fit("a", assistance=assistance), "b": fit("b")}, level=0.8)
    assert joined.label_assistance_ is assistance and joined.level == 0.8
    assert joined.context_ == CONTEXT  # and no task: the sources are of several
    assert len(joined.table_) == 48
    methods = {result.method for result in joined.fit_result_.cross_validation}
    assert methods == {"bayes", "constant"}
    other = join_fits({"b": fit("b"), "a": fit("a", assistance=assistance)})
    assert other.label_assistance_ is None


def test_reference_statistics_and_warnings_are_those_of_all():
    odd = ReferenceStatistics(("van", "bus"), floor=0.2, most_boxes=50, highest=0.8)
    joined = join_fits({"a": fit("a"), "b": fit("b", boxes=odd.warning("odd labels"))})
    expected = ReferenceStatistics(("car", "van", "bus"), {}, 0.01, 50, 0.9, 0.0, ("odd labels",))
    assert joined.statistics_ == expected


def test_the_calibration_is_the_mean_of_those_that_there_are():
    one = ScoreCalibration(np.zeros((10, 3)), np.zeros(3))
    two = ScoreCalibration(np.full((10, 3), 3.0), np.ones(3))
    fits = {"a": fit("a", calibration=one), "b": fit("b", calibration=two), "c": fit("c")}
    joined = join_fits(fits).calibration_
    np.testing.assert_allclose(joined.boxes, np.full((10, 3), 1.5))
    np.testing.assert_allclose(joined.missed, np.full(3, 0.5))
    assert join_fits({"a": fit("a"), "b": fit("b")}).calibration_ is None


def test_calibrated_fits_and_such_with_the_usual_calibration_do_not_go_together():
    one = ScoreCalibration(np.zeros((10, 3)), np.zeros(3))
    usual = ScoreCalibration(np.ones((10, 3)), np.ones(3), usual=True)
    fits = {"new": fit("a", calibration=one), "old": fit("b", calibration=usual)}
    expected = "of new were calibrated in the fit, those of old were not.*fit old again"
    with pytest.raises(InputError, match=expected):
        join_fits(fits)
    assert join_fits({**fits, "new": fit("a", calibration=usual)}).calibration_.usual


def test_a_reference_that_one_was_fitted_without_is_forgotten():
    taught, plain = fit("a", reference="large"), fit("b")
    assert "reference" not in join_fits({"a": taught, "b": plain}).context_["pass"]
    both = join_fits({"a": taught, "c": fit("c", reference="large")})
    assert both.context_["pass"]["reference"] == "large"


def test_other_passes_and_methods_are_refused():
    with pytest.raises(InputError, match=r"a and b do not go together.*\n.*seed"):
        join_fits({"a": fit("a", seed=0), "b": fit("b", seed=7)})
    plane = fit("c", boxes=ReferenceStatistics(("plane",)))
    with pytest.raises(InputError, match="c knows plane, the first fit car, van"):
        join_fits({"a": fit("a"), "c": plane})
    by_files = fit("c")
    del by_files.context_["detector"]
    with pytest.raises(InputError, match="predictions and fits with a detector are not joined"):
        join_fits({"a": fit("a"), "c": by_files})
    with pytest.raises(InputError, match="in more than one of a, b"):
        join_fits({"a": fit("a"), "b": fit("a")})


def test_settings_that_older_fits_kept_and_nothing_reads_do_not_part_fits():
    older = fit("b", dropout={"rate": 0.15}, stability={"cost": "giou"})
    assert len(join_fits({"a": fit("a"), "b": older}).table_) == 48


def test_a_set_by_two_names_is_recognised_by_its_rows():
    one, same = fit("a"), fit("a")
    table = same.table_.assign(source=same.table_["source"].str.replace("a", "z", n=1))
    same.fit_rows(table, context=same.context_)
    with pytest.raises(InputError, match="48 pairs have equal scores and accuracies"):
        join_fits({"a": one, "z": same})


def test_sets_of_one_name_with_other_labels_are_named_after_their_fits():
    """As those of two folders that both hold an annotations.json."""
    calibration = ScoreCalibration(np.zeros((10, 3)), np.zeros(3))
    one, other = fit("a", calibration=calibration), fit("b", calibration=calibration)
    for fitted in (one, other):
        named = fitted.table_.assign(source="annotations", group="annotations", kind="category")
        fitted.fit_rows(named.iloc[:2], context=fitted.context_, calibration=calibration)
    paths = ("/runs/a/estimator.parquet", "/runs/b/estimator.parquet")
    joined = join_fits(dict(zip(paths, (one, other), strict=True)))
    assert joined.regression_.sources_ == ["a/annotations", "b/annotations"]
    assert joined.regression_.groups_ == ["a/annotations", "b/annotations"]
    assert set(joined.context_["calibrations"]) == {"a/annotations", "b/annotations"}
    with pytest.raises(InputError, match="in more than one of"):
        join_fits({"a": one, "b": one})


def test_each_site_keeps_whether_the_detector_was_trained_there(tmp_path):
    """The correction is made by the share of the pairs that are of such sites."""
    at_home, other = fit("a"), fit("b")
    at_home.fit_rows(at_home.table_.assign(trained_here=True), context=at_home.context_)
    plain = join_fits({"a": fit("a"), "b": other}).regression_
    joined = join_fits({"a": at_home, "b": other})
    joined.save(tmp_path / "joined.parquet")
    away = away_prior("mAP")
    for found in (joined, AccuracyEstimator.load(tmp_path / "joined.parquet")):
        regression = found.regression_
        rows = other.table_.iloc[:1].assign(expected_ap=0.4)
        assert (at_home.regression_.trained_share_, regression.trained_share_) == (1.0, 0.5)
        home = at_home.table_["mAP"].mean()
        expected = plain.distribution(rows).mean * np.exp(-away.fall * home * 0.5)
        np.testing.assert_allclose(regression.distribution(rows).mean, expected)
        np.testing.assert_allclose(regression.uncorrected(rows).mean, plain.distribution(rows).mean)
