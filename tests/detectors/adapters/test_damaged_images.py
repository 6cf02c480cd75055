"""A file that is no image costs itself, whatever framework runs, and whatever it has replaced."""

import numpy as np
import pandas as pd
import pytest
from framework_images import scenes

import autoeval
from tests.clients.torchvision_operators import usable_torchvision


def ultralytics_model(folder):
    pytest.importorskip("ultralytics", reason="needs the extra 'ultralytics'")
    usable_torchvision()
    from test_ultralytics_model import SIDE, spread
    from ultralytics import YOLO

    model = YOLO("yolo11n.yaml")
    spread(model.model)
    model.overrides["imgsz"] = SIDE
    return model


def torchvision_model(folder):
    usable_torchvision()
    from test_torchvision_model import FASTER, build

    return build(FASTER)


def transformers_model(folder):
    pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    from test_transformers_model import yolos

    return yolos()


def onnx_model(folder):
    pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    from test_onnx_model import write, yolov8

    return autoeval.Detector(write(folder / "a.onnx", yolov8()), device="cpu")


@pytest.mark.parametrize(
    "build", [ultralytics_model, torchvision_model, transformers_model, onnx_model]
)
def test_a_damaged_image_costs_one_row(build, tmp_path, monkeypatch):
    detector, site = build(tmp_path), tmp_path / "site"
    if build is ultralytics_model:  # it installs a package for each file that is no image
        installed = []
        monkeypatch.setattr("ultralytics.utils.checks.check_requirements", installed.append)
    first, *_ = scenes(3, site)
    whole = autoeval.detect(detector, site, tmp_path / "whole.parquet")
    content = first.read_bytes()
    damaged = {"empty": b"", "text": b"no image", "cut": content[:40], "torn": content[:-9000]}
    for name, part in damaged.items():
        (site / f"{name}.png").write_bytes(part)
    found = autoeval.detect(detector, site, tmp_path / "boxes.parquet", work_dir=tmp_path / "kept")
    rows = [pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("boxes", "whole")]
    assert len(rows[1]) and rows[0].equals(rows[1])
    assert [i.file_name for i in found.images] == [i.file_name for i in whole.images]
    assert len(found.run.unreadable) == len(damaged)
    for name, reason in zip(sorted(damaged), found.run.unreadable, strict=True):
        assert f"{name}.png" in reason
    np.testing.assert_array_equal(found.run.copies, [False] * 3)
    if build is ultralytics_model:
        assert not installed
