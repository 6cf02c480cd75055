"""Feature dropout: zeroing elements of backbone features while a detector stays in eval mode."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from autoeval.errors import InputError
from autoeval.stability.network.forward.dropout_spec import DropoutSpec

if TYPE_CHECKING:
    from autoeval.stability.network.forward.stages import HookPoints


def sample_seed(seed: int, image_id: str, repeat: int) -> int:
    """Derive the seed of one perturbed pass of one image.

    It depends on nothing else, so batch size, order and number of workers change no mask.
    """
    return _hash(seed, repeat, image_id)


def drop_elements(features: Tensor, rate: float, seeds: Sequence[int], stage: int) -> Tensor:
    """Zero each element of (N, ...) with probability ``rate`` and divide the rest by ``1 - rate``.

    The masks are drawn on the CPU, one generator for each sample, by its seed (see `sample_seed`),
    and stage, so that every device and every batch size draws the same ones.
    """
    draws = draw_uniform(features.shape[1:], seeds, stage)
    return drop_below(features, rate, draws)


def draw_uniform(shape: Sequence[int], seeds: Sequence[int], stage: int) -> Tensor:
    """Draw, for each seed, a number in [0, 1) for each element of one sample's features.

    The draws (len(seeds), *shape), float32, are on the CPU and the same for every rate: what a low
    rate drops, a higher one drops, too.
    """
    generators = (torch.Generator().manual_seed(_hash(seed, stage)) for seed in seeds)
    return torch.stack([torch.rand(tuple(shape), generator=generator) for generator in generators])


def drop_below(features: Tensor, rate: float, draws: Tensor) -> Tensor:
    """Zero the elements whose draw is below ``rate`` and divide the rest by ``1 - rate``.

    Raises ValueError if there are not draws for each sample.
    """
    if len(draws) != len(features):
        raise ValueError(f"Expected {len(features)} seeds, one for each sample, got {len(draws)}.")
    return torch.where((draws >= rate).to(features.device), features / (1 - rate), 0)


@contextmanager
def feature_dropout(points: HookPoints, spec: DropoutSpec, seeds: Sequence[int]) -> Iterator[None]:
    """Switch feature dropout on in a model's own forward pass while the body runs.

    There is one seed for each sample of the batch that the body runs.
    """
    points.check(spec)
    dropped: set[int] = set()

    def drop(features: Tensor, stage: int) -> Tensor:
        dropped.add(stage)
        return drop_elements(features, spec.rate, seeds, stage)

    with ExitStack() as stack:
        for stage in spec.stages:
            change = partial(drop, stage=stage)
            if spec.position == "after":
                handle = points.exits[stage].register_forward_hook(
                    lambda _, inputs, output, change=change: _changed(output, change)
                )
            else:
                handle = points.entries[stage].register_forward_pre_hook(
                    lambda _, inputs, change=change: (_changed(inputs[0], change), *inputs[1:])
                )
            stack.callback(handle.remove)
        yield
    if dropped < set(spec.stages):
        raise InputError(
            f"The backbone never ran its stages {sorted(set(spec.stages) - dropped)} as modules, "
            "so nothing could be dropped there: this backbone is not supported."
        )


def _changed(features: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Change features, or each of several maps; what comes with them, such as a size, stays."""
    if isinstance(features, Tensor) and features.is_floating_point():
        return change(features)
    if isinstance(features, list | tuple):
        return type(features)(_changed(maps, change) for maps in features)
    return features


def _hash(*names: object) -> int:
    digest = hashlib.blake2b("/".join(map(str, names)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
