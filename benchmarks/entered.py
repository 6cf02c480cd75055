"""How many files and functions of this project a command enters on the sample.

Each command runs in a process of its own in a copy of the sample; what counts are function bodies
that are run at least once (no class or module bodies, no lambdas or comprehensions).

    python -m benchmarks.entered
    python -m benchmarks.entered --only estimate --list
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
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
WANTED = {
    "fit": (40, 300),
    "estimate": (35, 220),
    "label plan": (45, 300),
    "label estimate": (35, 200),
    "compare": (38, 220),
    "threshold": (38, 240),
    "monitor": (45, 250),
}
PROGRAM = """
import json, sys, threading
entered = set()
package = sys.argv[1]
def note(frame, event, argument):
    code = frame.f_code
    ours = event == "call" and code.co_filename.startswith(package)
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


def entered_by(command: str, folder: Path) -> list[tuple[str, str]]:
    """Run a command in a folder; return the file and the name of each function that it enters."""
    package, found = str(ROOT / "autoeval"), folder / "entered.json"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-c", PROGRAM, package, str(found), *command.split()]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"autoeval {command} ended with {done.returncode}:\n{done.stderr}")
    return [tuple(pair) for pair in json.loads(found.read_text())]


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", nargs="+", metavar="COMMAND", choices=COMMANDS, default=list(COMMANDS)
    )
    parser.add_argument("--list", action="store_true", help="print the files, too")
    args = parser.parse_args()
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
            most = WANTED[name]
            print(f"| {name} | {len(files)} | {most[0]} | {len(found)} | {most[1]} |", flush=True)
            if args.list:
                print("\n".join(f"  {Path(file).relative_to(ROOT)}" for file in files))


if __name__ == "__main__":
    main()
