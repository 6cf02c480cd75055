"""Reading a detector's configuration: by a known name, from a file, or from mmdet's own configs."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config, ConfigDict
from torch import Tensor

from autoeval.detectors import ops
from autoeval.detectors.building.aliases import find_config
from autoeval.detectors.building.constructing import explained
from autoeval.errors import InputError

#: What a knowledge distillation's config says of its teacher.
TEACHERS = (
    "teacher_config",
    "teacher_ckpt",
    "teacher_backbone",
    "teacher_neck",
    "teacher_bbox_head",
    "eval_teacher",
)
#: What panoptic segmentation puts on top of Mask R-CNN.
PANOPTIC = ("semantic_head", "panoptic_fusion_head")


def unwrap(config: Config) -> None:
    """Replace a config's model, in place, by the detector within, where it is a wrapper.

    The student of a knowledge distillation (`LD`, `LAD`) is left as the detector of one stage that
    it is; of a panoptic one stays what finds the instances. Of a semi-supervised pair
    (`SoftTeacher`) stays the one that mmdet tests, and ``config.weights_prefix`` says where a
    checkpoint of the pair has its weights. Raises `InputError` if it tracks objects through a
    video: a tracker has test images and weights of its own.
    """
    model = config.model
    inner, is_pair = model.get("detector"), "semi_test_cfg" in model
    if isinstance(inner, dict) and "type" in inner and not is_pair:
        raise InputError(
            f"{model.get('type')}, the model of {config.filename}, is a tracker around "
            f"{inner['type']}: pass the config and the checkpoint of that detector."
        )
    if model.get("teacher_config") or model.get("teacher_backbone"):
        for name in TEACHERS:
            model.pop(name, None)
        model.type = "SingleStageDetector"
    elif model.get("type") == "PanopticFPN":
        for name in PANOPTIC:
            model.pop(name, None)
        model.type = "MaskRCNN"
    elif model.get("test_cfg") and model.test_cfg.get("instance_on") is False:
        model.test_cfg.instance_on = True
    elif is_pair:
        config.weights_prefix = (model.semi_test_cfg or {}).get("predict_on", "teacher") + "."
        config.model = _inner(model)


def _inner(model: ConfigDict) -> ConfigDict:
    """Return the detector of a pair, which may leave the preprocessing to the wrapper's."""
    detector = model.detector
    if not detector.get("data_preprocessor"):
        detector.data_preprocessor = model.data_preprocessor.data_preprocessor
    return detector


def deployed_weights(weights: Mapping[str, Tensor], config: Config) -> Mapping[str, Tensor]:
    """Select the weights of the detector within a pair from those of the pair.

    A checkpoint that holds the detector alone stays as it is.
    """
    prefix = config.get("weights_prefix")
    if prefix is None or not any(name.startswith(prefix) for name in weights):
        return weights
    return {
        name.removeprefix(prefix): value
        for name, value in weights.items()
        if name.startswith(prefix)
    }


#: What precedes the path of a config among those that mmdet brings along.
OF_MMDET = ("mmdet::", "configs/")


def read_config(
    name_or_config: str | os.PathLike[str], cfg_options: Mapping[str, Any] | None = None
) -> Config:
    """Read a detector's config, with changes, and reduce it to the detector that is deployed.

    It is a known name, the path of a config file, or that of one of the installed mmdet's, such as
    ``mmdet::retinanet/retinanet_r50_fpn_1x_coco.py`` or ``configs/retinanet/...``. Its model asks
    for no weights beside those of the checkpoint, and is unwrapped; see `unwrap`. Raises
    `InputError` if it is missing, cannot be run, or has no model.
    """
    ops.register()  # before what the config imports
    path = find_config_file(str(name_or_config))
    try:
        config = Config.fromfile(path)
        config.merge_from_dict(dict(cfg_options or {}))
    except (Exception, SystemExit) as error:  # the file is a program: it can fail in any way
        raise InputError(f"Cannot use {path} as a detector's config: {explained(error)}") from error
    if not isinstance(config.get("model"), dict):
        raise InputError(f"Cannot use {path} as a detector's config: it has no `model`.")
    unwrap(config)
    for part in dicts_in(config.model):
        _without_training(part)
    return config


def find_config_file(name: str) -> Path:
    """Return the file that a name or path stands for, or raise `InputError`."""
    prefix = next((prefix for prefix in OF_MMDET if name.startswith(prefix)), None)
    if prefix is None or Path(name).is_file():
        return find_config(name)
    folder = _mmdet_configs()
    path = folder / name.removeprefix(prefix)
    if not path.is_file():
        raise InputError(
            f"No config {name!r}: expected a file under {folder}, for example "
            "mmdet::retinanet/retinanet_r50_fpn_1x_coco.py."
        )
    return path


def _mmdet_configs() -> Path:
    """Return the folder of configs that an installed mmdet brings along."""
    spec = importlib.util.find_spec("mmdet")
    if spec is None or spec.origin is None:
        raise InputError("mmdet is not installed, so none of its configs can be named.")
    return Path(spec.origin).parent / ".mim" / "configs"


def dicts_in(node: Any) -> Iterator[dict]:
    """Yield all dicts in a part of a config."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list | tuple):
        for item in node:
            yield from dicts_in(item)


def _without_training(part: dict) -> None:
    """Take out what training alone needs.

    That is pretrained weights, which the checkpoint replaces, the checkpointing of gradients, for
    which mmdet's transformers want fairscale, and mmcv's batch norm across processes.
    """
    if part.get("type") == "MMSyncBN":
        part["type"] = "BN"
    initial = part.get("init_cfg")
    if isinstance(initial, dict) and initial.get("type") == "Pretrained":
        part["init_cfg"] = None
    if part.get("pretrained"):
        part["pretrained"] = None
    if part.get("num_cp"):
        part["num_cp"] = -1
