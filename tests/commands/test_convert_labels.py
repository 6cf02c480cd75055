import json

import cv2
import numpy as np
import pytest

from autoeval.cli import main
from autoeval.io.labels.any_format import load_labels


@pytest.fixture
def folder(tmp_path):
    for part in ("images", "labels"):
        (tmp_path / "set" / part).mkdir(parents=True)
    for name in "abc":
        cv2.imwrite(str(tmp_path / "set" / "images" / f"{name}.png"), np.zeros((20, 40, 3)))
    (tmp_path / "set" / "labels" / "a.txt").write_text("0 0.5 0.5 0.25 0.5")
    (tmp_path / "set" / "labels" / "b.txt").write_text("")
    return tmp_path / "set"


def test_writes_a_file_that_says_the_same_and_tells_what_was_left_out(folder, tmp_path, capsys):
    out = tmp_path / "deep" / "coco.json"
    assert main(["convert-labels", str(folder / "labels"), str(out)]) == 0
    again = load_labels(out, folder / "images")
    assert [image.file_name for image in again.images] == ["a.png", "b.png"]
    assert [box.xywh for box in again.boxes] == [(15, 5, 10, 10)]
    shown = capsys.readouterr().out
    assert "note: images without labels, left out: 1 (c.png)" in shown
    assert "2 images, 1 box of 1 category (0)" in shown and str(out) in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--option", "split"], "Expected --option as KEY=VALUE but got 'split'"),
        (["--option", "split=val"], "has 'split', which is not read"),
        (["--layout", "typo"], "but got 'typo'"),
        (["--img-dir", "nowhere"], "No image folder nowhere"),
    ],
)
def test_bad_options_are_one_line(folder, tmp_path, words, message, capsys):
    assert main(["convert-labels", str(folder), str(tmp_path / "out.json"), *words]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ") and message in shown and len(shown.splitlines()) == 1


def test_the_labels_themselves_are_not_written_over(folder, tmp_path, capsys):
    """Segmentations, times and all else that is not read were gone."""
    out = tmp_path / "coco.json"
    assert main(["convert-labels", str(folder), str(out)]) == 0
    out.write_text(json.dumps(json.loads(out.read_text()) | {"info": {"year": 2026}}))
    assert main(["convert-labels", str(out), str(tmp_path / "set" / ".." / "coco.json")]) == 2
    assert "another file" in capsys.readouterr().err
    assert json.loads(out.read_text())["info"] == {"year": 2026}


def test_what_is_wrong_with_labels_is_a_warning_and_what_was_done_a_note(tmp_path, capsys):
    """All were printed as notes."""
    images = [{"id": k, "file_name": "a.png", "height": 20, "width": 40} for k in (1, 2)]
    labels = {"images": images, "annotations": [], "categories": [{"id": 1, "name": "car"}]}
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    (warning,) = load_labels(tmp_path / "labels.json").warnings
    assert (warning.code, warning.severity) == ("images-listed-twice", "warning")
    assert main(["convert-labels", f"{tmp_path / 'labels.json'}", f"{tmp_path / 'out.json'}"]) == 0
    assert capsys.readouterr().out.startswith(f"warning: {warning}\n")
