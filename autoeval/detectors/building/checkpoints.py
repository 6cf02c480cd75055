"""Checkpoint files: found, read without running what they contain, and put into a model."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import pickle
import re
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import numpy as np
import torch
from torch import Tensor, nn

from autoeval.errors import DownloadError, InputError

STATISTICS = ("current", "max", "mean", "min")
SHOWN = 3
PREFIXES = ("modelzoo://", "torchvision://")
HOLDERS = ("state_dict", "model", "model_state_dict")
WRAPPED = re.compile(r"^(module|model|_orig_mod)\.")
"""What a wrapper around the detector puts before the names of its weights."""
HASHED = re.compile(r"-([a-f0-9]{8,})\.")
"""The hash in the name of a file that is published; ``epoch-12.pth`` has none."""


def find_checkpoint(source: str) -> Path:
    """Return the local file of a checkpoint, downloading it from an address.

    Downloads go to torch's hub cache. A file whose name has a hash is checked against it, and lies
    where mmengine looks for it and leaves it, too; of any other the name is of its whole address.

    Parameters
    ----------
    source : str
        A path, or an address that begins with ``http://`` or ``https://``.

    Raises
    ------
    InputError
        If there is no such file; a `DownloadError` if it cannot be fetched.
    """
    if re.match(r"https?://", source):
        return _download(source)
    path = Path(source).expanduser()
    if not path.is_file():
        raise InputError(f"No checkpoint file {path}: check the path given as --checkpoint.")
    return path


def _download(address: str) -> Path:
    name = Path(urlparse(address).path).name
    hash_in_name = HASHED.search(name)
    if hash_in_name is None:  # the ``best.pth`` of another training is another file
        name = f"{hashlib.sha256(address.encode()).hexdigest()[:8]}_{name}"
    path = Path(torch.hub.get_dir()) / "checkpoints" / name
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        torch.hub.download_url_to_file(
            address, str(path), hash_in_name.group(1) if hash_in_name else None
        )
    except (OSError, RuntimeError) as error:
        raise DownloadError(
            f"Cannot download {address} ({error}). Fetch it by other means and put it at {path}, "
            "or pass the file with --checkpoint FILE."
        ) from error
    return path


def read_checkpoint(path: Path, *, trust: bool = False) -> dict[str, Any]:
    """Read ``state_dict`` and ``meta`` of a file written by ``torch.save``.

    Weights stand under one of `HOLDERS`, as other trainers have it, or are all there is; of a file
    that is trusted and holds a whole network they are taken out of that.

    Parameters
    ----------
    path : Path
        The file.
    trust : bool
        Unpickle whatever it holds, which can run any code. Otherwise only tensors and the plain
        objects that OpenMMLab's checkpoints carry are accepted.

    Raises
    ------
    InputError
        If it cannot be read, holds something else, or more than is accepted.
    """
    try:
        with torch.serialization.safe_globals(harmless_types()):
            content = torch.load(path, map_location="cpu", weights_only=not trust)
    except pickle.UnpicklingError as error:
        raise InputError(_refusal(path, error)) from error
    except Exception as error:  # half a download may make any part of torch's reader fail
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"Cannot read the checkpoint {path} ({reason}).") from error
    if isinstance(content, nn.Module):
        content = content.state_dict()
    if not isinstance(content, Mapping):
        raise InputError(f"The checkpoint {path} holds {type(content).__name__}, not weights.")
    weights = next((content[key] for key in HOLDERS if _are_weights(content.get(key))), content)
    if not weights or not all(isinstance(value, torch.Tensor) for value in weights.values()):
        raise InputError(f"The checkpoint {path} has no weights under `state_dict`.")
    return {"state_dict": weights, "meta": content.get("meta") or {}}


def _are_weights(content: Any) -> bool:
    """Whether something read is a mapping of names to tensors."""
    return isinstance(content, Mapping) and all(isinstance(v, Tensor) for v in content.values())


def _refusal(path: Path, error: Exception) -> str:
    unsafe = re.search(r"GLOBAL (\S+)", str(error))
    reason = f"holds {unsafe.group(1)}" if unsafe else "cannot be read as plain weights"
    return (
        f"The checkpoint {path} {reason}; loading that could run code that the file brings along. "
        "If you trust where the file comes from, add --trust-checkpoint."
    )


def harmless_types() -> list[Any]:
    """List what OpenMMLab's checkpoints carry besides tensors; nothing without mmengine."""
    try:
        from mmengine.config import Config, ConfigDict
        from mmengine.logging import HistoryBuffer
    except ImportError:  # torchvision's checkpoints need none of them
        return []
    numpy_types = [np.ndarray, np.dtype, *{type(np.dtype(code)) for code in "?bBhHiIlLqQefdSUO"}]
    rebuild, scalar = np.zeros(1).__reduce__()[0], np.float64(0).__reduce__()[0]
    return [
        HistoryBuffer,
        Config,
        ConfigDict,
        *numpy_types,
        (rebuild, "numpy.core.multiarray._reconstruct"),
        (rebuild, "numpy._core.multiarray._reconstruct"),
        (scalar, "numpy.core.multiarray.scalar"),
        (scalar, "numpy._core.multiarray.scalar"),
        (_history_statistic, "builtins.getattr"),
    ]


