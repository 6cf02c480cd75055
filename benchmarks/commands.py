"""What commands cost, and how much code they enter.

entered: how many files and functions of this project a command enters on the sample.

Each command runs in a process of its own in a copy of the sample; what counts are function bodies
that are run at least once (no class or module bodies, nor the body of a template; no lambdas or
comprehensions).

    python -m benchmarks.commands entered
    python -m benchmarks.commands entered --only estimate --list

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
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
SAMPLE_FOLDER = "docs/getting-started/sample"
SAMPLE = ROOT / SAMPLE_FOLDER
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
PROCESSOR, WALL, MEMORY = "processor, s", "wall clock, s", "peak memory, MB"
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


def run_python(
    words: Sequence[object],
    *,
    cwd: Path | None = None,
    root: Path = ROOT,
    python: str = sys.executable,
    check: bool = True,
) -> tuple[dict[str, float], str]:
    """Run Python on one thread; return its seconds by two clocks and peak memory, and what it said.

    root: checkout that it imports. check: whether it has to end well.
    """
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users' programs are compiled once
    command, start = [python, *map(str, words)], time.perf_counter()
    with tempfile.TemporaryFile("w+") as printed:
        process = subprocess.Popen(
            command, cwd=cwd, env=environment, stdout=printed, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        printed.seek(0)
        text = printed.read()
    if check and status:
        raise SystemExit(f"{' '.join(command)} failed:\n{text}")
    figures = used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024
    return dict(zip((PROCESSOR, WALL, MEMORY), figures, strict=True)), text


def entered_by(command: str, folder: Path) -> list[tuple[str, str]]:
    """Run a command in a folder; return the file and the name of each function that it enters."""
    package, found = str(ROOT / "autoeval"), folder / "entered.json"
    run_python(["-c", COUNTING, package, found, *command.split()], cwd=folder)
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


def times(words: list[str]) -> None:
    """Time and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="commands times")
    parser.add_argument("--before", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args(words)
    checkouts = {"before": args.before.resolve(), "now": ROOT}
    print("| command | before, s | now, s | ratio |\n|---|---|---|---|")
    with TemporaryDirectory() as folder:
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
    folder = checkout / SAMPLE_FOLDER
    used, _ = run_python(["-m", "autoeval", *words], cwd=folder, root=checkout, check=False)
    return used[PROCESSOR]


PARTS = {"entered": entered, "times": times}


if __name__ == "__main__":
    run_part(__doc__, PARTS)
