"""Max pooling of spatial pyramids in the memory layout that suits a CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn

from autoeval.detectors.capturing.wrapping import wrapped


class QuickPooling:
    """Runs the max poolings of stride 1 of a model with channels last.

    torch has a vectorised kernel for that layout alone. A maximum rounds nothing, so the numbers
    stay the same; the output comes back in the layout of the input. Only on a CPU.

    Parameters
    ----------
    model : Module
        Its poolings are looked up once.
    """

    def __init__(self, model: nn.Module) -> None:
        self._poolings = [m for m in model.modules() if isinstance(m, nn.MaxPool2d) and _slides(m)]

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


def _slides(pool: nn.MaxPool2d) -> bool:
    return pool.stride == 1 and not pool.return_indices
