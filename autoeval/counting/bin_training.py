"""Training on binned counts: balanced minibatches and losses by bin (section III-C)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from mmengine.dist import get_dist_info, sync_random_seed
from mmengine.registry import DATA_SAMPLERS, MODELS
from torch import Tensor, nn
from torch.utils.data import Sampler
from typing_extensions import Self

from autoeval.counting.binning.bins import CountBins
from autoeval.counting.measures.count_errors import check_mode
from autoeval.errors import InputError


class BinSampler(Sampler[int]):
    """Draws items bin by bin; a subclass says in which order the bins are served.

    Within a bin items come in random order, each once before any comes again. An epoch has as many
    draws as there are items, rounded up to a multiple of `num_replicas`; each process has an equal,
    consecutive share of them.

    Parameters
    ----------
    bin_of_item : sequence of int or ndarray of shape (N,)
        Bin of each item, as `CountBins.assign_nearest` gives it.
    seed : int
        Of the draws, with the number of the epoch.
    num_replicas : int
        Number of processes.
    rank : int
        Number of this process, from 0.

    Raises
    ------
    InputError
        If there is no item, or `rank` is not in [0, `num_replicas`).
    """

    def __init__(
        self,
        bin_of_item: Sequence[int] | np.ndarray,
        *,
        seed: int = 0,
        num_replicas: int = 1,
        rank: int = 0,
    ) -> None:
        if not len(bin_of_item):
            raise InputError("Expected at least one item to sample from but got none.")
        if not 0 <= rank < num_replicas:
            raise InputError(f"Expected rank in [0, {num_replicas}) but got {rank}.")
        self.seed = seed
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        index = np.unique(np.asarray(bin_of_item), return_inverse=True)[1]
        self.items_of_bin = [np.flatnonzero(index == k) for k in range(index.max() + 1)]
        self.share = math.ceil(len(index) / num_replicas)

    def __len__(self) -> int:
        return self.share

    def __iter__(self) -> Iterator[int]:
        first = self.rank * self.share
        return iter(self.epoch_order()[first : first + self.share].tolist())

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration that of an epoch; other epochs draw otherwise.

        Parameters
        ----------
        epoch : int
            Its number.
        """
        self.epoch = epoch

    def epoch_order(self) -> np.ndarray:
        """Return the items of the epoch for all processes.

        Returns
        -------
        ndarray of shape (share * num_replicas,), int64
            Positions of items.
        """
        rng = np.random.default_rng([self.seed, self.epoch])
        served = self.serve_bins(self.share * self.num_replicas, rng)
        order = np.empty(len(served), np.int64)
        for k, items in enumerate(self.items_of_bin):
            turns = np.flatnonzero(served == k)
            passes = math.ceil(len(turns) / len(items))
            shuffled = [rng.permutation(items) for _ in range(passes)]
            order[turns] = np.concatenate([*shuffled, items[:0]])[: len(turns)]
        return order

    def serve_bins(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Choose the bin of each draw.

        Parameters
        ----------
        n : int
            Number of draws.
        rng : Generator
            Randomness of the epoch.

        Returns
        -------
        ndarray of shape (n,), int
            Positions among the bins that hold an item, in ascending order.
        """
        raise NotImplementedError


class RoundRobinSampler(BinSampler):
    """Serves one item from each bin in turn, beginning at the first (RR)."""

    def serve_bins(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return 0, 1, ..., the last bin, and again.

        Parameters
        ----------
        n : int
            Number of draws.
        rng : Generator
            Not used.
        """
        return np.arange(n) % len(self.items_of_bin)


class RandomBinSampler(BinSampler):
    """Serves an item of a bin that is drawn at random, all bins alike (RS)."""

    def serve_bins(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return bins drawn independently of each other.

        Parameters
        ----------
        n : int
            Number of draws.
        rng : Generator
            Draws the bins, all with equal probability.
        """
        return rng.integers(len(self.items_of_bin), size=n)


def dataset_counts(dataset: Any) -> list[float]:
    """Return the true count of each item of a data set.

    Parameters
    ----------
    dataset : Any
        With ``counts``; else one of mmengine, whose ``get_data_info`` lists instances: those with
        an ``ignore_flag`` are not counted.
    """
    if hasattr(dataset, "counts"):
        return [float(count) for count in dataset.counts]
    return [
        float(sum(not one.get("ignore_flag", 0) for one in dataset.get_data_info(i)["instances"]))
        for i in range(len(dataset))
    ]


class _OfDataset(BinSampler):
    """A sampler as mmengine builds it: on all processes, with a seed that they share."""

    def __init__(self, dataset: Any, edges: Sequence[float], seed: int | None = None) -> None:
        rank, world_size = get_dist_info()
        super().__init__(
            CountBins(tuple(edges)).assign_nearest(dataset_counts(dataset)),
            seed=sync_random_seed() if seed is None else seed,
            num_replicas=world_size,
            rank=rank,
        )


@DATA_SAMPLERS.register_module()
class RoundRobinDatasetSampler(_OfDataset, RoundRobinSampler):
    """One item from each bin in turn, as mmengine builds it; a seed of None is drawn and shared."""


@DATA_SAMPLERS.register_module()
class RandomBinDatasetSampler(_OfDataset, RandomBinSampler):
    """An item of a random bin; the parameters are those of `RoundRobinDatasetSampler`."""


def bin_loss(
    pred: Tensor, target: Tensor, edges: Tensor, *, mode: str = "paper", log_weight: float = 1.0
) -> Tensor:
    """Penalty of each predicted count, by the bin of the true one (section III-C).

    With e = pred - target and [lo, hi] the bin of the target, ``"paper"`` is ``log_weight * ln(1 +
    |e|)`` where lo <= pred <= hi, and |e| elsewhere. ``"released"`` is the greater of that
    logarithm and the distance of pred beyond the bin, as in the authors' code, but with a gradient
    of the logarithm.

    Parameters
    ----------
    pred : Tensor of shape (B,)
        Predicted counts.
    target : Tensor of shape (B,)
        True counts. One outside all edges widens the nearest bin.
    edges : Tensor of shape (K + 1,)
        Of K bins, increasing. Bins are (lo, hi], the first closed on both sides.
    mode : {"paper", "released"}
        Which of the two.
    log_weight : float
        Lambda 1.

    Returns
    -------
    Tensor of shape (B,)
        In objects.

    Raises
    ------
    InputError
        If there is no such mode.
    """
    check_mode(mode)
    index = (torch.bucketize(target.detach(), edges) - 1).clamp(0, len(edges) - 2)
    low = torch.minimum(edges[index], target)
    high = torch.maximum(edges[index + 1], target)
    error = (pred - target).abs()
    gentle = log_weight * torch.log1p(error)
    if mode == "paper":
        return torch.where((low <= pred) & (pred <= high), gentle, error)
    return torch.maximum(gentle, torch.maximum(low - pred, pred - high))


@MODELS.register_module()
class BinLoss(nn.Module):
    """Mean bin loss of a batch of counts or of density maps, to add to that of the network.

    Parameters
    ----------
    edges : sequence of float or CountBins
        Edges of the bins, increasing.
    mode : {"paper", "released"}
        See `bin_loss`.
    log_weight : float
        Lambda 1, see `bin_loss`.
    loss_weight : float
        Lambda 2, the weight of the whole.

    Raises
    ------
    InputError
        If there is no such mode, or the edges do not increase.
    """

    edges: Tensor

    def __init__(
        self,
        edges: Sequence[float] | CountBins,
        mode: str = "paper",
        log_weight: float = 1.0,
        loss_weight: float = 1.0,
    ) -> None:
        super().__init__()
        check_mode(mode)
        self.bins = edges if isinstance(edges, CountBins) else CountBins(tuple(edges))
        self.register_buffer("edges", torch.tensor(self.bins.edges), persistent=False)
        self.mode = mode
        self.log_weight = log_weight
        self.loss_weight = loss_weight

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        """Keep the edges in single precision at least, where a network is made half."""
        super()._apply(fn, recurse)
        if torch.finfo(self.edges.dtype).bits < 32:
            self.edges = torch.tensor(self.bins.edges, device=self.edges.device)
        return self

    def forward(self, pred: Tensor, target: Tensor) -> Tensor:
        """Return the weighted mean penalty of a batch.

        Parameters
        ----------
        pred : Tensor of shape (B,) or (B, ...)
            Predicted counts, or density maps, of which the sums are taken.
        target : Tensor of shape (B,) or (B, ...)
            True counts or maps; they may have another shape than `pred`.

        Raises
        ------
        InputError
            If both are of different numbers of images.
        """
        dtype, pred, target = pred.dtype, _counts(pred), _counts(target)
        if pred.shape != target.shape:
            raise InputError(
                f"Expected as many predictions as true counts but got {len(pred)} and "
                f"{len(target)}."
            )
        edges = self.edges.to(pred.dtype)
        penalties = bin_loss(
            pred, target.to(pred.dtype), edges, mode=self.mode, log_weight=self.log_weight
        )
        return (self.loss_weight * penalties.mean()).to(dtype)


def _counts(batch: Tensor) -> Tensor:
    """Return counts in single precision at least: bfloat16 has no odd numbers from 256 on."""
    dtype = torch.promote_types(batch.dtype, torch.float32)
    return batch.flatten(1).sum(1, dtype=dtype) if batch.ndim > 1 else batch.to(dtype)
