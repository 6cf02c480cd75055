"""Options that say where and by how many processes a pass runs, and what they stand for."""

from __future__ import annotations

import argparse

from autoeval.commands.given_input import Detail, add_input
from autoeval.runtime.job import Executor, LocalExecutor

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
        help="run on workers of Ray: local (this machine), auto, or a cluster's address",
    )


def make_executor(args: argparse.Namespace) -> Executor:
    """Make the executor that the options ask for."""
    from autoeval.api.options import executor_of

    names = ("ray", *(detail.name for detail in RAY_DETAILS))
    executor: Executor | None = executor_of({name: vars(args)[name] for name in names})
    return executor or LocalExecutor()
