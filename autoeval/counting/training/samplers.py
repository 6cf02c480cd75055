"""Minibatches that see every bin of the true count alike (paper, section III-C)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler

from autoeval.errors import InputError


class BinSampler(Sampler[int]):
    """Draws items bin by bin; a subclass says in which order the bins are served.

    Within a bin the items come in random order, each once before any comes again: small bins wrap
    around, large ones are seen in part. An epoch has as many draws as there are items. Processes
    get consecutive shares of one epoch, so that the minibatches of each are balanced; the share of
    one holds none of the draws of another, but a small bin that wraps around serves them all.

    Parameters
    ----------
    bin_of_item : sequence of int of length N
        Bin of each item of the training set, such as `CountBins.assign_nearest` gives; bins
        without items are passed over.
    seed : int
        Of all draws, with the epoch.
    num_replicas, rank : int
        Number of processes, and which this one is. An epoch is rounded up to equal shares.

    Raises
    ------
    InputError
        If there are no items, or `rank` is not in [0, num_replicas).
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
        """Make the next iteration that of ``epoch``; other epochs draw otherwise."""
        self.epoch = epoch

    def epoch_order(self) -> np.ndarray:
        """Return the items of the epoch for all processes, (share * num_replicas,) int64."""
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
        """Return which bin is served at each of ``n`` draws, in [0, number of bins)."""
        raise NotImplementedError


class RoundRobinSampler(BinSampler):
    """Serves one item from each bin in turn, beginning at the first (RR).

    Examples
    --------
    >>> sampler = RoundRobinSampler([0, 0, 0, 0, 5, 9], seed=1)
    >>> drawn = list(sampler)
    >>> drawn[1::3], drawn[2::3], len(sampler)
    ([4, 4], [5, 5], 6)
    """

    def serve_bins(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return 0, 1, ..., the last bin, and again."""
        return np.arange(n) % len(self.items_of_bin)


class RandomBinSampler(BinSampler):
    """Serves an item of a bin that is drawn at random, all bins alike (RS)."""

    def serve_bins(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return bins drawn independently of each other."""
        return rng.integers(len(self.items_of_bin), size=n)
