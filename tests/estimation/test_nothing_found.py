"""A site where the detector found nothing: no estimate, but a plan, and labels that measure it."""

import json
from dataclasses import replace

import numpy as np
import pytest

import autoeval
from autoeval import AccuracyEstimator
from autoeval.errors import InputError
from autoeval.estimation.threshold_choice import expected_curve
from autoeval.labels.plan import BY_CHANCE
from autoeval.labels.plan_folder import load_plan, save_plan
from autoeval.report.estimate import estimate_text
from autoeval.report.labels import labelled_page, labelled_text, plan_text, until_text
from autoeval.words import Notice
from tests.commands.predicted_world import write_world
from tests.estimation.test_operating_curve import rows_of_cars

N = 40
WORDS = {"thing": ["thing 0", "thing 1"]}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    labels, predictions = write_world(folder, "val", seed=0)
    autoeval.fit(labels, predictions).save(folder / "estimator.parquet")
    site, _ = write_world(folder, "site", seed=1, n_images=N)
    content = json.loads(site.read_text())
    (folder / "images.json").write_text(json.dumps({**content, "annotations": []}))
    (folder / "no_boxes.json").write_text("[]")
    boxes = [
        {"image_id": k, "category_id": 1, "bbox": [k, 1, 9, 9], "score": 0.011} for k in range(N)
    ]
    (folder / "unlikely.json").write_text(json.dumps(boxes))
    return folder


@pytest.fixture(scope="module")
def estimator(world):
    return AccuracyEstimator.load(world / "estimator.parquet")


WAYS = {  # a file without a box and a list; a file that lists its images; boxes that are all wrong
    "list": ("no_boxes.json", "images.json"),
    "own": ("images.json", None),
    "unlikely": ("unlikely.json", "images.json"),
}


def estimated(estimator, world, way, **options):
    predictions, images = WAYS[way]
    return estimator.predict(world / predictions, images=images and world / images, **options)


@pytest.mark.parametrize("categories", [None, WORDS], ids=["found", "named"])
@pytest.mark.parametrize("way", WAYS)
def test_the_estimate_has_no_value_and_says_what_helps(estimator, world, way, categories):
    estimate = estimated(estimator, world, way, categories=categories)
    assert np.isnan([estimate.value, estimate.lower, estimate.upper]).all()
    first, second, *rest = estimate_text(estimate, estimator).splitlines()
    assert first.startswith(f"no estimate of mAP, from {N} images")
    assert second == "90% interval: none, nothing was found"
    found = next(line for line in rest if line.startswith("warning: "))
    assert found.startswith(f"warning: nothing found in {N} images: ") and "label plan" in found
    assert not any("under 50" in line or "sampling error" in line for line in rest)
    json.dumps(estimate.to_dict(), allow_nan=False)


def test_without_a_box_recall_is_0_at_any_threshold_and_there_is_no_curve(estimator, world):
    estimate = estimated(estimator, world, "own", score_thr=0.3)
    assert estimate.other_targets["recall@0.3"]["upper"] == 0
    assert estimate.undefined == ("precision@0.3",)
    assert expected_curve(estimator, estimate).empty
    unlikely = estimated(estimator, world, "unlikely", score_thr=0.01)
    assert np.isnan(unlikely.other_targets["recall@0.01"]["value"]) and unlikely.undefined == ()


@pytest.mark.parametrize("way", WAYS)
def test_a_plan_is_a_simple_random_sample_and_its_labels_measure_0(estimator, world, way, tmp_path):
    plan = estimator.plan_labels(estimated(estimator, world, way), n=20)
    assert plan.order == BY_CHANCE and plan.n_pool == N
    assert any("nothing found in 40 images" in warning for warning in plan.warnings)
    save_plan(plan, tmp_path)
    result = autoeval.estimate_with_labels(load_plan(tmp_path), world / "site_labels.json")
    assert (result.value, result.lower) == pytest.approx((0, 0), abs=1e-6)
    assert 0 <= result.upper < 0.05  # 20 images without a true positive leave room for a few
    assert set(result.per_category) == {f"thing {k}" for k in range(12)}
    assert "nothing-found" not in {warning.code for warning in result.warnings}  # labels decide it
    assert "nan" not in plan_text(plan)
    every = estimator.plan_labels(estimated(estimator, world, way), n=N)
    assert every.half_widths()["half_width"].iloc[-1] == 0


