"""Small detectors with random weights whose boxes are worth comparing, and images for them."""

import logging
from functools import cache

import numpy as np
import pytest
import torch
from mmengine.config import Config
from small_detectors import HEIGHT, NARROW, ONE_STAGE, PAD, RESIZE, TWO_STAGE, WIDTH
from torch.nn.modules.batchnorm import _BatchNorm

from autoeval.detections import Detections
from autoeval.detectors.building.category_names import coco_categories
from autoeval.detectors.loading import build_model, read_config

# Each backbone and each head is in a detector that is tried in every run of all tests.
QUICK = ["faster_rcnn_r50", "retinanet_r18", "retinanet_swin_t", "rtmdet_tiny", "yolox_nano"]
OTHERS = ["faster_rcnn_swin_t", "retinanet_r50", "yolox_tiny"]
KNOWN = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]


@cache
def random_model(name: str) -> tuple[torch.nn.Module, Config, tuple[str, ...]]:
    """Build a known model with few channels for tiny images: random weights, config, words."""
    logging.getLogger("mmengine").setLevel(logging.WARNING)  # `init_weights` logs each weight
    torch.manual_seed(0)
    heads = TWO_STAGE if name.startswith("faster") else ONE_STAGE
    padding = PAD if name.startswith("rtmdet") else {}
    narrow = NARROW.get(name.removeprefix("paper/"), {})
    config = read_config(name, {**RESIZE, **heads, **padding, **narrow})
    model = build_model(config)
    for part in ("neck", "bbox_head", "rpn_head", "roi_head"):
        if hasattr(model, part):
            getattr(model, part).init_weights()
    settle(model)
    return model, config, coco_categories()


def settle(model: torch.nn.Module) -> None:
    """Give batch norms the statistics of some images, so that signals keep their size."""
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    for norm in norms:
        norm.training, norm.momentum = True, 1.0
    rng = np.random.default_rng(0)
    scenes = [torch.from_numpy(made_image(rng, (HEIGHT, WIDTH))).permute(2, 0, 1) for _ in range(4)]
    with torch.no_grad():
        features = model.extract_feat(model.data_preprocessor({"inputs": scenes}, False)["inputs"])
        if hasattr(model, "bbox_head"):
            model.bbox_head(features)
    model.eval()


def three_images() -> list[np.ndarray]:
    """Draw three images of two sizes, with structure at several scales."""
    rng = np.random.default_rng(5)
    return [made_image(rng, shape) for shape in ((90, 120), (120, 80), (90, 120))]


def made_image(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    coarse = rng.integers(0, 200, (shape[0] // 10 + 1, shape[1] // 10 + 1, 3))
    fine = rng.integers(0, 56, (*shape, 3))
    return (coarse.repeat(10, 0).repeat(10, 1)[: shape[0], : shape[1]] + fine).astype(np.uint8)


def mmdet_boxes(detector, image):
    """What mmdet's inference_detector finds."""
    from mmdet.apis import inference_detector

    detector.model.cfg = detector.config
    found = inference_detector(detector.model, image).pred_instances
    return Detections(found.bboxes.numpy(), found.scores.numpy(), found.labels.numpy())
