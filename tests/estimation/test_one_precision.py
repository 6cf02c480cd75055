"""Precision, recall and F1 at a threshold are one number at every door: of all categories listed.

A box of a category that has no object here is a false positive like any other.
"""

import json

import pandas as pd
import pytest
from labelled_site import estimate_labelled

import autoeval
from tests.commands.predicted_world import write_world

THRESHOLD = 0.3


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A fit of three categories, and a site that holds two of them and boxes of all."""
    folder = tmp_path_factory.mktemp("precision")
    fitted = autoeval.fit(*write_world(folder, "fit", seed=0, n_categories=3, n_images=40))
    fitted.save(folder / "estimator.parquet")
    labels, boxes = write_world(folder, "site", seed=1, n_categories=3, n_images=40)
    content = json.loads(labels.read_text())
    content["annotations"] = [a for a in content["annotations"] if a["category_id"] != 2]
    labels.write_text(json.dumps(content))
    return folder, fitted, labels, boxes


def counted(labels, boxes, threshold):
    """True positives, boxes and objects, box by box: the best free object of IoU .5 or more."""
    content, rows = json.loads(labels.read_text()), json.loads(boxes.read_text())
    free = {k: a for k, a in enumerate(content["annotations"])}
    over = sorted((row for row in rows if row["score"] > threshold), key=lambda row: -row["score"])
    right = 0
    for row in over:
        overlaps = {
            k: iou(row["bbox"], a["bbox"])
            for k, a in free.items()
            if (a["image_id"], a["category_id"]) == (row["image_id"], row["category_id"])
        }
        best = max(overlaps, key=overlaps.get, default=None)
        if best is not None and overlaps[best] >= 0.5:
            right += 1
            del free[best]
    return right, len(over), len(content["annotations"])


def iou(a, b):
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    inside = max(w, 0) * max(h, 0)
    return inside / (a[2] * a[3] + b[2] * b[3] - inside)


def test_an_estimate_with_all_labels_counts_every_category(files):
    _, fitted, labels, boxes = files
    right, n_boxes, n_objects = counted(labels, boxes, THRESHOLD)
    result = estimate_labelled(fitted, boxes, labels, images=labels, score_thr=THRESHOLD)
    values = {name: of.combined.estimate.value for name, of in result.whole.items()}
    assert values["precision@0.3"] == pytest.approx(right / n_boxes, abs=1e-9)
    assert values["recall@0.3"] == pytest.approx(right / n_objects, abs=1e-9)
    assert values["f1@0.3"] == pytest.approx(2 * right / (n_boxes + n_objects), abs=1e-9)
    # average precision is not defined without an object
    assert set(result.by_category) == {"thing 0", "thing 2"}


def as_table(labels):
    """Labels that name the categories of their objects and list none, as Pascal VOC's do."""
    content = json.loads(labels.read_text())
    word = {category["id"]: category["name"] for category in content["categories"]}
    rows = [(a["image_id"], word[a["category_id"]], *a["bbox"]) for a in content["annotations"]]
    rows += [(image["id"], None, None, None, None, None) for image in content["images"]]
    return pd.DataFrame(rows, columns=["image_id", "category", "x", "y", "w", "h"])


def precision_through(door, files, given, rows, truth):
    """Precision with the labels of all images by one function: its value, threshold, warnings."""
    folder, fitted, labels, _ = files
    if door == "compare":
        result = autoeval.compare(
            {"a": fitted, "b": fitted},
            [given, rows[:-1]],
            images=labels,
            labels=truth,
            target="precision@0.3",
        )
        values = dict(zip(result.ranking["detector"], result.ranking["value"], strict=True))
        return values["a"], THRESHOLD, result.warnings
    if door == "estimate":
        result = estimate_labelled(fitted, given, truth, images=labels, score_thr=THRESHOLD)
        value = result.whole["precision@0.3"].combined.estimate.value
        return value, THRESHOLD, result.warnings
    fit = folder / "estimator.parquet"
    chosen = autoeval.threshold(fit, given, images=labels, labels=truth, recall=0.5)
    return chosen.at["precision"]["value"], chosen.threshold, chosen.warnings


@pytest.mark.parametrize("door", ["compare", "estimate", "threshold"])
@pytest.mark.parametrize("many", [True, False])
def test_labels_without_a_list_of_categories(files, tmp_path, door, many):
    """Where many objects of a category are expected and none is labelled, nobody looked for it."""
    _, _, labels, boxes = files
    rows = json.loads(boxes.read_text())
    if not many:
        rows = [row for row in rows if row["category_id"] != 2]
        rows.append({"image_id": 0, "category_id": 2, "bbox": [5, 5, 60, 60], "score": 0.31})
    given = tmp_path / "given.json"
    given.write_text(json.dumps(rows))
    value, threshold, notices = precision_through(door, files, given, rows, as_table(labels))
    counting = [row for row in rows if row["category_id"] != 2] if many else rows
    alone = tmp_path / "counting.json"
    alone.write_text(json.dumps(counting))
    right, n_boxes, _ = counted(labels, alone, threshold)
    assert value == pytest.approx(right / n_boxes, abs=1e-9)
    codes = {notice.code for notice in notices}
    assert ("categories-without-labels" in codes) == many
    assert ("categories-not-listed" in codes) == (not many)


@pytest.mark.parametrize("door", ["compare", "estimate", "threshold"])
def test_a_box_of_a_category_that_was_hardly_found_counts(files, tmp_path, door):
    """One unlikely box, so that the category does not count without labels, nor has an object."""
    _, fitted, labels, boxes = files
    rows = [row for row in json.loads(boxes.read_text()) if row["category_id"] != 2]
    rows.append({"image_id": 0, "category_id": 2, "bbox": [5, 5, 60, 60], "score": 0.31})
    few = tmp_path / "few.json"
    few.write_text(json.dumps(rows))
    assert "thing 1" not in fitted.predict(few, images=labels).per_category
    value, threshold, _ = precision_through(door, files, few, rows, labels)
    right, n_boxes, _ = counted(labels, few, threshold)
    assert value == pytest.approx(right / n_boxes, abs=1e-9)


@pytest.mark.parametrize("wanted", [{"recall": 0.5}, {"precision": 0.6}, {}])
def test_a_threshold_reaches_what_it_says(files, wanted):
    """The values at the threshold are counted there, and the next one does not do."""
    folder, _, labels, boxes = files
    exact = autoeval.threshold(labels=labels, predictions=boxes, **wanted)
    chosen = autoeval.threshold(
        folder / "estimator.parquet", boxes, images=labels, labels=labels, **wanted
    )
    for result in (exact, chosen):
        right, n_boxes, n_objects = counted(labels, boxes, result.threshold)
        assert result.at["precision"]["value"] == pytest.approx(right / n_boxes, abs=1e-9)
        assert result.at["recall"]["value"] == pytest.approx(right / n_objects, abs=1e-9)
    if "recall" in wanted:
        right, _, n_objects = counted(labels, boxes, round(chosen.threshold + 0.01, 2))
        assert chosen.at["recall"]["value"] >= 0.5 > right / n_objects
    # with all labels every score is a threshold, otherwise hundredths are
    if "recall" in wanted:
        assert chosen.threshold <= exact.threshold < chosen.threshold + 0.01
    elif "precision" in wanted:
        assert exact.threshold <= chosen.threshold
    else:
        assert exact.at["f1"]["value"] >= chosen.at["f1"]["value"]
