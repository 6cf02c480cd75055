"""A GPU to be pretended on a processor: what would fail there fails, and launches are counted.

A tensor of the card claims the device ``cuda:0`` and holds one of the processor, on which each
operation runs. Operands on both sides are refused as CUDA refuses them.
"""

from contextlib import contextmanager
from types import SimpleNamespace
from unittest import mock

import numpy as np
import torch
from device_waits import WAITING
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

CARD = torch.device("cuda", 0)
HOST = torch.device("cpu")
READS = {"item", "tolist", "__int__", "__float__", "__bool__", "__index__"}
GUARDED = {  # methods that switch to the device of a tensor before they call the operation
    "copy_": torch.ops.aten.copy_.default,
    "nonzero": torch.ops.aten.nonzero.default,
    "__invert__": torch.ops.aten.bitwise_not.default,
}
CONTIGUOUS = {"memory_format": torch.contiguous_format}
COPIES = {"aten::_to_copy", "aten::copy_"}
ALLOCATIONS = {"aten::empty", "aten::empty_like", "aten::new_empty", "aten::empty_strided"}


class CardTensor(torch.Tensor):
    """A tensor that claims to be on the card; `inner` is where its numbers are."""

    @staticmethod
    def __new__(cls, inner):
        layout = {"strides": inner.stride(), "storage_offset": inner.storage_offset()}
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), **layout, dtype=inner.dtype, device=CARD, requires_grad=False
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return Card.current.run(function, args, kwargs or {})


class Card(TorchDispatchMode):
    """Runs operations of the card, and counts `launches` and `waits`.

    waited: how often which operation waited. most: samples that a convolution takes before memory
    runs out.
    """

    current = None

    def __init__(self, most=None):
        super().__init__()
        self.launches = self.waits = 0
        self.waited, self.most = {}, most
        self.pinned = set()

    @classmethod
    def _should_skip_dynamo(cls):
        """Nothing is compiled here: to keep a compiler out of each operation takes a tenth."""
        return False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return self.run(function, args, kwargs or {})

    def run(self, function, args, kwargs):
        """Run one operation, of the card or of the processor."""
        name = function._schema.name
        given = [*_leaves(args), *_leaves([*kwargs.values()])]
        tensors = [x for x in given if isinstance(x, torch.Tensor)]
        on_card = [x for x in tensors if isinstance(x, CardTensor)]
        devices = [x for x in given if isinstance(x, torch.device)]
        device = devices[0] if devices else None
        if kwargs.get("pin_memory") and device in (None, HOST):
            return self.pin(function(*args, **{**kwargs, "pin_memory": False}))
        to_card = device is not None and device.type == "cuda"
        if not on_card and not to_card:
            return function(*args, **kwargs)
        if function._can_decompose():  # in inference mode torch leaves it to whoever watches
            with self:
                return function.decompose(*args, **kwargs)
        self.check(name, function, tensors, on_card)
        self.count(name, function, args, kwargs, to_card)
        if to_card:
            kwargs = {**kwargs, "device": "cpu", "pin_memory": False}
            if "pin_memory" not in {argument.name for argument in function._schema.arguments}:
                del kwargs["pin_memory"]
        args_in = _each(_inner, args)
        found = function(*args_in, **{name: _each(_inner, x) for name, x in kwargs.items()})
        if any(of.alias_info is not None and of.alias_info.is_write for of in _returns(function)):
            return kwargs["out"] if "out" in kwargs else args[0]
        if device is not None and not to_card:
            return found
        return _each(lambda x: CardTensor(x) if type(x) is torch.Tensor else x, found)

    def pin(self, tensor):
        """Remember that the memory of a tensor of the processor is pinned."""
        if isinstance(tensor, CardTensor):
            raise RuntimeError("cannot pin 'torch.cuda.FloatTensor' only CPU memory can be pinned")
        self.pinned.add(tensor.untyped_storage().data_ptr())
        return tensor

    def check(self, name, function, tensors, on_card):
        """Refuse operands on both sides, but numbers, copies and indices."""
        other = [x for x in tensors if not isinstance(x, CardTensor) and x.ndim]
        if on_card and other and name not in COPIES and not name.startswith("aten::index"):
            raise RuntimeError(f"Expected all tensors to be on the same device, got two by {name}.")
        if self.most and name == "aten::convolution" and len(tensors[0]) > self.most:
            raise torch.OutOfMemoryError(f"{len(tensors[0])} samples")

    def count(self, name, function, args, kwargs, to_card):
        """Count a launch, and a wait where the host must know the result or memory is pageable."""
        views = [
            of.alias_info is not None and not of.alias_info.is_write for of in _returns(function)
        ]
        if name in ALLOCATIONS or (views and all(views)):
            return
        sources = [x for x in args if isinstance(x, torch.Tensor)]
        waits = name in WAITING
        if name == "aten::index":
            indices = [index for index in args[1] if index is not None]
            waits = any(x.dtype in (torch.bool, torch.uint8) for x in indices)
            waits |= any(not isinstance(x, CardTensor) for x in indices)
        elif name in COPIES and sources:
            host = [x for x in sources if not isinstance(x, CardTensor)]
            across = bool(host) or (
                name == "aten::_to_copy"
                and not to_card
                and "device" in kwargs
                and kwargs["device"] is not None
            )
            pinned = all(x.untyped_storage().data_ptr() in self.pinned for x in host) and bool(host)
            eager = kwargs.get("non_blocking") or (len(args) > 2 and args[2])
            waits = across and not (pinned and eager)
        self.note(name, waits=waits)

    def note(self, name, *, waits, launches=1):
        self.launches += launches
        if waits:
            self.waits += 1
            self.waited[name] = self.waited.get(name, 0) + 1

    def suppress(self, boxes, scores, threshold):
        """Suppress as torchvision does on a GPU: a sort, a kernel, and a read of what it marks."""
        from autoeval.detectors.ops.nms import _greedy

        self.note("nms", waits=True, launches=4)
        order = torch.sort(scores.inner, descending=True, stable=True).indices
        kept = _greedy(boxes.inner[order].numpy(), threshold, 0)
        return CardTensor(order[torch.from_numpy(kept)])


