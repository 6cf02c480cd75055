"""Clean and perturbed passes of a model, ending in mmdet's own ``predict``.

A pass that starts from cached features lends the backbone a ``forward`` that returns them, for the
length of one call; neck, heads, proposals and post-processing are mmdet's, whether the detector has
one stage or two. A backbone whose family is not known is perturbed by hooks.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
from autoeval.stability.network.forward.stages import (
    HookPoints,
    Prefix,
    StagedBackbone,
    guess_hook_points,
    hook_points,
    stack,
)

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

Features = tuple[Tensor, ...]
Prefixes = dict[int, Prefix]


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
        return HookedPasses(model, hook_points(model.backbone, stages))
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
