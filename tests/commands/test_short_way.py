"""`fit` with a detector, and `estimate` with nothing but images and an estimator."""

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace

import cv2
import numpy as np
import pytest
from brightness import BrightnessDetector, write_table
from mmengine.config import Config
from rectangles import RectangleDetector, write_task, write_video, write_world

import autoeval
from autoeval.cli import main
from autoeval.detectors.detector_spec import DetectorSpec, load_black_box, names_python
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fit_file import read_artefact
from autoeval.estimation.observation.reference_boxes import load_reference

SMALL = ["--n-sets", "1", "--n-images", "4", "--repeats", "2"]
LOADED = []


def load(name, **options):
    LOADED.append((name, options["checkpoint"]))
    return RectangleDetector()


@pytest.fixture(scope="module")
def fitted_once(tmp_path_factory):
    """The work dir of a fit with a detector of the name rectangles, and its checkpoint."""
    folder = tmp_path_factory.mktemp("fitted")
    (folder / "weights.pth").touch()
    words = ["--detector", "rectangles", "--checkpoint", str(folder / "weights.pth")]
    words += ["--task", str(write_task(folder, n_images=8)), *SMALL, "--method", "bayes"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("autoeval.detectors.loading.load_detector", load)
        words += ["--work-dir", str(folder / "work"), "--trust-checkpoint"]
        assert main(["estimate-map", *words]) == 0
    return folder


@pytest.fixture
def fitted(fitted_once, monkeypatch):
    LOADED.clear()
    monkeypatch.setattr("autoeval.detectors.loading.load_detector", load)
    (fitted_once / "weights.pth").touch()
    return fitted_once


def estimate_of(tmp_path):
    return json.loads((tmp_path / "new_work/result.json").read_text())["estimate"]


@pytest.mark.rare
def test_images_and_an_estimator_are_enough(fitted, tmp_path, capsys):
    images = write_world(tmp_path / "new", 205, n_images=5, seed=9) / "images"
    saved = ["--estimator", str(fitted / "work/estimator.parquet")]
    again = ["--work-dir", str(tmp_path / "new_work")]
    assert main(["estimate", "--images", str(images), *saved, *again]) == 0
    assert [("rectangles", str(fitted / "weights.pth"))] == LOADED
    short = estimate_of(tmp_path)
    detector = ["--detector", "rectangles", "--images", str(images)]
    assert main(["estimate-map", *detector, *saved, *again]) == 0
    assert estimate_of(tmp_path) == short
    assert main(["estimate-map", "--images", str(images), *saved, *again]) == 0
    assert estimate_of(tmp_path) == short
    (fitted / "weights.pth").unlink()
    capsys.readouterr()
    assert main(["estimate", "--images", str(images), *saved, *again]) == 2
    assert "say where weights.pth is with --checkpoint FILE" in capsys.readouterr().err
    (tmp_path / "moved.pth").touch()
    moved = ["--checkpoint", str(tmp_path / "moved.pth")]
    assert main(["estimate", "--images", str(images), *saved, *again, *moved]) == 0
    assert LOADED[-1] == ("rectangles", str(tmp_path / "moved.pth"))
    video = write_video(tmp_path / "video.avi", tmp_path / "new")
    assert main(["estimate", "--images", str(video), "--every", "1s", *saved, *again, *moved]) == 0
    assert estimate_of(tmp_path)["n_images"] == 5


@pytest.mark.rare
def test_a_file_that_knows_no_detector_asks_for_one(fitted, tmp_path, capsys):
    saved = AccuracyEstimator.load(fitted / "work/estimator.parquet")
    replace(saved, loading_={}).save(tmp_path / "forgetful.parquet")
    images = write_world(tmp_path / "new", 205, n_images=5, seed=9) / "images"
    words = [
        "estimate",
        "--images",
        str(images),
        "--estimator",
        str(tmp_path / "forgetful.parquet"),
    ]
    words += ["--work-dir", str(tmp_path / "new_work")]
    capsys.readouterr()
    assert main(words) == 2
    assert "pass `detector` (--detector)" in capsys.readouterr().err
    assert main([*words, "--detector", "yolox_tiny"]) == 0
    assert LOADED[-1] == ("yolox_tiny", None)


@pytest.mark.rare
def test_unpickling_is_never_saved(fitted):
    note = read_artefact(fitted / "work/estimator.parquet")[1]["loading"]["detector"]
    assert note["name"] == "rectangles" and "trust_checkpoint" not in note


BLACK_BOX = """
from autoeval.detectors import BlackBoxDetector

detector = BlackBoxDetector(lambda images: ([], [], []), ["box"], name="mine")
other = 7
"""


def test_a_black_box_by_its_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(BLACK_BOX)
    assert load_black_box(f"{path}:detector").name == "mine"
    assert names_python("a/b.py:find") and not names_python("mmdet::retinanet/r50.py")
    with pytest.raises(InputError, match="define other as a BlackBoxDetector but found int"):
        load_black_box(f"{path}:other")
    path.write_text("1 / 0")
    with pytest.raises(InputError, match=r"Cannot run .*: ZeroDivisionError"):
        load_black_box(f"{path}:detector")


BESIDE = """
from autoeval.detectors import BlackBoxDetector
from net_of_this_detector import Net

detector = reference = BlackBoxDetector(Net(), ["box"], settings={"size": 8})
"""
NET = """
class Net:
    def __call__(self, images):
        return [[[0, 0, {width}, 8]]] * len(images), [[0.9]] * len(images), [["box"]] * len(images)
"""


def write_with_net(folder, width):
    """Write a black box whose network lies in a module of its folder; return its name."""
    folder.mkdir(exist_ok=True)
    (folder / "mine.py").write_text(BESIDE)
    (folder / "net_of_this_detector.py").write_text(NET.format(width=width))
    return f"{folder / 'mine.py'}:detector"


def test_black_boxes_have_the_modules_of_their_folders(tmp_path):
    """Also of one name, loaded by name, as the reference and in a process that is sent a pass."""
    path = list(sys.path)
    names = [write_with_net(tmp_path / folder, width) for folder, width in (("a", 4), ("b", 16))]
    reference = load_reference(DetectorSpec(names[1]))
    detectors = [DetectorSpec(names[0])(), reference.detector]
    sent = pickle.dumps([DetectorSpec(names[0]), reference])
    program = (
        "import pickle, sys, numpy\n"
        "spec, reference = pickle.load(sys.stdin.buffer)\n"
        "image = numpy.zeros((20, 20, 3), numpy.uint8)\n"
        "for detector in (reference.detector, spec()):\n"
        "    print(detector.observe([image], ['a'])[0].clean.boxes.tolist())\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    there = subprocess.run(
        [sys.executable, "-c", program],
        input=sent,
        capture_output=True,
        check=True,
        env=environment,
        cwd=tmp_path,
    )
    assert there.stdout.split(b"\n")[:2] == [b"[[0.0, 0.0, 16.0, 8.0]]", b"[[0.0, 0.0, 4.0, 8.0]]"]
    image = np.zeros((20, 20, 3), np.uint8)
    found = [one.observe([image], ["a"])[0].clean.boxes.tolist() for one in detectors]
    assert found == [[[0, 0, 4, 8]], [[0, 0, 16, 8]]]
    assert sys.path == path


def test_boxes_are_found_anew_where_a_module_of_the_detector_changed(tmp_path):
    (tmp_path / "site").mkdir()
    cv2.imwrite(str(tmp_path / "site/a.png"), np.zeros((200, 200, 3), np.uint8))
    widths = []
    for width in (4, 16, 128):
        detector = autoeval.Detector(write_with_net(tmp_path / "c", width))
        output = tmp_path / f"{width}.parquet"
        found = autoeval.detect(detector, tmp_path / "site", output, work_dir=tmp_path / "work")
        widths.append(found.boxes[0][2])
    assert widths == [4, 16, 128]


@pytest.mark.rare
def test_labels_of_training_images_give_a_warning(tmp_path, monkeypatch, capsys):
    labels, images = write_table(tmp_path / "table")
    detector = BrightnessDetector()
    detector.config = Config({"train_dataloader": {"dataset": {"ann_file": str(labels)}}})
    monkeypatch.setattr("autoeval.detectors.loading.load_detector", lambda *_, **__: detector)
    fit = ["fit", "--detector", "yolox_nano", "--checkpoint", "weights.pth", "--labels"]
    here = ["--img-dir", f"{images}", "--work-dir", str(tmp_path / "fit")]
    assert main([*fit, str(labels), *here]) == 0
    expected = "warning: 12 of 12 images have the name of an image in"
    assert expected in capsys.readouterr().out
    assert "12 of 12 images" in (tmp_path / "fit/report.html").read_text()
    detector.config = Config({"model": {}})
    assert main([*fit, str(labels), *here]) == 0
    assert "images have the name" not in capsys.readouterr().out
