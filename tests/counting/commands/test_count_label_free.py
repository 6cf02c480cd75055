import numpy as np
import pandas as pd
import pytest
from rectangles import RectangleDetector, rectangle_task, write_world

import autoeval.detectors
from autoeval.cli import main

TASK = """
name = "boxes"
categories = ["box"]
data_root = "worlds"
seed_sets = [
    dict(name=n, ann_file=n + "/annotations.json", img_dir=n + "/images", mapping=dict(box="box"))
    for n in {names}
]
"""


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Arguments that run on four small worlds with a stand-in detector."""
    monkeypatch.setattr(autoeval.detectors, "load_detector", lambda *a, **k: RectangleDetector())
    rectangle_task(tmp_path / "worlds")
    (tmp_path / "task.py").write_text(TASK.format(names=["w0", "w1", "w2", "w3"]))
    task = ["--task", str(tmp_path / "task.py"), "--work-dir", str(tmp_path / "work")]
    small = ["--n-sets", "8", "--n-images", "2", "--repeats", "2"]
    small += ["--method", "bos", "bos_strict", "median"]  # its counts and confidence never vary
    return ["count", "label-free", "--detector", "rectangles", *task, *small]


def test_tells_each_target_beside_the_constant_predictor(command, tmp_path, capsys):
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "count_mae (objects an image), each source left out in turn" in shown
    assert "count_relative_mae (percent of the mean true count)" in shown
    rows = pd.read_csv(tmp_path / "work" / "held_out.csv")
    methods = {"bos", "bos_strict", "median", "constant"}
    assert set(rows["method"]) == methods
    assert len(rows) == 4 * 2 * len(methods)  # worlds, targets, methods
    written = (tmp_path / "work" / "held_out.md").read_text()
    assert written.count("| constant |") == 2 + 2  # a column and a row for each target


def test_the_score_table_holds_the_errors_at_the_threshold(command, tmp_path):
    # the stand-in detector is .9 sure of each of its boxes: over .95 it counts none, and misses one
    assert main([*command, "--count-thr", "0.95", "--target", "count_mae"]) == 0
    table = pd.read_parquet(tmp_path / "work" / "scores.parquet")
    own = table[table["kind"] == "seed"]
    assert (own["count_mae"] == 1).all() and (own["count_pooled_mae"] == 1).all()
    assert (own["count_relative_mae"] == 1).all() and np.isfinite(own["mAP"]).all()


def test_estimates_on_unlabelled_images_and_saves_the_estimator(command, tmp_path, capsys):
    write_world(tmp_path / "new", 205, n_images=5, seed=9)
    images = ["--images", str(tmp_path / "new" / "images")]
    assert main([*command, *images]) == 0
    first = capsys.readouterr().out.strip().splitlines()
    (line,) = [line for line in first if line.startswith("estimated count_mae (objects an image)")]
    saved = ["--estimator", str(tmp_path / "work" / "estimator.parquet")]
    assert main([*command, *images, *saved]) == 0
    assert line in capsys.readouterr().out
    assert main([*command, *images, *saved, "--count-thr", "0.5"]) == 2
    assert "pass.measures: fitted with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--bins", "nowhere.json"], "nowhere.json"),
        (["--method", "astrology"], "astrology"),
        (["--estimator", "nowhere.parquet"], "--estimator needs --images"),
    ],
)
def test_bad_input_is_one_clear_line(command, change, message, capsys):
    assert main([*command, *change]) == 2
    shown = capsys.readouterr().err.strip().splitlines()[-1]
    assert shown.startswith("error: ") and message in shown


def test_two_sources_say_that_nothing_can_be_left_out(command, tmp_path, capsys):
    (tmp_path / "task.py").write_text(TASK.format(names=["w0", "w1"]))
    assert main(command) == 0
    assert "2 sources: too few to leave one out" in capsys.readouterr().out
