"""Options that say where and by how many processes a pass runs, and what they stand for."""

from __future__ import annotations

import argparse

from autoeval.commands.given_input import Detail, add_input
from autoeval.errors import InputError
from autoeval.runtime.job import Executor, LocalExecutor
from autoeval.runtime.ray_executor import RayExecutor

THIS_MACHINE = "local"
RAY_DETAILS = (
    Detail("ray_workers", "number of workers (default: as many as memory allows)", int),
    Detail("ray_gpus", "GPUs of each worker (default: 1 where there are GPUs)", float),
    Detail(
        "ray_cpus",
        "processors of each worker, also its threads (default: 1 with GPUs, else those of this "
        "process, so that workers round as it does)",
        int,
    ),
)


def add_execution_options(parser: argparse.ArgumentParser) -> None:
    """Declare who runs the detector."""
    add_input(
        parser,
        "--ray",
        RAY_DETAILS,
        metavar="ADDRESS",
        help=f"run on workers of Ray: {THIS_MACHINE} (this machine), auto, or a cluster's address",
    )


def make_executor(args: argparse.Namespace) -> Executor:
    """Make the executor that the options ask for."""
    if args.ray is None:
        return LocalExecutor()
    given = {detail.name: getattr(args, detail.name) for detail in RAY_DETAILS}
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        if value <= 0:
            raise InputError(f"Expected {_named(name)} above 0 but got {value:g}.")
    import torch

    return RayExecutor(
        address=None if args.ray == THIS_MACHINE else args.ray,
        workers=args.ray_workers,
        cpus=args.ray_cpus,
        gpus=args.ray_gpus,
        cpus_without_gpu=torch.get_num_threads(),
    )


def _named(name: str) -> str:
    return f"--{name.replace('_', '-')}"
