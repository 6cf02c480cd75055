"""Many dropouts from one cached prefix: what several of them have in common is run once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor

from autoeval.detectors.forward.dropout import draw_uniform, drop_below
from autoeval.detectors.forward.dropout_spec import DropoutSpec
from autoeval.detectors.forward.stages import Prefix, StagedBackbone

Features = tuple[Tensor, ...]


def branches(
    staged: StagedBackbone, prefix: Prefix, specs: Sequence[DropoutSpec], seeds: Sequence[int]
) -> Iterator[tuple[DropoutSpec, Features]]:
    """Run the rest of a backbone under each of several dropouts.

    Dropouts of one rate that agree up to some layer share all layers until there, and all share the
    random draws, so every result is what its dropout alone would have given, to the last bit.

    Parameters
    ----------
    staged : StagedBackbone
    prefix : Prefix
        What `StagedBackbone.forward` kept at or before the first layer that any of them perturbs.
    specs : sequence of DropoutSpec
    seeds : sequence of int
        One for each sample of ``prefix``.

    Yields
    ------
    spec : DropoutSpec
        Each of ``specs`` once, in the order in which they are reached.
    features : tuple of Tensor
        Features for the neck.
    """
    yield from _Branching(staged, seeds).descend(prefix, specs)


class _Branching:
    """A walk down the tree of all dropouts, depth first, so that few feature maps live at once."""

    def __init__(self, staged: StagedBackbone, seeds: Sequence[int]) -> None:
        self.staged = staged
        self.seeds = seeds
        self._draws: dict[int, Tensor] = {}

    def descend(
        self, at: Prefix, specs: Sequence[DropoutSpec]
    ) -> Iterator[tuple[DropoutSpec, Features]]:
        """Go on from where all of ``specs`` are still one."""
        for group in self._groups(at.layer, specs):
            x, features = self._leave(at, group[0])
            if at.layer + 1 < len(self.staged.layers):
                further = self.staged.layers[at.layer + 1](x)
                yield from self.descend(Prefix(at.layer + 1, further, features), group)
            else:
                yield from ((spec, features) for spec in group)

    def _groups(self, layer: int, specs: Sequence[DropoutSpec]) -> list[list[DropoutSpec]]:
        """Part dropouts by what they do to the output of a layer."""
        groups: dict[tuple | None, list[DropoutSpec]] = {}
        for spec in specs:
            stage = self.staged.stage_at(layer, spec)
            action = None if stage is None else (spec.position, stage, spec.rate)
            groups.setdefault(action, []).append(spec)
        return list(groups.values())

    def _leave(self, at: Prefix, spec: DropoutSpec) -> tuple[Tensor, Features]:
        """Return what the next layer reads, and the features for the neck up to here."""
        stage = self.staged.stage_at(at.layer, spec)
        x = at.x if stage is None else drop_below(at.x, spec.rate, self._draw(at.x, stage))
        if at.layer not in self.staged.taps:
            return x, at.features
        tapped = x if spec.position == "after" else at.x
        return x, (*at.features, self.staged.taps[at.layer](tapped))

    def _draw(self, x: Tensor, stage: int) -> Tensor:
        if stage not in self._draws:
            self._draws[stage] = draw_uniform(x.shape[1:], self.seeds, stage)
        return self._draws[stage]
