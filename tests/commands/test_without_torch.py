"""The shortest way needs no network: neither installed nor imported."""

import json
import os
import shutil
import subprocess
import sys

import pandas as pd
import pytest
from labelled_colours import write_detector, write_distinct
from predicted_world import write_world

import autoeval

pytestmark = pytest.mark.rare  # starts programs of its own

FORBIDDEN = ("torch", "torchvision", "mmdet", "mmengine", "mmcv", "albumentations", "cv2")
ABSENT = f"""
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {FORBIDDEN}:
            raise ModuleNotFoundError("No module named " + name, name=name)

sys.meta_path.insert(0, Absent())
"""
NOT_IMPORTED = f"""
assert not set({FORBIDDEN}) & {{name.partition(".")[0] for name in sys.modules}}
"""
PROGRAM = f"""{ABSENT}
import json
from autoeval.cli import main
for words in json.loads(sys.argv[1]):
    status = main(words)
    if status:
        break
{NOT_IMPORTED}
sys.exit(status)
"""
EXAMPLE = """
import autoeval

est = autoeval.fit("val_labels.json", "val_predictions.json")
r = est.predict("new_predictions.json", images="new_site")
print(r); r.to_pandas(); r.plot()
plan = autoeval.plan_labels(est, "new_predictions.json", images="new_site", n=20, work_dir="plan")
label_all()
r2 = autoeval.estimate_with_labels("plan", "plan/annotations.json")
print(r2)
assert autoeval.estimate_with_labels(plan, "plan/annotations.json").to_dict() == r2.to_dict()
"""
LABEL_ALL = """
import json
from pathlib import Path

def label_all():  # what people do: draw the objects of the images that the plan names
    plan, everything = (json.loads(Path(f).read_text()) for f in (
        "plan/annotations.json", "new_labels.json"))
    ids = {image["file_name"]: image["id"] for image in plan["images"]}
    assert len(ids) == 20 and plan["annotations"] == []
    number = {image["id"]: ids.get(image["file_name"]) for image in everything["images"]}
    drawn = [{**box, "image_id": number[box["image_id"]]} for box in everything["annotations"]]
    drawn = [box for box in drawn if box["image_id"] is not None]
    labelled = {**everything, "images": plan["images"], "annotations": drawn}
    Path("plan/annotations.json").write_text(json.dumps(labelled))
"""


