"""Retrained weights behind the same script and path: never taken for the old ones."""

import json

import pytest
from labelled_colours import DETECTOR, write_colours

from autoeval.cli import main

SETTINGS = 'settings={"threshold": THRESHOLD}'
SCRIPT = "from pathlib import Path\nWEIGHTS = Path(__file__).parent / 'weights.txt'\n"
SCRIPT += "THRESHOLD = float(WEIGHTS.read_text())\n" + DETECTOR


def write(folder, stated):
    """A detector whose threshold is its weights; return how a command names it."""
    (folder / "mine.py").write_text(SCRIPT.replace(", " + SETTINGS, stated))
    (folder / "weights.txt").write_text("100")
    return ["--detector", f"{folder / 'mine.py'}:detector"]


def retrain(folder):
    """Other weights of the same path: hardly anything is found."""
    (folder / "weights.txt").write_text("240")


@pytest.fixture
def fitted(tmp_path):
    """A function that fits with what a detector states; it returns the estimate's arguments."""
    write_colours(tmp_path / "val", 0, n_images=30)
    write_colours(tmp_path / "new", 1, n_images=12)

    def fit(stated):
        named = write(tmp_path, stated)
        work = ["--labels", str(tmp_path / "val/annotations.json"), "--work-dir"]
        assert main(["fit", *named, *work, str(tmp_path / "fit")]) == 0
        estimator = ["--estimator", str(tmp_path / "fit/estimator.parquet")]
        return ["estimate", "--images", str(tmp_path / "new/images"), *estimator, "--work-dir"]

    return fit


def result(folder):
    return json.loads((folder / "result.json").read_text())["estimate"]


def test_retrained_weights_that_are_stated_are_refused(fitted, tmp_path, capsys):
    words = [*fitted(", weights=WEIGHTS"), str(tmp_path / "work")]
    assert main(words) == 0
    assert "nobody can check" not in " ".join(result(tmp_path / "work")["warnings"])
    retrain(tmp_path)
    assert main(words) == 2
    assert "detector.weights: fitted with" in capsys.readouterr().err


def test_without_weights_nothing_is_kept_and_every_estimate_warns(fitted, tmp_path, capsys):
    words = [*fitted(""), str(tmp_path / "work")]
    assert not (tmp_path / "fit/observed").exists()
    assert "keeps no observed image for another run" in capsys.readouterr().err
    assert main(words) == 0
    old = result(tmp_path / "work")
    assert any("nobody can check" in warning for warning in old["warnings"])
    retrain(tmp_path)
    assert main(words) == 0
    assert result(tmp_path / "work")["value"] != old["value"]  # it was observed again
