import json
import shutil

import cv2
import numpy as np
import pytest
from rectangles import rectangle_task

from autoeval.cli import main

TASK = """
name = "boxes"
categories = ["box", "ring"]
data_root = "worlds"
seed_sets = [
    dict(name=n, ann_file=n + "/annotations.json", img_dir=n + "/images", mapping=dict(box="box"))
    for n in ["w0", "w1", "w2", "w3"]
] + [dict(name="lost", labels="nowhere")]
"""


@pytest.fixture
def worlds(tmp_path):
    rectangle_task(tmp_path / "worlds")
    (tmp_path / "task.py").write_text(TASK)
    return tmp_path / "worlds"


def check(worlds, capsys, *words):
    code = main(["check", "--task", str(worlds.parent / "task.py"), "--n-sets", "2", *words])
    return code, capsys.readouterr().out


def test_tells_what_is_wrong_where(worlds, capsys):
    images = {k: worlds / f"w{k}" / "images" for k in range(4)}
    shutil.copy(images[0] / "1.png", images[1] / "1.png")  # across sources
    shutil.copy(images[2] / "1.png", images[2] / "2.png")  # within one
    (images[2] / "3.png").write_bytes(b"")
    cv2.imwrite(str(images[3] / "4.png"), np.full((64, 64, 3), 5, np.uint8))
    content = json.loads((worlds / "w3" / "annotations.json").read_text())
    content["annotations"][0]["bbox"] = [60, 60, 40, 40]
    (worlds / "w3" / "annotations.json").write_text(json.dumps(content))
    code, shown = check(worlds, capsys, "--json")
    result = json.loads(shown)
    rows = {row["source"]: row for row in result["sources"]}
    assert code == 1 and list(rows) == ["w0", "w1", "w2", "w3"]
    assert (rows["w2"]["images"], rows["w2"]["unreadable"], rows["w2"]["alike"]) == (5, 1, 2)
    assert rows["w3"]["dark"] == 1 and rows["w0"]["boxes"] == 6
    findings = result["findings"]
    assert findings[0].startswith("lost: cannot be used: No labels")
    for expected in (
        "w0: no box of ring",
        "w0: only 6 images",
        "w2: images that cannot be used: 1",
        "w3: boxes that reached more than a pixel beyond their image, clipped: 1 (image ids: 1)",
        "w3: dark images, under 20 of 255 on average: 1 (4)",
    ):
        assert any(line.startswith(expected) for line in findings), expected
    assert any(line.endswith("images of w1: 1 ~ 1") and "of w0" in line for line in findings)


def test_a_task_without_a_usable_source(worlds, tmp_path, capsys):
    code, shown = check(worlds, capsys, "--data-root", f"{tmp_path}")
    assert code == 1 and shown.startswith("no site can be used\n\nfound:\n  w0: cannot be used: ")


def test_new_images_are_compared_with_the_sources(worlds, tmp_path, capsys):
    (tmp_path / "new").mkdir()
    shutil.copy(worlds / "w1" / "images" / "3.png", tmp_path / "new" / "mine.png")
    _, shown = check(worlds, capsys, "--images", str(tmp_path / "new"))
    assert "(new images)" in shown
    assert "images of w1 look like images of new images: 3 ~ mine.png" in shown


def test_the_plan_counts_images_and_hours(worlds, capsys):
    """Four sources of 6 images, each as it is and as 2 sample sets of 6."""
    _, shown = check(worlds, capsys, "--rate", "0.01", "--json")
    plan = json.loads(shown)
    assert plan["n_sample_sets"] == 12 and plan["n_images_to_observe"] == 4 * 6 * 3
    assert plan["hours"] == pytest.approx(72 / 0.01 / 3600)
    # Student's t at 95 % with 3 degrees of freedom is 2.353.
    assert "With 4 groups the 90% interval is about ±2.35 times" in plan["interval"]
    assert "±10 points needs errors of 4.2" in plan["interval"]


@pytest.mark.rare
def test_no_network_is_needed(worlds, capsys, monkeypatch):
    monkeypatch.setattr("autoeval.detectors.load_detector", None)
    code, shown = check(worlds, capsys)
    assert code == 1 and "A run observes 72 images" in shown


def test_a_light_run_has_no_sample_sets_and_a_group_counts_once(worlds, capsys):
    task = worlds.parent / "task.py"
    task.write_text(TASK.replace("dict(name=n,", "dict(name=n, group='f' if n < 'w2' else None,"))
    main(["check", "--task", str(task), "--json"])
    plan = json.loads(capsys.readouterr().out)
    assert plan["n_groups"] == 3
    assert plan["n_sample_sets"] == 4 and plan["n_images_to_observe"] == 4 * 6
    main(["check", "--task", str(task), "--preset", "paper", "--json"])
    assert json.loads(capsys.readouterr().out)["n_sample_sets"] == 4 * 51
