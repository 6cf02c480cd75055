"""One pass of a model, ending in mmdet's own ``predict``, whatever the detector's stages are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from autoeval.detections import Detections
from autoeval.errors import InputError

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector


@dataclass(frozen=True)
class Batch:
    """Preprocessed images (N, 3, H, W) of one size.

    `samples` are DetDataSamples with the size and scale of each, by which boxes return to its
    pixels.
    """

    inputs: Tensor
    samples: list[Any]


@contextmanager
def single_precision() -> Iterator[None]:
    """Keep GPUs from rounding products of convolutions to TensorFloat-32, as torch lets them.

    So rounded, boxes depend on the images beside them in a batch, by far more than single precision
    shows (``benchmarks/device_agreement.py``).
    """
    convolutions = torch.backends.cudnn
    allowed = convolutions.allow_tf32
    convolutions.allow_tf32 = False
    try:
        yield
    finally:
        convolutions.allow_tf32 = allowed


def predict(model: BaseDetector, batch: Batch) -> list[Detections]:
    """Run mmdet's ``predict``: boxes in pixels of the original images, or `InputError`."""
    return [_detections(model, result) for result in model.predict(batch.inputs, batch.samples)]


def _detections(model: BaseDetector, result: Any) -> Detections:
    instances = result.get("pred_instances", None)
    if instances is None or "bboxes" not in instances:
        raise InputError(
            f"{type(model).__name__} gives no boxes with the settings of its config, so it cannot "
            "be judged as a detector: choose a config that detects or segments instances."
        )
    boxes = instances.bboxes
    if "masks" in instances and not boxes.any():  # SOLO leaves its boxes at 0
        from mmdet.structures.mask import mask2bbox

        boxes = mask2bbox(instances.masks)
    return Detections(
        boxes.cpu().numpy(), instances.scores.cpu().numpy(), instances.labels.cpu().numpy()
    )
