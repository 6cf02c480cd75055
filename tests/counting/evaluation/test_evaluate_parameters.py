"""Each parameter of `count evaluate` changes what it writes or prints, or is refused."""

import contextlib
import inspect
import io
import json

import cv2
import numpy as np
import pytest
from counting_files import write_boxes

from autoeval.counting.commands.counts import evaluate
from autoeval.errors import InputError

COUNTS = [3, 8, 20, 35, 60, 90, 150, 240, 400, 700]
OF_COUNTS = {"predictions": ["net.csv"], "n_resamples": 50}
OF_POINTS = {"predictions": ["points.json"], "truth": "truth.json", "n_resamples": 50}
OF_BOXES = {"predictions": ["boxes.csv"], "truth": "boxes.json", "n_resamples": 50}
CHANGES = {
    "predictions": (OF_COUNTS, {"predictions": ["other.csv"]}),
    "truth": (OF_POINTS, {"truth": "other_truth.json"}),
    "bins": (OF_COUNTS, {"bins": "two.json"}),
    "bins_name": ({**OF_COUNTS, "bins": "two.json", "bins_name": "a"}, {"bins_name": "b"}),
    "bins_name without bins": (OF_COUNTS, {"bins_name": "a"}),
    "fit_bins": (OF_COUNTS, {"fit_bins": ["train.csv"]}),
    "binning": (OF_COUNTS, {"binning": "poisson"}),
    "gamma": (OF_COUNTS, {"gamma": 0.05}),
    "mode": (OF_COUNTS, {"mode": "released"}),
    "category": (OF_BOXES, {"category": "bus"}),
    "images": (OF_POINTS, {"images": "images"}),
    "match_distance": (OF_POINTS, {"match_distance": [2.0]}),
    "rescale": (
        {**OF_POINTS, "predictions": ["half.json"], "truth": "sized.json", "bins": "stb"},
        {"rescale": True},
    ),
    "separate": ({**OF_COUNTS, "predictions": ["net.csv", "other.csv"]}, {"separate": True}),
    "n_resamples": (OF_COUNTS, {"n_resamples": 20}),
    "seed": (OF_COUNTS, {"seed": 1}),
    "json": (OF_COUNTS, {"json": True}),
    "work_dir": (OF_COUNTS, {"work_dir": "elsewhere"}),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(f"{k}.jpg", true) for k, true in enumerate(COUNTS)]
    for name, factor in (("net", 1.1), ("other", 0.8)):
        lines = [f"{image},{true},{factor * true + k % 3}" for k, (image, true) in enumerate(rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,target,pred", *lines]))
    train = [f"{k},{true + 5}" for k, true in enumerate(COUNTS)]
    (tmp_path / "train.csv").write_text("\n".join(["id,count", *train]))
    edges = {"a": [0, 10, 100, 1000], "b": [0, 50, 1000]}
    (tmp_path / "two.json").write_text(json.dumps(edges))
    truth = {"a": [[10, 10], [50, 20]], "b": [[5, 5], [60, 60], [30, 30]]}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    (tmp_path / "other_truth.json").write_text(json.dumps(truth | {"b": [[5, 5]]}))
    truth["a"] = {"points": truth["a"], "H": 64, "W": 64}
    (tmp_path / "sized.json").write_text(json.dumps(truth))
    half = {"a": {"points": [[5, 5], [25, 10]], "H": 32, "W": 32}}
    (tmp_path / "half.json").write_text(json.dumps(half))
    found = {"a": [[13, 10, 0.9], [50, 23, 0.8]], "b": [[5, 5, 0.7], [60, 63, 0.9]]}
    (tmp_path / "points.json").write_text(json.dumps(found))
    (tmp_path / "images").mkdir()
    for name in "ab":
        cv2.imwrite(f"images/{name}.jpg", np.zeros((64, 64, 3), np.uint8))
    boxes = [("x.jpg", "car", [1, 1, 2, 2]), ("y.jpg", "car", [1, 1, 2, 2])]
    boxes += [("x.jpg", "bus", [4, 4, 2, 2])]
    write_boxes(tmp_path / "boxes.json", ["x.jpg", "y.jpg"], ["car", "bus"], boxes)
    (tmp_path / "boxes.csv").write_text("id,pred\nx.jpg,2\ny.jpg,1\n")


def outcome(**arguments):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            evaluate(**arguments)
        except InputError as error:
            return f"refused: {error}"
    written = f"{arguments.get('work_dir', 'count_evaluation')}/evaluation.json"
    with open(written, encoding="utf-8") as stream:
        return printed.getvalue(), stream.read()


@pytest.mark.parametrize("name", CHANGES)
def test_each_parameter_acts_or_is_refused(name, folder):
    given, change = CHANGES[name]
    before = outcome(**given)
    assert name == "rescale" or not isinstance(before, str), before  # else refused
    assert outcome(**{**given, **change}) != before


def test_each_parameter_has_a_case():
    assert {*inspect.signature(evaluate).parameters} <= {*CHANGES}
