"""The bin samplers as mmengine builds them: ``sampler=dict(type=..., edges=[...])``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mmengine.dist import get_dist_info, sync_random_seed
from mmengine.registry import DATA_SAMPLERS

from autoeval.counting.binning.bins import CountBins
from autoeval.counting.training.samplers import RandomBinSampler, RoundRobinSampler


def dataset_counts(dataset: Any) -> list[float]:
    """Return the true count of each item of a data set.

    Parameters
    ----------
    dataset : Any
        Has either ``counts``, a sequence, or mmengine's ``get_data_info(index)`` whose
        ``instances`` are counted, ignored ones left out.
    """
    if hasattr(dataset, "counts"):
        return [float(count) for count in dataset.counts]
    return [
        float(sum(not one.get("ignore_flag", 0) for one in dataset.get_data_info(i)["instances"]))
        for i in range(len(dataset))
    ]


def _arguments(dataset: Any, edges: Sequence[float], seed: int | None) -> dict[str, Any]:
    rank, world_size = get_dist_info()
    return {
        "bin_of_item": CountBins(tuple(edges)).assign_nearest(dataset_counts(dataset)),
        "seed": sync_random_seed() if seed is None else seed,
        "num_replicas": world_size,
        "rank": rank,
    }


@DATA_SAMPLERS.register_module()
class RoundRobinDatasetSampler(RoundRobinSampler):
    """One item from each bin in turn.

    Parameters
    ----------
    dataset : Any
        See `dataset_counts`; the runner passes it.
    edges : sequence of float
        Bins of the true count; counts outside them belong to the nearest.
    seed : int, optional
        Of all draws; None takes one that all processes share.
    """

    def __init__(self, dataset: Any, edges: Sequence[float], seed: int | None = None) -> None:
        super().__init__(**_arguments(dataset, edges, seed))


@DATA_SAMPLERS.register_module()
class RandomBinDatasetSampler(RandomBinSampler):
    """An item of a random bin; the parameters are those of `RoundRobinDatasetSampler`."""

    def __init__(self, dataset: Any, edges: Sequence[float], seed: int | None = None) -> None:
        super().__init__(**_arguments(dataset, edges, seed))
