"""What is said of a detector on the command line."""

import argparse
import sys

import pytest

from autoeval.commands.run_options import (
    add_detector_options,
    load_named_detector,
    read_cfg_options,
)
from autoeval.errors import InputError


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Expected --detector NAME"),
        (["--detector", "a.py"], "a.py"),
        (["--detector", "yolox_nano", "--cfg-options", "a=1", "b"], "as KEY=VALUE.*but got b"),
        (["--detector", "yolox_nano", "--classes", "nowhere"], "Cannot read the classes"),
        (["--detector", "yolox_nano", "--checkpoint", "nowhere"], "No checkpoint file nowhere"),
        (["--detector", "yolox_nano", "--device", "foo"], "Cannot use device 'foo'"),
    ],
)
def test_what_is_missing_or_wrong(words, message):
    parser = argparse.ArgumentParser()
    add_detector_options(parser)
    with pytest.raises(InputError, match=message):
        load_named_detector(parser.parse_args(words))


@pytest.mark.parametrize("installed", [True, False])
def test_options_of_a_config_are_read_without_mmengine_too(installed, monkeypatch):
    """Ultralytics, torchvision, transformers and ONNX do without it."""
    if not installed:
        monkeypatch.setitem(sys.modules, "mmengine.config", None)
    words = ["conf=0.2", "imgsz=[320,640]", "layout=yolov8", "rgb=False"]
    expected = {"conf": 0.2, "imgsz": [320, 640], "layout": "yolov8", "rgb": False}
    assert read_cfg_options(words) == expected
