"""Boxes where nothing is: they stand alone, or lie across others, more than those of the fit."""

import json
import shutil

import cv2
import numpy as np
import pytest

import autoeval
from autoeval.boxes import Boxes, LabelledImage
from autoeval.monitoring.monitor_settings import MonitorSettings
from autoeval.sites.confident_boxes import ConfidentBoxes, unlike_fit
from autoeval.sites.reference_statistics import ReferenceStatistics, joined_statistics
from tests.commands.predicted_world import HEIGHT, WIDTH, write_world

CODE = "confident-boxes-unlike-fit"


def test_shares_by_hand():
    """Four confident boxes: with a companion, alone, and two across each other."""
    boxes = np.array(
        [
            [0, 0, 10, 10],
            [0, 0, 10, 9],  # its companion: IoU .9
            [50, 50, 60, 60],  # alone
            [80, 80, 90, 90],
            [85, 80, 95, 90],  # across it: IoU 1/3, so the less confident one is its companion
            [50, 50, 60, 59],  # of another category
            [0, 0, 10, 10],  # in another image
        ],
        float,
    )
    scores = np.array([0.9, 0.2, 0.8, 0.9, 0.7, 0.3, 0.4])
    image, label = np.array([0, 0, 0, 0, 0, 0, 1]), np.array([0, 0, 0, 0, 0, 1, 0])
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(2))
    found = Boxes(images, ("car", "bus"), image, label, boxes, scores)
    assert ConfidentBoxes.of(found) == (4, 0.5, 0.5)
    nothing = found.where(np.zeros(7, bool))
    assert ConfidentBoxes.of(nothing) == (0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("site", "n_signs"),
    [
        (ConfidentBoxes(100, 0.5, 0.5), 0),
        (ConfidentBoxes(100, 0.7, 0.5), 1),
        (ConfidentBoxes(100, 0.5, 0.6), 1),
        (ConfidentBoxes(100, 0.7, 0.6), 2),
        (ConfidentBoxes(19, 0.9, 0.9), 0),  # too few
    ],
)
def test_more_than_in_any_set_of_the_fit(site, n_signs):
    fit = [ConfidentBoxes(50, 0.3, 0.0), ConfidentBoxes(50, 0.1, 0.1), ConfidentBoxes(5, 1.0, 1.0)]
    warnings = unlike_fit(fit, site)
    assert len(warnings) == min(n_signs, 1)
    if warnings:
        assert warnings[0].code == CODE and warnings[0].count("in the fit") == n_signs
    assert unlike_fit([], site) == ()
    (*of_cut,) = unlike_fit(fit, site, cut=True)
    assert len(of_cut) == (site.n >= 20 and site.overlapping > 0.53)


def test_statistics_keep_them():
    one = ReferenceStatistics(("car",), confident=(ConfidentBoxes(50, 0.3, 0.1),))
    assert ReferenceStatistics.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    assert joined_statistics([one, one]).confident == one.confident * 2


