"""Times that bear comparison: everything measured in turns, in one process, on two clocks.

The wall clock is what people wait for; the processor's hardly changes when other programs want the
machine, too. Each round runs everything once, every other round in the opposite order, and a ratio
is the median of the ratios within rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from autoeval.runtime.files import write_text
from autoeval.version import __version__

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
PACKAGES = ("torch", "mmdet", "mmengine", "numpy", "scipy")
Rounds = list[dict[str, dict[str, float]]]


def machine() -> dict[str, Any]:
    """Describe where the figures come from."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "python": platform.python_version(),
        "autoeval": __version__,  # also where it runs from its folder, without being installed
        **{name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def seconds(run: Callable[[], object]) -> dict[str, float]:
    """Return how long a call takes, by each clock."""
    start = {name: clock() for name, clock in CLOCKS.items()}
    run()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return {name: clock() - start[name] for name, clock in CLOCKS.items()}


def in_turns(runs: Mapping[str, Callable[[], object]], rounds: int) -> Rounds:
    """Run everything once a round, and return the seconds of each round, name and clock."""
    measured = []
    for number in range(rounds):
        names = list(runs) if number % 2 == 0 else list(runs)[::-1]
        measured.append({name: seconds(runs[name]) for name in names})
        print(f"round {number + 1} of {rounds}", flush=True)
    return measured


def median(rounds: Rounds, figure: Callable[[dict[str, float]], float], clock: str) -> float:
    """Return the median over rounds of what ``figure`` makes of the seconds of one round."""
    return statistics.median(
        figure({name: spent[clock] for name, spent in one.items()}) for one in rounds
    )


def spread(rounds: Rounds, figure: Callable[[dict[str, float]], float], clock: str) -> list[float]:
    """Return the smallest and the largest of the same."""
    values = [figure({name: spent[clock] for name, spent in one.items()}) for one in rounds]
    return [min(values), max(values)]


def write_json(path: str | None, result: Mapping[str, Any]) -> None:
    """Write a result where a path is given."""
    if path:
        write_text(path, json.dumps(result, indent=2) + "\n")


def report(args: argparse.Namespace, lines: Iterable[str], **result: Any) -> None:
    """Print the machine and lines; write both, and the options, where ``--json`` names a file."""
    for name, value in machine().items():
        print(f"{name:18} {value}")
    print("\n".join(lines))
    options = {name: value for name, value in vars(args).items() if name != "json"}
    write_json(args.json, {"machine": machine(), "run": options, **result})
