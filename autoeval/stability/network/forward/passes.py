"""Clean and perturbed passes of a model, ending in mmdet's own ``predict``.

A pass that starts from cached features lends the backbone a ``forward`` that returns them, for the
length of one call; neck, heads, proposals and post-processing are mmdet's, whether the detector has
one stage or two. A backbone whose family is not known is watched once, to find its stages, and
perturbed by hooks.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from autoeval.detections import Detections
from autoeval.detectors.predicting import Batch, Later, predict
from autoeval.errors import InputError
from autoeval.stability.network.forward.dropout import draw_uniform, drop_below, feature_dropout
from autoeval.stability.network.forward.dropout_spec import N_STAGES, DropoutSpec
from autoeval.stability.network.forward.stacked_boxes import predict_stack
from autoeval.stability.network.forward.stages import HookPoints, Prefix, StagedBackbone, stack

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

Features = tuple[Tensor, ...]
Prefixes = dict[int, Prefix]
# Sides of the square images that a backbone is tried with: some take but one size.
SIDES = (256, 512, 224)
Mark = int | tuple[int, str, str]
# Attributes under which backbones commonly keep their stages, as modules or as their names.
STAGE_LISTS = ("res_layers", "stages", "cr_blocks", "layers", "blocks")
# Strides of the four stages, as powers of two.
STRIDES = (2, 3, 4, 5)
ENOUGH = 3


def branches(
    staged: StagedBackbone, prefix: Prefix, specs: Sequence[DropoutSpec], seeds: Sequence[int]
) -> Iterator[tuple[DropoutSpec, Features]]:
    """Yield the features for the neck under each of several dropouts, as they are reached.

    Dropouts of one rate that agree up to some layer share all layers until there, and all share the
    random draws, so every result is what its dropout alone would have given, to the last bit.

    Parameters
    ----------
    staged : StagedBackbone
        The backbone.
    prefix : Prefix
        Lies at or before the first layer that any dropout perturbs.
    specs : sequence of DropoutSpec
        The dropouts.
    seeds : sequence of int
        Of the samples of the prefix.
    """
    yield from _descend(staged, prefix, specs, seeds, {})


def _descend(
    staged: StagedBackbone,
    at: Prefix,
    specs: Sequence[DropoutSpec],
    seeds: Sequence[int],
    draws: dict[tuple[int, torch.Size], Tensor],
) -> Iterator[tuple[DropoutSpec, Features]]:
    """Go on from where all of ``specs`` are still one, depth first: few feature maps live at once.

    `draws` are those of each stage so far, by its number and the shape of what is dropped: that is
    its output or its input.
    """
    groups: dict[tuple | None, list[DropoutSpec]] = {}  # by what they do to this layer's output
    for spec in specs:
        stage = staged.stage_at(at.layer, spec)
        action = None if stage is None else (spec.position, stage, spec.rate)
        groups.setdefault(action, []).append(spec)
    for action, group in groups.items():
        x = at.x
        if action is not None:
            _, stage, rate = action
            place = (stage, x.shape[1:])
            if place not in draws:
                draws[place] = draw_uniform(x.shape[1:], seeds, stage, device=x.device)
            x = drop_below(x, rate, draws[place])
        features = at.features
        if at.layer in staged.taps:
            tapped = x if group[0].position == "after" else at.x
            features = (*features, staged.taps[at.layer](tapped))
        if at.layer + 1 < len(staged.layers):
            further = Prefix(at.layer + 1, staged.layers[at.layer + 1](x), features)
            yield from _descend(staged, further, group, seeds, draws)
        else:
            yield from ((spec, features) for spec in group)


def stacked(batch: Batch, times: int) -> Batch:
    """Return all images of a batch several times over.

    They are copied also where the backbone does not run: other parts of a detector may read them,
    and they are small compared with its features.

    Parameters
    ----------
    batch : Batch
        N images.
    times : int
        How often.
    """
    return Batch(stack(batch.inputs, times), batch.samples * times, batch.copy)


class StagedPasses:
    """Passes of a model whose backbone is split: perturbed ones resume where dropout begins.

    Parameters
    ----------
    model : BaseDetector
        The model.
    staged : StagedBackbone
        Its backbone.
    """

    def __init__(self, model: BaseDetector, staged: StagedBackbone) -> None:
        self.model = model
        self.staged = staged

    def clean(
        self, batch: Batch, dropouts: Sequence[DropoutSpec]
    ) -> tuple[Later[list[Detections]], Prefixes]:
        """Run the clean pass.

        Parameters
        ----------
        batch : Batch
            N images.
        dropouts : sequence of DropoutSpec
            Of the perturbed passes to come.

        Returns
        -------
        boxes : callable
            Waits, and gives the boxes of each image.
        prefixes : dict of int to Prefix
            What the perturbed passes start from, by layer.

        Raises
        ------
        InputError
            If the backbone lacks a stage.
        """
        keep = {self.staged.first_layer(spec) for spec in dropouts}
        features, prefixes = self.staged.forward(batch.inputs, keep)
        return self.finish(batch, features), prefixes

    def perturbed(
        self,
        batch: Batch,
        prefixes: Prefixes,
        dropouts: Sequence[DropoutSpec],
        seeds: Sequence[int],
    ) -> Iterator[tuple[DropoutSpec, Later[list[Detections]]]]:
        """Yield the boxes under each dropout.

        Parameters
        ----------
        batch : Batch
            N images.
        prefixes : dict of int to Prefix
            Of these images, from `clean`.
        dropouts : sequence of DropoutSpec
            The dropouts.
        seeds : sequence of int
            Of as many repeats as run together, in rounds of the images.

        Yields
        ------
        spec : DropoutSpec
            One of the dropouts.
        boxes : callable
            Waits, and gives the boxes of each image of each round.
        """
        times = len(seeds) // len(batch.samples)
        repeats = stacked(batch, times)
        for layer, prefix in prefixes.items():
            specs = [spec for spec in dropouts if self.staged.first_layer(spec) == layer]
            for spec, features in branches(self.staged, prefix.stacked(times), specs, seeds):
                with _returning(self.model.backbone, features):
                    detections = predict_stack(self.model, repeats)
                yield spec, detections

    def finish(self, batch: Batch, features: tuple[Tensor, ...]) -> Later[list[Detections]]:
        """Run neck, head and post-processing on the features of a backbone.

        Parameters
        ----------
        batch : Batch
            N images.
        features : tuple of Tensor of shape (N, ...)
            For the neck.
        """
        with _returning(self.model.backbone, features):
            return predict(self.model, batch)


class HookedPasses:
    """Passes of a model whose backbone is not split: perturbed ones run all of it, with hooks.

    Parameters
    ----------
    model : BaseDetector
        The model.
    points : HookPoints or str
        Where its stages lie, or why they are not known.
    """

    def __init__(self, model: BaseDetector, points: HookPoints | str) -> None:
        self.model = model
        self._points = points

    @property
    def points(self) -> HookPoints:
        """Where its stages lie; InputError where that is not known."""
        if isinstance(self._points, str):
            raise InputError(self._points)
        return self._points

    def clean(
        self, batch: Batch, dropouts: Sequence[DropoutSpec]
    ) -> tuple[Later[list[Detections]], Prefixes]:
        """Run the clean pass; there is nothing that perturbed passes start from.

        Parameters
        ----------
        batch : Batch
            N images.
        dropouts : sequence of DropoutSpec
            Of the perturbed passes to come.

        Raises
        ------
        InputError
            If the backbone lacks a stage, or its stages are not known.
        """
        for spec in dropouts:
            self.points.check(spec)
        return predict(self.model, batch), {}

    def perturbed(
        self,
        batch: Batch,
        prefixes: Prefixes,
        dropouts: Sequence[DropoutSpec],
        seeds: Sequence[int],
    ) -> Iterator[tuple[DropoutSpec, Later[list[Detections]]]]:
        """Yield the boxes under each dropout; see `StagedPasses.perturbed`.

        Parameters
        ----------
        batch : Batch
            N images.
        prefixes : dict of int to Prefix
            Not used.
        dropouts : sequence of DropoutSpec
            The dropouts.
        seeds : sequence of int
            Of as many repeats as run together, in rounds of the images.
        """
        repeats = stacked(batch, len(seeds) // len(batch.samples))
        for spec in dropouts:
            with feature_dropout(self.points, spec, seeds):
                detections = predict_stack(self.model, repeats)
            yield spec, detections


def choose_passes(model: BaseDetector, stages: Sequence[str]) -> StagedPasses | HookedPasses:
    """Choose the passes that a model's backbone allows, with a warning where they take longer.

    Parameters
    ----------
    model : BaseDetector
        The model.
    stages : sequence of str
        Modules of the backbone to take as its stages; by default those of its family, and for an
        unknown one what `guess_hook_points` finds.

    Raises
    ------
    InputError
        If a named stage is none of its modules.
    """
    if stages:
        return HookedPasses(model, named_hook_points(model.backbone, stages))
    from autoeval.stability.network.backbones import split_backbone  # imports mmdet

    staged = split_backbone(model.backbone)
    if staged is not None:
        return StagedPasses(model, staged)
    points: HookPoints | str
    try:
        points = guess_hook_points(model.backbone)
    except InputError as error:
        points = str(error)
    passes = HookedPasses(model, points)
    names = ", ".join(stage_names(passes))
    where = (
        f"Features are dropped at {names}; --stages NAME,NAME chooses others."
        if names
        else "No stages were found in it, so features cannot be dropped."
    )
    warnings.warn(
        f"The backbone {type(model.backbone).__name__} is of a family that cannot be split into "
        f"stages: each perturbed pass runs the whole model, which takes longer. {where}",
        stacklevel=3,
    )
    return passes


def stage_names(passes: StagedPasses | HookedPasses) -> tuple[str, ...]:
    """Return the names of the modules of the backbone that end its stages; none if not known.

    Parameters
    ----------
    passes : StagedPasses or HookedPasses
        Of the model.
    """
    names = {module: name for name, module in passes.model.backbone.named_modules()}
    try:
        points = passes.staged.points if isinstance(passes, StagedPasses) else passes.points
    except InputError:
        return ()
    return tuple(names[module] for module in points.exits)


@contextmanager
def _returning(module: nn.Module, output: Any) -> Iterator[None]:
    """Let a module return ``output`` whatever it is given."""
    module.forward = lambda *args, **kwargs: output
    try:
        yield
    finally:
        del module.forward


@torch.inference_mode()
def part_costs(passes: StagedPasses | HookedPasses, batch: Batch) -> tuple[float, ...]:
    """Measure the share of each part in the cost of one pass over one image.

    Convolutions, matrix products and attention are counted, nothing else.

    Parameters
    ----------
    passes : StagedPasses or HookedPasses
        Of the model.
    batch : Batch
        One image.

    Returns
    -------
    tuple of N_STAGES + 2 floats
        Of the stem, of each stage, and of neck and head together, with the sum 1. A stage that the
        backbone lacks costs nothing; one beyond the fourth, which is never dropped, counts with
        neck and head. All cost alike where the backbone cannot be split: each pass runs all.
    """
    if isinstance(passes, HookedPasses):
        return (1 / (N_STAGES + 2),) * (N_STAGES + 2)
    staged, x = passes.staged, batch.inputs
    ends = (staged.inputs[0], *staged.outputs[:N_STAGES])
    costs = [0.0] * (N_STAGES + 2)
    features = []
    for number, layer in enumerate(staged.layers):
        x, cost = _cost(layer, x)
        n_before = sum(number > end for end in ends)  # of stem and stages
        costs[n_before if n_before < len(ends) else -1] += cost
        if number in staged.taps:
            features.append(staged.taps[number](x))
    costs[-1] += _cost(passes.finish, batch, tuple(features))[1]
    return tuple(cost / sum(costs) for cost in costs)


def _cost(function: Callable, *args: Any) -> tuple[Any, int]:
    with FlopCounterMode(display=False) as counter:
        result = function(*args)
    return result, counter.get_total_flops()


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


def named_hook_points(backbone: nn.Module, names: Sequence[str]) -> HookPoints:
    """Take one to four modules by their names within the backbone as stages.

    Parameters
    ----------
    backbone : nn.Module
        Of any kind.
    names : sequence of str
        Of the modules, in the order they run.

    Raises
    ------
    InputError
        If there are not so many, one is named twice, or the backbone has no module of a name.
    """
    modules = dict(backbone.named_modules())
    unknown = [name for name in names if name not in modules or not name]
    if unknown or not 0 < len(set(names)) == len(names) <= N_STAGES:
        few = ", ".join(name for name in modules if name and name.count(".") < 2)
        raise InputError(
            f"Expected one to {N_STAGES} different modules of the backbone "
            f"{type(backbone).__name__} as stages, got {', '.join(names)}. It has {few}, and "
            "modules within these."
        )
    chosen = tuple(modules[name] for name in names)
    return HookPoints(chosen, chosen)


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