def with_companions(rows, rng):
    """Add a less confident box beside each, as detectors do around an object."""
    companions = [{**row, "score": round(row["score"] * 0.3, 4)} for row in rows]
    for row in companions:
        x, y, width, height = row["bbox"]
        row["bbox"] = [x, y, round(width * rng.uniform(0.5, 0.8), 2), height]
    return rows + companions


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Labels and boxes of a fit and of a new site, there also with boxes where nothing is."""
    folder, rng = tmp_path_factory.mktemp("confident"), np.random.default_rng(0)
    for name, seed in (("fit", 0), ("new", 1)):
        _, boxes = write_world(folder, name, seed=seed, n_categories=2)
        boxes.write_text(json.dumps(with_companions(json.loads(boxes.read_text()), rng)))
    rows = json.loads((folder / "new_predictions.json").read_text())
    for image in range(60):
        for _ in range(8):
            corner = rng.uniform(0, 1, 2) * (WIDTH - 100, HEIGHT - 100)
            rows.append(
                {
                    "image_id": image,
                    "category_id": 1 + int(rng.integers(2)),
                    "bbox": [*corner.round(2).tolist(), *rng.uniform(30, 100, 2).round(2).tolist()],
                    "score": float(rng.uniform(0.6, 0.95)),
                }
            )
    (folder / "false_predictions.json").write_text(json.dumps(rows))
    return folder


def codes(result):
    return [warning.code for warning in result.warnings]


def test_an_estimate_warns_and_labels_give_the_number(world):
    estimator = autoeval.fit(world / "fit_labels.json", world / "fit_predictions.json")
    labels, false = world / "new_labels.json", world / "false_predictions.json"
    sound = estimator.predict(world / "new_predictions.json", images=labels)
    assert CODE not in codes(sound)
    warned = estimator.predict(false, images=labels)
    (warning,) = [warning for warning in warned.warnings if warning.code == CODE]
    assert warning.severity == "warning"
    labelled = estimator.predict(false, images=labels, labels=labels)
    assert CODE not in codes(labelled)
    assert labelled.value < sound.value - 0.1 < warned.value


def test_boxes_that_begin_higher_than_those_of_the_fit_are_no_sign(world, tmp_path):
    estimator = autoeval.fit(world / "fit_labels.json", world / "fit_predictions.json")
    rows = json.loads((world / "new_predictions.json").read_text())
    (tmp_path / "cut.json").write_text(json.dumps([row for row in rows if row["score"] > 0.3]))
    cut = estimator.predict(tmp_path / "cut.json", images=world / "new_labels.json")
    assert cut.site.floor == 0.3 and CODE not in codes(cut)


def test_a_monitor_warns(world, tmp_path):
    estimator = autoeval.fit(world / "fit_labels.json", world / "fit_predictions.json")
    (tmp_path / "sites").mkdir()
    for name, file in (("sound", "new"), ("false", "false")):
        shutil.copy(world / f"{file}_predictions.json", tmp_path / f"sites/{name}.json")
    settings = MonitorSettings(by="folder")
    options = {"work_dir": tmp_path / "work", "settings": settings}
    monitored = autoeval.monitor(estimator, tmp_path / "sites", **options)
    assert codes(monitored["false"]).count(CODE) == 1 and CODE not in codes(monitored["sound"])
    assert not [warning for warning in monitored.warnings if warning.code == CODE]


def test_a_detector_that_is_run_is_warned_of(world, tmp_path):
    """A detector that finds in each image the boxes of a file; its first pixel is its number."""
    rows = {}
    for name, first in (("fit", 0), ("new", 60), ("false", 120)):
        for row in json.loads((world / f"{name}_predictions.json").read_text()):
            rows.setdefault(first + row["image_id"], []).append(row)
        (tmp_path / name).mkdir()
        for k in range(60):
            pixels = np.full((HEIGHT, WIDTH, 3), first + k, np.uint8)
            cv2.imwrite(str(tmp_path / name / f"{k:06}.png"), pixels)
    document = json.loads((world / "fit_labels.json").read_text())
    for image in document["images"]:
        image["file_name"] = image["file_name"].replace(".jpg", ".png")
    (tmp_path / "labels.json").write_text(json.dumps(document))

    def find(images):
        found = [rows.get(int(image[0, 0, 0]), []) for image in images]
        boxes = [np.array([row["bbox"] for row in of_image]).reshape(-1, 4) for of_image in found]
        for of_image in boxes:
            of_image[:, 2:] += of_image[:, :2]
        scores = [np.array([row["score"] for row in of_image]) for of_image in found]
        labels = [np.array([row["category_id"] - 1 for row in of_image]) for of_image in found]
        return boxes, scores, labels

    detector = autoeval.BlackBoxDetector(find, ("thing 0", "thing 1"), settings={"score_thr": 0.01})
    estimator = autoeval.fit(tmp_path / "labels.json", detector, img_dir=tmp_path / "fit")
    assert CODE not in codes(estimator.predict(detector, images=tmp_path / "new"))
    assert codes(estimator.predict(detector, images=tmp_path / "false")).count(CODE) == 1
