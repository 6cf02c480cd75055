"""Transforms that turn a seed set's images into new ones, labels along with them."""

from autoeval.metasets.transforms.base import Transform, TransformStep, apply_step, get_transform
from autoeval.metasets.transforms.geometric import ROTATE, rotate_boxes
from autoeval.metasets.transforms.photometric import PHOTOMETRIC

MILD = (*PHOTOMETRIC, ROTATE)
"""The seven transforms of the paper (BoS, section 5.4), by name."""

__all__ = ["MILD", "Transform", "TransformStep", "apply_step", "get_transform", "rotate_boxes"]
