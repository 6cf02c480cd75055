"""Processor time of the commands on the sample, in turns with those of another checkout.

    git worktree add ../before COMMIT
    python benchmarks/command_times.py --before ../before

Each command is a process of its own on one thread; what is counted is user and system time. The
first run of each is not counted: it writes the byte code that later ones read.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
SAMPLE = "docs/getting-started/sample"
COMMANDS = (
    "fit --labels val.json --predictions val_predictions.json",
    "estimate --predictions new_predictions.json --images new_site.json",
    "fit --labels nope.json --predictions val_predictions.json",
    "estimate --predictions nope.json",
    "label plan --predictions nope.json",
    "threshold --labels nope.json --predictions val_predictions.json",
    "estimate --help",
)


def main() -> None:
    """Time and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    checkouts = {"before": args.before.resolve(), "now": HERE}
    print("| command | before, s | now, s | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        work_dirs = {name: Path(folder) / name for name in checkouts}
        for command in COMMANDS:
            times: dict[str, list[float]] = {name: [] for name in checkouts}
            for run in range(args.runs + 1):
                for name, checkout in checkouts.items():
                    seconds = processor_time(command, checkout, work_dirs[name])
                    if run:
                        times[name].append(seconds)
            before, now = (statistics.median(times[name]) for name in checkouts)
            both = zip(times["now"], times["before"], strict=True)
            ratio = statistics.median(a / b for a, b in both)
            print(f"| `{command}` | {before:.2f} | {now:.2f} | {ratio:.2f} |", flush=True)


def processor_time(command: str, checkout: Path, work_dir: Path) -> float:
    """Run a command of a checkout on its sample, and return the seconds that it used."""
    words = command.split()
    if "--help" not in words:
        words += ["--work-dir", str(work_dir / words[0])]
    if words[0] in ("estimate", "label") and "--help" not in words:
        words += ["--estimator", str(work_dir / "fit")]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "autoeval", *words],
        cwd=checkout / SAMPLE,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
