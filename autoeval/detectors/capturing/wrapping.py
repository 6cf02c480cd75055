"""Functions and methods wrapped for the length of one call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from types import ModuleType
from typing import Any


@contextmanager
def wrapped(owner: Any, name: str, around: Callable) -> Iterator[None]:
    """Let calls of ``owner.name(...)`` be ``around(original, ...)`` while the body runs.

    Parameters
    ----------
    owner : object
        A module of Python or of torch.
    name : str
        A function or a method of it.
    around : callable
        Takes the original and the arguments of a call.
    """
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
