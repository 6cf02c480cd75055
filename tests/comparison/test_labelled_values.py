"""With labels the values of a ranking are those of the labels: all of them give COCO's mAP."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from by_coco import mean_average_precision
from comparison.two_detectors import site_labels, site_predictions, some_labels, write_detectors
from labelled_site import estimate_labelled

import autoeval
from autoeval import AccuracyEstimator, compare, fit, threshold
from autoeval.report.comparison import about_values

THINGS = {"thing 0": ["thing 0"], "thing 1": ["thing 1"]}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_detectors(tmp_path_factory.mktemp("values"))


def evaluated_by_coco(labels, predictions):
    """Mean average precision over the categories that have an object."""
    boxes = [{**box, "image_id": int(box["image_id"])} for box in json.loads(predictions)]
    return mean_average_precision(json.loads(labels.read_text()), boxes)


def text_of(world, name):
    (path,) = site_predictions(world, name)
    with open(path) as file:
        return file.read()


def values_of(result):
    return dict(zip(result.ranking["detector"], result.ranking["value"], strict=True))


def compared(world, labels, files=None, **options):
    fits = {name: world / name for name in ("strong", "weak")}
    files = files or site_predictions(world, *fits)
    return compare(fits, files, images=site_labels(world), labels=labels, **options)


def changed_labels(world, path, change):
    content = json.loads(site_labels(world).read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path


def objects_of_one_category(content):
    content["annotations"] = [of for of in content["annotations"] if of["category_id"] == 1]


def expect_coco(world, result, labels, texts=None):
    texts = texts or {name: text_of(world, name) for name in ("strong", "weak")}
    expected = {name: evaluated_by_coco(labels, text) for name, text in texts.items()}
    assert values_of(result) == pytest.approx(expected, abs=1e-6)
    assert result.detectors == tuple(sorted(expected, key=lambda name: -expected[name]))
    first, second = (expected[name] for name in result.detectors)
    assert result.ranking["behind"].tolist() == pytest.approx([0, second - first], abs=1e-6)
    assert result.ranking["lower"].tolist() == pytest.approx(result.ranking["upper"].tolist())


def test_labels_of_all_images_give_what_coco_gives(world):
    expect_coco(world, compared(world, site_labels(world)), site_labels(world))


def test_images_in_which_a_detector_finds_nothing_count_where_it_was_run_on_all(world, tmp_path):
    """As the warning says; else they are left out for both, with the objects that one missed."""
    texts = {name: text_of(world, name) for name in ("strong", "weak")}
    found = [box for box in json.loads(texts["weak"]) if int(box["image_id"]) > 8]
    texts["weak"] = json.dumps(found)
    (tmp_path / "weak.json").write_text(texts["weak"])
    files = [*site_predictions(world, "strong"), tmp_path / "weak.json"]
    partly = compared(world, site_labels(world), files)
    assert partly.n_images < 80
    assert any("add --incomplete" in warning for warning in partly.warnings)
    result = compared(world, site_labels(world), files, incomplete=True)
    assert result.n_images == result.n_labelled == 80
    expect_coco(world, result, site_labels(world), texts)


def test_the_order_is_that_of_the_labels(world, tmp_path):
    """Labels that have the boxes of the weak detector: it is best, whatever its scores say."""

    def change(content):
        found = [of for of in json.loads(text_of(world, "weak")) if of["score"] > 0.2]
        names = ("image_id", "category_id", "bbox")
        content["annotations"] = [
            {"id": k, **{name: of[name] for name in names}} for k, of in enumerate(found, 1)
        ]

    labels = changed_labels(world, tmp_path / "labels.json", change)
    result = compared(world, labels)
    assert compared(world, None).detectors == ("strong", "weak")
    assert result.detectors == ("weak", "strong")
    expect_coco(world, result, labels)


def test_a_labelled_category_that_nobody_finds_counts_as_zero(world, tmp_path):
    def change(content):
        content["categories"].append({"id": 9, "name": "ghost"})
        for annotation in content["annotations"][::7]:
            annotation["category_id"] = 9

    labels = changed_labels(world, tmp_path / "labels.json", change)
    result = compared(world, labels)
    expect_coco(world, result, labels)
    assert set(result.pairs["category"]) == {"thing 0", "thing 1", "ghost", "all"}
    assert "little or nothing was detected" in " ".join(result.warnings)
    named = compared(world, labels, categories=THINGS)
    assert set(named.pairs["category"]) == {"thing 0", "thing 1", "all"}


def test_a_rare_category_is_measured_where_all_images_are_labelled(world, tmp_path):
    """On two images: too few for a sample, but there are no others."""

    def change(content):
        rare = {image["id"] for image in content["images"][:2]}
        content["annotations"] = [
            of for of in content["annotations"] if of["category_id"] == 1 or of["image_id"] in rare
        ]

    labels = changed_labels(world, tmp_path / "labels.json", change)
    expect_coco(world, compared(world, labels), labels)


def test_a_category_without_an_object_has_no_average_precision(world, tmp_path):
    labels = changed_labels(world, tmp_path / "labels.json", objects_of_one_category)
    result = compared(world, labels)
    expect_coco(world, result, labels)
    assert set(result.pairs["category"]) == {"thing 0"}


def test_by_all_labels_recall_of_a_category_without_an_object_is_not_defined(world, tmp_path):
    """Once the label-free estimate stood there: nothing is left to estimate, and 0 of 0 is none."""

    labels = changed_labels(world, tmp_path / "labels.json", objects_of_one_category)
    result = compared(world, labels, target="recall", score_thr=0.3)
    of_pair = result.pairs.set_index("category")["difference"]
    assert of_pair["thing 0"] == pytest.approx(of_pair["all"])
    assert math.isnan(of_pair["thing 1"])
    fitted = AccuracyEstimator.load(world / "strong").for_target("recall@0.3")
    (predictions,) = site_predictions(world, "strong")
    estimated = estimate_labelled(fitted, predictions, labels)
    assert estimated.value == pytest.approx(estimated.per_category["thing 0"]["value"])
    assert math.isnan(estimated.per_category["thing 1"]["value"])


@pytest.mark.parametrize("target", ["precision", "f1"])
def test_a_difference_is_measured_where_both_detectors_have_images_that_measure_it(
    world, tmp_path, target
):
    """One detector has `thing 1` over the threshold in one labelled image: too few, whichever of
    the two is named first."""
    images = {image["id"] for image in json.loads(site_labels(world).read_text())["images"][:20]}
    labels = some_labels(world, tmp_path / "labels.json", images)
    content = json.loads(labels.read_text())
    content["annotations"] = [of for of in content["annotations"] if of["category_id"] == 1]
    labels.write_text(json.dumps(content))
    few, first = [], min(images)
    for box in json.loads(text_of(world, "strong")):
        if box["category_id"] == 2 and int(box["image_id"]) in images - {first}:
            box["score"] *= 0.2
        few.append(box)
    (tmp_path / "few.json").write_text(json.dumps(few))
    (weak,) = site_predictions(world, "weak")
    files = {"strong": str(tmp_path / "few.json"), "weak": weak}
    differences = []
    for names in (["strong", "weak"], ["weak", "strong"]):
        fits = {name: world / name for name in names}
        result = compare(
            fits,
            [files[name] for name in names],
            images=site_labels(world),
            labels=labels,
            target=target,
            score_thr=0.3,
        )
        rows = result.pairs.set_index("category").loc["thing 1"]
        turned = 1 if rows["a"] == "strong" else -1
        differences.append(turned * rows["difference"])
        assert rows["difference"] == pytest.approx(rows["label_free"])
    assert differences[0] == pytest.approx(differences[1])


@pytest.mark.parametrize("words", [None, {"thing 0": "thing 0", "Thing_0": "thing 0"}])
def test_labels_with_a_word_in_two_spellings_are_warned_of(world, tmp_path, words):
    """As predictions are: half of the objects were none of the category, and nobody said so."""

    def change(content):
        content["categories"].append({"id": 9, "name": "Thing_0"})
        of_first = [of for of in content["annotations"] if of["category_id"] == 1]
        for annotation in of_first[::2]:
            annotation["category_id"] = 9

    labels = changed_labels(world, tmp_path / "labels.json", change)
    (predictions,) = site_predictions(world, "strong")
    fitted = AccuracyEstimator.load(world / "strong")
    estimated = estimate_labelled(fitted, predictions, labels, words=words)
    result = compared(world, labels, words=words)
    here = [{warning.code for warning in one.warnings} for one in (estimated, result)]
    assert all(("words-nearly-equal" in codes) == (words is None) for codes in here)
    if words is None:
        threshold = autoeval.threshold(labels=labels, predictions=predictions)
        assert "words-nearly-equal" in {warning.code for warning in threshold.warnings}


def test_scores_in_single_precision_give_the_same_estimate(world):
    """In float32 .01 is less than .01: boxes with the lowest score of the fit were left out."""
    boxes = json.loads(text_of(world, "strong"))
    for box in boxes:
        box["score"] = max(box["score"], 0.01)
    labels = json.loads((world / "set.json").read_text())
    of_set = json.loads((world / "set_strong_predictions.json").read_text())
    fitted = fit(labels, [{**box, "score": max(box["score"], 0.01)} for box in of_set])
    single = [{**box, "score": float(np.float32(box["score"]))} for box in boxes]
    lowest = [{**box, "score": 0.01} for box in boxes[:200]]
    images = json.loads(site_labels(world).read_text())
    expected = fitted.predict([*boxes, *lowest], images=images)
    low = [{**box, "score": float(np.float32(0.01))} for box in boxes[:200]]
    estimated = fitted.predict([*single, *low], images=images)
    assert len(estimated.site.boxes) == len(expected.site.boxes)
    assert estimated.value == pytest.approx(expected.value, abs=1e-6)


def test_scores_of_a_threshold_are_not_over_it_in_single_precision(world):
    """The number .3 in float32 is over .3: all boxes with this score counted, of tensors alone.

    By hand, of ten objects half of which are found with a score of .3, and half with .9: over .3
    recall is .5 in either type, and it is 1 at the highest threshold below .3.
    """
    boxes = json.loads(text_of(world, "strong"))
    boxes = [{**box, "score": max(round(box["score"], 1), 0.01)} for box in boxes]
    single = [{**box, "score": float(np.float32(box["score"]))} for box in boxes]
    assert {0.3, 0.7} < {box["score"] for box in boxes}
    labels, of_set = world / "set.json", world / "set_strong_predictions.json"
    fitted, sites = fit(labels, of_set), {"images": site_labels(world), "score_thr": 0.3}
    expected, estimated = (fitted.predict(given, **sites) for given in (boxes, single))
    for given in (expected, estimated):
        plan = fitted.plan_labels(given, n=20)
        assert plan.found.scores.min() <= 0.3 < plan.found.scores.max()
    for name, of_target in expected.other_targets.items():
        assert estimated.other_targets[name] == pytest.approx(of_target, abs=1e-6, nan_ok=True)
    some = site_labels(world)
    for value in (0.3, 0.7):  # with the labels of all images, as counted
        by_labels = [
            fitted.estimate_with_labels(given, some, score_thr=value).other_targets
            for given in (expected, estimated)
        ]
        assert by_labels[0] == by_labels[1]
    size = {"width": 99, "height": 99}
    shown = [{"id": k, "file_name": f"{k}.jpg", **size} for k in range(5)]
    places = [(k, x) for x in (0, 50) for k in range(5)]
    objects = [{"image_id": k, "category_id": 1, "bbox": [x, 0, 9 + k, 9]} for k, x in places]
    content = {"images": shown, "categories": [{"id": 1, "name": "a"}], "annotations": objects}
    for of_type in (float, np.float32, np.float16):
        found = zip(objects, [0.3] * 5 + [0.9] * 5, strict=True)
        scored = [{**box, "score": float(of_type(score))} for box, score in found]
        choices = [threshold(labels=content, predictions=scored, recall=r) for r in (0.4, 0.9)]
        assert [choice.at["recall"]["value"] for choice in choices] == [0.5, 1.0]
        if of_type is not np.float16:  # in which .3 is .3000488
            assert [choice.value for choice in choices] == [0.89, 0.29]


def test_the_order_of_categories_changes_no_difference(world, tmp_path):
    """The variance of the influence on `person` is known otherwise than that on other words."""
    ids = [image["id"] for image in json.loads(site_labels(world).read_text())["images"]]
    labels = some_labels(world, tmp_path / "labels.json", set(ids[::4]))
    named = {"person": ["thing 0"], "thing 1": ["thing 1"]}
    words = {"thing 0": "person", "thing 1": "thing 1"}
    whole = []
    for order in (list(named), list(named)[::-1]):
        categories = {name: named[name] for name in order}
        of_order = [compared(world, None, categories=categories)]
        of_order.append(compared(world, labels, words=words, categories=categories))
        columns = ["difference", "lower", "upper", "more_labels"]
        whole.append([result.overall[columns].to_numpy().ravel() for result in of_order])
        forecast = of_order[0].forecasts["strong", "weak"]
        whole[-1].append(forecast.outlook.half_width(20))
    for first, second in zip(*whole, strict=True):
        assert first == pytest.approx(second, abs=1e-9, nan_ok=True)


def test_a_category_that_the_labels_do_not_declare_is_left_out_and_named(world, tmp_path):
    def change(content):
        objects_of_one_category(content)
        content["categories"] = content["categories"][:1]

    labels = changed_labels(world, tmp_path / "labels.json", change)
    result = compared(world, labels)
    one = {
        name: json.dumps([of for of in json.loads(text_of(world, name)) if of["category_id"] == 1])
        for name in ("strong", "weak")
    }
    expect_coco(world, result, labels, one)
    (warning,) = [of for of in result.warnings if "labels do not have" in of]
    assert "1 of 2 (thing 1)" in warning


def test_a_detector_without_a_labelled_category_has_found_none_of_it(world, tmp_path):
    """The weak detector knows `thing 0` alone: it is no reason to leave `thing 1` out."""
    of_set, at_site = (
        [of for of in json.loads(path.read_text()) if of["category_id"] == 1]
        for path in (world / "set_weak_predictions.json", world / "site_weak_predictions.json")
    )
    for name, boxes in {"set": of_set, "site": at_site}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(boxes))
    labels, content = tmp_path / "known.json", json.loads((world / "set.json").read_text())
    content["categories"] = content["categories"][:1]
    content["annotations"] = [of for of in content["annotations"] if of["category_id"] == 1]
    labels.write_text(json.dumps(content))
    fit(labels, tmp_path / "set.json", work_dir=tmp_path / "weak")
    files = [*site_predictions(world, "strong"), tmp_path / "site.json"]
    fits = {"strong": world / "strong", "weak": tmp_path / "weak"}
    given = {"images": site_labels(world), "labels": site_labels(world)}
    result = compare(fits, files, **given)
    texts = {"strong": text_of(world, "strong"), "weak": json.dumps(at_site)}
    expect_coco(world, result, site_labels(world), texts)
    (warning,) = [of for of in result.warnings if "no word for labelled" in of]
    assert warning.startswith("weak: ") and "1 (thing 1)" in warning
    free = compare(fits, files, images=site_labels(world))
    assert set(free.pairs["category"]) == {"thing 0"}


def test_of_a_sample_the_values_have_the_mean_of_both_estimates_with_labels(world, tmp_path):
    labels = some_labels(world, tmp_path / "labels.json", set(range(0, 80, 4)))
    result = compared(world, labels, categories=THINGS)
    alone = {}
    for name in ("strong", "weak"):
        fitted = AccuracyEstimator.load(world / name / "estimator.parquet")
        (path,) = site_predictions(world, name)
        alone[name] = estimate_labelled(
            fitted, path, labels, images=site_labels(world), categories=THINGS
        ).value
    values = values_of(result)
    assert sum(values.values()) == pytest.approx(sum(alone.values()))
    free = values_of(compared(world, None, categories=THINGS))
    true = {name: evaluated_by_coco(site_labels(world), text_of(world, name)) for name in free}
    error, without = (sum(abs(of[name] - true[name]) for name in true) for of in (values, free))
    assert error < without


def test_why_the_values_are_not_those_of_single_estimates_is_printed(world, tmp_path):
    """They have the mean of the estimates, and differ by the estimated difference."""
    result = compared(world, None, categories=THINGS)
    values, alone = values_of(result), {}
    for name, path in zip(values, site_predictions(world, *values), strict=True):
        fitted = AccuracyEstimator.load(world / name / "estimator.parquet")
        alone[name] = fitted.predict(path, images=site_labels(world), categories=THINGS).value
    assert sum(values.values()) == pytest.approx(sum(alone.values()))
    assert values["strong"] - values["weak"] == pytest.approx(result.pairs["difference"].iloc[-1])
    assert abs(values["strong"] - alone["strong"]) > 1e-4
    assert "mean of the detectors' own estimates (`autoeval estimate`)" in about_values(result)
    some = compared(world, some_labels(world, tmp_path / "labels.json", set(range(20))))
    assert "(`autoeval label estimate`)" in about_values(some)
    assert "own estimates" not in about_values(compared(world, site_labels(world)))


def test_fits_without_label_assistance_have_values_by_labels(world, tmp_path):
    """Ten labelled images are too few to predict influence from: labels count by themselves."""
    fits = {}
    for name in ("strong", "weak"):
        fitted = AccuracyEstimator.load(world / name / "estimator.parquet")
        fits[name] = replace(fitted, assistance_=None)
    files = site_predictions(world, *fits)
    given = {"images": site_labels(world)}
    expect_coco(world, compare(fits, files, **given, labels=site_labels(world)), site_labels(world))
    labels = some_labels(world, tmp_path / "labels.json", set(range(0, 80, 2)))
    for target in ("mAP", "recall@0.3"):
        few = values_of(compare(fits, files, **given, labels=labels, target=target))
        free = values_of(compare(fits, files, **given, target=target))
        assert all(few[name] != pytest.approx(free[name], abs=1e-3) for name in few)
