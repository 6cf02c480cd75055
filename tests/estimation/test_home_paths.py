"""A path that begins with ~ leads home at every public function, as in pandas."""

import shutil
from pathlib import Path

import pytest

import autoeval
from autoeval.runtime.files import at_home
from tests.commands.predicted_world import write_world


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder, and another folder that is the current one."""
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")
    write_world(tmp_path / "home", "val", seed=0, n_images=30)
    return tmp_path / "home"


def test_each_function_takes_a_path_from_home(home):
    labels, boxes = "~/val_labels.json", Path("~/val_predictions.json")
    fitted = autoeval.fit(labels, boxes, work_dir="~/fit")
    assert (home / "fit/estimator.parquet").is_file()
    given = autoeval.Predictions("~/val_predictions.json")
    estimate = fitted.predict(given, images=labels)
    again = autoeval.AccuracyEstimator.load("~/fit").predict(str(boxes), images=labels)
    assert estimate.value == again.value
    by_function = autoeval.estimate(boxes, estimator="~/fit", images=labels, work_dir="~/new")
    assert estimate.value == by_function.value
    autoeval.plan_labels("~/fit", boxes, images=labels, n=5, work_dir="~/plan")
    assert autoeval.estimate_with_labels("~/plan", labels).n_labelled == 5
    shutil.copy(home / "val_predictions.json", home / "again.json")
    fits = {"a": "~/fit", "b": "~/fit"}
    compared = autoeval.compare(fits, [boxes, "~/again.json"], images=labels)
    assert compared.to_dict()
    write_world(home, "second", seed=1, n_images=30)
    second = "~/second_labels.json", "~/second_predictions.json"
    autoeval.fit(*second, work_dir="~/other")
    autoeval.join(["~/fit", "~/other"], work_dir="~/joined")
    assert (home / "joined/estimator.parquet").is_file()
    read = autoeval.load_labels(labels)
    numbers = dict(zip(read.numbers, read.categories, strict=True))
    assert len(autoeval.load_predictions(boxes, images=labels, numbers=numbers).images) == 30
    assert not any(Path.cwd().iterdir())


def test_only_a_leading_tilde_is_home(home):
    assert at_home(["~/a", "a/~/b", "~a"]) == [str(home / "a"), "a/~/b", "~a"]
    assert at_home({"a": Path("~/a")}) == {"a": home / "a"}
    rows = [{"file_name": "~/a.jpg"}]
    assert at_home(rows) is rows
