"""A warning is printed once, wherever it comes from."""

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
