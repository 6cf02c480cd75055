"""Stock configs of mmdet made small enough to be tried by the hundred."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import cv2
import numpy as np
import torch
from mmengine.config import Config, ConfigDict
from torch.nn.modules.batchnorm import _BatchNorm

from autoeval.detectors.building.configs import dicts_in

SIZE = (128, 96)
SIDE = 128
#: A step that reads annotations, at which mmdet's own inference stops without panopticapi.
NEEDS_PANOPTICAPI = "LoadPanopticAnnotations"
#: Families whose smallest maps are padded by more than two pixels, or have nothing left of less.
LARGER = {"detectors": (256, 192), "ssd": (300, 300)}
#: The most of what a config may ask for.
AT_MOST = {
    "nms_pre": 100,
    "max_per_img": 20,
    "num_queries": 20,
    "num_proposals": 20,
}
#: The layer of cascades that moves boxes, by random weights far out of the image.
REGRESSION = ".fc_reg."
#: Of weights that only a checkpoint would set.
UNSET_STD = 0.02
#: What random weights are never sure of.
THRESHOLDS = ("score_thr", "filter_thr", "conf_thr")


def make_small(config: Config, family: str) -> None:
    """Shrink the inputs and the numbers of boxes of a config."""
    size = LARGER.get(family, SIZE)
    steps = config.test_dataloader.dataset.get("pipeline", [])
    steps[:] = [step for step in steps if step.type != NEEDS_PANOPTICAPI]
    for name in [n for n in config if n.endswith("pipeline") or n.endswith("dataloader")]:
        _shrink_inputs(config[name], size)
    _shrink_model(config.model)


def _shrink_inputs(node: Any, size: tuple[int, int]) -> None:
    for part in dicts_in(node):
        kind = str(part.get("type", ""))
        if kind.endswith("Resize") and "scale" in part:
            part["scale"] = size
        if kind.endswith("Pad") and part.get("size"):
            part["size"] = (size[0], size[0])


def _shrink_model(model: ConfigDict) -> None:
    for part in dicts_in(model):
        for name in set(AT_MOST) & set(part):
            if isinstance(part[name], int):
                part[name] = min(part[name], AT_MOST[name])
        for name in set(THRESHOLDS) & set(part):
            part[name] = 0.0


@contextmanager
def unset_memory_is_nan() -> Iterator[None]:
    """Fill with nan what nobody initialises, instead of leaving memory as it was found."""
    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)


def settle(model: Any, image: np.ndarray) -> None:
    """Initialise neck and heads, and give batch norms the statistics of an image.

    Boxes of cascades are kept near their proposals. What only a checkpoint would set, and was built
    with `unset_memory_is_nan`, is drawn: the embeddings of levels of DETR's kin, the branches of
    TridentNet.
    """
    for name, part in model.named_children():
        if name != "backbone" and hasattr(part, "init_weights"):
            part.init_weights()
    for name, parameter in model.named_parameters():
        if REGRESSION in name:
            parameter.data *= 0.01
        if parameter.isnan().any():
            torch.nn.init.normal_(parameter, std=UNSET_STD)
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    for norm in norms:
        norm.training, norm.momentum = True, 1.0
    scene = torch.from_numpy(cv2.resize(image, (SIDE, SIDE))).permute(2, 0, 1)
    with torch.no_grad(), suppress(Exception):
        model.extract_feat(
            model.data_preprocessor({"inputs": [scene, scene.flip(2)]}, False)["inputs"]
        )
    model.eval()
