"""Small detectors with random weights whose boxes are worth comparing."""

import logging
from functools import cache

import numpy as np
import pytest
import torch
from small_detectors import HEIGHT, ONE_STAGE, PAD, RESIZE, TWO_STAGE, WIDTH
from torch.nn.modules.batchnorm import _BatchNorm

from autoeval.detectors import MMDetector
from autoeval.detectors.building.category_names import coco_categories
from autoeval.detectors.loading import build_model, read_config


@cache
def random_detector(name: str) -> MMDetector:
    """Build a known detector for tiny images with seeded random weights."""
    logging.getLogger("mmengine").setLevel(logging.WARNING)  # `init_weights` logs each weight
    torch.manual_seed(0)
    heads = TWO_STAGE if name.startswith("faster") else ONE_STAGE
    config = read_config(name, {**RESIZE, **heads, **(PAD if name.startswith("rtmdet") else {})})
    model = build_model(config)
    for part in ("neck", "bbox_head", "rpn_head", "roi_head"):
        if hasattr(model, part):
            getattr(model, part).init_weights()
    settle(model)
    return MMDetector(model, config, coco_categories())


def settle(model: torch.nn.Module) -> None:
    """Give batch norms the statistics of some images, so that signals keep their size."""
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    for norm in norms:
        norm.training, norm.momentum = True, 1.0
    rng = np.random.default_rng(0)
    scenes = [torch.from_numpy(_image(rng, (HEIGHT, WIDTH))).permute(2, 0, 1) for _ in range(4)]
    with torch.no_grad():
        features = model.extract_feat(model.data_preprocessor({"inputs": scenes}, False)["inputs"])
        if hasattr(model, "bbox_head"):
            model.bbox_head(features)
    model.eval()


@pytest.fixture(scope="session")
def build():
    """Return the function that builds a known detector once for all tests."""
    return random_detector


@pytest.fixture(scope="session")
def images() -> list[np.ndarray]:
    """Three images of two sizes, with structure at several scales."""
    rng = np.random.default_rng(5)
    return [_image(rng, shape) for shape in ((90, 120), (120, 80), (90, 120))]


def _image(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    coarse = rng.integers(0, 200, (shape[0] // 10 + 1, shape[1] // 10 + 1, 3))
    fine = rng.integers(0, 56, (*shape, 3))
    return (coarse.repeat(10, 0).repeat(10, 1)[: shape[0], : shape[1]] + fine).astype(np.uint8)
