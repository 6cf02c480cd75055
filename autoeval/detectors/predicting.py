"""One pass of a model, ending in mmdet's own ``predict``, whatever the detector's stages are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from inspect import BoundArguments
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


def in_precision(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Return the context in which a network computes with a precision of `PRECISIONS`.

    Parameters
    ----------
    precision : str
        ``framework`` is as torch and mmdet have it: on a GPU products of convolutions are rounded
        to TensorFloat-32, by which boxes depend a little on the images beside them in a batch.
        ``single`` keeps them from it, for numbers that other devices repeat. ``half`` computes in
        16 bits, float16 on a GPU and bfloat16 elsewhere.
    device : torch.device
        Where it runs.
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
    """Return whether the processor reads a tensor without a copy.

    Parameters
    ----------
    tensor : Tensor
        On any device.
    """
    return tensor.device.type == "cpu"


class HostCopy:
    """Tensors of a batch on their way to the host, in one piece: a GPU is waited for once.

    Whatever a batch leaves is added (`add`) while its passes are launched, and sent off (`begin`)
    when all of them are. The copy from a GPU goes to pinned memory while this process goes on; the
    first to read what it added waits for it. Numbers of 16 bits become float32.
    """

    def __init__(self) -> None:
        self._tensors: list[Tensor] = []
        self._arrays: list[np.ndarray] | None = None
        self._content: Tensor | None = None
        self._copied: torch.cuda.Event | None = None

    def add(self, tensors: Sequence[Tensor]) -> Later[list[np.ndarray]]:
        """Add tensors to the copy.

        Parameters
        ----------
        tensors : sequence of Tensor
            On one device.

        Returns
        -------
        callable
            Gives them as arrays, once `begin` was called; it waits for the copy.
        """
        start, half = len(self._tensors), (torch.float16, torch.bfloat16)
        self._tensors += [x.float() if x.dtype in half else x for x in tensors]
        end = len(self._tensors)
        return lambda: self.arrays()[start:end]

    def begin(self) -> None:
        """Begin to copy what was added."""
        if all(map(is_on_host, self._tensors)):
            return
        content = torch.cat([_bytes(x) for x in self._by_width()])
        if content.device.type == "cuda":
            self._content = torch.empty(content.shape, dtype=torch.uint8, pin_memory=True)
            self._content.copy_(content, non_blocking=True)
            self._copied = torch.cuda.Event()
            self._copied.record(torch.cuda.current_stream(content.device))
        else:
            self._content = content.cpu()
        # What remains is to know what the bytes are of, without holding memory of the device.
        self._tensors = [torch.empty_like(x, device="meta") for x in self._tensors]

    def arrays(self) -> list[np.ndarray]:
        """Wait for the copy, and return the tensors in the order in which they were added."""
        if self._arrays is None:
            self._arrays = self._read()
            self._tensors, self._content = [], None
        return self._arrays

    def _by_width(self) -> list[Tensor]:
        """Return the widest first, so that the bytes of each begin where its type may."""
        return sorted(self._tensors, key=lambda tensor: -tensor.element_size())

    def _read(self) -> list[np.ndarray]:
        content = self._content
        if content is None:
            return [tensor.numpy() for tensor in self._tensors]
        if self._copied is not None:
            self._copied.synchronize()
            content = content.clone()  # pinned memory is scarce, and arrays may be kept
        arrays, start = {}, 0
        for tensor in self._by_width():
            part = content[start : start + tensor.numel() * tensor.element_size()]
            arrays[id(tensor)] = part.view(tensor.dtype).reshape(tensor.shape).numpy()
            start += len(part)
        return [arrays[id(tensor)] for tensor in self._tensors]


def _bytes(tensor: Tensor) -> Tensor:
    """Return the bytes of a tensor in order, uint8; its own memory where that has the order."""
    # A column of one row counts as contiguous whatever its stride, which a view as bytes refuses:
    # the last dimension, added here, has a stride of 1.
    return tensor.contiguous().reshape(-1).unsqueeze(-1).view(torch.uint8).reshape(-1)


@dataclass(frozen=True)
class Batch:
    """Preprocessed images of one size.

    Parameters
    ----------
    inputs : Tensor of shape (N, 3, H, W)
        On the device of the model.
    samples : list of DetDataSample
        With the size and scale of each, by which boxes return to its pixels.
    copy : HostCopy
        To which is added what passes over the batch leave.
    """

    inputs: Tensor
    samples: list[Any]
    copy: HostCopy = field(default_factory=HostCopy)


def to_host(tensors: Sequence[Tensor]) -> list[np.ndarray]:
    """Copy tensors to the host in one piece, and wait for them.

    Parameters
    ----------
    tensors : sequence of Tensor
        On one device; numbers of 16 bits become float32.
    """
    copy = HostCopy()
    arrays = copy.add(tensors)
    copy.begin()
    return arrays()


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Return a tensor of the host on a device; a GPU reads pinned memory, so nobody waits for it.

    A copy from other memory waits until the GPU has done all that was asked of it before.

    Parameters
    ----------
    tensor : Tensor
        In memory of the host.
    device : torch.device
        Where it goes.
    """
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def predict(model: BaseDetector, batch: Batch) -> Later[list[Detections]]:
    """Run mmdet's ``predict`` on a batch.

    Parameters
    ----------
    model : BaseDetector
        Of mmdet.
    batch : Batch
        Its copy begins later, see `HostCopy.begin`.

    Returns
    -------
    callable
        Waits for the batch's copy to the host, and gives the `Detections` of each image, boxes xyxy
        in pixels of the original image.

    Raises
    ------
    InputError
        If the model gives no boxes.
    """
    results = [_columns(model, result) for result in model.predict(batch.inputs, batch.samples)]
    added = batch.copy.add([column for image in results for column in image])

    def boxes() -> list[Detections]:
        columns = added()
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
    # SOLO, which has no head for boxes, leaves them at 0; others are not asked, for the answer
    # would have to wait for the device.
    if "masks" in instances and not model.with_bbox and not boxes.any():
        from mmdet.structures.mask import mask2bbox

        boxes = mask2bbox(instances.masks)
    return boxes, instances.scores, instances.labels


