"""The folder to label, and the pages, of a made place."""

import json
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pytest
from label_worlds import label_set, make_place

from autoeval.data.coco import read_coco
from autoeval.estimation.labels.fit_aid import fit_aid
from autoeval.estimation.labels.plan import make_plan
from autoeval.estimation.labels.value_with_error import ValueWithError
from autoeval.estimation.labels.with_labels import estimate_with_labels
from autoeval.results.labels.estimate_report import label_report
from autoeval.results.labels.plan_report import plan_report
from autoeval.results.labels.to_label import SURE, write_to_label


@dataclass(frozen=True)
class FileOnDisk:
    image_id: str
    path: Path


@pytest.fixture(scope="module")
def place():
    return make_place(7, n_images=40)


@pytest.fixture(scope="module")
def plan(place):
    aid = fit_aid([make_place(seed) for seed in range(3)])
    return make_plan(place.pool, aid, n=12, priors={"mAP": ValueWithError(0.45, 0.09)})


def test_the_folder_holds_what_was_drawn(plan, tmp_path):
    for image in plan.found.images:
        cv2.imwrite(str(tmp_path / image.file_name), np.zeros((200, 200, 3), np.uint8))
    files = {i.image_id: FileOnDisk(i.image_id, tmp_path / i.file_name) for i in plan.found.images}
    out = tmp_path / "out"
    write_to_label(plan, files, out, prelabel=True)
    drawn = {plan.found.images[k].image_id for k in plan.drawn}
    assert {path.name for path in (out / "images").iterdir()} == drawn
    empty = read_coco(out / "annotations.json")
    assert ({image.file_name for image in empty.images}, empty.boxes) == (drawn, ())
    assert empty.categories == ("car",)
    offered = read_coco(out / "prelabels_coco.json").boxes
    sure = (plan.found.scores > SURE) & np.isin(plan.found.image, plan.drawn)
    assert len(offered) == sure.sum() > 0
    tasks = json.loads((out / "prelabels_label_studio.json").read_text())
    assert sum(len(task["predictions"][0]["result"]) for task in tasks) == sure.sum()
    place = next(
        k for k, image in enumerate(plan.drawn) if (sure & (plan.found.image == image)).any()
    )
    first = tasks[place]["predictions"][0]["result"][0]["value"]
    row = np.flatnonzero(sure & (plan.found.image == plan.drawn[place]))[0]
    assert first["x"] == pytest.approx(plan.found.boxes[row][0] / 2)  # percent of 200 pixels
    assert first["rectanglelabels"] == ["car"]


def test_a_plan_is_told(plan, tmp_path):
    report = plan_report(plan)
    told = report.to_dict()
    widths = [row["half_width"] for row in told["half_width"]]
    assert widths == sorted(widths, reverse=True)
    assert [row["labels"] for row in told["half_width"]] == [10, 12, 20, 30]
    assert "12 of 40 images" in report.text()
    page, parts, _ = report.write(tmp_path)
    assert "How exact it will be" in page.read_text()
    assert (parts / "half_width.png").exists()


def test_labels_are_told(plan, place, tmp_path):
    estimate = estimate_with_labels(plan, label_set(place, plan.drawn))
    report = label_report(estimate)
    page, parts, result = report.write(tmp_path)
    text = page.read_text()
    assert f"{100 * estimate.recommended.value:.1f}" in text
    assert "How the interval shrinks" in text
    assert (parts / "shrinking.png").exists()
    written = json.loads(result.read_text())["labelled_estimate"]
    assert written["value"] == pytest.approx(estimate.recommended.value)
    assert {"mAP", "mAP50", "mAP75"} == set(written["whole"])
    assert "more labels for ±3" in report.text()
