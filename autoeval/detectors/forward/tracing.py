"""One run of a backbone, module by module: who ran when, what it read, and what it gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

#: Sides of the square images that a backbone is tried with: some take but one size.
SIDES = (256, 512, 224)

Mark = int | tuple[int, str, str]


@dataclass(eq=False)
class Call:
    """One call of a module.

    Parameters
    ----------
    name : str
        Of the module within the backbone.
    module : Module
    began : int
        Number of modules that had begun before it.
    read, gave : list of Tensor
        All tensors among its arguments, and in what it returned.
    ended : int
        Number of modules that had ended before it.
    found, left : set
        Marks of what it read and gave, by which the same values are known again.
    """

    name: str
    module: nn.Module
    began: int
    read: list[Tensor]
    gave: list[Tensor] = field(default_factory=list)
    ended: int = -1
    found: set[Mark] = field(default_factory=set)
    left: set[Mark] = field(default_factory=set)

    def stride(self, area: int) -> int | None:
        """Return the power of two by which its coarsest map is smaller than an image of an area.

        None where it gave no maps (N, C, H, W) or tokens (N, L, C).
        """
        counts = [_positions(each) for each in self.gave]
        if not counts or not all(counts):
            return None
        return round(torch.tensor(area / min(counts)).log2().item() / 2)

    def hands_to(self, other: Call) -> bool:
        """Say whether another call, begun later, read what this one gave."""
        return other.began > self.began and not self.left.isdisjoint(other.found)


@dataclass(frozen=True)
class Trace:
    """What ran in a backbone.

    Parameters
    ----------
    calls : list of Call
        Of modules that ran once, in the order they ended.
    area : int
        Of the image in pixels.
    results : set
        Marks of what the backbone returned.
    """

    calls: list[Call]
    area: int
    results: set[Mark]

    def goes_on(self, call: Call) -> bool:
        """Say whether another module reads what a call gave."""
        return any(call.hands_to(other) for other in self.calls)

    def is_result(self, call: Call) -> bool:
        """Say whether the backbone returned something that a call gave."""
        return not self.results.isdisjoint(call.left)


def trace(backbone: nn.Module) -> Trace:
    """Run a backbone on an image of noise, and list nothing if it takes none of `SIDES`."""
    for side in SIDES:
        try:
            return _trace(backbone, side)
        except Exception:  # whatever a backbone has against the size
            continue
    return Trace([], SIDES[0] ** 2, set())


@torch.no_grad()
def _trace(backbone: nn.Module, side: int) -> Trace:
    calls: list[Call] = []
    open_calls: list[Call] = []
    parameter = next(backbone.parameters(), torch.zeros(()))
    noise = torch.rand((1, 3, side, side), generator=torch.Generator().manual_seed(0))
    image = noise.to(parameter)

    def begin(name: str, module: nn.Module, inputs: Any) -> None:
        call = Call(name, module, len(calls) + len(open_calls), _tensors(inputs))
        call.found = _marks(call.read)
        open_calls.append(call)

    def end(output: Any) -> None:
        call = open_calls.pop()
        call.gave, call.ended = _tensors(output), len(calls)
        call.left = _marks(call.gave)
        calls.append(call)

    with ExitStack() as stack:
        for name, module in _parts(backbone):
            before = module.register_forward_pre_hook(lambda m, x, n=name: begin(n, m, x))
            after = module.register_forward_hook(lambda m, x, y: end(y))
            stack.callback(before.remove)
            stack.callback(after.remove)
        results = _marks(_tensors(backbone(image)))
    times = Counter(call.name for call in calls)
    return Trace([call for call in calls if times[call.name] == 1], side**2, results)


def _parts(backbone: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yield all modules within a backbone by name, but lists, which nobody calls."""
    for name, module in backbone.named_modules():
        if name and not isinstance(module, nn.ModuleList | nn.ModuleDict):
            yield name, module


def _tensors(values: Any) -> list[Tensor]:
    """Return the tensors in nested lists and tuples."""
    if isinstance(values, Tensor):
        return [values]
    if isinstance(values, list | tuple):
        return [tensor for value in values for tensor in _tensors(value)]
    return []


def _positions(maps: Tensor) -> int:
    """Return the number of places of a map (N, C, H, W) or of tokens (N, L, C), else 0."""
    if maps.ndim == 4:
        return maps.shape[2] * maps.shape[3]
    return maps.shape[1] if maps.ndim == 3 else 0


def _marks(tensors: list[Tensor]) -> set[Mark]:
    """Mark tensors by their memory, and by sums that stay when values are rearranged."""
    marks: set[Mark] = set()
    for each in tensors:
        values = each.detach().double()
        marks |= {
            each.untyped_storage().data_ptr(),
            (each.numel(), f"{values.abs().sum():.8e}", f"{values.square().sum():.8e}"),
        }
    return marks
