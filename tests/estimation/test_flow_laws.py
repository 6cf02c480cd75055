"""What must not change a number: the unit of coordinates, their orientation, ids, order, paths."""

import json
import random
from pathlib import Path

import pytest

import autoeval

SAMPLE = Path(__file__).resolve().parents[2] / "docs/getting-started/sample"
FILES = ("val", "val_predictions", "new_site", "new_predictions", "new_labels")
IMAGES = {"val": "val", "val_predictions": "val", "new_site": "new", "new_labels": "new"}
IMAGES["new_predictions"] = "new"


def sample():
    """Read the sample: labelled set and its predictions, new images, their predictions, labels."""
    return {name: json.loads((SAMPLE / f"{name}.json").read_text()) for name in FILES}


def rows_of(content):
    """Rows of predictions, or annotations of a file of labels or images."""
    return content if isinstance(content, list) else content.get("annotations", [])


def numbers(files):
    """Value and bounds of an estimate, of a comparison with a weaker detector, and a threshold."""

    def weaker(rows):
        return [row for row in rows if round(1000 * row["score"]) % 4]

    fitted = autoeval.fit(files["val"], files["val_predictions"])
    other = autoeval.fit(files["val"], weaker(files["val_predictions"]))
    boxes, images = files["new_predictions"], files["new_site"]
    estimate = autoeval.estimate(boxes, estimator=fitted, images=images)
    both = {"whole": fitted, "weaker": other}
    difference = autoeval.compare(both, [boxes, weaker(boxes)], images=images)
    chosen = autoeval.threshold(fitted, boxes, images=images, recall=0.5)
    measured = autoeval.compare(
        both, [boxes, weaker(boxes)], images=images, labels=files["new_labels"]
    )
    return [
        number
        for result in (estimate, difference, chosen, measured)
        for number in (result.value, result.lower, result.upper)
    ]


def with_labels(files):
    """Values and bounds of all targets with the labels of the first 15 images by name."""
    labels = files["new_labels"]
    first = sorted(labels["images"], key=lambda image: image["file_name"])[:15]
    ids = {image["id"] for image in first}
    few = {
        **labels,
        "images": [image for image in labels["images"] if image["id"] in ids],
        "annotations": [row for row in labels["annotations"] if row["image_id"] in ids],
    }
    fitted = autoeval.fit(files["val"], files["val_predictions"])
    estimate = autoeval.estimate(
        files["new_predictions"], estimator=fitted, images=files["new_site"]
    )
    labelled = fitted.estimate_with_labels(estimate, few, score_thr=0.3)
    intervals = [*labelled.other_targets.values(), *labelled.per_category.values()]
    each = [number for interval in intervals for number in interval.values()]
    return [labelled.value, labelled.lower, labelled.upper, *each]


def doubled(files):
    """Twice the pixels."""
    for content in files.values():
        for image in content["images"] if isinstance(content, dict) else []:
            image["width"] *= 2
            image["height"] *= 2
        for row in rows_of(content):
            row["bbox"] = [2 * value for value in row["bbox"]]
            if "area" in row:
                row["area"] *= 4


def mirrored_and_transposed(files):
    """Right is left, and x is y."""
    widths = {}
    for name, content in files.items():
        for image in content["images"] if isinstance(content, dict) else []:
            widths[IMAGES[name], image["id"]] = image["width"]
    for name, content in files.items():
        for row in rows_of(content):
            x, y, width, height = row["bbox"]
            left = widths[IMAGES[name], row["image_id"]] - x - width
            row["bbox"] = [y, left, height, width]
        for image in content["images"] if isinstance(content, dict) else []:
            image["width"], image["height"] = image["height"], image["width"]


def renumbered(files):
    """Other numbers of categories, a category without objects, images in a folder."""
    own = files["val"]["categories"]
    new = dict(zip([of["id"] for of in own], range(70, 0, -3), strict=False))
    for content in files.values():
        for row in rows_of(content):
            row["category_id"] = new[row["category_id"]]
        if isinstance(content, dict):
            for category in content.get("categories", []):
                category["id"] = new[category["id"]]
            if content.get("categories"):
                content["categories"].append({"id": 999, "name": "zebra"})
            for image in content["images"]:
                image["file_name"] = f"camera/{image['file_name']}"


def images_renumbered(files):
    """Ids of images in another order, as a tool gives them that exports a set again."""
    ids = {image["id"] for name in ("val", "new_site") for image in files[name]["images"]}
    new = dict(zip(sorted(ids), random.Random(1).sample(sorted(ids), len(ids)), strict=True))
    for content in files.values():
        for row in rows_of(content):
            row["image_id"] = new[row["image_id"]]
        for image in content["images"] if isinstance(content, dict) else []:
            image["id"] = new[image["id"]]


def shuffled(files):
    """Images, boxes and categories in another order."""
    chance = random.Random(1)
    for content in files.values():
        for part in content.values() if isinstance(content, dict) else [content]:
            if isinstance(part, list):
                chance.shuffle(part)


def written_otherwise(files):
    """Twice the pixels, from the other side, x for y, in a folder, by other numbers of words."""
    for change in (doubled, mirrored_and_transposed, renumbered):
        change(files)


@pytest.fixture(scope="module")
def usual():
    """Numbers of the sample as it is."""
    return numbers(sample())


@pytest.mark.parametrize(
    ("change", "tolerance"),
    [
        (written_otherwise, 1e-9),
        (images_renumbered, 3e-4),  # equal scores are ranked by id and then in the order of the
        (shuffled, 1e-4),  # file, as COCO does
    ],
)
def test_a_number_does_not_depend_on_how_the_files_say_it(usual, change, tolerance):
    files = sample()
    change(files)
    assert numbers(files) == pytest.approx(usual, abs=tolerance)


def other_list(files):
    """Images in another order; boxes of equal score keep theirs."""
    for content in files.values():
        if isinstance(content, dict):
            random.Random(1).shuffle(content["images"])


def test_with_labels_it_does_not_either():
    files = sample()
    written_otherwise(files)
    other_list(files)
    assert with_labels(files) == pytest.approx(with_labels(sample()), abs=1e-9)


def agreement(files):
    """Agreement, by category, of boxes with scores in tenths with the boxes as they are."""
    rows = files["val_predictions"]
    coarse = [{**row, "score": round(row["score"], 1)} for row in rows if row["score"] > 0.05]
    fitted = autoeval.fit(files["val"], autoeval.Predictions(coarse, reference=rows))
    return list(fitted.rows_["reference_ap"])


def test_equal_scores_are_ranked_by_ids_where_a_reference_says_what_is_right():
    files = sample()
    usual = agreement(files)
    other_list(files)
    assert agreement(files) == pytest.approx(usual, abs=1e-9)
