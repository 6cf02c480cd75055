"""Files whose images are named, sized or outlined in other ways than usual have the same accuracy.

Each way is applied to some images and to all of them, in the labels and in the predictions, and is
read as a labelled set (fit, threshold) and as a new site with labels (estimate, label estimate).
The right value is pycocotools' on the files as they were.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from by_coco import mean_average_precision
from labelled_site import estimate_labelled
from PIL import Image

import autoeval
from autoeval.errors import InputError
from autoeval.estimation.given import Predictions, read_labels
from autoeval.estimation.labelled_sets import labels_with_files
from tests.commands.predicted_world import HEIGHT, WIDTH, write_world

N_IMAGES = 24


@pytest.fixture(scope="module")
def estimator(tmp_path_factory):
    """A fit on a labelled set that nothing is odd about."""
    folder = tmp_path_factory.mktemp("home")
    return autoeval.fit(*write_world(folder, "home", seed=1))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Labels and boxes of a site, as they are."""
    folder = tmp_path_factory.mktemp("site")
    files = write_world(folder, "site", seed=2, n_images=N_IMAGES, n_categories=4)
    return tuple(json.loads(path.read_text()) for path in files)


def by_name(labels, boxes):
    """Name the images of boxes by file names alone."""
    names = {image["id"]: image["file_name"] for image in labels["images"]}
    rows = [{k: box[k] for k in ("category_id", "bbox", "score")} for box in boxes]
    return [
        {"file_name": names[box["image_id"]], **row} for box, row in zip(boxes, rows, strict=True)
    ]


def renamed(change):
    """Make a way in which the labels' names of images are changed."""

    def way(labels, boxes, odd):
        rows = by_name(labels, boxes)
        for image in labels["images"]:
            if image["id"] in odd:
                image["file_name"] = change(image["file_name"])
        return rows

    return way


def texts(labels, boxes, odd):
    return [
        {**box, "image_id": f"{box['image_id']}.0"} if box["image_id"] in odd else box
        for box in boxes
    ]


def own_list(labels, boxes, odd):
    """A document that numbers its own images, in another order than the labels."""
    number = {image["id"]: k for k, image in enumerate(reversed(labels["images"]), 1)}
    images = [{**image, "id": number[image["id"]]} for image in labels["images"]]
    rows = [{**box, "image_id": number[box["image_id"]], "id": k} for k, box in enumerate(boxes)]
    return {"images": images, "categories": labels["categories"], "annotations": rows}


WAYS = {
    "folder": renamed(lambda name: f"images/val2017/{name}"),
    "floats as text": texts,
    "own list": own_list,
}


def labelled_as(right, labels, predictions):
    """Read a labelled set, whose mean average precision is the right one."""
    labelled = labels_with_files(labels, Predictions(predictions))
    values = [ranking.average_precision().mean() for ranking in labelled.evaluation.rankings]
    assert np.mean(values) == pytest.approx(right, abs=1e-6)
    return labelled


