"""Files that were mixed up or are incomplete: refused, or warned of with a number."""

import copy
import json
import re
import shutil

import cv2
import numpy as np
import pytest
from by_coco import mean_average_precision
from predicted_world import HEIGHT, WIDTH, write_world

from autoeval.cli import main
from autoeval.commands.option_values import READERS
from autoeval.errors import InputError


@pytest.fixture
def world(tmp_path):
    return write_world(tmp_path, "val", seed=0, n_categories=4)


def fit(folder, labels, predictions, *more):
    files = ["--labels", str(labels), "--predictions", str(predictions)]
    return main(["fit", *files, "--work-dir", str(folder / "fit"), *map(str, more)])


@pytest.fixture(scope="module")
def fit_of_world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    assert fit(folder, *write_world(folder, "val", seed=0, n_categories=4)) == 0
    return folder / "fit"


@pytest.fixture
def fitted(world, fit_of_world, tmp_path):
    """The files of the world beside a fit of them."""
    shutil.copytree(fit_of_world, tmp_path / "fit")
    return world


def said(capsys):
    """What was printed, by whichever stream."""
    return "".join(capsys.readouterr())


def rewrite(path, change):
    """Change a JSON file in place."""
    content = json.loads(path.read_text())
    changed = change(content)
    path.write_text(json.dumps(content if changed is None else changed))
    return path


def test_predictions_of_half_of_the_labelled_images(world, tmp_path, capsys):
    labels, predictions = world
    rewrite(predictions, lambda entries: [e for e in entries if e["image_id"] >= 54])
    assert fit(tmp_path, labels, predictions) == 2
    assert "54 of 60 images with labelled objects have no box" in said(capsys)
    assert fit(tmp_path, labels, predictions, "--incomplete") == 0
    assert "54 of 60 images with labelled objects" in said(capsys)


def test_predictions_of_nearly_all_labelled_images(world, tmp_path, capsys):
    labels, predictions = world
    assert fit(tmp_path, labels, predictions) == 0
    assert "have no box" not in said(capsys)
    rewrite(predictions, lambda entries: [e for e in entries if e["image_id"] >= 6])
    assert fit(tmp_path, labels, predictions) == 0
    assert "6 of 60 images with labelled objects have no box" in said(capsys)
    new = ["--predictions", str(predictions), "--work-dir", str(tmp_path / "new")]
    estimator = ["--estimator", str(tmp_path / "fit/estimator.parquet")]
    assert main(["estimate", *new, *estimator, "--images", str(labels)]) == 0
    assert "6 of 60 images have no box in the file" in said(capsys)


def by_pycocotools(labels, predictions):
    """mAP of files."""
    return mean_average_precision(*(json.loads(path.read_text()) for path in (labels, predictions)))