def _history_statistic(owner: Any, name: str) -> Any:
    """Stand in for ``getattr`` where a pickled HistoryBuffer names its own methods."""
    from mmengine.logging import HistoryBuffer

    if owner is not HistoryBuffer or name not in STATISTICS:
        raise pickle.UnpicklingError("GLOBAL builtins.getattr")
    return getattr(owner, name)


def load_weights(model: nn.Module, weights: Mapping[str, Tensor], path: Path) -> None:
    """Fill a model with weights by name, without what wrappers put before it.

    Weights that the model has no place for, such as those of a mask head, are reported in a
    warning.

    Parameters
    ----------
    model : nn.Module
        Changed in place.
    weights : mapping of str to Tensor
        By name.
    path : Path
        Where they are from, for messages.

    Raises
    ------
    InputError
        If weights are missing, of another shape, or not finite.
    """
    of_model = model.state_dict()
    tensors = {_unwrapped(name, of_model): value for name, value in weights.items()}
    broken = [n for n, v in tensors.items() if v.is_floating_point() and not v.isfinite().all()]
    if broken:
        raise InputError(
            f"The checkpoint {path} has weights that are not finite: {_some(broken)}. Its training "
            "diverged: take an earlier checkpoint."
        )
    bent = {
        name: f"{name} (checkpoint {tuple(tensors[name].shape)}, "
        f"model {tuple(of_model[name].shape)})"
        for name in tensors.keys() & of_model.keys()
        if tensors[name].shape != of_model[name].shape
    }
    fitting = {name: value for name, value in tensors.items() if name not in bent}
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


def _unwrapped(name: str, model_names: Collection[str]) -> str:
    """Return the name of a weight without what wrappers have put before it."""
    while name not in model_names and WRAPPED.match(name):
        name = WRAPPED.sub("", name)
    return name


def _some(names: Collection[str]) -> str:
    """Count names and show the first few."""
    shown = ", ".join(list(names)[:SHOWN])
    return f"{len(names)}" + (f" ({shown}{', ...' if len(names) > SHOWN else ''})" if names else "")


def register_model_zoo() -> bool:
    """Let mmengine find ``torchvision://NAME`` in torch's hub cache, or download it there.

    False where torchvision is installed, which stays in charge.
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
    map_location : Any, optional
        Of ``torch.load``.

    Raises
    ------
    InputError
        If no model has that name, or it is neither in the cache nor downloaded.
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
    """Look up an address in mmengine's list of torchvision's weights.

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
