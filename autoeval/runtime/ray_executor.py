"""Jobs on the workers of a Ray cluster, or of a local one that is started for the run.

`RayExecutor` is an `Executor` of `autoeval.runtime.jobs`; `autoeval.api.options.executor_of` makes
one of ``--ray``.
"""

from __future__ import annotations

import itertools
import os
import socket
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from autoeval.errors import InputError, install_command
from autoeval.runtime.jobs import Advance, Job, Outcome, Work, attempt, prepare

MAX_TRIES = 3
CONNECT_S = 10.0  # until a cluster answers


@dataclass(frozen=True, kw_only=True)
class RayExecutor:
    """Runs jobs on actors of Ray; each keeps its own copy of the work, set up once.

    A job whose worker dies is done again by another; after `MAX_TRIES` deaths it has failed. Rows
    come back to this process, which alone writes them: workers need no access to its work dir.
    Needs the extra ``ray``.

    Parameters
    ----------
    address : str, optional
        Of a running cluster, ``"auto"`` for the one this machine belongs to; by default the
        environment variable ``RAY_ADDRESS``, else a cluster of this machine alone, on its loopback
        interface.
    workers : int, optional
        How many; by default as many as the cluster has room for.
    cpus : int, optional
        Processors of each worker; by default 1 with a GPU and `cpus_without_gpu` without. It is
        also the number of OpenMP threads, on which numbers may depend in the last bits, unless the
        machine's environment has another.
    gpus : float, optional
        GPUs of each worker, 0.5 for two workers a GPU; by default 1 where there are any.
    cpus_without_gpu : int
        See `cpus`.
    """

    address: str | None = None
    workers: int | None = None
    cpus: int | None = None
    gpus: float | None = None
    cpus_without_gpu: int = 1

    def run(
        self, jobs: Iterable[Job], work: Work, advance: Advance
    ) -> Iterator[tuple[Job, Outcome]]:
        """Yield jobs as they end; see `Executor.run`.

        Parameters
        ----------
        jobs : iterable of Job
            In the order in which they begin.
        work : Work
            What a job runs.
        advance : callable
            Called with the size of each job that ended.

        Raises
        ------
        InputError
            If Ray is not installed, the cluster does not answer or is too small, the work cannot
            be sent to other processes, or workers die without end.
        """
        queue = iter(jobs)
        first = next(queue, None)
        if first is None:
            return
        address = self.address or os.environ.get("RAY_ADDRESS")
        with _session(address) as ray:
            resources, workers = self._plan(ray.cluster_resources(), may_grow=bool(address))
            crew = _Crew(ray, work, itertools.chain([first], queue), resources, workers)
            try:
                for job, outcome in crew.run():
                    advance(job.size)
                    yield job, outcome
            finally:
                crew.dismiss()

    def _plan(
        self, cluster: dict[str, float], *, may_grow: bool = False
    ) -> tuple[dict[str, float], int]:
        """Return what each worker takes, and the number of workers.

        Parameters
        ----------
        cluster : dict of str to float
            ``CPU`` and ``GPU`` of the cluster.
        may_grow : bool
            Whether a cluster without room for a worker is waited for, where the number of workers
            is given.

        Raises
        ------
        InputError
            If there is no room for a worker.
        """
        gpus = float(bool(cluster.get("GPU"))) if self.gpus is None else self.gpus
        cpus = self.cpus or (1 if gpus else self.cpus_without_gpu)
        limits = [cluster.get("CPU", 0) // cpus]
        if gpus:
            limits.append(cluster.get("GPU", 0) / gpus + 1e-9)
        n_fitting = int(min(limits))  # 1 // 0.1 is 9
        if not n_fitting:
            lack = (
                f"The Ray cluster has {cluster.get('CPU', 0):g} CPUs and {cluster.get('GPU', 0):g} "
                f"GPUs, no room for a worker with {cpus} and {gpus:g}."
            )
            if not (self.workers and may_grow):
                raise InputError(f"{lack} Ask for less, or for workers=N of a growing cluster.")
            warnings.warn(f"{lack} Waiting until it has grown.", stacklevel=2)
        return {"num_cpus": cpus, "num_gpus": gpus}, self.workers or n_fitting


class _Worker:
    """Lives in a process of Ray; works where the command was started, for relative paths."""

    def __init__(self, work: Work, folder: str) -> None:
        os.chdir(folder)
        self.work = work

    def prepare(self) -> None:
        """Set the work up."""
        prepare(self.work)

    def run(self, job: Job) -> Outcome:
        """Do a job; its items are counted when it has ended."""
        return attempt(self.work, job, lambda n: None)


@dataclass
class _Trial:
    """A job that a worker is at, and how many workers died at it."""

    job: Job
    deaths: int = 0


class _Crew:
    """Workers and the jobs they are at.

    Parameters
    ----------
    ray : module
        Connected.
    work : Work
        What is done.
    jobs : iterator of Job
        What is to be done.
    resources : dict of str to float
        What each worker takes.
    n : int
        Number of workers.

    Raises
    ------
    InputError
        If the work cannot be sent to another process.
    """

    def __init__(
        self, ray: Any, work: Work, jobs: Iterator[Job], resources: dict[str, float], n: int
    ) -> None:
        self.ray, self.jobs, self.n = ray, jobs, n
        self.actor = ray.remote(max_restarts=0, **resources)(_Worker)
        try:
            self.work = ray.put(work)
        except TypeError as error:  # a network that is loaded has locks, and is on a device
            raise InputError(
                "What workers are to do cannot be sent to another process. Name the detector "
                "(--detector NAME, in Python the name in place of the object), which each loads."
            ) from error
        self.waiting: dict[Any, tuple[Any, _Trial | None]] = {}
        self.again: deque[_Trial] = deque()
        self.exhausted = False
        self.deaths_in_a_row = 0

    def run(self) -> Iterator[tuple[Job, Outcome]]:
        """Yield jobs as they end; as many workers as there are to be are started first."""
        for _ in range(self.n):
            self._hire()
        while self.again or not self.exhausted or any(trial for _, trial in self.waiting.values()):
            (ready,), _ = self.ray.wait(list(self.waiting))
            worker, trial = self.waiting.pop(ready)
            try:
                outcome = self.ray.get(ready)
            except self.ray.exceptions.RayTaskError as error:
                raise (error.cause or error) from None
            except self.ray.exceptions.RayError as error:
                outcome = self._bury(trial, error)
            else:
                self.deaths_in_a_row = 0 if trial else self.deaths_in_a_row
                self._assign(worker)
            if trial and outcome:
                yield trial.job, outcome

    def dismiss(self) -> None:
        """End all workers."""
        for worker, _ in self.waiting.values():
            self.ray.kill(worker)

    def _hire(self) -> None:
        """Start a worker, which sets up its work first."""
        worker = self.actor.remote(self.work, os.getcwd())
        self.waiting[worker.prepare.remote()] = (worker, None)

    def _assign(self, worker: Any) -> None:
        """Give a worker its next job; without one, let it go."""
        if self.again:
            trial = self.again.popleft()
        elif job := next(self.jobs, None):
            trial = _Trial(job)
        else:
            self.exhausted = True
            self.ray.kill(worker)
            return
        self.waiting[worker.run.remote(trial.job)] = (worker, trial)

    def _bury(self, trial: _Trial | None, error: Exception) -> Outcome | None:
        """Replace a dead worker; its job is done again, or has failed for good."""
        self.deaths_in_a_row += 1
        if self.deaths_in_a_row > 2 * MAX_TRIES * self.n:
            raise InputError(
                f"{self.deaths_in_a_row} workers died one after another. Have they memory enough "
                f"(fewer workers, more of a GPU for each)? The last one: {error}"
            )
        self._hire()
        if trial is None:
            return None
        trial.deaths += 1
        if trial.deaths < MAX_TRIES:
            self.again.append(trial)
            return None
        return Outcome([], 0.0, f"WorkerDied: {MAX_TRIES} workers died at this job", str(error))


@contextmanager
def _session(address: str | None) -> Iterator[Any]:
    """Yield ``ray``, connected: to what this process is connected to, a cluster, or a new one."""
    ray = _import_ray(local=address is None)
    if ray.is_initialized():
        yield ray
        return
    # "local" starts one even where another program on this machine has one running.
    options = {"address": address} if address else {"address": "local", "include_dashboard": False}
    try:
        _check_reachable(address)
        ray.init(log_to_driver=False, logging_level="ERROR", **options)
    except (OSError, ValueError) as error:
        raise InputError(
            f"No Ray cluster answers at {address!r} ({error}). Start one with `ray start --head`."
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_reachable(address: str | None) -> None:
    """Connect to HOST:PORT once, since Ray itself tries for many minutes; raises OSError."""
    host, _, port = (address or "").rpartition("//")[2].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=CONNECT_S).close()


def _import_ray(*, local: bool) -> Any:
    """Import Ray, or raise `InputError` that names the extra to install."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if local:  # Ray's own switch for clusters of one machine: listen on the loopback only
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ImportError as error:
        raise InputError(f"The Ray executor needs Ray: {install_command('ray')}.") from error
    return ray
