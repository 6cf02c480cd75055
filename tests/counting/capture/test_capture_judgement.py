"""Odd values in answer files, models against each other, and counters that see no box."""

import json

import numpy as np
import pytest
from test_capture_results import NAMES, ROWS, row
from test_capture_results import split as four_items

from autoeval.counting.capture.capture_measures import by_factor, measure, model_difference
from autoeval.counting.capture.real import build_real
from autoeval.counting.capture.results import collect, read_answers
from autoeval.counting.capture.run_page import factor_chart
from autoeval.counting.capture.tasks import get_task
from autoeval.errors import InputError

split = four_items


def of_list(split, path, values, **more):
    records = [{"image_file": n, "results": v, **more} for n, v in zip(NAMES, values, strict=True)]
    path.write_text(json.dumps(records))
    return collect(split, get_task("total-occluded"), "m", read_answers(path))


def test_values_that_are_no_numbers(split, tmp_path):
    """A count in words is read; what is no count is a skipped answer, and named."""
    result = of_list(split, tmp_path / "m.json", ["six", 10**400, "I cannot tell", [9]])
    assert result.frame["value"].tolist()[0] == 6 and result.frame["value"].isna().sum() == 3
    assert measure(result)["sMAPE"] == 75 and measure(result)["skipped %"] == 75
    assert "3 values are no count and taken as skipped: b.png, c.png, d.png" in result.warnings


@pytest.mark.parametrize(
    "line", ['"sample": "x"', '"confidence": "sure"', '"sample": 1' + "0" * 500 + "e5"]
)
def test_broken_fields_are_refused(tmp_path, line):
    text = '{"image_file": "a.png", "task": "total-occluded", "status": "ok", "value": 1, '
    (tmp_path / "a.jsonl").write_text(text + line + "}\n")
    with pytest.raises(InputError, match="does not hold answers"):
        read_answers(tmp_path / "a.jsonl")


def test_a_contradicting_true_count_is_reported(split, tmp_path):
    result = of_list(split, tmp_path / "m.json", [6, 8, 10, 10], ground_truth=10)
    [warning] = result.warnings
    assert "2 answers state another true count than the split" in warning
    assert "a.png (10, here 6), b.png (10, here 8)" in warning
    assert measure(result)["sMAPE"] == 0, "the split's counts are used"


def test_models_are_compared_on_the_same_items(split):
    task = get_task("total-occluded")
    a = collect(split, task, "a", ROWS)
    b = collect(split, task, "b", [row(n, v) for n, v in zip(NAMES, (6, 8, 10, 10), strict=True)])
    found = model_difference(a, b)
    # a scores 0, 20, 100 and 20; b is right throughout.
    assert (found["of A"], found["of B"], found["difference"]) == (pytest.approx(35), 0, 35)
    assert found["n"] == 4 and found["low"] <= 35 <= found["high"]
    assert found["better"] == ("b" if found["low"] > 0 else "")
    assert model_difference(b, b)["difference"] == 0 and model_difference(b, b)["better"] == ""


def test_patterns_of_models_are_compared_by_accuracy(split):
    task = get_task("pattern-occluded")
    right = [row(i.image_file, i.shape, task=task.name) for i in split.items]
    a = collect(split, task, "a", right)
    b = collect(split, task, "b", [row(n, "circle", task=task.name) for n in NAMES])
    found = model_difference(a, b)
    assert (found["measure"], found["of A"], found["of B"]) == ("accuracy", 100, 50)


def test_one_item_has_no_interval(split):
    table = by_factor(collect(split, get_task("total-occluded"), "m", ROWS), "num_occluded")
    assert table["n"].tolist() == [2, 1, 1]
    assert table["low"].isna().tolist() == [False, True, True]
    factor_chart([table], "num_occluded").canvas.draw()


def test_the_published_real_split_takes_points_of_fsc147(tmp_path):
    import cv2

    (tmp_path / "images").mkdir()
    records = []
    for name in ("1.jpg", "2.jpg", "3.jpg"):
        cv2.imwrite(str(tmp_path / "images" / name), np.full((90, 90, 3), 200, np.uint8))
        box = {"x": 5, "y": 5, "width": 20, "height": 20}
        records.append({"image_file": name, "object": "cups", "ground_truth": 2, "bbox": box})
    (tmp_path / "meta.json").write_text(json.dumps(records))
    points = {"1.jpg": {"points": [[10, 10], [60, 60]]}, "2.jpg": {"points": [[10, 10]]}}
    (tmp_path / "fsc.json").write_text(json.dumps(points))
    arguments = (tmp_path / "meta.json", tmp_path / "images", tmp_path / "out")
    built = build_real(*arguments, annotations=tmp_path / "fsc.json")
    assert built.warnings == (
        "2.jpg: its true count is 2, but the annotations have 1 points",
        "3.jpg: not in the annotations",
        "3.jpg: it has no object points, so the oracle tasks leave it out",
    )
    with_task = get_task("oracle-visible").items(built.split.items)
    assert [item.image_file for item in with_task] == ["1.jpg", "2.jpg"]
    assert with_task[0].num_occluded == 1 and with_task[0].split == "real"
    assert with_task[0].visible_points.tolist() == [[60, 60]]
