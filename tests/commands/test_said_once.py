"""A warning is printed once, wherever it comes from."""

import json
from types import SimpleNamespace

import pytest
from PIL import Image

from autoeval.api import fit_functions
from autoeval.cli import main
from autoeval.words import Notice
from tests.labelled_colours import write_detector, write_distinct


def test_a_fit_says_once_that_images_were_seen_in_training(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        fit_functions,
        "seen_in_training",
        lambda *of: [Notice("trained-on-these-images", "these were trained on")],
    )
    world = write_distinct(tmp_path / "known", 0, n_images=24)
    words = ["fit", "--labels", world / "annotations.json", "--img-dir", f"{world / 'images'}"]
    words += ["--detector", write_detector(tmp_path), "--work-dir", tmp_path / "work"]
    assert main([*map(str, words)]) == 0
    said = capsys.readouterr()
    assert (said.out + said.err).count("these were trained on") == 1


@pytest.mark.rare
def test_images_that_only_the_option_places_are_compared_with_those_of_training(tmp_path):
    """Label files of YOLO in a folder of their own: such a fit ended in an error."""
    config = pytest.importorskip("mmengine.config").Config
    for folder in ("boxes", "photos"):
        (tmp_path / folder).mkdir()
    Image.new("RGB", (12, 8)).save(tmp_path / "photos/1.png")
    (tmp_path / "boxes/1.txt").write_text("0 .5 .5 .2 .2\n")
    trained = tmp_path / "trained.json"
    trained.write_text(json.dumps({"images": [{"id": 1, "file_name": "1.png"}]}))
    training = {"train_dataloader": {"dataset": {"ann_file": str(trained)}}}
    fitted = SimpleNamespace(detector_=SimpleNamespace(config=config(training)))
    seen = fit_functions.seen_in_training(fitted, tmp_path / "boxes", tmp_path / "photos")
    assert [notice.code for notice in seen] == ["trained-on-these-images"]
