"""Functions wrapped for the length of one call, and errors of watching noted instead of raised."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from autoeval.detectors.causes import first_line


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


@contextmanager
def wrapped_everywhere(function: Callable, around: Callable) -> Iterator[None]:
    """Wrap a function under its own name in every Python module that has imported it."""
    with ExitStack() as stack:
        for module in _users(function, len(sys.modules)):
            stack.enter_context(wrapped(module, function.__name__, around))
        yield


@lru_cache
def _users(function: Callable, n_modules: int) -> list[ModuleType]:
    """List the modules that hold a function; searched again when there are more modules."""
    name, modules = function.__name__, list(sys.modules.values())
    return [module for module in modules if getattr(module, "__dict__", {}).get(name) is function]


class CaptureFailures:
    """What went wrong with watching a model, which itself has gone on: different `reasons`."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    @contextmanager
    def around(self) -> Iterator[None]:
        """Note an error of the body instead of raising it; memory that runs out is raised."""
        try:
            yield
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # the body meets heads that nobody has seen
            reason = f"{type(error).__name__}: {first_line(error)}"
            if reason not in self.reasons:
                self.reasons.append(reason)

    def __str__(self) -> str:
        return f" ({'; '.join(self.reasons)})" if self.reasons else ""


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
