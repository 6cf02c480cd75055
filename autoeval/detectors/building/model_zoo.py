"""Pretrained backbones that stock configs name as ``torchvision://``, without torchvision.

mmengine asks torchvision for the addresses of its models, although it carries a list of them.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import torch

from autoeval.detectors.building.checkpoints import find_checkpoint
from autoeval.errors import InputError

PREFIXES = ("modelzoo://", "torchvision://")


def register_model_zoo() -> bool:
    """Let mmengine find ``torchvision://NAME`` in torch's hub cache, or download it there.

    Returns
    -------
    bool
        True where it now does so, False where torchvision is installed, which stays in charge.
    """
    if importlib.util.find_spec("torchvision") is not None:
        return False
    from mmengine.runner.checkpoint import CheckpointLoader

    CheckpointLoader.register_scheme(PREFIXES, load_from_torchvision, force=True)
    return True


def load_from_torchvision(filename: str, map_location: Any = None) -> dict[str, torch.Tensor]:
    """Load the weights of a model of torchvision's.

    Parameters
    ----------
    filename : str
        Such as ``torchvision://resnet50``.
    map_location
        As in ``torch.load``.

    Raises
    ------
    InputError
        If no model has that name, or it is not in the cache and cannot be downloaded.
    """
    address = find_address(filename)
    try:
        path = find_checkpoint(address)
    except InputError as error:
        place = Path(torch.hub.get_dir()) / "checkpoints" / Path(address).name
        raise InputError(
            f"The config asks for {filename}, and {address} cannot be downloaded. Put that file at "
            f"{place}, or name a file of your own in the config's `init_cfg`."
        ) from error
    return torch.load(path, map_location=map_location, weights_only=True)


def find_address(filename: str) -> str:
    """Look a model up in mmengine's list of torchvision's addresses.

    Parameters
    ----------
    filename : str
        Such as ``torchvision://resnet50``.

    Raises
    ------
    InputError
        If no model has that name.
    """
    import mmengine

    models = json.loads((Path(mmengine.__path__[0]) / "hub/torchvision_0.12.json").read_text())
    name = filename.partition("://")[2]
    if name not in models:
        raise InputError(
            f"torchvision has no model {name!r}: expected one of {', '.join(sorted(models))}."
        )
    return models[name]
