"""One pass of a model, ending in mmdet's own ``predict``, whatever the detector's stages are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from autoeval.detections import Detections
from autoeval.errors import InputError

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

Result = TypeVar("Result")
Later = Callable[[], Result]  # waits for the device, and gives the result


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


class HostCopy:
    """Tensors on their way to the host, in one piece: a GPU is waited for once, not once a tensor.

    The copy from a GPU goes to pinned memory while this process goes on; `arrays` waits for it.
    Numbers of 16 bits become float32.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        half = (torch.float16, torch.bfloat16)
        self._tensors = [x.float() if x.dtype in half else x for x in tensors]
        self._content: Tensor | None = None
        self._copied: torch.cuda.Event | None = None
        if all(map(is_on_host, tensors)):
            return
        # The widest first, so that each begins where its type may.
        self._by_width = sorted(range(len(tensors)), key=lambda k: -self._tensors[k].element_size())
        flat = [self._tensors[k].contiguous().reshape(-1).view(torch.uint8) for k in self._by_width]
        content = torch.cat(flat)
        if content.device.type == "cuda":
            self._content = torch.empty(content.shape, dtype=torch.uint8, pin_memory=True)
            self._content.copy_(content, non_blocking=True)
            self._copied = torch.cuda.Event()
            self._copied.record(torch.cuda.current_stream(content.device))
        else:
            self._content = content.cpu()

    def arrays(self) -> list[np.ndarray]:
        """Return the tensors in their order, as arrays."""
        if self._content is None:
            return [tensor.numpy() for tensor in self._tensors]
        content = self._content
        if self._copied is not None:
            self._copied.synchronize()
            content = content.clone()  # pinned memory is scarce, and arrays may be kept
        arrays, start = {}, 0
        for k in self._by_width:
            tensor = self._tensors[k]
            part = content[start : start + tensor.numel() * tensor.element_size()]
            arrays[k] = part.view(tensor.dtype).reshape(tensor.shape).numpy()
            start += len(part)
        return [arrays[k] for k in range(len(arrays))]


def predict(model: BaseDetector, batch: Batch) -> Later[list[Detections]]:
    """Run mmdet's ``predict``: boxes in pixels of the original images, or `InputError`.

    What is returned waits for the device and gives the boxes of each image.
    """
    results = [_columns(model, result) for result in model.predict(batch.inputs, batch.samples)]
    copy = HostCopy([column for image in results for column in image])

    def boxes() -> list[Detections]:
        columns = copy.arrays()
        return [Detections(*columns[k : k + 3]) for k in range(0, len(columns), 3)]

    return boxes


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


@contextmanager
def wrapped(owner: Any, name: str, around: Callable) -> Iterator[None]:
    """Let calls of ``owner.name(...)`` be ``around(original, ...)`` while the body runs."""
    original, is_own = getattr(owner, name), name in vars(owner)
    setattr(owner, name, partial(around, original))
    try:
        yield
    finally:
        if is_own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)


class QuickPooling:
    """Runs the max poolings of stride 1 of a model with channels last.

    torch has a vectorised kernel for that layout alone. A maximum rounds nothing, so the numbers
    stay the same; the output comes back in the layout of the input. Only on a CPU.
    """

    def __init__(self, model: nn.Module) -> None:
        poolings = (module for module in model.modules() if isinstance(module, nn.MaxPool2d))
        self._poolings = [m for m in poolings if m.stride == 1 and not m.return_indices]

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Let them run so while the body runs."""
        with ExitStack() as stack:
            for module in self._poolings:
                stack.enter_context(wrapped(module, "forward", pool_channels_last))
            yield


def pool_channels_last(pool: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Pool a tensor (N, C, H, W) with its channels last, and return it laid out as it was."""
    if x.device.type != "cpu" or not x.is_contiguous():
        return pool(x)
    return pool(x.contiguous(memory_format=torch.channels_last)).contiguous()
