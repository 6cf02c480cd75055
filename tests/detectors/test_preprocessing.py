"""Test pipelines made to take arrays."""

import numpy as np
import pytest
from mmengine.config import Config

from autoeval.detectors.building.category_names import _from_config
from autoeval.detectors.loading import build_model, read_config
from autoeval.detectors.preprocessing import (
    Preprocessor,
    adapt_pipeline,
    collate,
    test_pipeline,
)
from autoeval.errors import InputError

test_pipeline.__test__ = False  # not a test, whatever its name


def test_files_and_annotations_are_not_read():
    steps = [
        {"type": "LoadImageFromFile", "to_float32": True},
        {"type": "Resize", "scale": (8, 8)},
        {"type": "mmdet.LoadAnnotations", "with_bbox": True},
        {"type": "LoadPanopticAnnotations"},
        {"type": "PackDetInputs"},
    ]
    adapted = adapt_pipeline(steps)
    assert adapted[0] == {"type": "mmdet.LoadImageFromNDArray", "to_float32": True}
    assert [step["type"] for step in adapted[1:]] == ["Resize", "PackDetInputs"]
    assert steps[0]["type"] == "LoadImageFromFile"


def test_a_pipeline_that_begins_otherwise():
    with pytest.raises(InputError, match="found Resize"):
        adapt_pipeline([{"type": "Resize"}])
    with pytest.raises(InputError, match="found nothing"):
        adapt_pipeline([])


FILE = {"type": "LoadImageFromFile"}


@pytest.mark.parametrize(
    ("name", "message"),
    [("LoadProposals", "makes its own"), ("mmdet.TestTimeAug", "has TestTimeAug.*plain test pipe")],
)
def test_steps_that_need_more_than_an_image(name, message):
    with pytest.raises(InputError, match=message):
        adapt_pipeline([FILE, {"type": name}])


@pytest.mark.parametrize(
    "config",
    [
        {"model": {}},
        {"test_dataloader": None},
        {"test_dataloader": {"dataset": None}},
        {"test_dataloader": {"dataset": {"type": "CocoDataset"}}},
        {"test_dataloader": {"dataset": {"pipeline": None}}},
        {"test_dataloader": {"dataset": {"pipeline": FILE}}},
    ],
)
def test_no_pipeline(config):
    with pytest.raises(InputError, match="no test pipeline"):
        Preprocessor(Config(config))
    assert _from_config(Config(config)) == ()


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        ({"scale": 3}, "with a `type`, got"),
        ({"type": "Resiez", "scale": 3}, "Resiez is not in the mmdet::transform registry"),
        ({"type": "Resize"}, "can not both be `None`"),
        ({"type": "Resize", "scail": 3}, "unexpected keyword argument 'scail'"),
    ],
)
def test_a_pipeline_that_cannot_be_built(step, complaint, build):
    build("retinanet_r18")  # which fills mmdet's registries
    config = {"test_dataloader": {"dataset": {"pipeline": [FILE, step]}}}
    with pytest.raises(InputError, match=complaint):
        Preprocessor(Config(config))


def test_values_and_scale():
    """YOLOX-nano: to 416 x 416 with 114 below, values as they are; (100, 200) doubles and more."""
    config = read_config("yolox_nano")
    model = build_model(config)
    image = np.full((100, 200, 3), (10, 20, 30), np.uint8)
    inputs, (sample,) = collate(model, [Preprocessor(config)(image)])
    assert inputs.shape == (1, 3, 416, 416)
    assert inputs[0, :, 0, 0].tolist() == [10, 20, 30]
    assert inputs[0, :, 300, 0].tolist() == [114, 114, 114]
    assert sample.ori_shape == (100, 200) and sample.scale_factor == (2.08, 2.08)