@contextmanager
def wrapped(
    owner: Any, name: str, around: Callable[[Callable, BoundArguments], Any]
) -> Iterator[None]:
    """Let calls of ``owner.name(...)`` be ``around(original, call)`` while the body runs.

    Parameters
    ----------
    owner : Any
        A module or another object.
    name : str
        Of its method.
    around : callable
        Takes the original, and the call with its arguments, by name or position however they were
        given; ``perform(original, call)`` makes the call.
    """
    original, is_own = getattr(owner, name), name in vars(owner)

    def call(*args: object, **kwargs: object) -> Any:
        return around(original, inspect.signature(original).bind(*args, **kwargs))

    setattr(owner, name, call)
    try:
        yield
    finally:
        if is_own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)


def perform(function: Callable, call: BoundArguments) -> Any:
    """Call a function with some arguments.

    Parameters
    ----------
    function : callable
        That is called.
    call : BoundArguments
        Its arguments.
    """
    return function(*call.args, **call.kwargs)


class QuickPooling:
    """Runs the max poolings of stride 1 of a model with channels last.

    torch has a vectorised kernel for that layout alone. A maximum rounds nothing, so the numbers
    stay the same; the output comes back in the layout of the input. Only on a CPU.

    Parameters
    ----------
    model : nn.Module
        Whose poolings run so while the context is open.
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


def pool_channels_last(pool: Callable[[Tensor], Tensor], call: BoundArguments) -> Tensor:
    """Pool a tensor with its channels last, and return it laid out as it was.

    Parameters
    ----------
    pool : callable
        The pooling itself.
    call : BoundArguments
        Of a tensor (N, C, H, W).
    """
    (x,) = call.args
    if x.device.type != "cpu" or not x.is_contiguous():
        return pool(x)
    return pool(x.contiguous(memory_format=torch.channels_last)).contiguous()
