"""Whether a model has modules whose operators are not there, before any image is read."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Collection

from torch import nn

from autoeval.errors import InputError


class MissingOperator(InputError):
    """An operator of mmcv that the stand-in does not supply."""


def check_needs(model: nn.Module, supplied: Collection[str]) -> None:
    """Raise `MissingOperator` if a module of a model calls an operator that is not supplied.

    Parameters
    ----------
    model : Module
    supplied : collection of str
        Names of operators, as in ``mmcv._ext``.
    """
    for name, module in model.named_modules():
        lacking = sorted(operators_of(type(module)) - set(supplied))
        if lacking:
            raise MissingOperator(
                f"{type(module).__name__} ('{name}') needs the operator "
                f"{' and '.join(lacking)} of a compiled mmcv, and this mmcv has none: compile mmcv "
                "(docs/how-to/mmdet-without-compiling.md), or choose a config without this module."
            )


def operators_of(kind: type) -> set[str]:
    """Return the operators that the file of a class of ``mmcv.ops`` calls, none for others."""
    if not kind.__module__.startswith("mmcv.ops."):
        return set()
    return set(re.findall(r"ext_module\.(\w+)", inspect.getsource(sys.modules[kind.__module__])))
