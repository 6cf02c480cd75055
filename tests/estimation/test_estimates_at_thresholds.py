"""Precision, recall and F1 at a threshold without labels: counts, scores, regression, estimate."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from autoeval.accuracy.measures import (
    MEASURES,
    OperatingPoint,
    counts_at,
    image_counts,
    points_at,
    value_of,
)
from autoeval.errors import InputError
from autoeval.estimation.category_scores import CategoryScores, labelled_rows
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fitting import FitSettings, fit_sets
from autoeval.estimation.labelled_sets import labelled_site
from autoeval.estimation.threshold_choice import expected_curve
from autoeval.model.pair_table import category_weights, with_target
from autoeval.model.regression import Regression, draw_sites
from autoeval.report.estimate import estimate_head, estimate_row, other_target_lines
from autoeval.sites.site import Site
from tests.made_sites import random_found, truth_from


def labelled(name, seed, **options):
    found = random_found(seed)
    return labelled_site(Site(found, truth=truth_from(found), name=name, **options))


@pytest.fixture(scope="module")
def sets():
    return [labelled(f"s{k}", k, everywhere=True) for k in range(4)]


@pytest.fixture(scope="module")
def estimator(sets):
    return fit_sets(sets, context={})


@pytest.fixture(scope="module")
def site():
    return Site(random_found(9))


@pytest.mark.parametrize("name", ["precision@0.4", "recall@0.4", "f1@0.355:0.75"])
def test_the_truth_of_a_pair_is_counted_on_its_images(sets, estimator, name):
    point = OperatingPoint.of(name)
    rows = with_target(labelled_rows(sets[1], estimator.calibration_), name)
    ends = [np.floor(100 * point.score_thr) / 100, np.ceil(100 * point.score_thr) / 100]
    for value, ranking in zip(rows[name], sets[1].evaluation.rankings, strict=True):
        counts = [image_counts(ranking, of, point.level).sum(axis=1) for of in ends]
        expected = np.mean(counts, axis=0)[:, None]
        assert value == pytest.approx(value_of(point.measure, expected), rel=1e-5)


def test_a_category_of_a_labelled_set_is_counted_on_the_images_that_hold_it():
    found = random_found(0)
    truth = truth_from(found)
    truth = truth.where((truth.label != 0) | (truth.image > 5))  # no car in the first images
    own = labelled_site(Site(found, truth=truth, name="s"))
    rows = with_target(labelled_rows(own, fit_sets([own], context={}).calibration_), "recall@0.4")
    holding = own.evaluation.rankings[0].take(np.flatnonzero(own.evaluation.rankings[0].n_true))
    assert rows["recall@0.4"][0] == pytest.approx(value_of("recall", image_counts(holding, 0.4)))
    precision = with_target(rows, "precision@0.1")["precision@0.1"][0]
    assert precision == pytest.approx(value_of("precision", image_counts(holding, 0.1)))
    assert precision > value_of("precision", image_counts(own.evaluation.rankings[0], 0.1))


def scored(estimator, site, names):
    boxes = Site(site.boxes, calibration=estimator.calibration_)
    features = [f"expected_{name}" for name in names]
    every = [CategoryScores(boxes, k, features) for k in range(5)]
    return features, every


def test_scores_are_ratios_of_expected_counts_on_both_ways(estimator, site):
    names = [*points_at(0.4), *points_at(0.3, 0.75)]
    features, (car, *_) = scored(estimator, site, names)
    row = car.row
    boxes = site.boxes
    mine = boxes.label == 0
    p = estimator.calibration_.probabilities(boxes.scores[mine])
    over = boxes.scores[mine] > 0.3
    assert row["expected_precision@0.3:0.75"] == pytest.approx(p[5, over].mean())
    packed = pd.DataFrame([{"expected_counts": row["expected_counts"]}])
    for name, feature in zip(names, features, strict=True):
        assert with_target(packed, name)[feature][0] == pytest.approx(row[feature], rel=1e-5)


def test_scores_of_images_drawn_again_are_those_of_the_images_repeated(estimator, site):
    names = points_at(0.4)
    features, (car, *_) = scored(estimator, site, names)
    counts = np.random.default_rng(0).integers(0, 3, (2, len(car.images)))
    score = car.parts[0]
    drawn, once = score.resample(counts), score.resample(np.ones((1, len(car.images)), int))
    for feature in features:
        assert once[feature][0] == pytest.approx(car.row[feature])
    found = site.boxes
    for feature, measure in zip(features, ("precision", "recall", "f1"), strict=True):
        per_image = image_counts(score.ranking, 0.4)
        shown = np.unique(found.image[found.label == 0])
        shown = [k for k in shown if k in car.images[score.images]]
        assert per_image.shape[1] == len(shown)
        for times, value in zip(counts, drawn[feature], strict=True):
            repeated = np.repeat(per_image, times[score.images], axis=1)
            assert value == pytest.approx(value_of(measure, repeated))


def test_the_weights_of_categories_make_the_ratio_of_summed_counts(estimator, site):
    names = points_at(0.4)
    features, every = scored(estimator, site, names)
    rows = pd.DataFrame([of.row for of in every])
    for name, feature in zip(names, features, strict=True):
        weights = category_weights(rows, name)
        point = OperatingPoint.of(name)
        counts = sum(counts_at(curve, point) for curve in rows["expected_counts"])
        together = value_of(point.measure, counts)
        assert weights @ rows[feature] == pytest.approx(together, rel=1e-5)
    assert category_weights(rows, "mAP").tolist() == [0.2] * 5


def test_an_estimate_has_the_three_measures_beside_or_in_its_place(estimator, site, tmp_path):
    estimator.save(tmp_path / "e.parquet")
    again = AccuracyEstimator.load(tmp_path / "e.parquet")
    beside = again.predict_site(site, 0.4).other_targets
    assert [name for name in beside if "@" in name] == list(points_at(0.4))
    for name in points_at(0.4):
        estimate = again.for_target(name).predict_site(site)
        of = beside[name]
        assert (estimate.value, estimate.lower) == pytest.approx((of["value"], of["lower"]))
        assert 0 <= estimate.lower < estimate.value < estimate.upper <= 1
        assert estimate.sampling_std > 0
        assert len(estimate.per_category) == 5
        assert str(estimate).startswith(f"estimated {name}: {100 * estimate.value:.1f} ")
        json.dumps(estimate.to_dict(), allow_nan=False)
    truth = truth_from(site.boxes)
    known = labelled_site(replace(site, truth=truth, name="new"))
    counts = np.sum([image_counts(of, 0.4) for of in known.evaluation.rankings], axis=0)
    for name, measure in zip(points_at(0.4), MEASURES, strict=True):
        assert beside[name]["lower"] < value_of(measure, counts) < beside[name]["upper"]


def test_a_fit_of_recall_is_that_for_its_target(sets, estimator, site):
    fitted = fit_sets(sets, context={}, settings=FitSettings("recall@0.4"))
    changed = estimator.for_target("recall@0.4")
    assert fitted.predict_site(site).value == pytest.approx(changed.predict_site(site).value)
    assert fitted.fit_result_.cross_validation[0].target == "recall@0.4"
    assert fitted.for_target("mAP").predict_site(site).value == pytest.approx(
        estimator.predict_site(site).value
    )


def test_a_threshold_written_otherwise_is_the_same_target(estimator):
    fitted = estimator.for_target("recall@0.4")
    assert estimator.for_target("recall@.40:.50").target == "recall@0.4"
    assert fitted.for_target("recall@.4") is fitted


@pytest.mark.parametrize("target", ["recall@0.4/car", "recall@0.4/dog", "mAP50/car"])
def test_one_category_is_no_target_of_a_fit(sets, estimator, target):
    with pytest.raises(InputError, match="of all categories"):
        estimator.for_target(target)
    with pytest.raises(InputError, match="of all categories"):
        fit_sets(sets, context={}, settings=FitSettings(target))


def assert_known_by_definition(beside, undefined):
    ends = ("value", "lower", "upper")
    for measure in ("recall", "f1"):
        assert [beside[f"{measure}@0.999"][end] for end in ends] == [0, 0, 0]
    assert all(np.isnan(beside["precision@0.999"][end]) for end in ends)
    assert undefined == ("precision@0.999",)


def test_over_the_threshold_is_no_box_so_recall_is_0_and_precision_not_defined(estimator, site):
    plain, estimate = estimator.predict_site(site), estimator.predict_site(site, 0.999)
    assert (estimate.value, estimate.lower) == (plain.value, plain.lower)
    assert_known_by_definition(estimate.other_targets, estimate.undefined)
    text = estimate_head(estimate)
    assert "precision@0.999: not defined, no box is over the threshold" in text
    assert "recall@0.999: 0.0 (0.0 to 0.0)" in text
    assert "precision@0.999: not known" in str(estimate)
    assert str(estimate).count("no box on these images has a score over 0.999") == 1
    assert estimate_row(estimate)["undefined"].tolist() == ["precision@0.999"]


def test_recall_as_the_target_is_0_by_definition_without_a_sampling_error(estimator, site):
    estimate = estimator.for_target("recall@0.999").predict_site(site)
    assert (estimate.value, estimate.lower, estimate.upper) == (0, 0, 0)
    assert not estimate.width_warning and np.isnan(estimate.sampling_std)
    assert {of["value"] for of in estimate.per_category.values()} == {0.0}
    assert estimate.other_targets["mAP"]["value"] == estimator.predict_site(site).value


def test_precision_as_the_target_is_not_defined_where_the_fit_has_boxes_over_it(estimator, site):
    weak = site.boxes.where(site.boxes.scores < 0.6)
    estimate = estimator.for_target("precision@0.7").predict_site(Site(weak))
    assert np.isnan(estimate.value) and estimate.undefined == ("precision@0.7",)
    head = estimate_head(estimate)
    assert head.startswith("precision@0.7: not defined, no box is over the threshold")
    assert "too wide" not in str(estimate)


def without_cars_over(found, threshold):
    return Site(found.where((found.label != 0) | (found.scores <= threshold)))


@pytest.mark.parametrize("measure", ["recall", "f1"])
def test_a_category_without_a_box_over_the_threshold_is_0_in_the_mean_of_all_too(
    estimator, site, measure
):
    name, low = f"{measure}@0.8", without_cars_over(site.boxes, 0.8)
    estimate = estimator.for_target(name).predict_site(low)
    values = {name: ends["value"] for name, ends in estimate.per_category.items()}
    assert values["car"] == 0
    rows = estimate.site.row["rows"]
    weights = dict(zip(rows["category"], category_weights(rows, name), strict=True))
    mean = sum(weights[category] * value for category, value in values.items())
    assert weights["car"] > 0.1 and estimate.value == pytest.approx(mean, rel=1e-12)
    assert estimator.predict_site(low, 0.8).other_targets[name]["value"] == estimate.value
    curve = expected_curve(estimator, estimator.predict_site(low), thresholds=np.array([0.8]))
    assert curve.set_index("measure")["value"][measure] == pytest.approx(estimate.value, rel=1e-6)
    # the regression of that category moves the interval no more
    every = estimator.for_target(name).regression_
    without = {column: values[rows["category"] != "car"] for column, values in rows.items()}
    of_others, share = every.predict_mean(without), 1 - weights["car"]
    assert estimate.upper - estimate.value == pytest.approx(
        share * (of_others.upper - of_others.value), rel=1e-9
    )


def test_joint_draws_have_the_same_mean_where_a_category_is_0(estimator, site):
    fitted = estimator.for_target("recall@0.6")
    estimate = fitted.predict_site(without_cars_over(site.boxes, 0.6))
    rows = pd.DataFrame(estimate.site.row["rows"]).assign(site="new")
    drawn = draw_sites(fitted.regression_, rows, draws=20_000)
    assert drawn.mean() == pytest.approx(estimate.value, abs=0.003)


def test_boxes_over_the_threshold_of_categories_that_do_not_count_define_nothing(estimator, site):
    found = site.boxes
    best_bus = np.flatnonzero(found.label == 1)[np.argmax(found.scores[found.label == 1])]
    kept = (found.label != 1) & (found.scores <= 0.8)
    kept[best_bus] = True
    low = Site(found.where(kept))
    estimate = estimator.predict_site(low, 0.8)
    assert list(estimate.left_out) == ["bus"] and found.scores[best_bus] > 0.8
    ends = ("value", "lower", "upper")
    for measure in ("recall", "f1"):
        assert [estimate.other_targets[f"{measure}@0.8"][end] for end in ends] == [0, 0, 0]
    assert np.isnan(estimate.other_targets["precision@0.8"]["value"])
    assert estimate.undefined == ("precision@0.8",)
    for measure, value in (("recall", 0.0), ("precision", np.nan)):
        alone = estimator.for_target(f"{measure}@0.8").predict_site(low)
        assert (alone.value, alone.lower) == pytest.approx((value, value), nan_ok=True)
        plan = estimator.for_target(f"{measure}@0.8").plan_labels(alone, n=1)
        assert f"{measure}@0.8" not in plan.priors


def test_a_category_that_is_there_and_never_found_has_a_recall_of_0(estimator, site):
    """It had no value beside other categories, and 0 alone."""
    low = Site(site.boxes.where(site.boxes.label != 1), present=("bus",))
    for measure, value in (("recall", 0.0), ("f1", 0.0), ("precision", np.nan)):
        estimate = estimator.for_target(f"{measure}@0.3").predict_site(low)
        bus, alone = estimate.per_category["bus"], estimate.per_category["car"]
        assert list(bus.values()) == pytest.approx([value] * 3, nan_ok=True)
        assert alone["value"] > 0


@pytest.mark.parametrize("everywhere", [False, True])
def test_no_plan_for_precision_where_no_image_has_a_box_over_the_threshold(
    estimator, site, everywhere
):
    low = Site(site.boxes.where(site.boxes.scores <= 0.9))
    fitted = estimator.for_target("precision@0.9")
    with pytest.raises(InputError, match=r"None of the 24 images has a box over 0\.9"):
        fitted.plan_labels(fitted.predict_site(low), n=5, everywhere=everywhere)


def test_labels_alone_measure_recall_where_no_box_is_over_the_threshold(estimator, site):
    fitted = estimator.for_target("recall@0.999")
    plan = fitted.plan_labels(fitted.predict_site(site), n=5)
    assert not any("@" in name for name in plan.priors)
    assert len(plan.found.categories) == 5


class TestBadInput:
    def test_a_table_without_counts(self, estimator):
        old = estimator.table_.drop(columns=["counts", "expected_counts"])
        with pytest.raises(InputError, match="fit again"):
            Regression(target="recall@0.3").fit(old)

    def test_categories_without_labelled_objects(self, estimator):
        unlabelled = estimator.table_.assign(counts=None)
        with pytest.raises(InputError, match=r"None of the 20 pairs .* has a recall@0\.3"):
            Regression(target="recall@0.3").fit(unlabelled)


def test_a_measure_beside_that_has_no_estimate_is_named(estimator, site):
    estimate = estimator.predict_site(site, 0.4)
    without = {"recall@0.4": dict.fromkeys(("value", "lower", "upper"), np.nan)}
    lines = other_target_lines(
        replace(estimate, other_targets={**estimate.other_targets, **without})
    )
    assert "recall@0.4: no estimate, its interval would be wider than ±42 points" in list(lines)


def test_precision_that_no_box_of_the_fit_shows_is_not_called_too_wide():
    found = random_found(1)
    low = found.where(found.scores <= 0.9)
    fitted = fit_sets([labelled_site(Site(low, truth=truth_from(low), name="s"))], context={})
    estimate = fitted.predict_site(Site(random_found(9)), 0.9)
    assert np.isnan(estimate.other_targets["precision@0.9"]["value"]) and estimate.undefined == ()
    assert estimate.other_targets["recall@0.9"]["value"] > 0
    codes = [warning.code for warning in estimate.warnings]
    assert "no-box-over-threshold-in-fit" in codes
    assert "precision-hardly-known" not in codes  # of what is not estimated
    (line,) = [of for of in other_target_lines(estimate) if of.startswith("precision@0.9:")]
    assert line.code == "no-box-over-threshold-in-fit"
    # boxes of the site over the threshold are lacking, too: not defined at all
    none = fitted.predict_site(Site(random_found(9).where(random_found(9).scores <= 0.9)), 0.9)
    assert none.undefined == ("precision@0.9",)
    assert "precision@0.9: not defined, no box is over the threshold" in list(
        other_target_lines(none)
    )