class Bindings(TorchFunctionMode):
    """Runs what torch without CUDA refuses before any operation, such as ``x[...]`` of the card."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs, name, card = kwargs or {}, getattr(function, "__name__", ""), Card.current
        of_card = bool(args) and isinstance(args[0], CardTensor)
        made = (
            name in ("tensor", "as_tensor") and torch.device(kwargs.get("device") or HOST) == CARD
        )
        if made or (of_card and name == "new_tensor"):
            data, like = (args[0], {}) if made else (args[1], {"dtype": args[0].dtype})
            options = like | {k: v for k, v in kwargs.items() if k == "dtype"}
            card.note(name, waits=True)
            return CardTensor(torch.tensor(data, **options))
        if name == "pin_memory":
            return card.pin(args[0].clone())
        if of_card and name in READS:
            card.note(name, waits=True)
            return function(args[0].inner)
        if of_card and name in GUARDED and not kwargs.get("as_tuple"):
            options = {k: v for k, v in kwargs.items() if k != "as_tuple"}
            return card.run(GUARDED[name], args, options)
        if of_card and name == "contiguous":
            return args[0] if args[0].inner.is_contiguous() else args[0].clone(**CONTIGUOUS)
        if not of_card or name not in ("__getitem__", "__setitem__"):
            return function(*args, **kwargs)
        keys = args[1] if isinstance(args[1], tuple) else (args[1],)
        chosen = [key for key in keys if isinstance(key, list | np.ndarray | torch.Tensor)]
        host = [key for key in chosen if not isinstance(key, CardTensor)]
        masks = [key for key in chosen if getattr(key, "dtype", None) in (torch.bool, torch.uint8)]
        if chosen or name == "__setitem__":
            card.note(name, waits=bool(host or masks))
        with torch._C.DisableTorchFunction():
            found = function(*_each(_inner, args))
        return CardTensor(found) if name == "__getitem__" else None


def _leaves(values):
    """Return what is in lists and tuples, however deep, in a tenth of the time of torch."""
    return [
        leaf
        for value in values
        for leaf in (_leaves(value) if isinstance(value, list | tuple) else (value,))
    ]


def _each(function, value):
    """Apply a function to what is in a value of lists and tuples, however deep."""
    if isinstance(value, list | tuple):
        return type(value)([_each(function, one) for one in value])
    return function(value)


def _inner(value):
    return value.inner if isinstance(value, CardTensor) else value


def _returns(function):
    return function._schema.returns


class Event:
    """Of a stream; the one to wait for it waits once."""

    def record(self, stream):
        pass

    def synchronize(self):
        Card.current.note("event", waits=True, launches=0)


@contextmanager
def pretend_card(most=None):
    """Pretend a card while the body runs; models go there by ``model.to("cuda:0")``."""
    from autoeval.detectors.ops import nms

    card = Card(most)
    library = SimpleNamespace(nms=lambda *found: card.suppress(*found))
    ours = nms.torchvision_ops
    patches = [
        mock.patch.object(torch.cuda, "_lazy_init", lambda: None),
        mock.patch.object(torch.cuda, "Event", Event),
        mock.patch.object(torch.cuda, "current_stream", lambda device=None: None),
        mock.patch.object(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False),
        mock.patch.object(
            nms, "torchvision_ops", lambda kind: library if kind == "cuda" else ours(kind)
        ),
    ]
    for patch in patches:
        patch.start()
    Card.current = card
    replaced = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        with card, Bindings():
            yield card
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(replaced)
        for patch in patches:
            patch.stop()
        Card.current = None
