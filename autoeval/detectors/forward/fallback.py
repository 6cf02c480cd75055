"""The stages of a backbone whose family is not known, to be perturbed by hooks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from autoeval.detectors.forward.dropout_spec import N_STAGES
from autoeval.detectors.forward.stages import HookPoints
from autoeval.detectors.forward.tracing import Call, Trace, trace
from autoeval.errors import InputError

#: Attributes under which backbones commonly keep their stages, as modules or as their names.
STAGE_LISTS = ("res_layers", "stages", "cr_blocks", "layers", "blocks")

#: Strides of the four stages, as powers of two.
STRIDES = (2, 3, 4, 5)
ENOUGH = 3


def guess_hook_points(backbone: nn.Module) -> HookPoints:
    """Find stages in any backbone: by the resolution of what its modules give, or by its lists.

    A trial run tells which module ends the work at each of the strides 4, 8, 16 and 32; of nested
    ones it is the outermost, of several the last whose output goes on within the backbone. Where
    fewer than three strides are found, the last four modules of a list of stages are taken, if
    there are more of those.

    Raises
    ------
    InputError
        If neither finds anything.
    """
    found = by_resolution(backbone)
    if found is None or len(found.exits) < ENOUGH:
        listed = _by_list(backbone)
        found = max(filter(None, (found, listed)), key=lambda each: len(each.exits), default=None)
    if found is None:
        raise InputError(
            f"Cannot find the stages of the backbone {type(backbone).__name__}: no maps of strides "
            f"4 to 32, and none of {', '.join(STAGE_LISTS)}. Name modules of it with --stages "
            "NAME,NAME,..., or run without feature dropout: --repeats 0."
        )
    return found


def named_hook_points(backbone: nn.Module, names: Sequence[str]) -> HookPoints:
    """Take modules by their names within the backbone as stages.

    Raises
    ------
    InputError
        If there are none or more than four, or the backbone has no such module.
    """
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
        if not _is_all(call, seen.area):
            by_stride.setdefault(call.stride(seen.area), []).append(call)
    present = [stride for stride in STRIDES if stride in by_stride]
    exits = [_last(by_stride[stride], seen, stride == present[-1]) for stride in present]
    if not exits:
        return None
    return HookPoints(
        tuple(entry.module for entry in _entries(exits, seen)),
        tuple(call.module for call in exits),
    )


def _is_all(call: Call, area: int) -> bool:
    """Say whether a call goes from the image to a whole pyramid, as a backbone in another does."""
    return len(call.gave) > 1 and any(t.ndim == 4 and t[0, 0].numel() == area for t in call.read)


def _last(calls: list[Call], seen: Trace, is_last: bool) -> Call:
    """Choose among the calls of one stride that matter: the outermost, and the last of these."""
    going_on = [call for call in calls if seen.goes_on(call)]
    results = [call for call in calls if is_last and seen.is_result(call)]
    return min(results or going_on or calls, key=lambda call: (call.name.count("."), -call.ended))


def _entries(exits: list[Call], seen: Trace) -> list[Call]:
    """Return for each stage the call that reads what the stage before it gave, and hands it on."""
    entries = exits[:1]
    for before, own in pairwise(exits):
        readers = [c for c in seen.calls if before.hands_to(c) and c.ended <= own.ended]
        first = min(filter(seen.goes_on, readers), key=lambda call: call.began, default=own)
        entries.append(own if own in readers else first)
    return entries


def _by_list(backbone: nn.Module) -> HookPoints | None:
    """Take the last four modules of a list that the backbone keeps in its order."""
    for name in STAGE_LISTS:
        listed = getattr(backbone, name, None)
        if isinstance(listed, nn.ModuleList | nn.Sequential | list | tuple):
            modules = [
                getattr(backbone, item) if isinstance(item, str) else item for item in listed
            ]
            last = tuple(module for module in modules if _is_run(module))[-N_STAGES:]
            if last:
                return HookPoints(last, last)
    return None


def _is_run(item: object) -> bool:
    """Say whether an item is a module that is called as a whole, as lists of modules are not."""
    return isinstance(item, nn.Module) and not isinstance(item, nn.ModuleList)
