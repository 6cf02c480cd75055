"""A short name for a description of a detector."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

FINGERPRINT_LENGTH = 16


def fingerprint(settings: Mapping[str, Any]) -> str:
    """Shorten a description to a name, different for every difference in it."""
    return hash_json(dict(settings))[:FINGERPRINT_LENGTH]


def hash_json(content: Any) -> str:
    """Return the SHA-256 of the canonical JSON text of ``content``."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def hash_weights(model: nn.Module) -> str:
    """Return the SHA-256 of all parameters and buffers: names, types, shapes and bytes."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
