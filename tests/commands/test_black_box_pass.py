"""A Python function through the whole of `estimate-map`: what it cannot give is told."""

import json

import pandas as pd
import pytest
from rectangles import write_task, write_world

from autoeval.cli import main

pytestmark = pytest.mark.rare  # sample sets import torch

MINE = """
import cv2
import numpy as np
from autoeval.detectors import BlackBoxDetector

def find(images):
    parts = [find_one(image) for image in images]
    return tuple(zip(*parts))

def find_one(image):
    bright = image[:, :, 0] > 100
    xywh = cv2.connectedComponentsWithStats(bright.astype(np.uint8))[2][1:, :4].astype(float)
    shake = (255 - float(image.max())) / 20
    boxes = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], 1) + shake
    return boxes, np.full(len(boxes), image.mean() / 256), ["box"] * len(boxes)

detector = BlackBoxDetector(find, ["box"], name="mine", settings={"threshold": 100})
"""


def test_the_pass_and_the_estimate(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(MINE)
    images = write_world(tmp_path / "new", 205, n_images=5, seed=9) / "images"
    words = [
        "estimate-map",
        "--detector",
        f"{tmp_path / 'mine.py'}:detector",
        "--repeats",
        "0",
    ]
    words += ["--task", str(write_task(tmp_path)), "--method", "ac", "--views"]
    words += ["--n-sets", "2", "--n-images", "4", "--work-dir", str(tmp_path / "work")]
    assert main([*words, "--images", str(images)]) == 0
    table = pd.read_parquet(tmp_path / "work/scores.parquet")
    absent = json.loads(table["absent"].iloc[0])
    for name in ("pcr", "energy"):
        assert "black box" in absent[name]
    assert {"bos", "stability_ap"} <= absent.keys()  # the pass has no repeats
    assert {"view_consistency", "ac"} <= set(table)
    estimate = json.loads((tmp_path / "work/result.json").read_text())["estimate"]
    assert estimate["lower"] < estimate["value"] < estimate["upper"]
    capsys.readouterr()
    saved = ["--estimator", str(tmp_path / "work/estimator.parquet")]
    new_work = ["--work-dir", str(tmp_path / "again")]
    again_there = ["estimate-map", "--images", str(images), *saved, *new_work]
    assert main(again_there) == 0
    again = json.loads((tmp_path / "again/result.json").read_text())["estimate"]
    assert again["value"] == estimate["value"]
    (tmp_path / "mine.py").write_text(MINE.replace('"threshold": 100', '"threshold": 99'))
    assert main(again_there) == 2
    assert "fitted with 100, now 99" in capsys.readouterr().err