def compared(estimator, world, *files, **options):
    fits = dict.fromkeys(("first", "second"), estimator)
    given = [world / name for name in files]
    return autoeval.compare(fits, given, images=world / "images.json", **options)


def test_a_comparison_names_the_detector_that_found_nothing(estimator, world):
    result = compared(estimator, world, "no_boxes.json", "site_predictions.json")
    found = [of for of in result.warnings if of.code == "nothing-found"]
    assert [of.startswith(f"first: nothing found in {N} images") for of in found] == [True]


def test_a_difference_of_recall_stays_within_100_points_and_names_recall(estimator, world):
    files = ("no_boxes.json", "site_predictions.json")
    result = compared(estimator, world, *files, target="recall@0.3")
    ends = result.pairs[["difference", "lower", "upper"]].to_numpy()
    assert np.abs(ends).max() <= 1 and (np.abs(result.ranking["behind"]) <= 1).all()
    assert (np.abs(result.ranking[["lower", "upper"]].to_numpy()) <= 1).all()
    (nothing,) = [of for of in result.warnings if of.code == "nothing-found"]
    assert "The recall@0.3 is near 0" in nothing and "mAP" not in nothing


def test_a_warning_of_a_fit_that_detectors_share_is_given_once(estimator, world):
    content = json.loads((world / "site_predictions.json").read_text())
    other = [of | {"score": of["score"] ** 1.01} for of in content]
    (world / "surer.json").write_text(json.dumps(other))
    odd = replace(estimator.looks_, warnings=(Notice("few-images", "set: few images"),))
    warned = replace(estimator, looks_=odd)
    result = compared(warned, world, "site_predictions.json", "surer.json")
    assert [of for of in result.warnings if "few images" in of] == [
        "first, second: set: few images"
    ]


def test_detectors_that_found_nothing_are_compared_by_labels_alone(estimator, world):
    (world / "none_too.json").write_bytes((world / "no_boxes.json").read_bytes())
    with pytest.raises(InputError, match=f"nothing found in {N} images"):
        compared(estimator, world, "no_boxes.json", "none_too.json")
    labels = world / "site_labels.json"
    result = compared(estimator, world, "no_boxes.json", "none_too.json", labels=labels)
    assert result.ranking["value"].tolist() == [0, 0]
    assert (result.lower, result.value, result.upper) == (0, 0, 0)


def test_no_threshold_is_chosen_where_nothing_was_found(estimator, world):
    with pytest.raises(InputError, match=f"no threshold to choose: nothing found in {N} images"):
        autoeval.threshold(
            estimator, world / "no_boxes.json", images=world / "images.json", recall=0.5
        )


def test_the_labelled_categories_alone_count(estimator, world, tmp_path):
    content = json.loads((world / "site_labels.json").read_text())
    content["annotations"] = [of for of in content["annotations"] if of["category_id"] <= 2]
    (tmp_path / "labels.json").write_text(json.dumps(content))
    plan = estimator.plan_labels(estimated(estimator, world, "own"), n=N)
    result = autoeval.estimate_with_labels(plan, tmp_path / "labels.json")
    assert set(result.per_category) == {"thing 0", "thing 1"} and result.value == 0


def test_a_file_that_names_no_image_says_how_to_list_them(estimator, world):
    with pytest.raises(InputError, match="names no image: list all images"):
        estimator.predict(world / "no_boxes.json")


