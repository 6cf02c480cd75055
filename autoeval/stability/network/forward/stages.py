"""A backbone as a chain of layers, so that what precedes the first dropout is run only once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from autoeval.errors import InputError
from autoeval.stability.network.forward.dropout_spec import DropoutSpec

Layer = Callable[[Tensor], Tensor]


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
