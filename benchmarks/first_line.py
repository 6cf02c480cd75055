"""Processor time until `fit` and `estimate` print their number on the sample, beside imports alone.

Each run is a process of its own, in turn with one that only imports what numbers and files need, so
that a busy machine slows both. Prints the median of the ratios; pages are drawn after the number.

    python -m benchmarks.first_line
    python -m benchmarks.first_line --runs 9
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.entered import COMMANDS, SAMPLE

IMPORTS = "import numpy, scipy.special, scipy.linalg, pyarrow.parquet"
SECONDS = "import sys, time; sys.stderr.write(f'\\n{time.process_time()}')"
#: Most times as long as the imports that a command should take.
WANTED = {"fit": 5.0, "estimate": 2.0}
PROGRAM = """
import os, sys, time

class FirstLine:
    encoding = "utf-8"
    def write(self, text):
        if text.strip():
            sys.stderr.write(f"\\n{time.process_time()}")
            sys.stderr.flush()
            os._exit(0)
    def flush(self):
        pass
    def isatty(self):
        return False

sys.stdout = FirstLine()
from autoeval.cli import main
main(sys.argv[1:])
"""


def seconds_of(program: str, words: list[str], folder: Path) -> float:
    """Run a program that writes its processor seconds last on standard error, and return them."""
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return float(done.stderr.splitlines()[-1])


def ratios_of(command: str, folder: Path, runs: int) -> list[float]:
    """Return the ratios of a command to the imports, run in turn; the first of each warms up."""
    ratios = []
    for _ in range(runs + 1):
        imports = seconds_of(f"{IMPORTS}; {SECONDS}", [], folder)
        ratios.append(seconds_of(PROGRAM, COMMANDS[command].split(), folder) / imports)
    return ratios[1:]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    print("| command | times the imports | lowest | highest | at most |\n|---|---:|---:|---:|---:|")
    with TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(SAMPLE, folder, dirs_exist_ok=True)
        words = [sys.executable, "-m", "autoeval", *COMMANDS["fit"].split()]
        subprocess.run(words, cwd=folder, capture_output=True, check=True)
        for command, most in WANTED.items():
            ratios = ratios_of(command, folder, args.runs)
            row = (median(ratios), min(ratios), max(ratios))
            print(f"| {command} | {' | '.join(f'{ratio:.1f}' for ratio in row)} | {most:g} |")


if __name__ == "__main__":
    main()
