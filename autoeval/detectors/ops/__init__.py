"""MMDetection without compiling mmcv: a stand-in for the extension module ``mmcv._ext``.

Any ``import mmcv.ops`` loads ``mmcv._ext`` and asks it for 112 functions. The stand-in answers
every name: with a working function for the few ops that the supported detectors use, and with one
that says what is missing for the rest. A compiled ``mmcv._ext`` is always left as it is.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import warnings
from collections.abc import Callable
from importlib import metadata
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from torch import nn

from autoeval.detectors.ops import carafe, deform_conv, focal_loss, nms, roi_align
from autoeval.detectors.ops.support import MissingOperator, torchvision_ops

__all__ = ["FUNCTIONS", "MissingOperator", "check_needs", "register", "torchvision_ops"]

NAME = "mmcv._ext"
DISTRIBUTIONS = ("mmcv", "mmcv-full", "mmcv-lite", "onedl-mmcv")
"""Distributions that install the folder ``mmcv``; each overwrites files of another."""

FUNCTIONS: dict[str, Callable] = {
    name: getattr(module, name)
    for module, names in (
        (carafe, ("carafe_backward", "carafe_forward")),
        (carafe, ("carafe_naive_backward", "carafe_naive_forward")),
        (carafe, ("ms_deform_attn_backward", "ms_deform_attn_forward")),
        (deform_conv, ("deform_conv_backward_input", "deform_conv_backward_parameters")),
        (deform_conv, ("deform_conv_forward", "masked_col2im_forward", "masked_im2col_forward")),
        (deform_conv, ("modulated_deform_conv_backward", "modulated_deform_conv_forward")),
        (focal_loss, ("sigmoid_focal_loss_backward", "sigmoid_focal_loss_forward")),
        (focal_loss, ("softmax_focal_loss_backward", "softmax_focal_loss_forward")),
        (nms, ("bbox_overlaps", "nms", "nms_match", "softnms")),
        (roi_align, ("deform_roi_pool_backward", "deform_roi_pool_forward")),
        (roi_align, ("roi_align_backward", "roi_align_forward")),
    )
    for name in names
}


class StandIn(ModuleType):
    """A module that has every op: the working ones of `FUNCTIONS`, and refusals for the rest."""

    def __init__(self) -> None:
        super().__init__(NAME, "Stand-in for mmcv's compiled ops.")
        self.__spec__ = ModuleSpec(NAME, loader=None)
        self.__dict__.update(FUNCTIONS)

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*args: Any, **kwargs: Any) -> NoReturn:
            raise MissingOperator(
                f"The operator {name} needs mmcv's compiled extension, and this mmcv has none: "
                "compile mmcv (docs/how-to/mmdet-without-compiling.md), or choose a model without "
                "it."
            )

        return refuse


def register() -> bool:
    """Put the stand-in where ``mmcv._ext`` belongs; False where a compiled one is, or no mmcv.

    Call it before anything imports ``mmcv.ops``, ``mmdet.apis`` or ``mmdet.models``; a second call
    changes nothing. Warns where two of `DISTRIBUTIONS` are installed.
    """
    if NAME in sys.modules:
        return isinstance(sys.modules[NAME], StandIn)
    _warn_of_two()
    if importlib.util.find_spec("mmcv") is None or importlib.util.find_spec(NAME) is not None:
        return False
    sys.modules[NAME] = StandIn()
    return True


def _warn_of_two() -> None:
    """Warn where two distributions have written the folder ``mmcv``."""
    names = [name for name in DISTRIBUTIONS if _is_installed(name)]
    if len(names) > 1:
        warnings.warn(
            f"{' and '.join(names)} are both installed, into one folder: files of the one that was "
            "installed last have overwritten those of the other, and a compiled mmcv may break. "
            f"Keep one: pip uninstall {' '.join(names)}, then install it again "
            "(docs/how-to/mmdet-without-compiling.md).",
            stacklevel=3,
        )


def _is_installed(distribution: str) -> bool:
    try:
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def check_needs(model: nn.Module) -> None:
    """Refuse a model that needs an operator which the stand-in does not supply.

    Parameters
    ----------
    model : nn.Module
        Of mmdet.

    Raises
    ------
    MissingOperator
        If it does, and no mmcv is compiled.
    """
    if not isinstance(sys.modules.get(NAME), StandIn):
        return
    for name, module in model.named_modules():
        lacking = sorted(_operators_of(type(module)) - FUNCTIONS.keys())
        if lacking:
            raise MissingOperator(
                f"{type(module).__name__} ('{name}') needs the operator "
                f"{' and '.join(lacking)} of a compiled mmcv, and this mmcv has none: compile mmcv "
                "(docs/how-to/mmdet-without-compiling.md), or choose a config without this module."
            )


def _operators_of(kind: type) -> set[str]:
    """Return the operators that the file of a class of ``mmcv.ops`` calls, none for others."""
    if not kind.__module__.startswith("mmcv.ops."):
        return set()
    return set(re.findall(r"ext_module\.(\w+)", inspect.getsource(sys.modules[kind.__module__])))
