"""With the labels of all images an estimate is COCO's evaluation, whatever was found or not."""

import json
from functools import cache
from pathlib import Path

import pytest
from by_coco import mean_average_precision
from commands.predicted_world import write_world
from labelled_site import estimate_labelled

import autoeval
from autoeval.cli import main

VEHICLE = {"vehicle": ["car", "bus", "truck"]}
CATEGORIES = {
    "vehicle": VEHICLE,
    "person": {"person": ["person"]},
    "two": {**VEHICLE, "person": ["person"]},
    "all": None,
}
REAL = Path(__file__).resolve().parents[3] / "shared/real"
SAMPLE = Path(__file__).resolve().parents[2] / "docs/getting-started/sample"
# Each set with the weak detector, which misses whole categories; many categories with another, too.
SETS = [
    ("fastestdet", path.parts[-3], path.parts[-2])
    for path in sorted(REAL.glob("*/*/annotations.json"))
] + [
    ("nanodet_plus", "all", path.parts[-2]) for path in sorted(REAL.glob("all/*/annotations.json"))
]

EACH = 11  # one set of so many is read in every run, the others with those that are slow


def some_quick(cases):
    """Mark most cases slow, so that those left are of every task."""
    slow = pytest.mark.slow
    return [pytest.param(*case, marks=[slow] if k % EACH else []) for k, case in enumerate(cases)]


@pytest.fixture(scope="module")
def estimators(shared, tmp_path_factory):
    """Fits of two detectors on the images of coco_mini that they have not seen."""
    folder = tmp_path_factory.mktemp("val")
    content = json.loads((shared / "real/all/coco_mini/annotations.json").read_text())
    unseen = [image["id"] for image in content["images"] if image["coco_split"] == "val"]
    kept = set(unseen[::6])  # whatever the fit is of, all labels give what COCO gives
    for name, key in (("images", "id"), ("annotations", "image_id")):
        content[name] = [entry for entry in content[name] if entry[key] in kept]
    (folder / "val.json").write_text(json.dumps(content))
    fits = {}
    for name in ("nanodet_plus", "fastestdet"):
        boxes = json.loads((shared / f"real_predictions/{name}/all/coco_mini.json").read_text())
        boxes = [box for box in boxes if box["image_id"] in kept]
        (folder / f"{name}.json").write_text(json.dumps(boxes))
        fits[name] = autoeval.fit(folder / "val.json", folder / f"{name}.json")
    return fits


@cache
def evaluated_by_coco(labels, predictions, task):
    """Mean average precision over the categories that have an object."""
    categories = CATEGORIES[task]
    truth = json.loads(labels.read_text())
    boxes = json.loads(predictions.read_text())
    names = {category["name"]: category["id"] for category in truth["categories"]}
    words = {word: word for word in names}
    if categories:
        words = {word: name for name, own in categories.items() for word in own}
    boxes = [
        {**box, "category_id": names[words[box["category"]]]}
        for box in boxes
        if words.get(box["category"]) in names
    ]
    return mean_average_precision(truth, boxes)


@pytest.mark.parametrize(("detector", "task", "name"), some_quick(SETS or [("", "", "")]))
def test_all_labels_give_what_coco_gives(shared, estimators, detector, task, name):
    labels = shared / f"real/{task}/{name}/annotations.json"
    predictions = shared / f"real_predictions/{detector}/{task}/{name}.json"
    estimate = estimate_labelled(
        estimators[detector], predictions, labels, images=labels, categories=CATEGORIES[task]
    )
    expected = evaluated_by_coco(labels, predictions, task)
    assert estimate.value == pytest.approx(expected, abs=1e-6)
    assert estimate.interval == pytest.approx((expected, expected), abs=1e-6)


@pytest.mark.parametrize(
    ("task", "name"),
    some_quick(
        [(path.parts[-3], path.parts[-2]) for path in sorted(REAL.glob("all/*/annotations.json"))]
        or [("", "")]
    ),
)
def test_a_ranking_by_all_labels_has_what_coco_gives(shared, estimators, task, name):
    """Categories that one detector, or none, finds are among them."""
    labels = shared / f"real/{task}/{name}/annotations.json"
    files = [shared / f"real_predictions/{of}/{task}/{name}.json" for of in estimators]
    result = autoeval.compare(estimators, files, images=labels, labels=labels)
    values = dict(zip(result.ranking["detector"], result.ranking["value"], strict=True))
    expected = {
        of: evaluated_by_coco(labels, path, task)
        for of, path in zip(estimators, files, strict=True)
    }
    assert values == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("missing", [0, 1])
