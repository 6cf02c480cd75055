"""FiftyOne: the round trip of docs/how-to/predictions.md, and the data sets that it writes.

FiftyOne starts MongoDB, which its package `fiftyone-db` downloads when it is installed; where it
could not, name a running one with FIFTYONE_DATABASE_URI.
"""

import json

import cv2
import numpy as np
import pytest

from autoeval.cli import main
from autoeval.io.labels.any_format import load_labels
from tests.commands.predicted_world import HEIGHT, WIDTH, write_world
from tests.doc_pages import snippet

pytestmark = pytest.mark.clients
fo = pytest.importorskip("fiftyone", reason="needs the extra 'clients'")
WORDS = ["bus", "car", "person"]  # in FiftyOne's order


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Labels and predictions of two sites, and the images of the new one."""
    folder = tmp_path_factory.mktemp("fiftyone")
    for seed, name in enumerate(("val", "new")):
        labels, _ = write_world(folder, name, seed=seed, n_images=40, n_categories=len(WORDS))
        content = json.loads(labels.read_text())
        for category, word in zip(content["categories"], WORDS, strict=True):
            category["name"] = word
        labels.write_text(json.dumps(content))
    (folder / "new_site").mkdir()
    for image in content["images"]:
        grey = np.full((HEIGHT, WIDTH, 3), image["id"], np.uint8)
        cv2.imwrite(str(folder / "new_site" / image["file_name"]), grey)
    return folder


@pytest.fixture
def dataset(site):
    """A data set of the new site with predictions, as a user has it."""
    import fiftyone.utils.coco as fouc

    files = {"data_path": str(site / "new_site"), "labels_path": str(site / "new_labels.json")}
    form = fo.types.COCODetectionDataset
    made = fo.Dataset.from_dir(dataset_type=form, include_id=True, **files)
    found = str(site / "new_predictions.json")
    fouc.add_coco_labels(made, "predictions", found, categories=WORDS, coco_id_field="coco_id")
    yield made
    made.delete()


def test_there_and_back(site, dataset, monkeypatch, capsys):
    monkeypatch.chdir(site)
    form = fo.types.COCODetectionDataset
    dataset.export(labels_path="new.json", dataset_type=form, label_field="predictions")
    words = ["--labels", "val_labels.json", "--predictions", "val_predictions.json"]
    assert main(["fit", *words]) == 0
    words = ["estimate", "--predictions", "new.json", "--images", "new.json"]
    assert main([*words, "--export", "out"]) == 0
    estimates = json.loads((site / "work_dirs/estimate/result.json").read_text())["estimate"]
    assert estimates["n_images"] == 40
    made = {}
    exec(snippet("docs/how-to/predictions.md", "fiftyone"), made)
    given = json.loads((site / "new_predictions.json").read_text())
    labels = made["dataset"].values("predictions.detections")
    made["dataset"].delete()
    boxes = [box for of_image in labels for box in of_image or []]
    assert len(boxes) == len(given)
    for word, number in zip(WORDS, (1, 2, 3), strict=True):
        of_word = [box for box in boxes if box.label == word]
        assert len(of_word) == sum(box["category_id"] == number for box in given)
        value = estimates["per_category"][word]["value"]
        assert {box["estimated_mAP"] for box in of_word} == {value}


@pytest.mark.parametrize("form", ["COCODetectionDataset", "YOLOv5Dataset", "VOCDetectionDataset"])
def test_a_data_set_is_read_with_its_images(site, dataset, tmp_path, form):
    out = tmp_path / "out"
    kind = getattr(fo.types, form)
    dataset.export(str(out), dataset_type=kind, label_field="detections", classes=WORDS)
    labels = load_labels(out)
    true = json.loads((site / "new_labels.json").read_text())
    assert len(labels.images) == len(true["images"])
    assert all((labels.img_dir / image.file_name).is_file() for image in labels.images)
    pixels = 2 if form == "VOCDetectionDataset" else 0.05  # it writes whole pixels
    for side in (2, 3):
        size = sorted(box.xywh[side] for box in labels.boxes)
        expected = sorted(box["bbox"][side] for box in true["annotations"])
        np.testing.assert_allclose(size, expected, atol=pixels)
