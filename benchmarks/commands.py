"""What commands cost, and how much code they enter.

entered: how many files and functions of this project a command enters on the sample.

Each command runs in a process of its own in a copy of the sample; what counts are function bodies
that are run at least once (no class or module bodies, nor the body of a template; no lambdas or
comprehensions).

    python -m benchmarks.commands entered
    python -m benchmarks.commands entered --only estimate --list

first-line: processor time until `fit` and `estimate` print their number, beside imports alone.

Each run is a process of its own, in turn with one that only imports what numbers and files need, so
that a busy machine slows both. Prints the median of the ratios; pages are drawn after the number.

    python -m benchmarks.commands first-line
    python -m benchmarks.commands first-line --runs 9

times: processor time of the commands on the sample, in turns with those of another checkout.

    git worktree add ../before COMMIT
    python -m benchmarks.commands times --before ../before

Each command is a process of its own on one thread; what is counted is user and system time. The
first run of each is not counted: it writes the byte code that later ones read.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "docs/getting-started/sample"
NEW = "--predictions new_predictions.json --images new_site.json"
COMMANDS = {
    "fit": "fit --labels val.json --predictions val_predictions.json",
    "estimate": f"estimate {NEW}",
    "label plan": f"label plan --estimator work_dirs/fit {NEW} --n 15",
    "label estimate": "label estimate --plan work_dirs/labels --labels new_labels.json",
    "compare": "compare work_dirs/fit weaker --images new_site.json "
    "--predictions new_predictions.json new_weaker.json",
    "threshold": f"threshold --estimator work_dirs/fit {NEW} --recall .5",
    "monitor": "monitor --estimator work_dirs/fit --predictions sites",
}
WEAKER = "fit --labels val.json --predictions val_weaker.json --work-dir weaker"
#: Most files and functions of each that a newcomer should have to read.
MOST_ENTERED = {
    "fit": (40, 300),
    "estimate": (35, 220),
    "label plan": (45, 300),
    "label estimate": (35, 200),
    "compare": (38, 220),
    "threshold": (38, 240),
    "monitor": (45, 250),
}
COUNTING = """
import json, sys, threading
entered = set()
package = sys.argv[1]
def note(frame, event, argument):
    code = frame.f_code
    ours = event == "call" and code.co_filename.startswith(package)
    ours = ours and not (code.co_filename.endswith(".j2") and code.co_name == "root")  # its body
    if ours and not code.co_name.startswith("<") and code.co_flags & 2:  # no body of a class
        entered.add((code.co_filename, code.co_qualname))
sys.setprofile(note)
threading.setprofile(note)
from autoeval.cli import main
status = main(sys.argv[3:])
sys.setprofile(None)
json.dump(sorted(entered), open(sys.argv[2], "w"))
sys.exit(status)
"""
IMPORTS = "import numpy, scipy.special, scipy.linalg, pyarrow.parquet"
SECONDS = "import sys, time; sys.stderr.write(f'\\n{time.process_time()}')"
#: Most times as long as the imports that a command should take.
MOST_TIMES = {"fit": 5.0, "estimate": 2.0}
TIMING = """
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
HERE = Path(__file__).resolve().parents[1]
SAMPLE_FOLDER = "docs/getting-started/sample"
TIMED = (
    "fit --labels val.json --predictions val_predictions.json",
    "estimate --predictions new_predictions.json --images new_site.json",
    "fit --labels nope.json --predictions val_predictions.json",
    "estimate --predictions nope.json",
    "label plan --predictions nope.json",
    "threshold --labels nope.json --predictions val_predictions.json",
    "estimate --help",
)


def run_part(about: str | None, parts: Mapping[str, Callable[[list[str]], None]]) -> None:
    """Run the part that the command line names, with the words behind its name.

    about: docstring of the program, whose first line is its help.
    """
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("part", choices=parts)
    parser.add_argument("words", nargs=argparse.REMAINDER, help="PART --help explains them")
    typed = parser.parse_args()
    parts[typed.part](typed.words)