def test_the_command_predicts_no_influence_where_all_images_have_labels(tmp_path, missing):
    """As many labels as images, one of which may be of another image: then the plan predicts."""
    content = json.loads((SAMPLE / "val.json").read_text())
    predictions = SAMPLE / "val_predictions.json"
    (tmp_path / "images.json").write_text(json.dumps(content))
    for image in content["images"][:missing]:
        image["file_name"] = "elsewhere/of_another_site.jpg"
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps(content))
    fitted = autoeval.fit(SAMPLE / "val.json", predictions)
    expected = estimate_labelled(fitted, predictions, labels, images=tmp_path / "images.json")
    assert expected.n_labelled == expected.n_pool - missing
    fitted.save(tmp_path / "estimator.parquet")
    words = ["estimate", "--predictions", predictions, "--images", tmp_path / "images.json"]
    words += ["--labels", labels, "--estimator", tmp_path / "estimator.parquet"]
    assert main([*map(str, words), "--work-dir", str(tmp_path / "out")]) == 0
    values = json.loads((tmp_path / "out/result.json").read_text())["labelled_estimate"]
    assert values["value"] == pytest.approx(expected.value, abs=1e-9)


def test_precision_counts_boxes_of_categories_that_labels_alone_show_to_count(tmp_path):
    """A rare category has a right and a false box, in images without another box over .5."""
    val, labels = (
        json.loads((SAMPLE / name).read_text()) for name in ("val.json", "new_labels.json")
    )
    for content in (val, labels):
        content["categories"].append({"id": 99, "name": "tram"})
    (tmp_path / "val.json").write_text(json.dumps(val))
    files = tmp_path / "val.json", SAMPLE / "val_predictions.json"
    fitted = autoeval.fit(*files, target="precision", score_thr=0.5)
    predictions = json.loads((SAMPLE / "new_predictions.json").read_text())
    over = [box["image_id"] for box in predictions if box["score"] > 0.5]
    right, false = sorted({image["id"] for image in labels["images"]} - set(over))[:2]
    before = precision_of(fitted, tmp_path / "before", predictions, labels)
    tram = {"category_id": 99, "bbox": [10.0, 10.0, 60.0, 40.0]}
    labels["annotations"].append({**tram, "image_id": right, "id": 9999, "area": 2400.0})
    predictions += [{**tram, "image_id": image, "score": 0.9} for image in (right, false)]
    after = precision_of(fitted, tmp_path / "after", predictions, labels)
    assert after == pytest.approx((before * len(over) + 1) / (len(over) + 2))


def test_labels_of_a_plan_add_a_category_that_was_hardly_found(tmp_path):
    """A rare one has three right boxes, and no estimate without labels."""
    val, labels = (
        json.loads((SAMPLE / name).read_text()) for name in ("val.json", "new_labels.json")
    )
    for content in (val, labels):
        content["categories"].append({"id": 99, "name": "tram"})
    predictions = json.loads((SAMPLE / "new_predictions.json").read_text())
    for n, image in enumerate(labels["images"][:3]):
        tram = {"category_id": 99, "image_id": image["id"], "bbox": [10.0, 10.0, 60.0, 40.0]}
        labels["annotations"].append({**tram, "id": 9999 + n, "area": 2400.0})
        predictions.append({**tram, "score": 0.25})
    for name, content in {"val": val, "boxes": predictions, "labels": labels}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    fitted = autoeval.fit(tmp_path / "val.json", SAMPLE / "val_predictions.json")
    files = tmp_path / "boxes.json", tmp_path / "labels.json"
    plan = autoeval.plan_labels(fitted, files[0], images=files[1], n=59)
    assert "tram" not in plan.found.categories
    estimate = autoeval.estimate_with_labels(plan, files[1])
    assert estimate.by_category["tram"].sample.value == pytest.approx(1)
    assert estimate.n_labelled == 59


