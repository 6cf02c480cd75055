"""One bad item, a damaged file, a full disk: named, and nothing that was computed is lost."""

import json
import os
import shutil
import subprocess
import sys

import cv2
import numpy as np
import pytest
from labelled_colours import write_colours, write_detector
from predicted_world import write_world
from test_wrong_files import fit, said

from autoeval.cli import main

FULL_DISK = """
import resource, signal, sys
from autoeval.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
sys.dont_write_bytecode = True  # it would be cut, and later processes could not read it
sys.exit(main(sys.argv[1:]))
"""
FAILS = """
from autoeval.detectors import BlackBoxDetector as Whole
def BlackBoxDetector(find, *words, **options):
    def fails(images):
        if any(image.shape[0] > 200 for image in images):
            raise ValueError("too tall")
        return find(images)
    return Whole(fails, *words, **options)
"""


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    """An estimator of a black box that fails on tall images, and a new site."""
    folder = tmp_path_factory.mktemp("colours")
    named = ["--detector", write_detector(folder)]
    path = folder / "mine.py"
    path.write_text(
        path.read_text().replace("from autoeval.detectors import BlackBoxDetector\n", FAILS)
    )
    write_colours(folder / "val", 0)
    labels = ["--labels", str(folder / "val/annotations.json")]
    assert main(["fit", *named, *labels, "--work-dir", str(folder / "fit")]) == 0
    write_colours(folder / "new", 1, n_images=12)
    return folder


def estimate_of(colours, images):
    """The words that estimate images by the black box."""
    return [
        "estimate",
        "--images",
        str(images),
        "--estimator",
        str(colours / "fit/estimator.parquet"),
    ]


def test_an_image_on_which_the_detector_fails_is_passed_over(colours, tmp_path, capsys):
    folder = shutil.copytree(colours / "new/images", tmp_path / "images")
    fitted = estimate_of(colours, folder)
    assert main([*fitted, "--work-dir", str(tmp_path / "a")]) == 0
    whole = json.loads((tmp_path / "a/result.json").read_text())["estimate"]
    cv2.imwrite(str(folder / "05b.png"), np.zeros((300, 20, 3), np.uint8))
    capsys.readouterr()
    for work_dir in ("b", "b"):  # the second time from what is kept
        assert main([*fitted, "--verbose", "--work-dir", str(tmp_path / work_dir)]) == 0
        assert "could not be read and were left out: 05b.png: the detector fails on it" in said(
            capsys
        )
        found = json.loads((tmp_path / "b/result.json").read_text())["estimate"]
        assert found["value"] == whole["value"] and found["n_images"] == whole["n_images"]
    for path in folder.glob("*.png"):
        cv2.imwrite(str(path), np.full((300, 20, 3), int(path.stem[:2]), np.uint8))
    assert main([*fitted, "--work-dir", str(tmp_path / "c")]) == 2
    assert "too tall" in said(capsys)


@pytest.fixture(scope="module")
def kept(colours):
    """The folder of an estimate of the new site."""
    words = estimate_of(colours, colours / "new/images")
    assert main([*words, "--work-dir", str(colours / "kept")]) == 0
    return colours / "kept"


@pytest.mark.parametrize("content", ["", "x{", '{"jobs": [{"key"', '{"jobs": 7}', '["a"]'])
def test_a_damaged_list_of_jobs(colours, kept, tmp_path, capsys, content):
    work_dir = shutil.copytree(kept, tmp_path / "work")
    jobs = work_dir / "observed/jobs.json"
    jobs.write_text(content)
    assert main(["status", str(work_dir)]) == 2
    assert "jobs.json is damaged" in said(capsys)
    words = estimate_of(colours, colours / "new/images")
    assert main([*words, "--work-dir", str(work_dir)]) == 0
    assert "images are kept in" in said(capsys)
    assert main(["status", str(work_dir)]) == 0


@pytest.fixture
def world(tmp_path):
    return write_world(tmp_path, "val", seed=0, n_categories=4)


@pytest.fixture(scope="module")
def fit_of_world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit_of_world")
    assert fit(folder, *write_world(folder, "val", seed=0, n_categories=4)) == 0
    return folder / "fit"


def test_bad_entries_are_counted_and_left_out(world, fit_of_world, tmp_path, capsys):
    sound = json.loads((fit_of_world / "result.json").read_text())["per_source"]
    rows = json.loads(world[1].read_text())
    bad = [{"image_id": {"a": 1}}, {"category_id": [1]}, {"bbox": [1e308, 1, 1e308, 2]}]
    world[1].write_text(json.dumps(rows + [{**rows[0], **change} for change in bad]))
    labels = json.loads(world[0].read_text())
    huge = {**labels["annotations"][0], "id": 10**6, "bbox": [1e308, 1e308, 1e308, 1e308]}
    odd = [{**huge, **c} for c in ({"category_id": [1]}, {"image_id": {"a": 1}}, {"bbox": [1, 2]})]
    annotations = [*labels["annotations"], huge, *odd]
    world[0].write_text(json.dumps({**labels, "annotations": annotations}))
    assert fit(tmp_path, *world, "--verbose") == 0
    assert json.loads((tmp_path / "fit/result.json").read_text())["per_source"] == sound
    text = said(capsys)
    for what in ("without image_id and file_name", "without category_id", "beyond 1e+07 pixels"):
        assert f"entries {what}" in text or f"entries whose bbox is {what}" in text
    assert "labelled boxes with an edge beyond 1e+07 pixels, left out: 1" in text
    assert f"annotations left out: 3 of {len(annotations)} (annotations[" in text


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        (["car"], "categories[0] is malformed: expected an object, got 'car'"),
        ({"a": 1}, "expected 'categories' to be a list of objects, got dict"),
        ([{"name": "car"}], "categories[0] is malformed: no field 'id'"),
        ([7], "categories[0] is malformed: expected an object, got 7"),
    ],
)
def test_categories_of_a_predictions_file_that_are_none(
    world, tmp_path, capsys, categories, message
):
    rows = json.loads(world[1].read_text())
    world[1].write_text(json.dumps({"annotations": rows, "categories": categories}))
    assert fit(tmp_path, *world) == 2
    assert message in said(capsys)


@pytest.mark.parametrize("json_too", [False, True])
def test_a_full_disk_does_not_lose_the_estimate(world, fit_of_world, tmp_path, json_too):
    words = ["estimate", "--estimator", fit_of_world]
    words += ["--predictions", world[1], "--work-dir", tmp_path / "new"]
    words += ["--json"] if json_too else ["--export", tmp_path / "out"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert str(tmp_path / "new") in done.stderr and "Traceback" not in done.stderr
    if json_too:
        assert 0 < json.loads(done.stdout)["estimate"]["value"] < 1
    else:
        assert "estimated mAP" in done.stdout


def test_a_folder_that_may_not_be_read_is_named(tmp_path, monkeypatch, capsys, world, fit_of_world):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "images").mkdir()
    monkeypatch.setattr(os, "scandir", refuse)
    words = ["estimate", "--estimator", fit_of_world]
    words += ["--predictions", world[1], "--images", tmp_path / "images"]
    assert main([*map(str, words), "--work-dir", str(tmp_path / "new")]) == 2
    assert f"Cannot read the folder {tmp_path / 'images'}: permission denied" in said(capsys)
