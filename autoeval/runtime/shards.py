"""Parts of one long sequence, one for each process of a torch process group."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Protocol, TypeVar

from autoeval.errors import InputError

T = TypeVar("T")
SLOWEST = timedelta(days=2)


class Shards(Protocol):
    """How a sequence is shared among processes, and how their results come together.

    `leads` is True in the one process that prints the result.
    """

    leads: bool

    def part(self, n: int) -> range:
        """Return the positions of this process's part of n items; parts are contiguous."""
        ...

    def gather(self, item: T) -> list[T]:
        """Return the items of all processes, in the order of their parts, in every process."""
        ...


class Undivided:
    """One process has it all.

    Examples
    --------
    >>> Undivided().part(3), Undivided().gather("a")
    (range(0, 3), ['a'])
    """

    leads = True

    def part(self, n: int) -> range:
        """Return all positions."""
        return range(n)

    def gather(self, item: T) -> list[T]:
        """Return the only item."""
        return [item]


class TorchShards:
    """One part for each rank, of `size` ranks, of the process group that torch has set up.

    Examples
    --------
    >>> [list(TorchShards(rank, 3).part(7)) for rank in range(3)]
    [[0, 1], [2, 3], [4, 5, 6]]
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self.leads = rank == 0

    def part(self, n: int) -> range:
        """Return a run of positions, in the order of the ranks."""
        return range(n * self.rank // self.size, n * (self.rank + 1) // self.size)

    def gather(self, item: T) -> list[T]:
        """Return the items of all ranks; they are pickled, and wait for the slowest."""
        from torch import distributed

        items: list[T | None] = [None] * self.size
        distributed.all_gather_object(items, item)
        return items  # type: ignore[return-value]


@contextmanager
def launched_by_torchrun() -> Iterator[TorchShards]:
    """Join the other processes that ``torchrun`` started; gloo, as only results travel.

    On a machine with GPUs device ``cuda`` is that of the process's local rank; more processes than
    GPUs share them in turn.
    """
    import torch
    from torch import distributed

    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        raise InputError(
            "--launcher pytorch is for processes that torchrun starts: "
            "torchrun --nproc-per-node N tools/estimate_map.py ... --launcher pytorch"
        )
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
    distributed.init_process_group("gloo", timeout=SLOWEST)
    try:
        yield TorchShards(distributed.get_rank(), distributed.get_world_size())
    finally:
        distributed.destroy_process_group()
