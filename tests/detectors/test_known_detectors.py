"""Every known detector against mmdet's own inference, and those at the input size of the paper."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from branching import same
from random_detectors import KNOWN, OTHERS, QUICK, mmdet_boxes

from autoeval.detectors.building.aliases import detector_names, find_config
from autoeval.detectors.loading import build_model, load_detector, read_config
from autoeval.detectors.preprocessing import Preprocessor
from autoeval.errors import InputError


@pytest.fixture(params=KNOWN)
def detector(request, build):
    return build(request.param)


def test_the_names_are_known():
    assert {*QUICK, *OTHERS} <= set(detector_names())


def test_grouping_and_order_change_nothing(build, images):
    """Every detector's under dropout are in `tests/stability/network`."""
    detector, names = build("yolox_nano"), ["a", "b", "c"]
    together = detector.observe(images, names)
    for i in (2, 0, 1):
        (alone,) = detector.observe([images[i]], [names[i]])
        assert together[i].image_id == alone.image_id
        assert same(together[i].clean, alone.clean)


def test_clean_boxes_are_those_of_mmdet(detector, images):
    observed = detector.observe(images[:2], ["a", "b"])
    for image, evidence in zip(images, observed, strict=False):
        assert len(evidence.clean) > 5
        assert evidence.image_size == image.shape[:2]
        assert same(evidence.clean, mmdet_boxes(detector, image))


@pytest.mark.parametrize("name", ["faster_rcnn_r50", "retinanet_r18"])
def test_training_reaches_the_backbone(build, images, name):
    """Loss and gradient go through the ops that stand in for mmcv's."""
    from mmdet.structures import DetDataSample
    from mmengine.structures import InstanceData

    model = build(name).model
    boxes = InstanceData(bboxes=torch.tensor([[10.0, 10, 60, 50]]), labels=torch.tensor([2]))
    sample = DetDataSample(
        gt_instances=boxes,
        metainfo=dict.fromkeys(["img_shape", "batch_input_shape", "pad_shape"], (96, 128)),
    )
    losses = model.loss(torch.randn(1, 3, 96, 128), [sample])
    model.parse_losses(losses)[0].backward()
    grads = [p.grad for p in model.backbone.layer4.parameters() if p.grad is not None]
    model.zero_grad()
    assert grads and all(torch.isfinite(grad).all() for grad in grads)
    assert sum(grad.abs().sum() for grad in grads) > 0


OF_PAPER = [name for name in detector_names() if name.startswith("paper/")]


def test_those_of_table_4_and_that_of_the_authors_code_are_known():
    stems = [name.removeprefix("paper/") for name in OF_PAPER]
    of_table = ["faster_rcnn_r50", "faster_rcnn_swin_t", "retinanet_r50", "retinanet_swin_t"]
    assert sorted(stems) == sorted([*of_table, "retinanet_r50_car"])
    assert find_config("paper/retinanet_r50").parent.name == "paper"


@pytest.mark.parametrize("name", OF_PAPER)
def test_images_of_any_shape_become_800_by_1333(name, build):
    build("retinanet_r18")  # which fills mmdet's registries
    preprocess = Preprocessor(read_config(name))
    for height, width in ((100, 300), (300, 100)):
        prepared = preprocess(np.zeros((height, width, 3), np.uint8))
        assert prepared["inputs"].shape == (3, 800, 1333)
        scale = (1333 / width, 800 / height)
        assert prepared["data_samples"].scale_factor == pytest.approx(scale)


def test_boxes_come_back_to_the_image_as_in_mmdet(build, images):
    detector = build("paper/retinanet_r50")
    for image in images[:2]:  # one is wide, one is high
        (evidence,) = detector.observe([image], ["a"])
        assert same(evidence.clean, mmdet_boxes(detector, image))


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


def test_a_folder_of_transformers_is_named_with_its_prefix(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=f"name it hf:{tmp_path}"):
        find_config(str(tmp_path))
