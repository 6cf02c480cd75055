"""Transforms that turn a seed set's images into new ones, labels along with them."""

from autoeval.stability.metasets.transforms.base import (
    Transform,
    TransformStep,
    apply_step,
    get_transform,
)
from autoeval.stability.metasets.transforms.corruptions import BLUR, DIGITAL, NOISE, WEATHER
from autoeval.stability.metasets.transforms.imgaug_mix import RELEASED_MIX
from autoeval.stability.metasets.transforms.photometric import PHOTOMETRIC, ROTATE, rotate_boxes

MILD = (*PHOTOMETRIC, ROTATE)
"""The seven transforms of the paper (BoS, section 5.4), by name."""

CORRUPTIONS = (*NOISE, *BLUR, *WEATHER, *DIGITAL)
"""The common corruptions, by name; their magnitude is a severity from 1 to 5."""

__all__ = [
    "CORRUPTIONS",
    "MILD",
    "RELEASED_MIX",
    "Transform",
    "TransformStep",
    "apply_step",
    "get_transform",
    "rotate_boxes",
]
