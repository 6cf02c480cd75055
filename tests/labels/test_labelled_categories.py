"""The mean is over the categories that are labelled, whether the detector found them or not."""

from dataclasses import replace

import numpy as np
import pytest
from label_worlds import assistance_of, label_set, make_site

from autoeval.errors import InputError
from autoeval.estimation.label_planning import PlanRequest, make_plan
from autoeval.io.labels.content import EVERYWHERE, BoxColumns, LabelledBox
from autoeval.labels.labelled_categories import UNLIKELY, ZERO, on_labelled_categories
from autoeval.labels.labelled_estimate import estimate_with_labels, labels_of_plan
from autoeval.labels.plan_folder import load_plan, save_plan
from autoeval.labels.values import ValueWithError
from autoeval.sites.site import with_features

WORDS = ("car", "bus", "van")
PRIORS = {"mAP": 0.4, "mAP/car": 0.5, "mAP/bus": 0.3}
RECALLS = {"": 0.4, "/car": 0.6, "/bus": 0.2}


@pytest.fixture(scope="module")
def assistance():
    return assistance_of(5)


@pytest.fixture(scope="module")
def site():
    return make_site(5, n_images=60, categories=WORDS)


def plan_of(site, assistance, *, rest=False, named=False, error=0.1, n=60):
    """Of cars and buses; boxes of vans are unlikely ones, or there are none."""
    boxes = site.pool
    words = {word: word for word in WORDS[:2]}
    pool = with_features(boxes.as_categories(WORDS[:2], words))
    vans = boxes.as_categories(("van",), {"van": "van"}) if rest else None
    priors = {name: ValueWithError(value, error) for name, value in PRIORS.items()}
    plan = make_plan(pool, assistance, PlanRequest(n))
    return replace(plan, priors=priors, named=named, rest=vans)


def true_values(site):
    return [ranking.average_precision().mean() for ranking in site.evaluation.rankings]


def test_a_labelled_category_without_a_box_counts_as_zero(site, assistance):
    estimate = estimate_with_labels(plan_of(site, assistance), label_set(site, range(60)))
    car, bus, _ = true_values(site)
    assert estimate.value == pytest.approx((car + bus + 0) / 3)
    assert estimate.interval == pytest.approx((estimate.value, estimate.value))
    assert estimate.by_category["van"].combined.estimate.value == 0
    assert "little or nothing was detected" in " ".join(estimate.warnings)
    assert "van" in " ".join(estimate.warnings)


def test_labels_of_nothing_that_was_detected_are_of_its_words_where_they_list_them(
    site, assistance
):
    labels = label_set(site, range(60))
    vans = BoxColumns.of([box for box in labels.boxes if box.category == "van"])
    labels = replace(labels, boxes=vans, lists_categories=True)
    estimate = estimate_with_labels(plan_of(site, assistance), labels)
    assert set(estimate.per_category) == {"van"} and estimate.value == 0
    with pytest.raises(InputError, match="Expected labels of car"):
        estimate_with_labels(plan_of(site, assistance), replace(labels, lists_categories=False))


def test_its_unlikely_boxes_are_measured_also_of_a_stored_plan(site, assistance, tmp_path):
    plan = plan_of(site, assistance, rest=True)
    save_plan(plan, tmp_path)
    estimate = estimate_with_labels(load_plan(tmp_path), label_set(site, range(60)))
    assert estimate.value == pytest.approx(np.mean(true_values(site)))


def test_recall_is_over_all_labelled_objects(site, assistance):
    plan = plan_of(site, assistance)
    labels = label_set(site, range(60))
    with_vans = estimate_with_labels(plan, labels, score_thr=0.3).whole["recall@0.3"]
    boxes = BoxColumns.of([box for box in labels.boxes if box.category != "van"])
    without = replace(labels, boxes=boxes)
    of_two = estimate_with_labels(plan, without, score_thr=0.3).whole["recall@0.3"]
    share = len(without.boxes) / len(labels.boxes)
    assert with_vans.combined.estimate.value == pytest.approx(
        share * of_two.combined.estimate.value
    )


@pytest.mark.parametrize("named", [False, True])
def test_labelled_categories_that_are_not_named_are_noted(site, assistance, named):
    plan = plan_of(site, assistance, named=named)
    estimate = estimate_with_labels(plan, label_set(site, range(60)))
    codes = [notice.code for notice in estimate.warnings]
    assert codes.count("categories-not-named") == named
    assert ("van" in estimate.per_category) != named


