"""The folder to label, and the pages, of a made site."""

import json
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pytest
from label_worlds import label_set, make_site

from autoeval.detections import CONFIDENT
from autoeval.io.coco import read_coco
from autoeval.io.find_images import ImageArray
from autoeval.labels.fit_assistance import fit_assistance
from autoeval.labels.plan import make_plan
from autoeval.labels.plan_request import PlannedSite, PlanRequest
from autoeval.labels.to_label import write_to_label
from autoeval.labels.value_with_error import ValueWithError
from autoeval.labels.with_labels import estimate_with_labels
from autoeval.results.labels.estimate_report import label_report
from autoeval.results.labels.plan_report import ImagesToLabel, WidthToExpect, plan_report


@dataclass(frozen=True)
class FileOnDisk:
    image_id: str
    path: Path


@pytest.fixture(scope="module")
def site():
    return make_site(7, n_images=40)


@pytest.fixture(scope="module")
def plan(site):
    assistance = fit_assistance([make_site(seed) for seed in range(3)])
    return make_plan(
        site.pool, assistance, PlanRequest(12), PlannedSite({"mAP": ValueWithError(0.45, 0.09)})
    )


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
    sure = (plan.found.scores > CONFIDENT) & np.isin(plan.found.image, plan.drawn)
    assert len(offered) == sure.sum() > 0
    tasks = json.loads((out / "prelabels_label_studio.json").read_text())
    assert sum(len(task["predictions"][0]["result"]) for task in tasks) == sure.sum()
    task = next(
        k for k, image in enumerate(plan.drawn) if (sure & (plan.found.image == image)).any()
    )
    first = tasks[task]["predictions"][0]["result"][0]["value"]
    row = np.flatnonzero(sure & (plan.found.image == plan.drawn[task]))[0]
    assert first["x"] == pytest.approx(plan.found.boxes[row][0] / 2)  # percent of 200 pixels
    assert first["rectanglelabels"] == ["car"]


def test_the_page_of_a_plan(plan, tmp_path):
    report = plan_report(plan)
    written = report.to_dict()
    widths = [row["half_width"] for row in written["half_width"]]
    assert widths == sorted(widths, reverse=True)
    assert [row["labels"] for row in written["half_width"]] == [10, 12, 20, 30]
    assert "12 of 40 images" in report.text()
    page, parts, _ = report.write(tmp_path)
    assert "Expected half-width" in page.read_text()
    assert (parts / "half_width.png").exists()


def test_the_page_of_a_plan_lists_the_images_and_shows_twelve_at_most(site):
    assistance = fit_assistance([make_site(seed) for seed in range(3)])
    plan = make_plan(
        site.pool, assistance, PlanRequest(20), PlannedSite({"mAP": ValueWithError(0.45, 0.09)})
    )
    at_hand = [ImageArray(i.image_id, np.zeros((200, 200, 3), np.uint8)) for i in site.truth.images]
    names = [plan.found.images[k].image_id for k in plan.drawn]
    images = ImagesToLabel(plan, at_hand).parts()[0].table
    assert images["image_id"].tolist() == names and images["order"].tolist() == [*range(1, 21)]
    sure = [int((plan.found.image[plan.found.scores > 0.3] == k).sum()) for k in plan.drawn]
    assert images["confident"].tolist() == sure
    html = plan_report(plan, images=at_hand).page().render()
    assert html.count("data:image/jpeg") == 12 == html.count('loading="lazy"')
    assert f"<figcaption>{names[0]}</figcaption>" in html
    assert "data:image/jpeg" not in plan_report(plan).page().render()


def test_the_pages_end_with_what_they_are_about(plan, site):
    estimate = estimate_with_labels(plan, label_set(site, plan.drawn))
    for report in (
        plan_report(plan, {"images": "mine"}),
        label_report(estimate, {"images": "mine"}),
    ):
        first, *_, last = report.page().blocks
        assert first.kind in ("headlines", "interval")
        assert last.content.body[0][1].text == "mine"


def test_the_page_of_an_estimate_with_labels(plan, site, tmp_path):
    estimate = estimate_with_labels(plan, label_set(site, plan.drawn))
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


def test_a_plan_says_how_many_categories_its_labels_will_probably_measure(plan):
    assert "categories that" not in WidthToExpect(plan).headline()  # one category
    two = make_site(7, n_images=40, categories=("car", "bus"))
    assistance = fit_assistance([make_site(seed) for seed in range(3)])
    priors = dict.fromkeys(("mAP", "mAP/car", "mAP/bus"), ValueWithError(0.45, 0.09))
    width = WidthToExpect(make_plan(two.pool, assistance, PlanRequest(12), PlannedSite(priors)))
    assert "categories that 3 labelled images or more will probably hold, of 2" in width.headline()
    assert (width.table()["categories_measured"] <= 2).all()
