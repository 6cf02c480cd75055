"""Detectors at the input size that the paper on box stability prints."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import yaml

from autoeval.detectors.building.aliases import detector_names, find_config
from autoeval.detectors.loading import build_model, load_detector, read_config
from autoeval.detectors.preprocessing import Preprocessor
from autoeval.errors import InputError

NAMES = [name for name in detector_names() if name.startswith("paper/")]


def test_those_of_table_4_and_that_of_the_authors_code_are_known():
    stems = [name.removeprefix("paper/") for name in NAMES]
    of_table = ["faster_rcnn_r50", "faster_rcnn_swin_t", "retinanet_r50", "retinanet_swin_t"]
    assert sorted(stems) == sorted([*of_table, "retinanet_r50_car"])
    assert find_config("paper/retinanet_r50").parent.name == "paper"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(100, 300), (300, 100)])
def test_images_of_any_shape_become_800_by_1333(name, shape, build):
    build("retinanet_r18")  # which fills mmdet's registries
    prepared = Preprocessor(read_config(name))(np.zeros((*shape, 3), np.uint8))
    assert prepared["inputs"].shape == (3, 800, 1333)
    height, width = shape
    assert prepared["data_samples"].scale_factor == pytest.approx((1333 / width, 800 / height))


def test_boxes_come_back_to_the_image_as_in_mmdet(build, images):
    from mmdet.apis import inference_detector

    detector = build("paper/retinanet_r50")
    detector.model.cfg = detector.config
    for image in images[:2]:  # one is wide, one is high
        (evidence,) = detector.observe([image], ["a"])
        found = inference_detector(detector.model, image).pred_instances
        np.testing.assert_array_equal(evidence.clean.boxes, found.bboxes.numpy())


def test_the_detector_of_the_authors_code_has_one_category():
    config = read_config("paper/retinanet_r50_car")
    assert build_model(config).bbox_head.num_classes == 1
    assert config.test_dataloader.dataset.metainfo.classes == ("car",)
    assert config.detector.checkpoint is None
    with pytest.raises(InputError, match=r"retinanet_r50_car.*--checkpoint FILE"):
        load_detector("paper/retinanet_r50_car")


@pytest.mark.parametrize(
    ("name", "folder", "config"),
    [
        ("paper/retinanet_r50", "retinanet", "retinanet_r50_fpn_ms-640-800-3x_coco"),
        ("paper/faster_rcnn_r50", "faster_rcnn", "faster-rcnn_r50_fpn_mstrain_3x_coco"),
    ],
)
def test_published_checkpoints_are_those_of_36_epochs(name, folder, config):
    index = Path(find_spec("mmdet").origin).parent / ".mim" / "configs" / folder / "metafile.yml"
    models = {entry["Name"]: entry for entry in yaml.safe_load(index.read_text())["Models"]}
    assert read_config(name).detector.checkpoint == models[config]["Weights"]
    assert models[config]["Metadata"]["Epochs"] == 36
