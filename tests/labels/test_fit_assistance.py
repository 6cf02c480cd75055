"""Fitting label assistance on sites, on one labelled set, and where there is too little."""

import json
from dataclasses import replace

import numpy as np
import pytest
from label_worlds import assistance_of, label_set, make_site

from autoeval.accuracy.coco_evaluation import AT_HALF
from autoeval.accuracy.measures import influence_function
from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.estimation.label_planning import PlanRequest, make_plan
from autoeval.labels.assistance import LabelAssistance
from autoeval.labels.fit_assistance import (
    USUAL_DOF,
    CrossFitted,
    _mixing_weights,
    drawn_boxes,
    fit_assistance,
    image_folds,
    pairs_of,
)
from autoeval.labels.labelled_estimate import estimate_with_labels
from autoeval.labels.values import ValueWithError, VariancePrior


def correlation(assistance, site):
    predicted = next(assistance.predict(site.pool)).mean(axis=0)
    true = influence_function(site.evaluation.rankings[0]).mean(axis=0)
    return np.corrcoef(predicted, true)[0, 1]


def test_what_is_drawn_does_not_depend_on_the_order_of_a_file():
    site = make_site(1, n_images=80, categories=("car", "bus"))
    boxes, rng = site.boxes, np.random.default_rng(0)
    place = rng.permutation(80)  # of each image in the other file
    images = tuple(boxes.images[k] for k in np.argsort(place))
    mixed = rng.permutation(len(boxes))
    other = replace(
        boxes,
        images=images,
        categories=("bus", "car"),
        image=place[boxes.image[mixed]],
        label=1 - boxes.label[mixed],
        boxes=boxes.boxes[mixed],
        scores=boxes.scores[mixed],
    )
    usable = np.flatnonzero(boxes.scores > 0.2)
    first = drawn_boxes(boxes, usable, 50)
    second = drawn_boxes(other, np.flatnonzero(other.scores > 0.2), 50)
    assert len(set(first.tolist())) == 50 and np.isin(first, usable).all()
    np.testing.assert_array_equal(boxes.boxes[first], other.boxes[second])
    words = replace(boxes, categories=("vehicle", "bus"))
    np.testing.assert_array_equal(drawn_boxes(words, usable, 50), first)
    truth = replace(site.truth, images=images, image=place[site.truth.image])
    turned = replace(site, boxes=replace(other, categories=boxes.categories), truth=truth)
    kept = [[image.image_id for image in made.at_most(20).pool.images] for made in (site, turned)]
    assert len(kept[0]) == 20 and set(kept[0]) == set(kept[1])


@pytest.mark.parametrize("groups", [1, 6])
def test_folds_do_not_depend_on_the_unit_of_coordinates_or_the_order_of_sites(groups):
    sites = [replace(make_site(k), group=f"group {k % groups}") for k in range(12)]

    def resized(site, factor):
        larger = replace(site.boxes, boxes=factor * site.boxes.boxes)
        truth = replace(site.truth, boxes=factor * site.truth.boxes)
        return replace(site, boxes=larger, truth=truth)

    usual = image_folds(sites)
    for factor in (2, 1 / 3):
        folds = image_folds([resized(site, factor) for site in sites[::-1]])
        for before, after in zip(usual, folds[::-1], strict=True):
            np.testing.assert_array_equal(before, after)


def test_folds_of_scores_with_few_decimals_are_those_of_the_same_in_single_precision():
    def written(k, kind):
        site = make_site(k)
        scores = site.boxes.scores.astype(np.float64).round(4).astype(kind).astype(np.float64)
        return replace(site, boxes=replace(site.boxes, scores=scores), group=f"group {k}")

    as_json, as_parquet = (
        image_folds([written(k, kind) for k in range(6)]) for kind in (np.float64, np.float32)
    )
    assert [fold[0] for fold in as_json] == [fold[0] for fold in as_parquet]