def entered_by(command: str, folder: Path) -> list[tuple[str, str]]:
    """Run a command in a folder; return the file and the name of each function that it enters."""
    package, found = str(ROOT / "autoeval"), folder / "entered.json"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-c", COUNTING, package, str(found), *command.split()]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"autoeval {command} ended with {done.returncode}:\n{done.stderr}")
    return [tuple(pair) for pair in json.loads(found.read_text())]


def entered(words: list[str]) -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(prog="commands entered")
    parser.add_argument(
        "--only", nargs="+", metavar="COMMAND", choices=COMMANDS, default=list(COMMANDS)
    )
    parser.add_argument("--list", action="store_true", help="print the files, too")
    args = parser.parse_args(words)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for path in SAMPLE.glob("*.json"):
            shutil.copy(path, folder)
        for site in ("val", "new"):  # of a second detector, which misses every fourth box
            rows = json.loads((folder / f"{site}_predictions.json").read_text())
            (folder / f"{site}_weaker.json").write_text(
                json.dumps([row for k, row in enumerate(rows) if k % 4])
            )
        entered_by(WEAKER, folder)
        (folder / "sites").mkdir()
        shutil.copy(folder / "new_predictions.json", folder / "sites/new.json")
        shutil.copy(folder / "val_predictions.json", folder / "sites/val.json")
        print("| command | files | at most | functions | at most |\n|---|---:|---:|---:|---:|")
        for name, command in COMMANDS.items():
            found = entered_by(command, folder)
            if name not in args.only:
                continue
            files = sorted({file for file, _ in found})
            most = MOST_ENTERED[name]
            print(f"| {name} | {len(files)} | {most[0]} | {len(found)} | {most[1]} |", flush=True)
            if args.list:
                print("\n".join(f"  {Path(file).relative_to(ROOT)}" for file in files))


def seconds_of(program: str, words: list[str], folder: Path) -> float:
    """Run a program that writes its processor seconds last on standard error, and return them."""
    command = [sys.executable, "-c", program, *words]
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users' programs are compiled once
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
    return float(done.stderr.splitlines()[-1])


def ratios_of(command: str, folder: Path, runs: int) -> list[float]:
    """Return the ratios of a command to the imports, run in turn; the first of each warms up."""
    ratios = []
    for _ in range(runs + 1):
        imports = seconds_of(f"{IMPORTS}; {SECONDS}", [], folder)
        ratios.append(seconds_of(TIMING, COMMANDS[command].split(), folder) / imports)
    return ratios[1:]


def first_line(words: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="commands first-line")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args(words)
    print("| command | times the imports | lowest | highest | at most |\n|---|---:|---:|---:|---:|")
    with TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(SAMPLE, folder, dirs_exist_ok=True)
        words = [sys.executable, "-m", "autoeval", *COMMANDS["fit"].split()]
        subprocess.run(words, cwd=folder, capture_output=True, check=True)
        for command, most in MOST_TIMES.items():
            ratios = ratios_of(command, folder, args.runs)
            row = (median(ratios), min(ratios), max(ratios))
            print(f"| {command} | {' | '.join(f'{ratio:.1f}' for ratio in row)} | {most:g} |")


def times(words: list[str]) -> None:
    """Time and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="commands times")
    parser.add_argument("--before", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args(words)
    checkouts = {"before": args.before.resolve(), "now": HERE}
    print("| command | before, s | now, s | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        work_dirs = {name: Path(folder) / name for name in checkouts}
        for command in TIMED:
            times: dict[str, list[float]] = {name: [] for name in checkouts}
            for run in range(args.runs + 1):
                for name, checkout in checkouts.items():
                    seconds = processor_time(command, checkout, work_dirs[name])
                    if run:
                        times[name].append(seconds)
            before, now = statistics.median(times["before"]), statistics.median(times["now"])
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
        cwd=checkout / SAMPLE_FOLDER,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


PARTS = {"entered": entered, "first-line": first_line, "times": times}


if __name__ == "__main__":
    run_part(__doc__, PARTS)
