"""What is said of a detector on the command line."""

import sys

import pytest

from autoeval.api.options import cfg_options_of
from autoeval.errors import InputError
from autoeval.stability.commands.meta_set_options import named_detector


@pytest.mark.rare
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
    names = [word.removeprefix("--").replace("-", "_") for word in words if word[:2] == "--"]
    values = [word for word in words if word[:2] != "--"]
    given = {
        name: values[k:] if name == "cfg_options" else values[k] for k, name in enumerate(names)
    }
    with pytest.raises(InputError, match=message):
        named_detector(given).loaded  # noqa: B018


@pytest.mark.parametrize("installed", [True, False])
def test_options_of_a_config_are_read_without_mmengine_too(installed, monkeypatch):
    """Ultralytics, torchvision, transformers and ONNX do without it."""
    if not installed:
        monkeypatch.setitem(sys.modules, "mmengine.config", None)
    words = ["conf=0.2", "imgsz=[320,640]", "layout=yolov8", "rgb=false", "augment=True"]
    expected = {"conf": 0.2, "imgsz": [320, 640], "layout": "yolov8", "rgb": False, "augment": True}
    assert cfg_options_of(words) == expected
