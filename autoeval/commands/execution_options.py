"""The options that say where work runs: in this process, in several of torchrun, on a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autoeval.errors import InputError
from autoeval.runtime.job import Executor, LocalExecutor
from autoeval.runtime.ray_executor import RayExecutor
from autoeval.runtime.shards import Shards, Undivided, launched_by_torchrun

OF_RAY = ("address", "workers", "num_gpus_per_worker", "num_cpus_per_worker")


def add_run_options(parser: argparse.ArgumentParser, work_dir: str) -> None:
    """Declare where results go, how they are printed, and the options of execution."""
    parser.add_argument(
        "--work-dir",
        type=Path,
        default=Path(work_dir),
        metavar="DIR",
        help="default: %(default)s",
    )
    parser.add_argument("--batch-size", type=int, default=4, help="changes no number")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_execution_options(parser)


def add_execution_options(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    group = parser.add_argument_group("execution")
    group.add_argument("--executor", default="local", choices=("local", "ray"))
    group.add_argument("--address", help="of a Ray cluster, or auto (default: this machine alone)")
    group.add_argument("--workers", type=int, metavar="N", help="default: as many as memory allows")
    group.add_argument(
        "--num-gpus-per-worker", type=float, metavar="X", help="default: 1 where there are GPUs"
    )
    group.add_argument(
        "--num-cpus-per-worker",
        type=int,
        metavar="N",
        help="also its threads (default: 1 with GPUs, else those of this process, so that workers "
        "round as it does)",
    )
    group.add_argument(
        "--launcher",
        default="none",
        choices=("none", "pytorch"),
        help="pytorch: the processes of torchrun share sample sets, and the images of --images",
    )


def make_executor(args: argparse.Namespace) -> Executor:
    """Make the executor that the options ask for.

    Raises `InputError` if options exclude each other or a number is not positive.
    """
    given = [name for name in OF_RAY if getattr(args, name) is not None]
    if args.executor == "local":
        if given:
            raise InputError(f"--{given[0].replace('_', '-')} needs --executor ray.")
        return LocalExecutor()
    if args.launcher != "none":
        raise InputError("--launcher pytorch and --executor ray exclude each other.")
    for name in OF_RAY[1:]:
        if name in given and getattr(args, name) <= 0:
            raise InputError(
                f"Expected --{name.replace('_', '-')} above 0, got {getattr(args, name):g}."
            )
    return RayExecutor(
        address=args.address,
        workers=args.workers,
        cpus=args.num_cpus_per_worker,
        gpus=args.num_gpus_per_worker,
        cpus_without_gpu=_threads(),
    )


@contextmanager
def launched(args: argparse.Namespace) -> Iterator[Shards]:
    """Yield this process's share of a run."""
    if args.launcher == "none":
        yield Undivided()
    else:
        with launched_by_torchrun() as shards:
            yield shards


def _threads() -> int:
    import torch

    return torch.get_num_threads()
