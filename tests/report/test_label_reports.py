"""The folder to label, and the pages, of a made site."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from label_worlds import assistance_of, label_set, make_site
from made_reports import tables

from autoeval.boxes import LabelledImage
from autoeval.detections import CONFIDENT
from autoeval.errors import InputError
from autoeval.estimation.label_planning import PlanRequest, make_plan
from autoeval.io.coco import read_coco
from autoeval.io.find_images import ImageArray
from autoeval.io.image_identity import match_images
from autoeval.io.image_lists import coco_images
from autoeval.labels.labelled_estimate import estimate_with_labels
from autoeval.labels.plan_folder import write_plan
from autoeval.labels.values import ValueWithError
from autoeval.report.labels import (
    labelled_page,
    labelled_text,
    labelled_values,
    plan_page,
    plan_text,
    plan_values,
)
from autoeval.words import Notice, codes_of


@dataclass(frozen=True)
class FileOnDisk:
    image_id: str
    path: Path


@pytest.fixture(scope="module")
def site():
    return make_site(7, n_images=40)


@pytest.fixture(scope="module")
def plan(site):
    priors = {"mAP": ValueWithError(0.45, 0.09)}
    return replace(make_plan(site.pool, assistance_of(3), PlanRequest(12)), priors=priors)


def test_the_folder_holds_what_was_drawn(plan, tmp_path):
    for image in plan.found.images:
        cv2.imwrite(str(tmp_path / image.file_name), np.zeros((200, 200, 3), np.uint8))
    files = [FileOnDisk(i.image_id, tmp_path / i.file_name) for i in plan.found.images]
    out = tmp_path / "out"
    write_plan(plan, out, files, prelabel=True)
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


def renamed(plan, name):
    """The plan with the k-th image of its pool called so by its file, and no longer by its id."""
    images = tuple(replace(i, file_name=name(k)) for k, i in enumerate(plan.found.images))
    return replace(plan, found=replace(plan.found, images=images))


@pytest.mark.parametrize("folder", ["", "gate/", "../", "/data/", "//data/", "a/../../"])
def test_a_drawn_image_is_called_as_its_file_is_in_the_folder_of_the_plan(plan, tmp_path, folder):
    """By its id, such as 36 of 37.jpg, its labels were matched with the image of 36.jpg."""
    files = []
    for k, image in enumerate(plan.found.images):
        files.append(FileOnDisk(image.image_id, tmp_path / f"{k}.png"))
        cv2.imwrite(str(files[k].path), np.full((8, 8, 3), k, np.uint8))
    out = tmp_path / "plans/out"
    write_plan(renamed(plan, lambda k: f"{folder}{k + 1}.png"), out, files)
    inside = {"../": "", "a/../../": "a/"}.get(folder, folder.strip("/") + "/" * bool(folder))
    names = {f"{inside}{k + 1}.png": k for k in plan.drawn}
    assert {image.file_name for image in read_coco(out / "annotations.json").images} == {*names}
    for name, k in names.items():
        assert (cv2.imread(str(out / "images" / name)) == k).all()
    assert {path.name for path in tmp_path.iterdir()} == {"plans", *(f.path.name for f in files)}


EXPORTED = {  # how tools that label write the names and ids of images
    "as it was": lambda k, name: (k, name),
    "in another folder": lambda k, name: (k, f"C:\\sites\\gate\\{name}"),
    "ids as floats": lambda k, name: (float(k), name),
}


@pytest.mark.parametrize("export", EXPORTED.values(), ids=[*EXPORTED])
def test_a_larger_plan_lists_no_labelled_image_again(site, plan, tmp_path, export):
    """It was listed without its boxes, and took the place of what was labelled."""
    write_plan(plan, tmp_path, ())
    path = tmp_path / "annotations.json"
    labelled = json.loads(path.read_text())
    row = {place: k for k, place in enumerate(plan.drawn.tolist(), 1)}
    for k, image in enumerate(labelled["images"], 1):
        image["id"], image["file_name"] = export(k, image["file_name"])
    labelled["annotations"] = [
        {
            "id": n,
            "image_id": labelled["images"][row[image] - 1]["id"],
            "category_id": 1,
            "bbox": [x, y, x2 - x, y2 - y],
        }
        for n, (image, (x, y, x2, y2)) in enumerate(
            zip(site.truth.image.tolist(), site.truth.boxes.tolist(), strict=True)
        )
        if image in row
    ]
    path.write_text(json.dumps(labelled))
    larger = plan.larger(15)
    write_plan(larger, tmp_path, ())
    again, images = read_coco(path), coco_images(path, json.loads(path.read_text()))
    added = [plan.found.images[k].file_name for k in larger.drawn[plan.n :]]
    assert [image.file_name for image in images[plan.n :]] == added == [*again.unlabelled]
    assert len(images) == len(labelled["images"]) + 3
    assert again.images == images[: plan.n]
    whole = plan.found.images
    by_place = match_images(images, whole).index
    objects = np.bincount(site.truth.image, minlength=len(whole))
    found = [sum(box.image_id == image.image_id for box in again.boxes) for image in images]
    assert found == [objects[k] if k in plan.drawn else 0 for k in by_place]


def test_images_that_have_ids_alone_keep_them_in_a_larger_plan(plan, tmp_path):
    """The 75th, added under the id 59, was read as the 59th."""
    images = tuple(
        LabelledImage(name := str(3 * k + 1), name, image.size)
        for k, image in enumerate(plan.found.images)
    )
    plan = replace(plan, found=replace(plan.found, images=images))
    larger = plan.larger(20)
    for drawn in (plan, larger):
        write_plan(drawn, tmp_path, ())
    listed = read_coco(tmp_path / "annotations.json").images
    assert match_images(listed, images).index.tolist() == larger.drawn.tolist()


def without_sizes(plan):
    """As predictions without the sizes of their images give it."""
    images = tuple(replace(image, size=None) for image in plan.found.images)
    return replace(plan, found=replace(plan.found, images=images))


def test_boxes_are_offered_in_images_without_a_file_of_their_own(plan, tmp_path):
    pixels = np.zeros((200, 300, 3), np.uint8)  # as frames of a video are
    files = [ImageArray(image.image_id, pixels) for image in plan.found.images]
    write_plan(without_sizes(plan), tmp_path, files, prelabel=True)
    offered = read_coco(tmp_path / "prelabels_coco.json")
    assert {image.size for image in offered.images} == {(200, 300)} and len(offered.boxes)


@pytest.mark.parametrize("name", ["{}.jpg", "{}.heic", "gate.mp4#{}", "cam.{}", "{}"])
def test_labels_of_images_in_memory_are_of_the_images_that_were_drawn(plan, tmp_path, name):
    """Of 4.jpg, written as 4.jpg.png, they were read as those of the image of the same number."""
    images = tuple(
        LabelledImage(name.format(k), name.format(k), image.size)
        for k, image in enumerate(plan.found.images)
    )
    plan = replace(plan, found=replace(plan.found, images=images))
    pixels = [np.full((9, 9, 3), k, np.uint8) for k in range(len(images))]
    files = [ImageArray(image.image_id, own) for image, own in zip(images, pixels, strict=True)]
    for drawn in (plan, plan.larger(20)):
        write_plan(drawn, tmp_path, files)
    listed = read_coco(tmp_path / "annotations.json").images
    assert match_images(listed, images).index.tolist() == drawn.drawn.tolist()
    for image, k in zip(listed, drawn.drawn, strict=True):
        assert (cv2.imread(str(tmp_path / "images" / image.file_name)) == k).all()


def test_boxes_are_not_offered_in_a_damaged_file_and_nothing_is_written(plan, tmp_path):
    files = [FileOnDisk(i.image_id, tmp_path / i.file_name) for i in plan.found.images]
    for image in files:
        image.path.write_bytes(b"no image")
    with pytest.raises(InputError, match="damaged"):
        write_plan(without_sizes(plan), tmp_path / "out", files, prelabel=True)
    assert not (tmp_path / "out").exists()
    write_plan(without_sizes(plan), tmp_path / "out", files)  # which needs no size
    (first, *_) = read_coco(tmp_path / "out" / "annotations.json").images
    assert first.size is None


def test_the_page_of_a_plan(plan, tmp_path):
    rows = plan_values(plan)["half_width"]
    widths = [row["half_width"] for row in rows]
    assert widths == sorted(widths, reverse=True)
    assert [row["labels"] for row in rows] == [10, 12, 20, 30]
    assert "12 of 40 images" in plan_text(plan)
    page, folder = plan_page(plan).write(tmp_path / "report.html")
    assert "Expected half-width" in page.read_text()
    assert (folder / "half_width.png").exists()


def test_the_json_of_a_plan_has_its_warnings(plan):
    few = Notice("few-images", "only 3 images")
    values = plan_values(replace(plan, warnings=(few,)))
    assert values["warnings"] == [few] and values["warning_codes"] == codes_of([few])


def test_the_page_of_a_plan_lists_the_images_and_shows_twelve_at_most(site):
    plan = make_plan(site.pool, assistance_of(3), PlanRequest(20))
    at_hand = [ImageArray(i.image_id, np.zeros((200, 200, 3), np.uint8)) for i in site.truth.images]
    names = [plan.found.images[k].image_id for k in plan.drawn]
    images = tables(plan_page(plan))["images"].table
    assert images["image_id"].tolist() == names and images["order"].tolist() == [*range(1, 21)]
    sure = [int((plan.found.image[plan.found.scores > 0.3] == k).sum()) for k in plan.drawn]
    assert images["confident"].tolist() == sure
    html = plan_page(replace(plan, pictures=at_hand)).render()
    assert html.count("data:image/jpeg") == 12 == html.count('loading="lazy"')
    assert f"<figcaption>{names[0]}</figcaption>" in html
    assert "data:image/jpeg" not in plan_page(plan).render()


def test_the_pages_end_with_what_they_are_about(plan, site):
    estimate = estimate_with_labels(plan, label_set(site, plan.drawn))
    about = {"images": "mine"}
    for page in (plan_page(plan, about=about), labelled_page(estimate, about)):
        first, *_, last = page.blocks
        assert first.kind in ("headline", "interval")
        assert last.facts == about


def test_the_page_of_an_estimate_with_labels(plan, site, tmp_path):
    estimate = estimate_with_labels(plan, label_set(site, plan.drawn))
    made = labelled_page(estimate)
    assert made.blocks[0].value == f"{100 * estimate.recommended.value:.1f}"
    _, folder = made.write(tmp_path / "report.html")
    assert (folder / "shrinking.png").exists()
    values = labelled_values(estimate)["labelled_estimate"]
    assert values["value"] == pytest.approx(estimate.recommended.value)
    assert {"mAP", "mAP50", "mAP75"} == set(values["whole"])
    assert f"{estimate.more_labels(0.03)} more labels for ±3" in labelled_text(estimate)
    named = {block.name for block in made.blocks if block.kind == "headline"}
    assert named == {"±5", "±3"}
    # of a half-width that is wanted both say the same, wider for having been looked at
    wanted = labelled_page(estimate, until="±5 is not reached", wanted=0.05)
    assert {block.name for block in wanted.blocks if block.kind == "headline"} == {"±3"}
    assert "<p>±5 is not reached</p>" in wanted.render()
    assert "for ±5" not in labelled_text(estimate, "±5 is not reached", 0.05)


def test_a_plan_says_how_many_categories_its_labels_will_probably_measure(plan):
    assert "categories_measured" not in plan.half_widths()  # one category
    two = make_site(7, n_images=40, categories=("car", "bus"))
    priors = dict.fromkeys(("mAP", "mAP/car", "mAP/bus"), ValueWithError(0.45, 0.09))
    made = replace(make_plan(two.pool, assistance_of(3), PlanRequest(12)), priors=priors)
    assert (made.half_widths()["categories_measured"] <= 2).all()
    _, expected = plan_text(made, verbose=False).split("\n\n")[:2]
    assert len(expected.splitlines()) == 2
