"""Functions watched wherever they are used, and errors of watching noted instead of raised."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from types import ModuleType

import torch

from autoeval.detectors.causes import first_line
from autoeval.detectors.quick_pooling import wrapped


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
