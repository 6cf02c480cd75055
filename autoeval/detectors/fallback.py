"""The stages of a backbone whose family is not known, to be perturbed by hooks."""

from __future__ import annotations

from torch import nn

from autoeval.detectors.dropout_spec import N_STAGES
from autoeval.detectors.stages import HookPoints
from autoeval.errors import InputError

#: Attributes under which backbones commonly keep their stages, as modules or as their names.
STAGE_LISTS = ("res_layers", "stages", "cr_blocks", "layers", "blocks")


def guess_hook_points(backbone: nn.Module) -> HookPoints:
    """Guess the stages: the last four of the modules that the backbone lists in its order.

    Raises
    ------
    InputError
        If there is no such list.
    """
    for name in STAGE_LISTS:
        listed = getattr(backbone, name, None)
        if isinstance(listed, nn.ModuleList | nn.Sequential | list | tuple):
            modules = [
                getattr(backbone, item) if isinstance(item, str) else item for item in listed
            ]
            last = tuple(m for m in modules if _is_run(m))[-N_STAGES:]
            if last:
                return HookPoints(last, last)
    raise InputError(
        f"Cannot find the stages of the backbone {type(backbone).__name__}: it has none of "
        f"{', '.join(STAGE_LISTS)}. Feature dropout works with ResNet, ResNeXt, RegNet, Swin, "
        "MobileNetV2, CSPDarknet, CSPNeXt and backbones that list their stages."
    )


def _is_run(item: object) -> bool:
    """Say whether an item is a module that is called as a whole, as lists of modules are not."""
    return isinstance(item, nn.Module) and not isinstance(item, nn.ModuleList)