def start(program, *words, folder=None):
    """Run a program as if nothing heavy were installed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def run(*commands, status=0, said=""):
    """Run commands, one after another in one process, as if nothing heavy were installed."""
    done = start(PROGRAM, json.dumps([[str(word) for word in words] for words in commands]))
    assert done.returncode == status, done.stderr
    assert said in done.stderr


@pytest.mark.slow
def test_a_fit_and_estimates_of_many_images(tmp_path):
    """As many as one has; `commands` has the same on few."""
    folder = tmp_path
    for name, seed in (("val", 0), ("new", 1)):
        write_world(folder, name, seed=seed, n_images=2000, n_categories=80, boxes=7.0)
    fit = ["fit", "--labels", folder / "val_labels.json", "--work-dir", folder / "fit"]
    fit += ["--predictions", folder / "val_predictions.json"]
    estimate = ["estimate", "--estimator", folder / "fit/estimator.parquet"]
    new = ["--predictions", folder / "new_predictions.json", "--work-dir", folder / "estimate"]
    whole = [*estimate, *new, "--images", folder / "new_labels.json"]
    images = folder / "images"
    images.mkdir()
    for k in range(60):
        (images / f"{k:06}.jpg").touch()
    small = write_world(folder, "small", seed=2, n_images=60, n_categories=80)[1]
    few = ["--predictions", small, "--images", images, "--work-dir", folder / "small"]
    run(fit, whole, [*estimate, *few])
    assert "estimate" in (folder / "estimate/result.json").read_text()


def test_what_needs_more_says_so(tmp_path):
    (tmp_path / "task.py").touch()
    task = ["--task", tmp_path / "task.py", "--data-root", f"{tmp_path}", "--predictions", tmp_path]
    run(["fit", *task], status=2, said="which is not installed: pip install")


def test_a_function_in_a_file_needs_the_light_installation_alone(tmp_path):
    """Which has OpenCV, to read images."""
    known, new = (write_distinct(tmp_path / f"{k}", k, n_images=30) for k in (0, 1))
    run_it = ["--detector", write_detector(tmp_path, threshold=60)]
    labelled = ["--labels", known / "annotations.json", "--img-dir", known / "images"]
    fit = ["fit", *labelled, *run_it, "--work-dir", tmp_path / "fit"]
    estimate = ["estimate", "--estimator", tmp_path / "fit", "--images", new / "images"]
    detect = ["detect", *run_it, "--images", new / "images", "--output", tmp_path / "b.parquet"]
    commands = [fit, [*estimate, "--work-dir", tmp_path / "estimate"], detect]
    words = json.dumps([[str(word) for word in command] for command in commands])
    done = start(PROGRAM.replace(", 'cv2'", ""), words)
    assert done.returncode == 0, done.stderr
    assert "estimated mAP" in done.stdout


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    for name, seed in (("val", 0), ("new", 1)):
        write_world(folder, name, seed=seed)
    (folder / "new_site").mkdir()
    for k in range(60):
        (folder / "new_site" / f"{k:06}.jpg").write_bytes(bytes([k]))  # never decoded
    return folder


def test_the_python_api_from_files_to_an_estimate_with_labels(small):
    """The calls that the documentation begins with, where nothing heavy is installed."""
    done = start(ABSENT + LABEL_ALL + EXAMPLE + NOT_IMPORTED, folder=small)
    assert done.returncode == 0, done.stderr
    free, labelled = (line for line in done.stdout.splitlines() if line.startswith("estimated mAP"))
    assert "from 60 images" in free and "from 20 labelled images of 60" in labelled
    copied = {path.name: path.read_bytes() for path in (small / "plan/images").iterdir()}
    assert len(copied) == 20
    assert all((small / "new_site" / name).read_bytes() == of for name, of in copied.items())


@pytest.fixture(scope="module")
def commands(small):
    """Two prediction files, one label file and twenty labels; no command imports what is heavy."""
    work, new = small / "work", small / "new_predictions.json"
    (small / "sites").mkdir()
    shutil.copy(new, small / "sites/gate.json")
    fit = ["--labels", small / "val_labels.json", "--predictions", small / "val_predictions.json"]
    site = ["--estimator", work / "estimator.parquet", "--predictions", new]
    site += ["--images", small / "new_site"]
    labels = ["--labels", small / "new_labels.json", "--work-dir", small / "labelled"]
    listed = ["--images", small / "new_labels.json", "--work-dir", small / "listed"]
    run(
        ["fit", *fit, "--work-dir", work],
        ["estimate", *site, "--work-dir", small / "estimate"],
        ["estimate", *site[:4], *listed],
        ["label", "plan", *site, "--n", 20, "--work-dir", small / "to_label"],
        ["label", "estimate", "--plan", small / "to_label", *labels],
        ["monitor", *site[:2], "--predictions", small / "sites", "--work-dir", small / "watched"],
    )
    return small


def test_four_commands_from_files_to_an_estimate_with_labels(commands):
    small = commands
    plan = json.loads((small / "to_label/annotations.json").read_text())
    assert len(plan["images"]) == 20
    found = json.loads((small / "labelled/result.json").read_text())["labelled_estimate"]
    assert found["n_labelled"] == 20
    free, listed = (
        json.loads((small / name / "result.json").read_text())["estimate"]
        for name in ("estimate", "listed")
    )
    assert free["value"] == pytest.approx(listed["value"], abs=0.02)  # a folder has no sizes
    assert found["upper"] - found["lower"] < free["upper"] - free["lower"]


def test_a_monitor_reads_files_too(commands):
    windows = pd.read_parquet(commands / "watched/windows.parquet")
    assert set(windows["site"]) == {"gate"} and windows["n_images"].sum() == 60


def test_python_and_the_shell_fit_the_same_estimator(commands, tmp_path):
    """The same defaults: equal files, to the last byte."""
    labels, predictions = (commands / f"val_{name}.json" for name in ("labels", "predictions"))
    autoeval.fit(labels, predictions, work_dir=tmp_path)
    for name in ("estimator.parquet", "scores.parquet"):
        assert (commands / "work" / name).read_bytes() == (tmp_path / name).read_bytes()
