"""Images a second of `autoeval.detect` in this process, and with one and two workers of Ray.

A cluster of this machine is started once, and its start is not timed; loading the detector is, in
each run. Runs take turns, each into a fresh work dir, and the boxes of all are compared. Two
workers need two idle cores: the load of the machine is printed.

    python -m benchmarks.ray_detect                                # a small detector, drawings
    python -m benchmarks.ray_detect --detector best.pt --images photographs/ --n-images 2000
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from functools import partial
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import torch

import autoeval
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.runtime.ray_executor import RayExecutor
from benchmarks.timing import add_subject_options, image_files, median, report, spread

WORKERS = (1, 2)


def main() -> None:
    """Measure, and print images a second and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_subject_options(parser, n_images=400)
    parser.set_defaults(detector="roadworld_nano")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    import ray

    ray.init("local", num_cpus=max(WORKERS), include_dashboard=False, log_to_driver=False)
    spec = DetectorSpec(args.detector, args.checkpoint, args.device)
    executors = {"one process": None} | {
        f"{n} worker{'s' * (n > 1)}": RayExecutor(workers=n, cpus=args.threads, gpus=0)
        for n in WORKERS
    }
    rounds = []
    with image_files(args.images, args.n_images) as files, TemporaryDirectory() as temporary:
        folder, loads = Path(temporary), list[float]()
        (folder / "site").mkdir()
        for number, file in enumerate(files):
            shutil.copy(file.path, folder / f"site/{number:06}{Path(file.path).suffix}")
        for number in range(args.rounds):
            took = {}
            for name in list(executors)[:: 1 if number % 2 == 0 else -1]:
                run = autoeval.Detector(spec, executor=executors[name])
                work, start = folder / "work", time.perf_counter()
                autoeval.detect(run, folder / "site", folder / f"{name}.parquet", work_dir=work)
                took[name] = {"wall": time.perf_counter() - start}
                shutil.rmtree(work)
                loads.append(os.getloadavg()[0])
            rounds.append(took)
        tables = [pd.read_parquet(folder / f"{name}.parquet") for name in executors]
    same = all(table.equals(tables[0]) for table in tables)
    lines = [f"load of the machine: {min(loads):.1f} to {max(loads):.1f}, {os.cpu_count()} cores"]
    lines.append(f"boxes of all runs equal: {same}, {len(tables[0])} boxes")
    figures: dict[str, Any] = {"load": [min(loads), max(loads)], "equal": same}
    for name in executors:
        of_one = partial(ratio, name)
        rate = args.n_images / median(rounds, itemgetter(name), "wall")
        low, high = spread(rounds, of_one, "wall")
        figures[name] = {"images_per_s": rate, "range": [low, high]}
        lines.append(
            f"{name:12} {rate:6.1f} images a second, {median(rounds, of_one, 'wall'):.2f} times "
            f"one worker ({low:.2f} to {high:.2f})"
        )
    report(args, lines, figures=figures)


def ratio(name: str, seconds: dict[str, float]) -> float:
    """Return how many times as fast as one worker a run was."""
    return seconds["1 worker"] / seconds[name]


if __name__ == "__main__":
    main()
