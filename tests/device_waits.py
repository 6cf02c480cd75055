"""Finds, on a processor, what would make a process wait for a GPU."""

import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import autoeval

PACKAGE = str(Path(autoeval.__file__).parent)
OPERATORS = str(Path(PACKAGE, "detectors", "ops"))  # torchvision's run on a GPU
# Operations whose result, or its shape, has to be known on the host.
WAITING = {
    *("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal"),
    *("aten::nonzero", "aten::nonzero_numpy", "aten::argwhere", "aten::masked_select"),
    *("aten::_unique2", "aten::unique_dim", "aten::unique_consecutive"),
    *("aten::repeat_interleave",),
}


class DeviceWaits(TorchDispatchMode):
    """Notes what reads a tensor on the host, or copies to the device from memory not pinned.

    ours: where in this package, as ``capture.py:12 cpu``; framework: how many elsewhere.
    """

    def __init__(self):
        super().__init__()
        self.ours, self.framework = [], 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function._schema.name
        by_mask = name == "aten::index" and any(
            index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1]
        )
        if name in WAITING or by_mask:
            self.note(name)
        return function(*args, **(kwargs or {}))

    def note(self, name):
        """Note an operation by the line that called it."""
        frame = sys._getframe(1)
        while frame is not None:
            file = frame.f_code.co_filename
            if file != __file__ and f"{Path(torch.__file__).parent}" not in file:
                break
            frame = frame.f_back
        if file.startswith(PACKAGE) and not file.startswith(OPERATORS):
            self.ours.append(f"{Path(file).name}:{frame.f_lineno} {name}")
        else:
            self.framework += 1


class HostReads(TorchFunctionMode):
    """Notes calls that `DeviceWaits` cannot tell from others, or that leave no operation."""

    def __init__(self, waits):
        super().__init__()
        self.waits = waits

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, getattr(function, "__name__", "")
        if (
            name in ("cpu", "numpy", "tolist", "__array__")
            or (name == "to" and "cpu" in args[1:2])
            or (name in ("tensor", "as_tensor") and "device" in kwargs)
            or (name == "__getitem__" and is_host_index(args[1]))
        ):
            self.waits.note(name)
        return function(*args, **kwargs)


def is_host_index(key):
    """Whether elements are chosen by a list, which is copied to the device."""
    keys = key if isinstance(key, tuple) else (key,)
    return any(isinstance(each, list | np.ndarray) for each in keys)


@contextmanager
def device_waits():
    """Return what is noted while the body runs."""
    with DeviceWaits() as waits, HostReads(waits):
        yield waits
