"""Labels that the boxes contradict give the warnings that an estimate of one detector gives."""

import json
from pathlib import Path

import pytest
from comparison.two_detectors import site_labels, site_predictions, some_labels, write_detectors

from autoeval import compare, estimate_with_labels, plan_labels
from autoeval.words import listed

DETECTORS = ("strong", "weak")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_detectors(tmp_path_factory.mktemp("warnings"))


def moved_by_a_third(content):
    for annotation in content["annotations"]:
        x, y, width, height = annotation["bbox"]
        annotation["bbox"] = [x + width / 3, y, width, height]


def misspelt(content):
    content["categories"][1]["name"] = "thng 1"


def labelled_twice(content):
    last = len(content["annotations"])
    again = [{**of, "id": of["id"] + last} for of in content["annotations"][::5]]
    content["annotations"] += again


def warnings_of_both(world, labels):
    """Those of the comparison, and those of each detector by itself."""
    files = dict(zip(DETECTORS, site_predictions(world, *DETECTORS), strict=True))
    images = site_labels(world)
    together = compare(
        {name: world / name for name in DETECTORS},
        list(files.values()),
        images=images,
        labels=labels,
    )
    alone = {}
    for name, file in files.items():
        plan = plan_labels(world / name, file, images=images, n=20)
        alone[name] = estimate_with_labels(plan, labels, planned=False).warnings
    return together.warnings, alone


@pytest.mark.parametrize(
    ("damage", "of_detectors", "of_labels"),
    [
        (moved_by_a_third, "labelled boxes lie +", ""),
        (misspelt, "", "labels do not have"),
        (misspelt, "", "little or nothing was detected"),
        (labelled_twice, "", "lie on another one of their category"),
    ],
)
def test_warnings_are_those_of_single_detectors(world, tmp_path, damage, of_detectors, of_labels):
    content = json.loads(site_labels(world).read_text())
    damage(content)
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps(content))
    together, alone = warnings_of_both(world, labels)
    for name in DETECTORS:
        (single,) = [of for of in alone[name] if (of_detectors or of_labels) in of]
        assert together.count(f"{name}: {single}" if of_detectors else single) == 1
    sound, _ = warnings_of_both(world, site_labels(world))
    assert not any((of_detectors or of_labels) in of for of in sound)


def test_few_labels_are_named_once(world, tmp_path):
    labels = some_labels(world, tmp_path / "few.json", {1, 2, 3, 5, 8})
    together, alone = warnings_of_both(world, labels)
    (few,) = [of for of in alone["strong"] if "labels are too few" in of]
    assert together.count(few) == 1


def test_boxes_of_other_images_are_warned_of(world, tmp_path):
    """Ids of one file that count from another image: the difference is of unlike images."""
    strong, weak = site_predictions(world, "strong", "weak")
    rows = json.loads(Path(weak).read_text())
    turned = tmp_path / "turned.json"
    turned.write_text(json.dumps([{**r, "image_id": (r["image_id"] + 1) % 80} for r in rows]))
    fits = {name: world / name for name in DETECTORS}
    for other, expected in ((weak, False), (turned, True)):
        result = compare(fits, [strong, other], images=site_labels(world))
        codes = [warning.code for warning in result.warnings]
        assert ("detectors-elsewhere" in codes) == expected


@pytest.mark.parametrize("order", [DETECTORS, DETECTORS[::-1]])
def test_sizes_that_one_file_states_are_compared_with_those_of_the_labels(world, order):
    """They were where it was the first of the two alone."""
    document = json.loads(Path(site_labels(world)).read_text())
    files = dict(zip(DETECTORS, site_predictions(world, *DETECTORS), strict=True))
    names = {image["id"]: image["file_name"] for image in document["images"]}
    boxes = {name: json.loads(Path(path).read_text()) for name, path in files.items()}
    twice = [{**i, "width": 2 * i["width"], "height": 2 * i["height"]} for i in document["images"]]
    given = {
        "strong": [{**box, "file_name": names[box.pop("image_id")]} for box in boxes["strong"]],
        "weak": {**document, "images": twice, "annotations": boxes["weak"]},
    }
    found = compare(
        {name: world / name for name in order}, [given[name] for name in order], labels=document
    )
    assert "labels-of-other-size" in {warning.code for warning in found.warnings}


def test_planned_images_that_are_not_labelled_are_counted(world, tmp_path):
    files = site_predictions(world, "strong")
    plan = plan_labels(
        world / "strong/estimator.parquet",
        files[0],
        images=site_labels(world),
        n=20,
        work_dir=tmp_path / "plan",
    )
    drawn = [int(plan.found.images[k].image_id) for k in plan.drawn]
    undrawn = sorted({*range(80)} - {*drawn})[:2]
    labels = some_labels(world, tmp_path / "plan/labels.json", {*drawn[:17], *undrawn})
    result = compare(
        {name: world / name for name in DETECTORS},
        site_predictions(world, *DETECTORS),
        images=site_labels(world),
        labels=labels,
    )
    text = " ".join(result.warnings)
    assert "3 of 20 planned images are not labelled" in text
    assert f"left out: 2 ({listed(list(map(str, undrawn)))})" in text


def test_boxes_of_the_fit_in_place_of_new_ones_are_named(world):
    """An estimate warned of them, the difference of two such estimates did not."""
    fits = {name: world / name for name in DETECTORS}
    new = site_predictions(world, "strong")[0]
    of_fit = world / "set_weak_predictions.json"
    result = compare(fits, [new, of_fit])
    named = [warning for warning in result.warnings if warning.code == "images-of-the-fit"]
    assert [warning.partition(": ")[0] for warning in named] == ["weak"]
