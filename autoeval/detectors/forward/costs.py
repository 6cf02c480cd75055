"""What the parts of a detector cost, in multiply-adds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from autoeval.detectors.forward.passes import Batch, HookedPasses, StagedPasses


@torch.inference_mode()
def part_costs(passes: StagedPasses | HookedPasses, batch: Batch) -> tuple[float, ...]:
    """Measure the share of each part in the cost of one pass.

    Convolutions, matrix products and attention are counted, nothing else.

    Parameters
    ----------
    passes : StagedPasses or HookedPasses
    batch : Batch
        One image.

    Returns
    -------
    tuple of float
        Shares of the stem, of each stage, and of neck and head together; they sum to 1. A single
        one where the backbone cannot be split.
    """
    if isinstance(passes, HookedPasses):
        return (1.0,)
    staged, x = passes.staged, batch.inputs
    ends = (staged.inputs[0], *staged.outputs)
    costs = [0.0] * (len(ends) + 1)
    features = []
    for number, layer in enumerate(staged.layers):
        x, cost = _cost(layer, x)
        costs[sum(number > end for end in ends)] += cost
        if number in staged.taps:
            features.append(staged.taps[number](x))
    costs[-1] += _cost(passes.finish, batch, tuple(features))[1]
    return tuple(cost / sum(costs) for cost in costs)


def _cost(function: Callable, *args: Any) -> tuple[Any, int]:
    with FlopCounterMode(display=False) as counter:
        result = function(*args)
    return result, counter.get_total_flops()
