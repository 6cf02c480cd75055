"""torchvision's compiled ops, where torchvision imports and works."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch


@cache
def torchvision_ops(device_type: str) -> Any | None:
    """Return ``torch.ops.torchvision`` when it works for tensors on this kind of device, else None.

    A torchvision built for another torch may fail to import with a RuntimeError, or import and then
    lack its kernels; a trial call on one box finds out.
    """
    try:
        import torchvision  # noqa: F401

        box = torch.tensor([[0.0, 0.0, 1.0, 1.0]], device=device_type)
        torch.ops.torchvision.nms(box, box[:, 3], 0.5)
    except (ImportError, RuntimeError, AttributeError):
        return None
    return torch.ops.torchvision
