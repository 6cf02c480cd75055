"""Feature dropout: zeroing elements of backbone features while a detector stays in eval mode."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from autoeval.detectors.predicting import to_device
from autoeval.errors import InputError
from autoeval.stability.network.forward.dropout_spec import DropoutSpec

if TYPE_CHECKING:
    from autoeval.stability.network.forward.stages import HookPoints


# Two mixers of 32 bits: shift, factor, shift, factor, shift. Each output bit depends on each input
# bit with little bias (Wellons 2018, "Prospecting for hash functions": lowbias32, and the last
# steps of MurmurHash3).
MIXERS = ((16, 0x7FEB352D, 15, 0x846CA68B, 16), (16, 0x85EBCA6B, 13, 0xC2B2AE35, 16))
CACHED = 2**16  # elements hashed at once on a CPU, whose caches hold them


def sample_seed(seed: int, image_id: str, repeat: int) -> int:
    """Derive the seed of one perturbed pass of one image.

    It depends on nothing else, so batch size, order and number of workers change no mask.

    Parameters
    ----------
    seed : int
        Of the run.
    image_id : str
        Of the image.
    repeat : int
        Number of the pass, from 0.
    """
    return _hash(seed, repeat, image_id)


def drop_elements(features: Tensor, rate: float, seeds: Sequence[int], stage: int) -> Tensor:
    """Zero each element with probability ``rate`` and divide the rest by ``1 - rate``.

    The masks are drawn where the features are, by the seed of each sample (see `sample_seed`), the
    stage and the position of an element, so that every device and every batch size has the same.

    Parameters
    ----------
    features : Tensor of shape (N, ...)
        Of N samples.
    rate : float
        0 <= rate < 1.
    seeds : sequence of N int
        Of the samples.
    stage : int
        Number of the stage.

    Raises
    ------
    ValueError
        If there is not one seed for each sample.
    """
    draws = draw_uniform(features.shape[1:], seeds, stage, device=features.device)
    return drop_below(features, rate, draws)


def draw_uniform(
    shape: Sequence[int],
    seeds: Sequence[int],
    stage: int,
    *,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Draw, for each seed, a number in [0, 1) for each element of one sample's features.

    The draws are the same for every rate: what a low rate drops, a higher one drops, too. A draw is
    a hash of seed, stage and the position of the element, in integers alone, so that it is the same
    on every device to the last bit.

    Parameters
    ----------
    shape : sequence of int
        Of the features of one sample.
    seeds : sequence of int
        One for each sample, see `sample_seed`.
    stage : int
        Number of the stage.
    device : torch.device or str
        Where the draws are made.

    Returns
    -------
    Tensor of shape (len(seeds), *shape), float32
        Multiples of 2^-24, on `device`.
    """
    device = torch.device(device)
    halves = [divmod(_hash(seed, stage), 2**32) for seed in seeds]
    keys = torch.tensor([[_signed(half) for half in pair] for pair in halves], dtype=torch.int32)
    first, second = to_device(keys.reshape(-1, 2, 1), device).unbind(1)
    size = math.prod(shape)
    draws = torch.empty((len(seeds), size), dtype=torch.float32, device=device)
    step = CACHED if device.type == "cpu" else max(size, 1)
    for start in range(0, size, step):
        part = draws[:, start : start + step]
        positions = torch.arange(start, start + part.shape[1], dtype=torch.int32, device=device)
        hashes = _mix(_mix(positions ^ first, MIXERS[0]) + second, MIXERS[1])
        part.copy_(_shifted(hashes, 8))
    return draws.mul_(2**-24).reshape(len(seeds), *shape)


def drop_below(features: Tensor, rate: float, draws: Tensor) -> Tensor:
    """Zero the elements whose draw is below ``rate`` and divide the rest by ``1 - rate``.

    Parameters
    ----------
    features, draws : Tensor of shape (N, ...)
        Features, and numbers in [0, 1).
    rate : float
        0 <= rate < 1.

    Raises
    ------
    ValueError
        If there are not draws for each sample.

    Examples
    --------
    >>> drop_below(torch.tensor([[3.0, 3.0]]), 0.25, torch.tensor([[0.2, 0.3]]))
    tensor([[0., 4.]])
    """
    if len(draws) != len(features):
        raise ValueError(f"Expected {len(features)} seeds, one for each sample, got {len(draws)}.")
    return torch.where(draws >= rate, features / (1 - rate), 0)


@contextmanager
def feature_dropout(points: HookPoints, spec: DropoutSpec, seeds: Sequence[int]) -> Iterator[None]:
    """Return a context in which a model's own forward pass has feature dropout.

    Parameters
    ----------
    points : HookPoints
        Of its backbone.
    spec : DropoutSpec
        Where and how much to drop.
    seeds : sequence of int
        One for each sample of the batch that the body runs, see `sample_seed`.

    Raises
    ------
    InputError
        If the backbone lacks a stage, or the body runs and one of them never ran as a module.
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


def _mix(x: Tensor, mixer: tuple[int, int, int, int, int]) -> Tensor:
    """Mix the bits of integers (int32, which wrap around), one to one; changes ``x``."""
    shift, factor, shift_2, factor_2, shift_3 = mixer
    x ^= _shifted(x, shift)
    x *= _signed(factor)
    x ^= _shifted(x, shift_2)
    x *= _signed(factor_2)
    x ^= _shifted(x, shift_3)
    return x


def _shifted(x: Tensor, n: int) -> Tensor:
    """Shift to the right and fill with zeros, as unsigned integers are shifted."""
    return (x >> n).bitwise_and_((1 << (32 - n)) - 1)


def _signed(value: int) -> int:
    """Return the int32 with the bits of an unsigned integer under 2^32."""
    return value - 2**32 if value >= 2**31 else value


def _hash(*names: object) -> int:
    digest = hashlib.blake2b("/".join(map(str, names)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
