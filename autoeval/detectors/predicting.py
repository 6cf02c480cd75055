"""One pass of a model, ending in mmdet's own ``predict``, whatever the detector's stages are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
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


def in_precision(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Return the context in which a network computes with a precision of `PRECISIONS`.

    ``framework`` is as torch and mmdet have it: on a GPU products of convolutions are rounded to
    TensorFloat-32, by which boxes depend a little on the images beside them in a batch. ``single``
    keeps them from it, for numbers that other devices repeat. ``half`` computes in 16 bits.
    """
    if precision == "half":
        kind = torch.float16 if device.type == "cuda" else torch.bfloat16
        return torch.autocast(device.type, kind)
    return single_precision() if precision == "single" else nullcontext()


@contextmanager
def single_precision() -> Iterator[None]:
    """Keep GPUs from rounding products of convolutions to TensorFloat-32, as torch lets them."""
    convolutions = torch.backends.cudnn
    allowed = convolutions.allow_tf32
    convolutions.allow_tf32 = False
    try:
        yield
    finally:
        convolutions.allow_tf32 = allowed


def is_on_host(tensor: Tensor) -> bool:
    """Whether the processor reads a tensor without a copy."""
    return tensor.device.type == "cpu"


def to_host(tensors: Sequence[Tensor]) -> list[np.ndarray]:
    """Copy tensors from their device in one piece: a GPU is waited for once, not once a tensor.

    Numbers of 16 bits become float32.
    """
    tensors = [x.float() if x.dtype in (torch.float16, torch.bfloat16) else x for x in tensors]
    if all(map(is_on_host, tensors)):
        return [tensor.numpy() for tensor in tensors]
    by_width = sorted(range(len(tensors)), key=lambda k: -tensors[k].element_size())
    flat = [tensors[k].contiguous().reshape(-1).view(torch.uint8) for k in by_width]
    content = torch.cat(flat).cpu()
    arrays, start = {}, 0
    for k, piece in zip(by_width, flat, strict=True):
        part = content[start : start + len(piece)].view(tensors[k].dtype)
        arrays[k] = part.reshape(tensors[k].shape).numpy()
        start += len(piece)
    return [arrays[k] for k in range(len(tensors))]


def predict(model: BaseDetector, batch: Batch) -> list[Detections]:
    """Run mmdet's ``predict``: boxes in pixels of the original images, or `InputError`."""
    results = [_columns(model, result) for result in model.predict(batch.inputs, batch.samples)]
    columns = to_host([column for image in results for column in image])
    return [Detections(*columns[k : k + 3]) for k in range(0, len(columns), 3)]


def _columns(model: BaseDetector, result: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return the boxes (N, 4), scores and labels (N,) of an image, where the network has them."""
    instances = result.get("pred_instances", None)
    if instances is None or "bboxes" not in instances:
        raise InputError(
            f"{type(model).__name__} gives no boxes with the settings of its config, so it cannot "
            "be evaluated as a detector: choose a config that detects or segments instances."
        )
    boxes = instances.bboxes
    if "masks" in instances and not boxes.any():  # SOLO leaves its boxes at 0
        from mmdet.structures.mask import mask2bbox

        boxes = mask2bbox(instances.masks)
    return boxes, instances.scores, instances.labels