@pytest.mark.parametrize("rest", [False, True])
def test_labels_in_several_words_of_a_category_are_of_one(site, assistance, rest):
    """As a detector's car, bus and truck, of a fit that was given them for vehicle."""
    plan = plan_of(site, assistance, rest=rest, n=20)
    plan = replace(plan, detector_words={"lorry": "van", "pickup": "van"})
    labels = label_set(site, range(20))
    words = [
        ("van", "lorry", "pickup")[k % 3] if box.category == "van" else box.category
        for k, box in enumerate(labels.boxes)
    ]
    boxes = [replace(box, category=word) for box, word in zip(labels.boxes, words, strict=True)]
    in_words = replace(labels, categories=(*WORDS, "lorry", "pickup"), boxes=BoxColumns.of(boxes))
    assert {"van", "lorry", "pickup"} <= {*words}
    estimate, expected = (
        estimate_with_labels(plan, of, planned=False) for of in (in_words, labels)
    )
    assert estimate.recommended == expected.recommended
    assert estimate.per_category == expected.per_category
    of_plan, chosen = on_labelled_categories(plan, labels_of_plan(in_words, plan, None))
    assert of_plan.found.categories == WORDS
    assert "low: 1 (van)" in chosen.warnings[0]


def test_a_category_was_looked_for_where_all_of_its_words_were(site, assistance):
    """Labels of LVIS in a detector's words: nobody looked for lorries in every other image."""
    priors = {name: ValueWithError(value, 0.1) for name, value in PRIORS.items()}
    plan = replace(make_plan(site.pool, assistance, PlanRequest(60)), priors=priors, named=True)
    labels = label_set(site, range(60))
    parts = (frozenset({*WORDS, "lorry"}), frozenset(WORDS))
    checked = {image.image_id: parts[k % 2] for k, image in enumerate(labels.images)}
    labels = replace(labels, categories=(*WORDS, "lorry"), checked=checked)
    estimate = estimate_with_labels(replace(plan, detector_words={"lorry": "van"}), labels)
    others = [image.image_id for image in labels.images[1::2]]
    areas = [LabelledBox(name, "van", EVERYWHERE, iscrowd=True) for name in others]
    ignored = BoxColumns.of([*labels.boxes, *areas])
    of_areas = replace(labels, categories=WORDS, checked={}, boxes=ignored)
    assert estimate.per_category == estimate_with_labels(plan, of_areas).per_category


def test_named_categories_are_the_only_ones(site, assistance):
    named = plan_of(site, assistance, named=True)
    estimate = estimate_with_labels(named, label_set(site, range(60)))
    assert set(estimate.per_category) == {"car", "bus"}
    by_words = estimate_with_labels(
        plan_of(site, assistance), label_set(site, range(60)), words={"car": "car", "bus": "bus"}
    )
    assert estimate.value == by_words.value == pytest.approx(np.mean(true_values(site)[:2]))


def test_a_category_may_be_spelt_in_two_ways_for_two_words(site, assistance):
    plan, labels = plan_of(site, assistance), label_set(site, range(20))
    alike, mixed = (
        estimate_with_labels(plan, labels, words=words, planned=False)
        for words in ({"car": "car", "van": "car"}, {"car": "car", "van": "Car"})
    )
    assert mixed.per_category == alike.per_category


def test_a_detected_category_that_the_labels_do_not_have_is_left_out(site, assistance):
    labels = label_set(site, range(20))
    boxes = BoxColumns.of([box for box in labels.boxes if box.category == "car"])
    only_cars = replace(labels, categories=("car",), boxes=boxes, lists_categories=True)
    estimate = estimate_with_labels(plan_of(site, assistance, n=20), only_cars, planned=False)
    assert set(estimate.per_category) == {"car"}
    assert estimate.recommended == estimate.by_category["car"].combined.estimate
    assert "that the labels do not have" in " ".join(estimate.warnings)
    assert "bus" in " ".join(estimate.warnings)


@pytest.mark.parametrize(("n", "kept"), [(5, {"car", "bus"}), (20, {"car"})])
def test_labels_without_a_list_have_a_category_unless_many_of_its_objects_are_expected(
    site, assistance, n, kept
):
    """Of Pascal VOC's kind: an image holds one bus on average, and none is labelled."""
    labels = label_set(site, range(n))
    boxes = BoxColumns.of([box for box in labels.boxes if box.category == "car"])
    only_cars = replace(labels, categories=("car",), boxes=boxes, lists_categories=False)
    estimate = estimate_with_labels(plan_of(site, assistance, n=n), only_cars, planned=False)
    assert set(estimate.per_category) == kept
    left_out = "categories-without-labels" in {notice.code for notice in estimate.warnings}
    assert left_out == ("bus" not in kept)


