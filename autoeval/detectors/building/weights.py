"""Putting a checkpoint's weights into a model, or saying why they do not fit."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path

from torch import Tensor, nn

from autoeval.errors import InputError

SHOWN = 3


def load_weights(model: nn.Module, weights: Mapping[str, Tensor], path: Path) -> None:
    """Fill a model with weights.

    Weights that the model has no place for are reported in a warning. (A published checkpoint may
    carry some, such as those of a mask head.)

    Parameters
    ----------
    model : Module
        Receives the weights.
    weights : mapping of str to Tensor
        By name; a leading ``module.`` is left out.
    path : Path
        The checkpoint, for messages.

    Raises
    ------
    InputError
        If weights are missing or of another shape.
    """
    given = {re.sub(r"^module\.", "", name): value for name, value in weights.items()}
    own = model.state_dict()
    bent = {
        name: f"{name} (checkpoint {tuple(given[name].shape)}, model {tuple(own[name].shape)})"
        for name in given.keys() & own.keys()
        if given[name].shape != own[name].shape
    }
    fitting = {name: value for name, value in given.items() if name not in bent}
    outcome = model.load_state_dict(fitting, strict=False)
    missing = [name for name in outcome.missing_keys if name not in bent]
    unexpected = outcome.unexpected_keys
    if missing or bent:
        raise InputError(
            f"The checkpoint {path} does not fit the config. Missing: {_some(missing)}; of another "
            f"shape: {_some(sorted(bent.values()))}; without a place: {_some(unexpected)}. "
            "Pass the config that the checkpoint was trained with."
        )
    if unexpected:
        warnings.warn(
            f"The checkpoint {path} has weights without a place in the model: {_some(unexpected)}.",
            stacklevel=2,
        )


def _some(names: Collection[str]) -> str:
    """Count names and show the first few."""
    shown = ", ".join(list(names)[:SHOWN])
    return f"{len(names)}" + (f" ({shown}{', ...' if len(names) > SHOWN else ''})" if names else "")
