"""Stock configs of mmdet made small enough to be tried by the hundred."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from mmengine.config import Config, ConfigDict
from torch.nn.modules.batchnorm import _BatchNorm

WIDTH, HEIGHT = 128, 96
#: The most of what a config may ask for.
AT_MOST = {
    "nms_pre": 100,
    "max_per_img": 20,
    "num_queries": 20,
    "num_proposals": 20,
}
#: The layer of cascades that moves boxes, by random weights far out of the image.
REGRESSION = ".fc_reg."
#: What random weights are never sure of.
THRESHOLDS = ("score_thr", "filter_thr", "conf_thr")


def make_small(config: Config) -> None:
    """Shrink the inputs and the numbers of boxes of a config, and ask for no weights."""
    for name in [n for n in config if n.endswith("pipeline") or n.endswith("dataloader")]:
        _shrink_inputs(config[name])
    _shrink_model(config.model)


def _shrink_inputs(node: Any) -> None:
    for part in _dicts(node):
        kind = str(part.get("type", ""))
        if kind.endswith("Resize") and "scale" in part:
            part.scale = (WIDTH, HEIGHT)
        if kind.endswith("Pad") and part.get("size"):
            part["size"] = (WIDTH, WIDTH)


def _shrink_model(model: ConfigDict) -> None:
    for part in _dicts(model):
        for name in set(AT_MOST) & set(part):
            if isinstance(part[name], int):
                part[name] = min(part[name], AT_MOST[name])
        for name in set(THRESHOLDS) & set(part):
            part[name] = 0.0
        if "Pretrained" in str(part.get("init_cfg")):
            part.init_cfg = None


def _dicts(node: Any) -> Any:
    """Yield all dicts in a part of a config."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list | tuple):
        for item in node:
            yield from _dicts(item)


def settle(model: Any, images: Sequence[np.ndarray]) -> None:
    """Initialise neck and heads, and give batch norms the statistics of some images.

    Boxes of cascades are kept near their proposals.
    """
    for name, part in model.named_children():
        if name != "backbone" and hasattr(part, "init_weights"):
            part.init_weights()
    for name, parameter in model.named_parameters():
        if REGRESSION in name:
            parameter.data *= 0.01
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    for norm in norms:
        norm.training, norm.momentum = True, 1.0
    scenes = [torch.from_numpy(image[:80, :80].copy()).permute(2, 0, 1) for image in images]
    with torch.no_grad(), suppress(Exception):
        model.extract_feat(model.data_preprocessor({"inputs": scenes}, False)["inputs"])
    model.eval()