def test_a_category_of_images_outside_the_pool_is_not_added(site, assistance):
    labels = label_set(site, range(60))
    elsewhere = replace(labels.images[0], image_id="x.jpg", file_name="x.jpg")
    vans = [
        replace(box, image_id="x.jpg") if box.category == "van" else box for box in labels.boxes
    ]
    boxes = BoxColumns.of(vans)
    labels = replace(labels, images=(*labels.images, elsewhere), boxes=boxes)
    plan, chosen = on_labelled_categories(plan_of(site, assistance), labels)
    assert plan.found.categories == ("car", "bus") and chosen.warnings == ()


@pytest.mark.parametrize(("rest", "added"), [(False, ZERO), (True, UNLIKELY)])
def test_the_label_free_mean_has_the_added_category(site, assistance, rest, added):
    """By hand: two of three categories with .4 ± .1, and the added one."""
    plan, _ = on_labelled_categories(
        plan_of(site, assistance, rest=rest), label_set(site, range(60))
    )
    mean = plan.priors["mAP"]
    assert mean.value == pytest.approx((2 * 0.4 + added.value) / 3)
    assert mean.error == pytest.approx(np.hypot(2 * 0.1, added.error) / 3)


def test_the_label_free_mean_stays_known_where_a_category_alone_is_not(site, assistance):
    """As of mAP50, which has no estimate of a category whose interval would be too wide."""
    plan = plan_of(site, assistance)
    priors = {name: of for name, of in plan.priors.items() if name != "mAP/bus"}
    plan, _ = on_labelled_categories(replace(plan, priors=priors), label_set(site, range(60)))
    assert plan.found.categories == WORDS
    assert plan.priors["mAP"].value == pytest.approx(2 / 3 * 0.4)


def test_the_error_of_a_mean_over_fewer_categories_follows_from_that_over_all(site, assistance):
    """One category errs by .2, the mean of two by .15: common .0225 * 2 - .04 = .005."""
    plan = plan_of(site, assistance, error=0.2)
    priors = {**plan.priors, "mAP": ValueWithError(0.4, 0.15)}
    labels = label_set(site, range(60))
    boxes = BoxColumns.of([box for box in labels.boxes if box.category == "car"])
    labels = replace(labels, categories=("car",), boxes=boxes, lists_categories=True)
    alone, _ = on_labelled_categories(replace(plan, priors=priors), labels)
    assert alone.priors["mAP"].error == pytest.approx(0.2)


def test_categories_keep_their_label_free_recall_where_another_is_left_out(site, assistance):
    plan = plan_of(site, assistance, n=20)
    of_recall = {f"recall@0.3{name}": ValueWithError(value, 0.1) for name, value in RECALLS.items()}
    plan = replace(plan, priors={**plan.priors, **of_recall}, target="recall@0.3", score_thr=0.3)
    labels = label_set(site, range(20))
    boxes = BoxColumns.of([box for box in labels.boxes if box.category == "car"])
    labels = replace(labels, categories=("car",), boxes=boxes, lists_categories=True)
    estimate = estimate_with_labels(plan, labels, planned=False)
    assert estimate.by_category["car"].prior == ValueWithError(0.6, 0.1)
    assert estimate.whole["recall@0.3"].prior == ValueWithError(0.6, 0.1)
    of_two = on_labelled_categories(plan, label_set(site, range(60)))[0].priors
    assert of_two["recall@0.3/bus"].value == 0.2 and "recall@0.3" not in of_two


@pytest.mark.parametrize(("score_thr", "noted"), [(0.3, True), (0.999, False)])
def test_boxes_without_labels_are_counted_over_the_threshold_that_is_asked_for(
    site, assistance, score_thr, noted
):
    """Of a plan without one: no box is over .999, so none is a false positive there."""
    labels = label_set(site, range(5))
    boxes = BoxColumns.of([box for box in labels.boxes if box.category == "car"])
    labels = replace(labels, categories=("car",), boxes=boxes, lists_categories=False)
    plan = plan_of(site, assistance, n=5)
    estimate = estimate_with_labels(plan, labels, planned=False, score_thr=score_thr)
    codes = {notice.code for notice in estimate.warnings}
    assert ("categories-not-listed" in codes) == noted


def test_the_label_free_estimate_of_the_one_category_left_is_the_one_that_was_printed(
    site, assistance
):
    of_car = {"value": 0.5, "lower": 0.25, "upper": 0.75}
    plan = plan_of(site, assistance, n=20)
    plan = replace(plan, printed={"mAP": dict(of_car, value=0.4), "mAP/car": of_car})
    labels = label_set(site, range(20))
    boxes = BoxColumns.of([box for box in labels.boxes if box.category == "car"])
    labels = replace(labels, categories=("car",), boxes=boxes, lists_categories=True)
    estimate = estimate_with_labels(plan, labels, planned=False)
    assert estimate.label_free() == estimate.label_free("car") == of_car