@pytest.mark.parametrize("size", [10, 40])  # of 120 images; of three blocks no fold is made
def test_frames_of_one_block_of_time_are_left_out_together(size):
    """Else a fold is fitted on what it predicts: the same objects a second later."""
    blocks = np.arange(120) // size
    site = replace(make_site(1, n_images=120), blocks=blocks)
    (folds,) = image_folds([site])
    together = [len(np.unique(folds[blocks == k])) == 1 for k in range(120 // size)]
    assert all(together) if size == 10 else not any(together)
    assert np.bincount(folds).tolist() == [30] * 4
    (backwards,) = image_folds([site.on_images(np.arange(120)[::-1])])
    np.testing.assert_array_equal(backwards[::-1], folds)
    assert fit_assistance([site]).mixing["model"].correlation > 0.3


def test_one_site_of_one_category_is_enough():
    assistance = fit_assistance([make_site(1)])
    assert assistance.sites == ("site1",)
    assert correlation(assistance, make_site(77, n_images=120)) > 0.3
    assert 0 < assistance.mixing["model"].correlation < 1


def test_one_labelled_set_is_learned_from_by_folds_of_its_images():
    """Labels that are unrelated to the boxes must not seem to be predicted."""
    site = make_site(1, n_images=120)
    shuffled = np.random.default_rng(0).permutation(120)[site.truth.image]
    unrelated = replace(site, truth=replace(site.truth, image=shuffled))
    assert fit_assistance([site]).mixing["model"].correlation > 0.4
    assert fit_assistance([unrelated]).mixing["model"].correlation < 0.25


def frames_of(boxes, images, times):
    """The boxes of each image on so many frames of a video, which are its neighbours."""
    tiled = {name: np.concatenate([getattr(boxes, name)] * times) for name in ("label", "crowd")}
    corners, scores = np.tile(boxes.boxes, (times, 1)), np.tile(boxes.scores, times)
    image = np.concatenate([times * boxes.image + k for k in range(times)])
    return replace(boxes, images=images, image=image, boxes=corners, scores=scores, **tiled)


def test_a_video_whose_labels_are_unrelated_to_its_boxes_seems_to_be_predicted_by_no_frame():
    """What a frame shows is known from the next one, where that is not left out with it."""
    scenes = make_site(2, n_images=12)
    images = tuple(LabelledImage(f"{k:03}", f"{k:03}.jpg", (480, 640)) for k in range(120))
    elsewhere = np.random.default_rng(2).permutation(12)[scenes.truth.image]
    boxes = frames_of(scenes.boxes, images, 10)
    trembling = boxes.scores + np.random.default_rng(0).normal(0, 0.005, len(boxes))
    site = replace(
        scenes,
        boxes=replace(boxes, scores=np.clip(trembling, 0.01, 0.99)),
        truth=frames_of(replace(scenes.truth, image=elsewhere), images, 10),
        blocks=np.arange(120) // 10,
    )
    assert fit_assistance([replace(site, blocks=None)]).mixing["model"].correlation > 0.6
    assert fit_assistance([site]).mixing["model"].correlation < 0.25


def test_a_category_is_learned_from_the_images_that_hold_or_show_it():
    site = make_site(3, n_images=200, n_objects=1.0, categories=("car", "bus", "van"))
    pairs = list(pairs_of(site, everywhere=False))
    boxes = site.pool
    for pair in pairs:
        held = set(site.truth.image[site.truth.label == pair.category])
        shown = set(boxes.image[(boxes.label == pair.category) & (boxes.scores > 0.05)])
        assert set(pair.images) == held | shown
        assert len(pair.images) < 200
    assert [pair.category for pair in pairs] == [0, 1, 2]
    assert all(len(pair.images) == 200 for pair in pairs_of(site, everywhere=True))
    assert correlation(fit_assistance([site]), make_site(77, n_images=120)) > 0.2


def test_thresholds_of_one_pair_are_not_as_many_sites():
    """One pair shows no variance over sites, at however many thresholds it is looked at."""
    assistance = fit_assistance([make_site(1)])
    assert {weights.residual.dof for weights in assistance.points.values()} == {USUAL_DOF}


def test_a_site_whose_prediction_varies_by_rounding_alone_shows_no_variance():
    """All boxes of the other site are right, so that each is as probable: precision is constant."""
    clean, other = make_site(1, n_objects=8.0), make_site(10, n_objects=8.0)
    right = clean.evaluation.matches.hits[AT_HALF]
    clean = replace(clean, boxes=clean.boxes.where(right))
    points = fit_assistance([clean, other]).points
    assert points["precision"].residual.variance < 100


def test_precision_is_not_forecast_as_exact_after_a_fit_without_a_wrong_box():
    """By hand: each image counts as one box, and five as the unknown half, so that a is 1/2."""
    site = make_site(1)
    clean = replace(site, boxes=site.boxes.where(site.evaluation.matches.hits[AT_HALF]))
    assistance = fit_assistance([clean])
    plan = make_plan(make_site(9).pool, assistance, PlanRequest(20), targets=["precision@0.3"])
    error = np.sqrt((1 - 20 / 60) * 0.25 * (6 / 7) / 20)
    assert plan.forecast(20) == pytest.approx(ValueWithError(0, error, 6 + 19).half_width(0.9))
    # recall without a box over the threshold in the whole pool is 0, and known
    nothing = make_plan(make_site(9).pool, assistance, PlanRequest(20), targets=["recall@0.999"])
    assert nothing.forecast(20) == 0


def test_a_reference_that_finds_nothing_of_a_pair_shows_no_variance_of_it():
    rng = np.random.default_rng(0)
    true, noise = rng.normal(size=(2, 50))
    first = CrossFitted(true, {"model": -true, "reference": true + 0.1 * noise}, 0)
    second = CrossFitted(noise, {"model": true, "reference": np.zeros(50)}, 1)
    both = _mixing_weights([first, second], ("model", "reference"))
    assert both.slopes["model"] == 0 < both.slopes["reference"]
    left = true - both.slopes["reference"] * first.predicted["reference"]
    sum_of = both.slopes["reference"] * first.predicted["reference"]
    assert both.residual == VariancePrior(
        pytest.approx(left.var() / sum_of.var(), rel=1e-9), USUAL_DOF
    )


def test_labelled_sets_of_one_group_are_divided_by_images():
    sites = [replace(make_site(seed), group="one") for seed in (1, 2)]
    assert fit_assistance(sites).sites == ("site1", "site2")


def test_twenty_labels_with_one_labelled_set_come_near_the_truth():
    assistance = fit_assistance([make_site(1, n_images=150)])
    site = make_site(77, n_images=120)
    errors, alone = [], []
    for seed in range(20):
        plan = make_plan(site.pool, assistance, PlanRequest(20, seed=seed))
        estimates = estimate_with_labels(plan, label_set(site, plan.drawn)).whole["mAP"]
        truth = site.evaluation.rankings[0].average_precision().mean()
        errors.append(estimates.difference.value - truth)
        alone.append(estimates.sample.value - truth)
    assert np.std(errors) < np.std(alone)


@pytest.mark.parametrize("sites", [[], [make_site(1, n_images=10)]], ids=["none", "small"])
def test_too_few_images_say_what_is_needed(sites):
    with pytest.raises(InputError, match=r"Expected labelled images .* 20 .* 10 labelled boxes"):
        fit_assistance(sites)


def test_a_detector_that_finds_nothing_teaches_nothing():
    site = make_site(1)
    nothing = site.boxes.where(np.zeros(len(site.boxes), bool))
    with pytest.raises(InputError, match="in 5 images"):
        fit_assistance([replace(site, boxes=nothing)])


def test_it_survives_a_file():
    assistance = assistance_of(3)
    text = json.dumps(assistance.to_dict())
    again, site = LabelAssistance.from_dict(json.loads(text)), make_site(77)
    assert again.to_dict() == assistance.to_dict()
    np.testing.assert_array_equal(
        next(again.predict(site.pool)), next(assistance.predict(site.pool))
    )
    assert len(text) < 20_000


def test_a_file_that_reads_other_features_of_boxes_is_refused():
    values = assistance_of(3).to_dict()
    values["box_model"]["names"] = values["box_model"]["names"][::-1]
    with pytest.raises(InputError, match="other features of boxes"):
        LabelAssistance.from_dict(values)
