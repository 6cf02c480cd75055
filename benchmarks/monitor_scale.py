"""Time `autoeval monitor` on many sites: a first run, a run without news, one more site.

    python -m benchmarks.monitor_scale [--sites 1 100 1000] [--profile FILE]

Each site has 50 images with boxes drawn from the sample of the documentation, in five windows of
which three are the baseline. Every run is a process of its own. Seconds are of processors (user and
system), which other work on the machine changes little; what can be compared are the columns and
rows with one another: twice as many sites should take twice as long, and one more site among many
as long as a single one beside a run without news.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from autoeval.report.text import to_markdown

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "docs/getting-started/sample"
N_IMAGES, IN_WINDOW, IN_BASELINE = 50, 10, 30
START = datetime(2026, 3, 2, 8)


def main() -> None:
    """Write sites, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sites", nargs="+", type=int, default=[1, 100, 1000])
    parser.add_argument("--profile", type=Path, help="of the last first run, for pstats")
    args = parser.parse_args()
    rows = []
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for path in SAMPLE.glob("*.json"):
            shutil.copy(path, folder)
        run(folder, "fit --labels val.json --predictions val_predictions.json --work-dir fit")
        for n_sites in args.sites:
            rows.append(timed(folder, n_sites, args.profile if n_sites == args.sites[-1] else None))
    print(to_markdown(pd.DataFrame(rows)))


def timed(folder: Path, n_sites: int, profile: Path | None) -> dict[str, Any]:
    """Return the seconds of each kind of run over some sites."""
    sites, boxes = folder / f"sites_{n_sites}", images_of_sample()
    for k in range(n_sites):
        write_site(sites, k, boxes)
    command = f"monitor --estimator fit --predictions {sites.name} --work-dir work_{n_sites} "
    command += f"--by every:{IN_WINDOW} --baseline {IN_BASELINE}"
    row: dict[str, Any] = {"sites": n_sites, "first run (s)": run(folder, command, profile)}
    row["run without news (s)"] = run(folder, command)
    write_site(sites, n_sites, boxes)
    row["run with one more site (s)"] = run(folder, command)
    return {name: round(value, 1) if name != "sites" else value for name, value in row.items()}


def run(folder: Path, command: str, profile: Path | None = None) -> float:
    """Run a command in a process of its own; return how many seconds of processors it took."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    profiled = ["-m", "cProfile", "-o", str(profile.resolve())] if profile else []
    words = [sys.executable, *profiled, "-m", "autoeval", *command.split()]
    began = _of_processes()
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"autoeval {command} ended with {done.returncode}:\n{done.stderr}")
    return _of_processes() - began


def _of_processes() -> float:
    """Return the seconds of processors that all processes took that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def images_of_sample() -> list[list[dict[str, Any]]]:
    """Return the boxes of each image of the sample's new site."""
    found: dict[Any, list[dict[str, Any]]] = {}
    for box in json.loads((SAMPLE / "new_predictions.json").read_text()):
        found.setdefault(box["image_id"], []).append(box)
    return list(found.values())


def write_site(folder: Path, number: int, sample: list[list[dict[str, Any]]]) -> None:
    """Write the results of one site, 50 images ten minutes apart."""
    rng, rows, images = np.random.default_rng(number), [], []
    for k in range(N_IMAGES):
        taken = START + timedelta(minutes=10 * k)
        name = f"{k:03}.jpg"
        images.append({"id": k, "file_name": name, "width": 640, "height": 480})
        images[-1]["date_captured"] = f"{taken:%Y-%m-%d %H:%M:%S}"
        for box in sample[rng.integers(len(sample))]:
            rows.append({**box, "image_id": k, "file_name": name})
    categories = json.loads((SAMPLE / "new_site.json").read_text()).get("categories", [])
    content: dict[str, Any] = {"images": images, "annotations": rows, "categories": categories}
    folder.mkdir(exist_ok=True)
    (folder / f"site_{number:04}.json").write_text(json.dumps(content))


if __name__ == "__main__":
    main()
