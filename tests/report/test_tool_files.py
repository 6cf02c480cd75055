"""What other tools read of an estimate."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from autoeval.boxes import Boxes, LabelledImage
from autoeval.estimation.estimate import Estimate
from autoeval.io.predictions import read_predictions
from autoeval.report.estimate import (
    category_ids,
    coco_results,
    estimate_row,
    export,
    image_table,
)
from autoeval.sites.site import Site


@pytest.fixture
def found():
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (90, 90)) for k in (7, 8, 9))
    boxes = np.array([[1, 2, 11, 22], [5, 5, 10, 10], [0, 0, 4, 4]], "f4")
    scores = np.array([0.5, 0.25, 0.01], "f4")
    return Boxes(images, ("car", "cat"), np.array([0, 0, 1]), np.array([0, 1, 0]), boxes, scores)


def estimate_of(**per_category):
    parts = {
        name: dict(zip(("value", "lower", "upper"), v, strict=True))
        for name, v in per_category.items()
    }
    return Estimate(0.4, 0.2, 0.6, 0.9, "Bayesian", "mAP", 3, per_category=parts)


def test_images_by_hand(found):
    table = image_table(found)
    assert table["image_id"].tolist() == ["7", "8", "9"]
    assert table["boxes"].tolist() == [2, 0, 0]
    assert table["confident"].tolist() == [1, 0, 0]
    assert table["mean_score"][0] == pytest.approx(0.375)
    assert table["share"].tolist() == [0.5, 0, 0]
    assert table["mean_score"][1:].isna().all()


def test_boxes_carry_the_estimate_of_their_category(found):
    first, second, _ = coco_results(found, estimate_of(car=(0.5, 0.3, 0.7)))
    assert (first["image_id"], first["category"], first["bbox"]) == (7, "car", [1, 2, 10, 20])
    assert (first["estimated_mAP"], first["estimated_upper"]) == (0.5, 0.7)
    assert second["estimated_mAP"] is None  # a category that was not estimated
    assert coco_results(found, estimate_of())[1]["estimated_lower"] == 0.2  # the only one asked for


def test_numbers_of_the_file_are_kept_and_others_are_free_ones(found):
    assert category_ids(found) == [1, 2]
    assert category_ids(replace(found, numbers={"3": "car", "17": "cat"})) == [3, 17]
    assert category_ids(replace(found, numbers={"3": "car", "6": "bus"})) == [3, 7]
    assert category_ids(replace(found, numbers={"0": "cat", "x": "car"})) == ["x", 0]


def test_what_is_written_is_read_again(found, tmp_path):
    paths = export(tmp_path, replace(estimate_of(car=(0.5, 0.3, 0.7)), site=Site(found)))
    assert [path.name for path in paths] == ["estimate.csv", "images.csv", "predictions.json"]
    again = read_predictions(paths[2], images=found.images)
    np.testing.assert_array_equal(again.boxes, found.boxes)
    np.testing.assert_array_equal(again.image, found.image)
    assert [again.categories[k] for k in again.label] == ["car", "cat", "car"]
    assert pd.read_csv(paths[0])["value/car"].tolist() == [0.5]
    assert len(json.loads(paths[2].read_text())) == 3


def test_a_category_called_as_another_target_has_columns_of_its_own():
    mAP50 = {"value": 0.7, "lower": 0.5, "upper": 0.9}
    estimate = estimate_of(car=(0.5, 0.3, 0.7), mAP50=(0.3, 0.1, 0.5))
    row = estimate_row(replace(estimate, other_targets={"mAP50": mAP50})).iloc[0]
    values = [row[f"value/{name}"] for name in ("car", "mAP50_", "mAP50")]
    assert values == [0.5, 0.3, 0.7] and row["upper/mAP50"] == 0.9
