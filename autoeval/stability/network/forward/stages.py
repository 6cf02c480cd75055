"""The stages of a backbone: as a chain of layers, as modules that are named, or as found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from autoeval.errors import InputError
from autoeval.stability.network.forward.dropout_spec import N_STAGES, DropoutSpec
from autoeval.words import listed_near

Layer = Callable[[Tensor], Tensor]
# Sides of the square images that a backbone is tried with: some take but one size.
SIDES = (256, 512, 224)
Mark = int | tuple[int, str, str]
# Attributes under which backbones commonly keep their stages, as modules or as their names.
STAGE_LISTS = ("res_layers", "stages", "cr_blocks", "layers", "blocks")
# Strides of the four stages, as powers of two.
STRIDES = (2, 3, 4, 5)
ENOUGH = 3


@dataclass(frozen=True)
class HookPoints:
    """The modules between which a backbone's stages lie.

    Parameters
    ----------
    entries : tuple of Module
        For each stage the one whose first argument is its input.
    exits : tuple of Module
        For each stage the one that returns its output.
    """

    entries: tuple[nn.Module, ...]
    exits: tuple[nn.Module, ...]

    def check(self, spec: DropoutSpec) -> None:
        """Refuse a dropout at a stage that the backbone lacks.

        Parameters
        ----------
        spec : DropoutSpec
            The dropout.

        Raises
        ------
        InputError
            If it names one.
        """
        lacking = [stage for stage in spec.stages if stage >= len(self.exits)]
        if lacking:
            raise InputError(
                f"The backbone has {len(self.exits)} stages, numbered from 0, so dropout at "
                f"{lacking} is impossible: choose other `stages`, or name more with --stages."
            )


@dataclass(frozen=True)
class Prefix:
    """What a backbone has computed when the first layer to be perturbed has just run.

    Parameters
    ----------
    layer : int
        Number of that layer.
    x : Tensor of shape (N, ...)
        Its untouched output.
    features : tuple of Tensor
        Those for the neck that earlier layers have given.
    """

    layer: int
    x: Tensor
    features: tuple[Tensor, ...]

    def stacked(self, times: int) -> Prefix:
        """Return it for the whole batch several times over.

        Parameters
        ----------
        times : int
            How often.
        """
        features = tuple(stack(feature, times) for feature in self.features)
        return Prefix(self.layer, stack(self.x, times), features)


def stack(x: Tensor, times: int) -> Tensor:
    """Return a tensor several times over; once it is no copy.

    Parameters
    ----------
    x : Tensor of shape (N, ...)
        The tensor.
    times : int
        How often.

    Returns
    -------
    Tensor of shape (times * N, ...)
    """
    return x if times == 1 else x.repeat(times, *[1] * (x.ndim - 1))


@dataclass(frozen=True)
class StagedBackbone:
    """The layers of a backbone in the order they run, and where its stages lie among them.

    Running the chain computes what the backbone's own ``forward`` does, with the same modules in
    the same order.

    Parameters
    ----------
    layers : tuple of callable
        Each takes what the one before returned.
    inputs, outputs : tuple of int
        For each stage the number of the layer whose output it reads, and of the layer that ends it.
    taps : mapping of int to callable
        For each layer whose output the neck reads, what turns it into a feature map.
    points : HookPoints
        The same stages in terms of modules.
    """

    layers: tuple[Layer, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    taps: Mapping[int, Layer]
    points: HookPoints

    def forward(
        self, images: Tensor, keep: Collection[int] = ()
    ) -> tuple[tuple[Tensor, ...], dict[int, Prefix]]:
        """Run the whole chain.

        Parameters
        ----------
        images : Tensor of shape (N, 3, H, W)
            Preprocessed.
        keep : collection of int
            Numbers of the layers at which a prefix is kept, see `first_layer`.

        Returns
        -------
        features : tuple of Tensor
            For the neck.
        prefixes : dict of int to Prefix
            By layer.
        """
        x, prefixes = images, {}
        features: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            x = layer(x)
            if number in keep:
                prefixes[number] = Prefix(number, x, tuple(features))
            if number in self.taps:
                features.append(self.taps[number](x))
        return tuple(features), prefixes

    def stage_at(self, layer: int, spec: DropoutSpec) -> int | None:
        """Return the stage at which a dropout perturbs the output of a layer; None if it does not.

        One layer may end a stage and begin the next; ``spec.position`` says which is meant.

        Parameters
        ----------
        layer : int
            Number of the layer.
        spec : DropoutSpec
            The dropout.
        """
        return next((s for s in spec.stages if self._place(spec)[s] == layer), None)

    def first_layer(self, spec: DropoutSpec) -> int:
        """Return the number of the first layer whose output a dropout perturbs.

        Parameters
        ----------
        spec : DropoutSpec
            The dropout.

        Raises
        ------
        InputError
            If the backbone lacks a stage.
        """
        self.points.check(spec)
        return min(self._place(spec)[stage] for stage in spec.stages)

    def _place(self, spec: DropoutSpec) -> tuple[int, ...]:
        return self.outputs if spec.position == "after" else self.inputs


def whole(x: Tensor) -> Tensor:
    """Return a layer's output as it is: the tap of all convolutional families.

    Parameters
    ----------
    x : Tensor
        The output.
    """
    return x


def chain_of_modules(
    stem: Sequence[Layer], stages: Sequence[Sequence[nn.Module]], taps: Sequence[int]
) -> StagedBackbone:
    """Make a chain of modules in which every stage's output is the next one's input.

    Parameters
    ----------
    stem : sequence of callable
        Layers before the first stage.
    stages : sequence of sequence of nn.Module
        Layers of each stage.
    taps : sequence of int
        Numbers of the layers that the neck reads, counted over stem and stages.
    """
    ends = []
    layers = list(stem)
    for stage in stages:
        layers += stage
        ends.append(len(layers) - 1)
    return StagedBackbone(
        tuple(layers),
        inputs=(len(stem) - 1, *ends[:-1]),
        outputs=tuple(ends),
        taps=dict.fromkeys(taps, whole),
        points=HookPoints(tuple(s[0] for s in stages), tuple(s[-1] for s in stages)),
    )


def hook_points(network: Any, names: Sequence[str]) -> HookPoints:
    """Find modules of a network by their names, or unambiguous ends of these.

    Parameters
    ----------
    network : torch.nn.Module
        Of any framework.
    names : sequence of str
        Whole names, or ends of them behind a dot.

    Raises
    ------
    InputError
        If a name fits no module or several, a module is named twice, or there are not one to four.
    """
    modules = dict(network.named_modules())
    if not 0 < len(names) <= N_STAGES:
        raise InputError(f"Expected one to {N_STAGES} stages but got {len(names)}.")
    chosen = []
    for name in names:
        fitting = [name] if name in modules else [m for m in modules if m.endswith(f".{name}")]
        if len(fitting) != 1 or not name:
            candidates = fitting or [module for module in modules if module]
            raise InputError(
                f"Expected the name of one module of {type(network).__name__} as a stage but "
                f"{name!r} fits {len(fitting)}: {listed_near([name], candidates)}."
            )
        if modules[fitting[0]] in chosen:
            raise InputError(
                f"Expected different modules as stages but {name!r} is there twice: its features "
                "would be dropped as often."
            )
        chosen.append(modules[fitting[0]])
    return HookPoints(tuple(chosen), tuple(chosen))


@dataclass(eq=False)
class Call:
    """One call of a module while a backbone is traced.

    Parameters
    ----------
    name : str
        Of the module within the backbone.
    module : Module
        The module.
    began, ended : int
        How many modules had begun before it, and ended before it ended.
    read, gave : list of Tensor
        All tensors among its arguments, and in what it returned.
    read_marks, gave_marks : set
        Their marks, by which the same values are known again; see `_marks`.
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

        Parameters
        ----------
        area : int
            Pixels of the image.
        """
        counts = [_positions(maps) for maps in self.gave]
        if not counts or not all(counts):
            return None
        return round(torch.tensor(area / min(counts)).log2().item() / 2)

    def hands_to(self, later_call: Call) -> bool:
        """Return whether another call, begun later, read what this one gave.

        Parameters
        ----------
        later_call : Call
            Of the same trace.
        """
        return later_call.began > self.began and not self.gave_marks.isdisjoint(
            later_call.read_marks
        )


@dataclass(frozen=True)
class Trace:
    """What ran in a backbone on an image of noise.

    Parameters
    ----------
    calls : list of Call
        Of modules that ran once, in the order they ended.
    area : int
        Pixels of the image.
    results : set
        Marks of what the backbone returned.
    """

    calls: list[Call]
    area: int
    results: set[Mark]

    def goes_on(self, call: Call) -> bool:
        """Return whether another module reads what a call gave.

        Parameters
        ----------
        call : Call
            Of this trace.
        """
        return any(call.hands_to(later_call) for later_call in self.calls)

    def is_result(self, call: Call) -> bool:
        """Return whether the backbone returned something that a call gave.

        Parameters
        ----------
        call : Call
            Of this trace.
        """
        return not self.results.isdisjoint(call.gave_marks)


def trace(backbone: nn.Module) -> Trace:
    """Run a backbone on an image of noise; the list is empty if it takes none of `SIDES`.

    Parameters
    ----------
    backbone : nn.Module
        Takes images (1, 3, H, W).
    """
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

    Parameters
    ----------
    backbone : nn.Module
        Of any kind.

    Raises
    ------
    InputError
        If neither finds any.
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


def by_resolution(backbone: nn.Module) -> HookPoints | None:
    """Take for each stride the module that ends the work there; None without any.

    Parameters
    ----------
    backbone : nn.Module
        Of any kind.
    """
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
