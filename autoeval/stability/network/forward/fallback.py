"""The stages of a backbone whose family is not known, to be perturbed by hooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from autoeval.errors import InputError
from autoeval.stability.network.forward.dropout_spec import N_STAGES
from autoeval.stability.network.forward.stages import HookPoints

#: Sides of the square images that a backbone is tried with: some take but one size.
SIDES = (256, 512, 224)

Mark = int | tuple[int, str, str]
#: Attributes under which backbones commonly keep their stages, as modules or as their names.
STAGE_LISTS = ("res_layers", "stages", "cr_blocks", "layers", "blocks")

#: Strides of the four stages, as powers of two.
STRIDES = (2, 3, 4, 5)
ENOUGH = 3


@dataclass(eq=False)
class Call:
    """One call of a module, by its name within the backbone.

    `began` modules had begun before it and `ended` ones had ended; `read` and `gave` are all
    tensors among its arguments and in what it returned, `read_marks` and `gave_marks` their marks,
    by which the same values are known again.
    """

    name: str
    module: nn.Module
    began: int
    read: list[Tensor]
    gave: list[Tensor] = field(default_factory=list)
    ended: int = -1
    read_marks: set[Mark] = field(default_factory=set)
    gave_marks: set[Mark] = field(default_factory=set)

    def stride(self, area: int) -> int | None:
        """Return the power of two by which its coarsest map is smaller than an image of an area.

        None where it gave no maps (N, C, H, W) or tokens (N, L, C).
        """
        counts = [_positions(maps) for maps in self.gave]
        if not counts or not all(counts):
            return None
        return round(torch.tensor(area / min(counts)).log2().item() / 2)

    def hands_to(self, other: Call) -> bool:
        """Say whether another call, begun later, read what this one gave."""
        return other.began > self.began and not self.gave_marks.isdisjoint(other.read_marks)


@dataclass(frozen=True)
class Trace:
    """What ran in a backbone on an image of `area` pixels.

    `calls` are of modules that ran once, in the order they ended; `results` mark what it returned.
    """

    calls: list[Call]
    area: int
    results: set[Mark]

    def goes_on(self, call: Call) -> bool:
        """Say whether another module reads what a call gave."""
        return any(call.hands_to(other) for other in self.calls)

    def is_result(self, call: Call) -> bool:
        """Say whether the backbone returned something that a call gave."""
        return not self.results.isdisjoint(call.gave_marks)


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
        call.read_marks = _marks(call.read)
        open_calls.append(call)

    def end(output: Any) -> None:
        call = open_calls.pop()
        call.gave, call.ended = _tensors(output), len(calls)
        call.gave_marks = _marks(call.gave)
        calls.append(call)

    with ExitStack() as stack:
        for name, module in backbone.named_modules():
            if not name or isinstance(module, nn.ModuleList | nn.ModuleDict):
                continue  # lists are not called
            before = module.register_forward_pre_hook(lambda m, x, n=name: begin(n, m, x))
            after = module.register_forward_hook(lambda m, x, y: end(y))
            stack.callback(before.remove)
            stack.callback(after.remove)
        results = _marks(_tensors(backbone(image)))
    times = Counter(call.name for call in calls)
    return Trace([call for call in calls if times[call.name] == 1], side**2, results)


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
    for tensor in tensors:
        values = tensor.detach().double()
        marks |= {
            tensor.untyped_storage().data_ptr(),
            (tensor.numel(), f"{values.abs().sum():.8e}", f"{values.square().sum():.8e}"),
        }
    return marks


def guess_hook_points(backbone: nn.Module) -> HookPoints:
    """Find stages in any backbone: by the resolution of what its modules give, or by its lists.

    A trial run shows which module ends the work at each of the strides 4, 8, 16 and 32; of nested
    ones it is the outermost, of several the last whose output goes on within the backbone. Where
    fewer than three strides are found, the last four modules of a list of stages are taken, if
    there are more of those.
    """
    points = by_resolution(backbone)
    if points is None or len(points.exits) < ENOUGH:
        listed = _by_list(backbone)
        candidates = filter(None, (points, listed))
        points = max(candidates, key=lambda hook_points: len(hook_points.exits), default=None)
    if points is None:
        raise InputError(
            f"Cannot find the stages of the backbone {type(backbone).__name__}: no maps of strides "
            f"4 to 32, and none of {', '.join(STAGE_LISTS)}. Name modules of it with --stages "
            "NAME,NAME,..., or run without feature dropout: --repeats 0."
        )
    return points


def named_hook_points(backbone: nn.Module, names: Sequence[str]) -> HookPoints:
    """Take one to four modules by their names within the backbone as stages, or `InputError`."""
    modules = dict(backbone.named_modules())
    unknown = [name for name in names if name not in modules or not name]
    if unknown or not 0 < len(names) <= N_STAGES:
        few = ", ".join(name for name in modules if name and name.count(".") < 2)
        raise InputError(
            f"Expected one to {N_STAGES} modules of the backbone {type(backbone).__name__} as "
            f"stages, got {', '.join(names)}. It has {few}, and modules within these."
        )
    chosen = tuple(modules[name] for name in names)
    return HookPoints(chosen, chosen)


def by_resolution(backbone: nn.Module) -> HookPoints | None:
    """Take for each stride the module that ends the work there, None without any."""
    seen = trace(backbone)
    by_stride: dict[int | None, list[Call]] = {}
    for call in seen.calls:
        reads_image = any(t.ndim == 4 and t[0, 0].numel() == seen.area for t in call.read)
        # A call from the image to a whole pyramid is that of a backbone in another.
        if len(call.gave) < 2 or not reads_image:
            by_stride.setdefault(call.stride(seen.area), []).append(call)
    present = [stride for stride in STRIDES if stride in by_stride]
    exits = [_last(by_stride[stride], seen, stride == present[-1]) for stride in present]
    if not exits:
        return None
    return HookPoints(
        tuple(entry.module for entry in _entries(exits, seen)), tuple(call.module for call in exits)
    )


def _last(calls: list[Call], seen: Trace, is_last: bool) -> Call:
    """Choose among the calls of one stride that matter: the outermost, and the last of these."""
    going_on = [call for call in calls if seen.goes_on(call)]
    results = [call for call in calls if is_last and seen.is_result(call)]
    return min(results or going_on or calls, key=lambda call: (call.name.count("."), -call.ended))


def _entries(exits: list[Call], seen: Trace) -> list[Call]:
    """Return for each stage the call that reads what the stage before it gave, and hands it on."""
    entries = exits[:1]
    for before, call_out in pairwise(exits):
        readers = [c for c in seen.calls if before.hands_to(c) and c.ended <= call_out.ended]
        first = min(filter(seen.goes_on, readers), key=lambda call: call.began, default=call_out)
        entries.append(call_out if call_out in readers else first)
    return entries


def _by_list(backbone: nn.Module) -> HookPoints | None:
    """Take the last four modules of a list that the backbone keeps in its order."""
    for name in STAGE_LISTS:
        listed = getattr(backbone, name, None)
        if isinstance(listed, nn.ModuleList | nn.Sequential | list | tuple):
            items = [getattr(backbone, item) if isinstance(item, str) else item for item in listed]
            modules = [item for item in items if isinstance(item, nn.Module)]
            called = tuple(m for m in modules if not isinstance(m, nn.ModuleList))  # as a whole
            if called:
                return HookPoints(called[-N_STAGES:], called[-N_STAGES:])
    return None
