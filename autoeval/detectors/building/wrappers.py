"""Configs that wrap a detector for training or for more than boxes, reduced to the detector."""

from __future__ import annotations

from collections.abc import Mapping

from mmengine.config import Config, ConfigDict
from torch import Tensor

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
    """Replace a config's model by the detector within, where it is a wrapper.

    The student of a knowledge distillation (`LD`, `LAD`) is left as the detector of one stage that
    it is; of a panoptic one stays what finds the instances. Of a semi-supervised pair
    (`SoftTeacher`) stays the one that mmdet tests, and ``config.weights_prefix`` says where a
    checkpoint of the pair has its weights.

    Parameters
    ----------
    config : Config
        Changed in place.

    Raises
    ------
    InputError
        If it follows objects through a film: a tracker has test images and weights of its own kind.
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