def precision_of(fitted, folder, predictions, labels):
    """Estimate precision at .5 with the labels of all images."""
    folder.mkdir()
    for name, content in {"boxes": predictions, "labels": labels}.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    files = folder / "boxes.json", folder / "labels.json"
    return estimate_labelled(fitted, *files, images=folder / "labels.json").value


def test_labels_in_the_words_of_the_detector_are_of_the_categories_of_the_fit(tmp_path):
    """A fit was given the words of its categories: a site is labelled in these words, too."""
    of_fit = write_world(tmp_path, "fit", seed=0, n_categories=3)
    categories = {"hard": ["thing 0", "thing 1"], "easy": ["thing 2"]}
    fitted = autoeval.fit(*of_fit, categories=categories)
    labels, boxes = write_world(tmp_path, "site", seed=1, n_categories=3)
    estimate = fitted.predict(boxes, images=labels)
    truth, found = (json.loads(path.read_text()) for path in (labels, boxes))
    joined = {1: 1, 2: 1, 3: 3}
    for entry in (*truth["annotations"], *found):
        entry["category_id"] = joined[entry["category_id"]]
    truth["categories"] = [{"id": 1, "name": "hard"}, {"id": 3, "name": "easy"}]
    right = mean_average_precision(truth, found)
    labelled = fitted.estimate_with_labels(estimate, labels)
    assert labelled.value == pytest.approx(right, abs=1e-9)
    assert {*labelled.per_category} == {"hard", "easy"}
    assert "categories-without-labels" not in [of.code for of in labelled.warnings]
    # The same labels in the words of the categories give the same everywhere.
    (tmp_path / "joined.json").write_text(json.dumps(truth))
    chosen = [
        autoeval.threshold(fitted, boxes, images=labels, labels=of, recall=0.5).value
        for of in (labels, tmp_path / "joined.json")
    ]
    assert chosen[0] == chosen[1] > 0
    kept = [box for box in json.loads(boxes.read_text()) if box["score"] > 0.3]
    files = [boxes, kept]
    differences = [
        autoeval.compare({"a": fitted, "b": fitted}, files, images=labels, labels=of).value
        for of in (labels, tmp_path / "joined.json")
    ]
    assert differences[0] == differences[1] != 0


@pytest.mark.parametrize("given_to", ["fit", "site"])
def test_a_plan_reads_labels_in_the_words_of_the_detector(tmp_path, given_to):
    """The folder keeps the words, whether the fit or the site was given them."""
    of_fit = write_world(tmp_path, "fit", seed=0, n_categories=3)
    words = {"categories": {"hard": ["thing 0", "thing 1"], "easy": ["thing 2"]}}
    fitted = autoeval.fit(*of_fit, **(words if given_to == "fit" else {}))
    labels, boxes = write_world(tmp_path, "site", seed=1, n_categories=3)
    of_site = {} if given_to == "fit" else words
    estimate = fitted.predict(boxes, images=labels, **of_site)
    folder = tmp_path / "plan"
    plan = autoeval.plan_labels(fitted, boxes, images=labels, n=20, work_dir=folder, **of_site)
    content = json.loads(labels.read_text())
    joined = {
        **content,
        "categories": [{"id": 1, "name": "hard"}, {"id": 3, "name": "easy"}],
        "annotations": [
            {**entry, "category_id": {1: 1, 2: 1, 3: 3}[entry["category_id"]]}
            for entry in content["annotations"]
        ],
    }
    respelt = [{**entry, "name": entry["name"].title()} for entry in content["categories"]]
    files = {"words": content, "names": joined, "respelt": {**content, "categories": respelt}}
    for name, document in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    for measured in (
        lambda labels: autoeval.estimate_with_labels(folder, labels),
        lambda labels: autoeval.estimate_with_labels(plan, labels),
        lambda labels: autoeval.threshold(plan=folder, labels=labels, recall=0.5),
        lambda labels: fitted.estimate_with_labels(estimate, labels),
    ):
        values = [measured(tmp_path / f"{name}.json").value for name in files]
        assert values[0] == values[1] == values[2] > 0