def test_a_labelled_set_without_a_box_is_still_refused(world):
    with pytest.raises(InputError, match="holds no box: expected one or more"):
        autoeval.fit(world / "val_labels.json", world / "no_boxes.json")


def test_what_was_left_out_is_named_where_nothing_is_found():
    labels, boxes = rows_of_cars()
    fitted = autoeval.fit(labels, boxes)  # from .02 on
    low = [{**box, "score": 0.005} for box in boxes] + [{**box, "score": 0.03} for box in boxes[:9]]
    estimate = fitted.predict(low, images=labels)
    assert estimate.site.nothing_found
    left_out = {notice.code for notice in estimate.site.left_out}
    assert "low-scores-missing" in left_out <= {notice.code for notice in estimate.warnings}


def test_what_a_single_label_does_not_show_is_a_dash():
    """One image has labels, and no box over the threshold: precision is not defined there."""
    labels, boxes = rows_of_cars()
    fitted = autoeval.fit(labels, boxes, target="precision", score_thr=0.3)
    low = [{**box, "score": 0.021 + 0.0001 * k} for k, box in enumerate(boxes)]
    low[-1]["score"] = 0.9
    plan = fitted.plan_labels(fitted.predict(low, images=labels), n=1, everywhere=True)
    (drawn,) = plan.drawn
    assert plan.found.scores[plan.found.image == drawn].max() < 0.3
    estimated = autoeval.estimate_with_labels(plan, labels)
    assert np.isnan(estimated.value)
    text = labelled_text(estimated)
    assert text.startswith("estimated precision@0.3: –, from 1 labelled image of ")
    assert "nan" not in text and "nan" not in labelled_page(estimated).render().split("<script")[0]
    assert "±5.02" in until_text(0.05, 0.0502, n=30, next_n=30)  # 5.0 is not reached by 5.0
    assert "nan" not in until_text(0.05, estimated.recommended.half_width(), n=11, next_n=11)


@pytest.mark.parametrize("target", ["mAP", "mAP50"])
@pytest.mark.parametrize("known", [{}, {"site": "val_labels"}], ids=["new", "known"])
def test_a_category_that_is_there_without_any_box_has_an_average_precision_of_0(
    world, tmp_path, target, known
):
    """By definition, so that the mean is that of the others times their share, and so its ends."""
    labels, predictions = write_world(tmp_path, "val", seed=0)
    site, found = write_world(tmp_path, "site", seed=1, n_images=N)
    content = json.loads(site.read_text())
    (missed, *_), names = content["categories"], [c["name"] for c in content["categories"]]
    boxes = [row for row in json.loads(found.read_text()) if row["category_id"] != missed["id"]]
    fitted = autoeval.fit(labels, predictions).for_target(target)
    options = {"images": site, **known}
    rest = fitted.predict(boxes, **options)
    estimate = fitted.predict(boxes, present=[missed["name"]], **options)
    assert estimate.per_category[missed["name"]] == {"value": 0, "lower": 0, "upper": 0}
    assert sorted(estimate.per_category) == sorted(names)
    share = (len(names) - 1) / len(names)
    for end in ("value", "lower", "upper"):
        assert getattr(estimate, end) == pytest.approx(share * getattr(rest, end))
    # as where the labels alone say that it is there
    plans = [fitted.plan_labels(at, n=N) for at in (rest, estimate)]
    drawn = [image.image_id for image in (plans[0].found.images[k] for k in plans[0].drawn[:15])]
    content["images"] = [image for image in content["images"] if str(image["id"]) in drawn]
    kept = {image["id"] for image in content["images"]}
    content["annotations"] = [row for row in content["annotations"] if row["image_id"] in kept]
    by_labels, said = (
        autoeval.estimate_with_labels(plan, content, planned=False) for plan in plans
    )
    assert said.per_category[missed["name"]]["value"] == 0
    assert said.value == pytest.approx(by_labels.value, abs=0.002)
    assert said.upper - said.lower == pytest.approx(by_labels.upper - by_labels.lower, rel=0.02)