@pytest.mark.parametrize("step", [1, 5], ids=["all", "some"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_accuracy_is_that_of_pycocotools(tmp_path, estimator, world, way, step):
    labels, boxes = copy.deepcopy(world)
    right = mean_average_precision(labels, boxes)
    odd = {image["id"] for image in labels["images"][::step]}
    found = way(labels, boxes, odd)
    files = tmp_path / "site.json", tmp_path / "boxes.json"
    for path, content in zip(files, (labels, found), strict=True):
        path.write_text(json.dumps(content))

    assert len(labelled_as(right, *files)) == N_IMAGES

    plan = autoeval.plan_labels(estimator, files[1], images=files[0], n=5)
    estimate = autoeval.estimate_with_labels(plan, files[0], planned=False)
    assert estimate.value == pytest.approx(right, abs=1e-6)
    assert plan.n_pool == N_IMAGES


def written(tmp_path, labels, boxes):
    (tmp_path / "site.json").write_text(json.dumps(labels))
    (tmp_path / "boxes.json").write_text(json.dumps(boxes))
    return tmp_path / "site.json", tmp_path / "boxes.json"


@pytest.mark.parametrize("suffix", [".JSON", ".json.gz"])
def test_other_suffixes_of_labels(tmp_path, world, suffix):
    import gzip

    labels, boxes = world
    _, predictions = written(tmp_path, labels, boxes)
    content = json.dumps(labels).encode()
    path = tmp_path / f"val{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    made = labels_with_files(path, Predictions(predictions))
    assert made.name == "val"
    assert len(autoeval.load_labels(path, tmp_path).boxes) == len(labels["annotations"])


def photos(folder, labels):
    """Write the images as files of their sizes."""
    folder.mkdir()
    for image in labels["images"]:
        size = (image["width"], image["height"])
        Image.new("L", size).save(folder / image["file_name"])


def test_the_folder_of_the_images_and_their_list_are_one(tmp_path, estimator, world):
    """One image is six times as large; its size is in the list, or in the header of its file."""
    labels, boxes = copy.deepcopy(world)
    first = labels["images"][1]
    first["width"], first["height"] = 6 * WIDTH, 6 * HEIGHT
    for box in boxes:
        if box["image_id"] == first["id"]:
            box["bbox"] = [6 * side for side in box["bbox"]]
    for row in boxes:
        row["file_name"] = f"{row.pop('image_id'):06}.jpg"
    site, predictions = written(tmp_path, labels, boxes)
    photos(tmp_path / "photos", labels)
    sizeless = [{k: image[k] for k in ("id", "file_name")} for image in labels["images"]]
    (tmp_path / "photos" / "list.json").write_text(json.dumps({"images": sizeless}))
    names = [image["file_name"] for image in labels["images"]]
    (tmp_path / "photos" / "list.txt").write_text("\n".join(names))
    paths = sorted((tmp_path / "photos").glob("*.jpg"))
    right = estimator.predict(predictions, images=site)
    folder = tmp_path / "photos"
    for images in (folder, folder / "list.json", folder / "list.txt", paths):
        estimate = estimator.predict(predictions, images=images)
        assert estimate.value == right.value and estimate.lower == right.lower
        assert "image-sizes-unknown" not in [warning.code for warning in estimate.warnings]


def test_without_sizes_nothing_that_needs_them_is_read(tmp_path, estimator, world):
    """A large image among others moves nothing, and that sizes are unknown is said."""
    labels, boxes = copy.deepcopy(world)
    sizeless = [{k: image[k] for k in ("id", "file_name")} for image in labels["images"]]
    values, reach = [], []
    for scale in (1, 6):
        for box in boxes:
            if box["image_id"] == 1:
                box["bbox"] = [scale * side for side in box["bbox"]]
        site, predictions = written(tmp_path, {"images": sizeless}, boxes)
        estimate = estimator.predict(predictions, images=site)
        assert "image-sizes-unknown" in [warning.code for warning in estimate.warnings]
        values.append(estimate.value)
        reach.append(estimate.upper - estimate.lower)
    known = estimator.predict(predictions, images=written(tmp_path, labels, boxes)[0])
    assert values[0] == pytest.approx(values[1], abs=1e-9)
    assert reach[0] > known.upper - known.lower  # less is known


def test_a_fit_without_any_size_of_an_image_estimates_with_and_without_sizes(world):
    labels, boxes = copy.deepcopy(world)
    right = mean_average_precision(labels, boxes)
    sizeless = {
        **labels,
        "images": [{k: image[k] for k in ("id", "file_name")} for image in labels["images"]],
    }
    made = autoeval.fit(sizeless, boxes)
    assert made.fit_result_.labelled_sets["mAP"].item() == pytest.approx(right, abs=1e-6)
    assert "image-sizes-unknown" in [warning.code for warning in made.fit_result_.warnings]
    estimates = [made.predict(boxes, images=images) for images in (sizeless, labels)]
    assert estimates[0].value == pytest.approx(estimates[1].value, abs=1e-9)  # no size is read
    assert "the size of boxes" not in " ".join(estimates[1].warnings)
    with_sizes = autoeval.fit(labels, boxes).predict(boxes, images=labels)
    assert estimates[1].upper - estimates[1].lower > with_sizes.upper - with_sizes.lower
    assert estimates[1].value == pytest.approx(with_sizes.value, abs=0.1)


def test_objects_on_images_that_were_not_placed_are_not_missed(tmp_path, estimator, world):
    labels, boxes = copy.deepcopy(world)
    lost = {image["id"] for image in labels["images"][:6]}
    rest = dict(labels, images=labels["images"][6:])
    rest["annotations"] = [row for row in labels["annotations"] if row["image_id"] not in lost]
    right = mean_average_precision(rest, [box for box in boxes if box["image_id"] not in lost])
    rows = by_name(labels, boxes)
    for row, box in zip(rows, boxes, strict=True):
        if box["image_id"] in lost:
            row["file_name"] = f"renamed_{box['image_id']}.jpg"
    site, predictions = written(tmp_path, labels, rows)
    assert len(labelled_as(right, site, predictions)) == N_IMAGES - 6
    estimate = estimator.predict(predictions, images=site)
    assert estimate.warnings[0].code == "images-not-placed"
    assert estimate.warnings[0].startswith("6 of 24 images")
    plan = autoeval.plan_labels(estimator, predictions, images=site, n=5)
    with_labels = autoeval.estimate_with_labels(plan, site, planned=False)
    assert with_labels.value == pytest.approx(right, abs=1e-6)


def test_copies_count_once_in_a_fit_and_at_a_site(tmp_path, estimator, world):
    labels, boxes = copy.deepcopy(world)
    right = mean_average_precision(labels, boxes)
    more = [
        {**image, "id": 1000 + image["id"], "file_name": f"copy_{image['file_name']}"}
        for image in labels["images"]
    ]
    labels["images"] += more
    labels["annotations"] += [
        {**row, "image_id": 1000 + row["image_id"], "id": 10_000 + row["id"]}
        for row in labels["annotations"]
    ]
    boxes += [{**box, "image_id": 1000 + box["image_id"]} for box in boxes]
    site, predictions = written(tmp_path, labels, boxes)
    assert len(labelled_as(right, site, predictions)) == N_IMAGES
    assert estimator.predict(predictions, images=site).n_images == N_IMAGES
    estimate = estimate_labelled(estimator, predictions, site, images=site)
    assert estimate.value == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize("name", ["cam_{:03}.jpg", "{}"])
def test_frames_of_a_still_camera_are_no_copies(tmp_path, estimator, world, name):
    """The same boxes in twelve images, whose objects come and go."""
    labels, boxes = copy.deepcopy(world)
    boxes = [box for box in boxes if box["image_id"] >= 12] + [
        {**box, "image_id": k} for k in range(12) for box in boxes if box["image_id"] == 0
    ]
    for image in labels["images"]:
        image["file_name"] = name.format(image["id"])
    right = mean_average_precision(labels, boxes)
    site, predictions = written(tmp_path, labels, boxes)
    assert len(labels_with_files(site, Predictions(predictions))) == N_IMAGES
    new_site = estimator.read_site(predictions, images=site, labelled=read_labels(site, None))
    estimate = estimator.predict_site(new_site)
    labelled = estimator.estimate_with_labels(estimate, site)
    assert labelled.value == pytest.approx(right, abs=1e-6)


def test_boxes_of_categories_that_nobody_looked_for_are_ignored_as_in_lvis(
    tmp_path, estimator, world
):
    """Per image one of four categories was not looked for, and its objects are not labelled."""
    labels, boxes = copy.deepcopy(world)
    skipped = {image["id"]: image["id"] % 4 + 1 for image in labels["images"]}
    labels["annotations"] = [
        row for row in labels["annotations"] if row["category_id"] != skipped[row["image_id"]]
    ]
    looked = [box for box in boxes if box["category_id"] != skipped[box["image_id"]]]
    right = mean_average_precision(labels, looked)
    there = {(row["image_id"], row["category_id"]) for row in labels["annotations"]}
    for image in labels["images"]:
        absent = {1, 2, 3, 4} - {skipped[image["id"]]}
        image["neg_category_ids"] = [k for k in absent if (image["id"], k) not in there]
        image["not_exhaustive_category_ids"] = []
    site, predictions = written(tmp_path, labels, boxes)
    labelled_as(right, site, predictions)
    sure = tmp_path / "sure.json"  # the reference finds more, which is ignored as well
    sure.write_text(json.dumps([box for box in boxes if box["score"] > 0.6]))
    both = Predictions(sure, reference=predictions, complete=False)
    of_reference = labels_with_files(site, both).of_reference.average_precision
    assert of_reference.mean() == pytest.approx(right, abs=1e-6)
    estimate = estimate_labelled(estimator, predictions, site, images=site)
    assert estimate.value == pytest.approx(right, abs=1e-6)
    # no category is labelled in all images, and the interval has no width
    severities = {w.severity for w in estimate.warnings if w.code == "labels-not-exhaustive"}
    assert severities == {"note", "warning"} and estimate.lower == estimate.upper


def test_unmatched_boxes_where_not_all_objects_are_labelled_are_ignored(tmp_path, world):
    """LVIS's `not_exhaustive_category_ids`: here of all categories in all images."""
    labels, boxes = copy.deepcopy(world)
    for image in labels["images"]:
        image["neg_category_ids"] = []
        image["not_exhaustive_category_ids"] = [1, 2, 3, 4]
    site, predictions = written(tmp_path, labels, boxes)
    labelled = labels_with_files(site, Predictions(predictions))
    for ranking in labelled.evaluation.rankings:
        assert ranking.hits[0].any() and not (ranking.counted[0] & ~ranking.hits[0]).any()


def test_labels_of_all_images_need_no_label_assistance(tmp_path, estimator, world):
    """The value is pycocotools' own, and no influence is predicted; with fewer labels one is."""
    labels, boxes = world
    site, predictions = written(tmp_path, labels, boxes)
    estimate = estimator.predict(predictions, images=site)
    without = replace(estimator, assistance_=None)
    labelled = without.estimate_with_labels(estimate, site)
    assert labelled.value == pytest.approx(mean_average_precision(labels, boxes), abs=1e-6)
    assert (labelled.lower, labelled.upper) == (labelled.value, labelled.value)
    few = {**labels, "images": labels["images"][:-1]}
    (tmp_path / "few.json").write_text(json.dumps(few))
    with pytest.raises(InputError, match="no label assistance"):
        without.estimate_with_labels(estimate, tmp_path / "few.json")