@pytest.mark.rare
def test_images_that_were_not_seen_change_the_value_neither_with_labels_nor_without(
    fitted, tmp_path, capsys
):
    labels, predictions = fitted
    document = json.loads(labels.read_text())
    for annotation in document["annotations"]:
        annotation.setdefault("iscrowd", 0)
        annotation.setdefault("area", annotation["bbox"][2] * annotation["bbox"][3])
    labels.write_text(json.dumps(document))
    more = copy.deepcopy(document)
    unseen = [image for image in document["images"] if image["id"] < 20]
    more["images"] += [
        {**image, "id": image["id"] + 1000, "file_name": f"unseen{image['id']}.jpg"}
        for image in unseen
    ]
    more["annotations"] += [
        {**a, "id": a["id"] + 100_000, "image_id": a["image_id"] + 1000}
        for a in document["annotations"]
        if a["image_id"] < 20
    ]
    longer = tmp_path / "longer.json"
    longer.write_text(json.dumps(more))
    values, right = {}, by_pycocotools(labels, predictions)
    for name, path in (("plain", labels), ("longer", longer)):
        options = ["--images", path]
        _, free = estimate(tmp_path, predictions, *options, name=f"{name} free")
        options += ["--labels", path, "--json"]
        capsys.readouterr()
        assert estimate(tmp_path, predictions, *options, name=name)[0] == 0
        whole = json.loads(capsys.readouterr().out)["labelled_estimate"]["whole"]
        values[name] = (free["value"], whole["mAP"]["combined"]["estimate"]["value"])
        assert fit(tmp_path / name, path, predictions, "--json") == 0
        (row,) = json.loads(capsys.readouterr().out)["labelled_sets"]
        assert (row["n_images"], row["mAP"]) == (
            60,
            pytest.approx(by_pycocotools(labels, predictions)),
        )
    assert values["longer"] == pytest.approx(values["plain"])
    assert fit(tmp_path / "c", longer, predictions, "--incomplete", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["labelled_sets"]
    missed = by_pycocotools(longer, predictions)
    assert row["mAP"] == pytest.approx(missed) and missed < right - 0.02


@pytest.fixture
def yolo(world, tmp_path):
    """The same labels as a YOLO data set, every second image in the split val."""
    labels = json.loads(world[0].read_text())
    root = tmp_path / "data"
    split = {image["id"]: ("train", "val")[image["id"] % 2] for image in labels["images"]}
    for image in labels["images"]:
        for kind in ("images", "labels"):
            (root / kind / split[image["id"]]).mkdir(parents=True, exist_ok=True)
        pixels = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        cv2.imwrite(str(root / "images" / split[image["id"]] / image["file_name"]), pixels)
    lines = {image["id"]: [] for image in labels["images"]}
    for a in labels["annotations"]:
        x, y, w, h = a["bbox"]
        shares = (x + w / 2) / WIDTH, (y + h / 2) / HEIGHT, w / WIDTH, h / HEIGHT
        number = a["category_id"] - 1
        lines[a["image_id"]].append(" ".join(map(str, (number, *shares))))
    for k, text in lines.items():
        path = root / "labels" / split[k] / f"{k:06}.txt"
        path.write_text("\n".join(text))
    names = [category["name"] for category in labels["categories"]]
    (root / "data.yaml").write_text(
        json.dumps({"names": names, "train": "images/train", "val": "images/val"})
    )
    return root


def test_only_the_split_that_predictions_cover_is_read(yolo, world, tmp_path, capsys):
    predictions = rewrite(world[1], lambda entries: [e for e in entries if e["image_id"] % 2])
    assert fit(tmp_path, yolo / "data.yaml", predictions) == 0
    text = said(capsys)
    assert "are of the split val (30 images)" in text and "not of train (30 images)" in text
    assert "have no box" not in text
    whole = json.loads((tmp_path / "fit/result.json").read_text())
    assert fit(tmp_path, yolo / "labels/val", predictions) == 0
    alone = json.loads((tmp_path / "fit/result.json").read_text())
    assert whole["per_source"] == alone["per_source"]


def test_equal_stems_in_two_splits_are_ambiguous(yolo, world, tmp_path, capsys):
    for image in sorted((yolo / "images/train").glob("*.jpg")):
        for folder, suffix in (("images", "jpg"), ("labels", "txt")):
            path = yolo / folder / "train" / f"{image.stem}.{suffix}"
            path.rename(path.with_stem(f"{int(image.stem) + 1:06}"))
    predictions = rewrite(world[1], lambda entries: [e for e in entries if e["image_id"] % 2])
    assert fit(tmp_path, yolo / "data.yaml", predictions) == 2
    assert "30 of 30 images of the predictions could each be several" in said(capsys)
    assert fit(tmp_path, yolo / "labels/val", predictions) == 0


def estimate(folder, predictions, *more, name="new"):
    """Estimate by the estimator of `fit`; return the status and the result, where there is one."""
    words = ["--predictions", str(predictions), "--work-dir", str(folder / name), *map(str, more)]
    status = main(["estimate", *words, "--estimator", str(folder / "fit/estimator.parquet")])
    path = folder / name / "result.json"
    return status, json.loads(path.read_text())["estimate"] if path.exists() else None


def renumbered(labels, predictions, path, number):
    """The predictions as an object with its own categories, numbered by a function of the old."""
    entries = [
        {**e, "category_id": number(e["category_id"])} for e in json.loads(predictions.read_text())
    ]
    named = json.loads(labels.read_text())["categories"]
    categories = [{"id": number(c["id"]), "name": c["name"]} for c in named]
    path.write_text(json.dumps({"annotations": entries, "categories": categories}))
    return path


def swapped(labels, predictions, path):
    """The same numbers as in the labels, for other words."""
    return renumbered(labels, predictions, path, lambda number: number % 4 + 1)


def test_the_categories_of_a_file_go_before_the_numbers_of_the_fit(fitted, tmp_path, capsys):
    _, plain = estimate(tmp_path, fitted[1], name="plain")
    assert "has its own words for numbers" not in said(capsys)
    _, other = estimate(tmp_path, swapped(*fitted, tmp_path / "own.json"), "--verbose")
    assert "2 is thing 0, not thing 1" in said(capsys)
    severities = {notice["code"]: notice["severity"] for notice in other["warning_codes"]}
    assert severities["category-numbers-differ"] == "note"  # all words are known
    assert other["value"] == plain["value"] and other["per_category"] == plain["per_category"]


def test_the_categories_of_a_file_go_before_the_numbers_of_the_labels(fitted, tmp_path, capsys):
    table = json.loads((tmp_path / "fit/result.json").read_text())["per_source"]
    capsys.readouterr()
    assert fit(tmp_path, fitted[0], swapped(*fitted, tmp_path / "own.json"), "--verbose") == 0
    assert "2 is thing 0, not thing 1" in said(capsys)
    assert json.loads((tmp_path / "fit/result.json").read_text())["per_source"] == table


def test_an_export_keeps_the_numbers_of_categories(fitted, tmp_path):
    own = renumbered(*fitted, tmp_path / "own.json", lambda number: 100 - number)
    assert estimate(tmp_path, own, "--export", tmp_path / "out")[0] == 0
    rows = json.loads((tmp_path / "out/predictions.json").read_text())
    assert {(row["category_id"], row["category"]) for row in rows} == {
        (99 - k, f"thing {k}") for k in range(4)
    }


def test_numbers_of_the_labels_are_remembered_where_predictions_have_words(fitted, tmp_path):
    plain = estimate(tmp_path, fitted[1], name="plain")[1]
    worded = tmp_path / "worded.json"
    entries = json.loads(fitted[1].read_text())
    for entry in entries:
        entry["category"] = f"thing {entry.pop('category_id') - 1}"
    worded.write_text(json.dumps(entries))
    assert fit(tmp_path, fitted[0], worded) == 0
    status, by_number = estimate(tmp_path, fitted[1])
    assert status == 0 and by_number["value"] == plain["value"]


def test_the_best_ten_boxes_are_named_at_the_fit(world, tmp_path, capsys):
    def cut(entries):
        kept = {}
        for entry in sorted(entries, key=lambda entry: -entry["score"]):
            kept.setdefault(entry["image_id"], []).append(entry)
        return [entry for of in kept.values() for entry in of[:5]]

    rewrite(world[1], cut)
    assert fit(tmp_path, *world) == 0
    assert "60 of 60 images in" in said(capsys)
    estimate(tmp_path, world[1], "--verbose")
    assert "have exactly 5 boxes, the most of any" in said(capsys)


def test_words_of_one_category_that_are_given_apart(fitted, tmp_path, capsys):
    together = estimate(tmp_path, fitted[1], "--category", "two=thing 0,thing 1", name="a")[1]
    apart = ["--category", "two=thing 0", "--category", "two=thing 1"]
    assert estimate(tmp_path, fitted[1], *apart, name="b")[1] == together
    twice = ["--category", "a=thing 0", "--category", "b=thing 0"]
    assert estimate(tmp_path, fitted[1], *twice, name="c") == (2, None)
    assert "'thing 0' is given to two categories, a and b" in said(capsys)


def test_a_word_with_two_translations_is_refused():
    assert READERS["words"](["car=vehicle,bus=vehicle"]) == {"car": "vehicle", "bus": "vehicle"}
    with pytest.raises(InputError, match="--words gives 'car' two values"):
        READERS["words"](["car=vehicle,car=person"])


@pytest.mark.parametrize("level", ["2", "0", "nan"])
def test_a_level_that_is_none_is_refused_before_anything_is_read(tmp_path, capsys, level):
    assert fit(tmp_path, tmp_path / "no.json", tmp_path / "no.json", "--level", level) == 2
    assert "number over 0 and under 1" in said(capsys)


def image_list(folder, names):
    path = folder / "images.txt"
    path.write_text("\n".join(names))
    return path


def test_a_list_of_another_site(fitted, tmp_path, capsys):
    whole = image_list(tmp_path, ["# all images", *(f"{k:06}.jpg" for k in range(60))])
    found = estimate(tmp_path, fitted[1], "--images", whole)[1]
    assert found["n_images"] == 60 and "is it the list" not in said(capsys)
    other = image_list(tmp_path, [f"{k:06}.jpg" for k in range(7, 90)])
    code, found = estimate(tmp_path, fitted[1], "--images", other)
    assert code == 0 and found["n_images"] == 53  # the others may be the 7 that are not listed
    text = said(capsys)
    assert "warning: 30 of 83 images of " in text and "are left out" in text
    assert re.search(r"images of the predictions that are not in \S*images.txt: 7 ", text)


@pytest.mark.parametrize("change", ["corners", "doubled"])
def test_pixels_are_checked_with_a_folder_as_with_a_list(fitted, tmp_path, capsys, change):
    labels, predictions = fitted
    folder = tmp_path / "images"
    folder.mkdir()
    for k in range(60):
        cv2.imwrite(str(folder / f"{k:06}.jpg"), np.zeros((HEIGHT, WIDTH, 3), np.uint8))
    assert estimate(tmp_path, predictions, "--images", folder)[0] == 0

    def spoil(entries):
        for entry in entries:
            x, y, w, h = entry["bbox"]
            corners = [x, y, x + w, y + h]
            entry["bbox"] = corners if change == "corners" else [2 * side for side in entry["bbox"]]

    rewrite(predictions, spoil)
    capsys.readouterr()
    for images in (labels, folder):
        assert estimate(tmp_path, predictions, "--images", images)[0] == 2
        assert "of the boxes reach out of their images" in said(capsys)
