"""MMDetection without compiling mmcv: a stand-in for the extension module ``mmcv._ext``.

Any ``import mmcv.ops`` loads ``mmcv._ext`` and asks it for 112 functions. The stand-in answers
every name: with a working function for the few ops that the supported detectors use, and with one
that says what is missing for the rest. A compiled ``mmcv._ext`` is always left as it is.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType

from autoeval.detectors.ops.focal_loss import (
    sigmoid_focal_loss_backward,
    sigmoid_focal_loss_forward,
)
from autoeval.detectors.ops.hard_nms import nms
from autoeval.detectors.ops.roi_align import roi_align_backward, roi_align_forward
from autoeval.detectors.ops.soft_nms import softnms

NAME = "mmcv._ext"

FUNCTIONS: dict[str, Callable] = {
    "nms": nms,
    "softnms": softnms,
    "roi_align_forward": roi_align_forward,
    "roi_align_backward": roi_align_backward,
    "sigmoid_focal_loss_forward": sigmoid_focal_loss_forward,
    "sigmoid_focal_loss_backward": sigmoid_focal_loss_backward,
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
        return _refusal(name)


def register() -> bool:
    """Put the stand-in where ``mmcv._ext`` belongs, unless a compiled one is there.

    Call it before anything imports ``mmcv.ops``, ``mmdet.apis`` or ``mmdet.models``; a second call
    changes nothing.

    Returns
    -------
    bool
        True when the stand-in is in use, False when mmcv is compiled or absent.
    """
    if NAME in sys.modules:
        return isinstance(sys.modules[NAME], StandIn)
    if importlib.util.find_spec("mmcv") is None or importlib.util.find_spec(NAME) is not None:
        return False
    sys.modules[NAME] = StandIn()
    return True


def _refusal(name: str) -> Callable:
    def refuse(*args, **kwargs):
        raise NotImplementedError(
            f"The op '{name}' needs mmcv's compiled extension, and this mmcv has none. Without it "
            f"autoeval supplies {', '.join(sorted(FUNCTIONS))}. For a model that uses other ops, "
            "compile mmcv (see docs/mmdet-without-compiling.md)."
        )

    refuse.__name__ = name
    return refuse
