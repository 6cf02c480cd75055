"""CAPTURe's tables, from a hand-made split and from the released metadata."""

import json

import pandas as pd
import pytest

from autoeval.cli import main

POSITIONS = [[50.0, 100.0], [100.0, 100.0], [150.0, 100.0]]


def item(name, n, occluded, shape="circle"):
    record = {"image_file": name, "ground_truth": n, "shape": shape, "offset": [0, 0]}
    return {**record, "color": "red", "num_occluded": occluded, "dot_shape": "square"} | {
        "positions": POSITIONS
    }


@pytest.fixture
def root(tmp_path):
    """Two synthetic items; the answers of one model in either form."""
    items = [item("a.png", 5, 1), item("b.png", 10, 3, "triangle")]
    (tmp_path / "synthetic_metadata.json").write_text(json.dumps(items))
    folder = tmp_path / "answers" / "synthetic"
    (folder / "total-occluded").mkdir(parents=True)
    given = [{"image_file": "a.png", "results": 3}, {"image_file": "b.png", "results": -1}]
    (folder / "total-occluded" / "Qwen2-VL.json").write_text(json.dumps(given))
    rows = [
        {"image_file": "a.png", "task": "pattern-original", "model": "molmo", "value": "circle"},
        {"image_file": "b.png", "task": "pattern-original", "model": "molmo", "value": "circle"},
    ]
    text = "\n".join(json.dumps({**row, "status": "ok"}) for row in rows)
    (folder / "molmo.jsonl").write_text(text)
    return tmp_path


def reproduce(root, *words):
    given = ["--data-root", root, "--predictions", root / "answers", "--work-dir", root / "out"]
    assert main(["reproduce", "capture", *map(str, given), *words]) == 0


def figures(root, table):
    frame = pd.read_csv(root / "out" / "report" / f"table_{table}.csv")
    return frame.set_index([frame.columns[0], "column"])


def test_answers_in_either_form(root, capsys):
    reproduce(root)
    shown = capsys.readouterr().out
    # |5 - 3| / 8 is a quarter; a skipped answer scores 100.
    rows = figures(root, 2)
    cell = rows.loc[("Qwen2VL", "synthetic, occluded")]
    assert cell["own"] == pytest.approx((25 + 100) / 2) and cell["printed"] == 11.74
    assert figures(root, 4).loc[("Molmo", "original"), "own"] == 50
    assert "2 synthetic items (1150 in print)" in shown
    assert "table 2: real: no real_metadata.json and no answers in real/" in shown
    assert "Ask with autoeval count capture run" in shown


def test_statistics_by_hand(root, capsys):
    reproduce(root, "--table", "1")
    own = figures(root, 1)["own"]
    assert own["images", "synthetic"] == 2 and own["object types", "synthetic"] == 1
    assert own["occluded objects, mean", "synthetic"] == 2
    assert own["objects, mean", "synthetic"] == 7.5
    assert pd.isna(own["images", "real"])
    assert "0 of 924 real images, 2 of 1250 synthetic images" in capsys.readouterr().out


def test_statistics_of_the_released_metadata(shared, tmp_path):
    words = ["--data-root", str(shared / "golden" / "capture"), "--work-dir", str(tmp_path / "out")]
    assert main(["reproduce", "capture", "--table", "1", *words]) == 0
    rows = figures(tmp_path, 1)
    cell = rows.loc[("occluded objects, mean", "synthetic")]
    assert bool(cell["same"]) and cell["printed"] == 2.73
    assert rows.loc[("images", "real"), "own"] == 100
