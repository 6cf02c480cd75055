"""What watching many sites costs apart from the network: time of each step, and memory.

Pictures of 64 x 48 pixels, and a detector that costs nothing and finds ten boxes in each. Run it
for two numbers of images: bookkeeping grows with them, memory should not.

    python benchmarks/monitoring.py --images 10000 100000 --sites 1000
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
import pandas as pd

if TYPE_CHECKING:  # at run time, imported by the processes that are measured
    from autoeval.detections import Evidence
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.monitoring.observing.site_pass import SiteImage

N_BOXES, WIDTH, HEIGHT, DIFFERENT = 10, 64, 48, 20


def main() -> None:
    """Measure each number of images in a process of its own."""
    args = parse_args()
    if args.one:
        print(json.dumps(measure(args.images[0], args.sites, args.folder)))
        return
    rows = []
    for n_images in args.images:
        with tempfile.TemporaryDirectory(dir=args.folder) as folder:
            words = ["--images", str(n_images), "--sites", str(args.sites), "--folder", folder]
            command = [sys.executable, __file__, "--one", *words]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        rows.append({"images": n_images, "sites": args.sites} | json.loads(done.stdout))
    print(pd.DataFrame(rows).round(1).T.to_string(header=False))


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--sites", type=int, default=1000)
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="(%(default)s)")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(n_images: int, n_sites: int, folder: str) -> dict[str, float]:
    """Time the steps of a run, in seconds of CPU, and the largest memory, in MB."""
    from autoeval.io.find_images import find_images
    from autoeval.io.image_folder import ImageFile
    from autoeval.monitoring.observing.site_pass import (
        SitePass,
        observe_sites,
        site_images,
        site_observer,
    )
    from autoeval.monitoring.order.site_table import site_table
    from autoeval.monitoring.periods import Clock
    from autoeval.monitoring.site_categories import SiteCategories
    from autoeval.monitoring.site_records import RecordStore
    from autoeval.monitoring.watch_plan import WatchPlan
    from autoeval.monitoring.watched import Watched
    from autoeval.results.monitoring.site_board import site_board
    from autoeval.results.monitoring.sites_report import sites_report

    write_images(Path(folder) / "images", n_images, n_sites)
    estimator, detector = made_estimator(), Instant()
    store, spent = RecordStore(Path(folder) / "work"), {}
    spent["MB before"] = memory()
    with timed(spent, "list files"):
        found = find_images(Path(folder) / "images").images
        images, _ = site_images(of for of in found if isinstance(of, ImageFile))
    observer = site_observer(estimator, detector, batch_size=64)
    work = SitePass(observer, Clock("file"), lambda image: {"brightness": 0.5})
    with timed(spent, "observe and remember"):
        observe_sites(images, work, store)
    spent["of it reading pixels"] = reading_s(images[:: max(1, n_images // 1000)]) * n_images
    with timed(spent, "find nothing new"):
        observe_sites(images, work, store)
    categories, plan = (
        SiteCategories(detector.categories, estimator.words_),
        WatchPlan(),
    )
    with timed(spent, "score, estimate, rank"):
        table = site_table(store, estimator, categories, plan, backbone=detector.backbone)
    with timed(spent, "the same, nothing new"):
        table = site_table(store, estimator, categories, plan, backbone=detector.backbone)
    with timed(spent, "page"):
        board = site_board(Watched(table, "mAP", "folder"))
        sites_report(Watched(table, "mAP", "folder"), board).write(Path(folder) / "work")
    spent["MB at most"] = memory()
    steps = [v for k, v in spent.items() if "MB" not in k and "of it" not in k]
    spent["bookkeeping in all"] = sum(steps) - spent["of it reading pixels"]
    return spent


class Instant:
    """A detector that finds the same ten boxes with other scores in every image."""

    categories: tuple[str, ...] = ("car",)
    fingerprint = "instant"
    backbone = "black box"

    def __init__(self) -> None:
        self.settings = {"name": "instant"}
        rng = np.random.default_rng(0)
        corner = rng.uniform(0, 20, (N_BOXES, 2))
        self._boxes = np.concatenate([corner, corner + rng.uniform(8, 28, (N_BOXES, 2))], 1)
        self._scores = rng.uniform(0.05, 1, (997, N_BOXES))

    def observe(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        *,
        wants: Collection[str] = (),
    ) -> list[Evidence]:
        """Return boxes of the plain pass and of that at half the size."""
        from autoeval.detections import Detections, Evidence

        labels, found = np.zeros(N_BOXES), []
        for image, name in zip(images, image_ids, strict=True):
            scores = self._scores[hash(name) % len(self._scores)]
            clean = Detections(self._boxes, scores, labels)
            half = Detections(self._boxes + 1.5, scores * 0.9, labels)
            found.append(Evidence(name, image.shape[:2], clean, half_size=half))
        return found


def made_estimator() -> AccuracyEstimator:
    """Fit on sites that are made up."""
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.estimation.observation.observing import Observer
    from autoeval.estimation.observation.pass_settings import PassSettings
    from autoeval.estimation.panel_prior import calibration_prior
    from autoeval.io.tasks.task import Task

    rng, rows = np.random.default_rng(0), []
    for k, level in enumerate(rng.uniform(0.1, 0.8, 30)):
        middle = {"expected_ap": level, "likely_share": level, "box_size": -1.8}
        scores = {name: float(at + rng.normal(0, 0.05)) for name, at in middle.items()}
        row = {"source": f"s{k}", "group": f"s{k}", "kind": "seed", "sample_set": "", "repeat": 0}
        value = {name: float(level) for name in ("mAP", "mAP50", "mAP75")}
        rows.append({**row, "n_images": 100, **scores, **value})
    task = Task("cars", ("car",), (), {"car": "car"})
    context = Observer(Instant(), task, PassSettings()).context()
    calibration = calibration_prior().calibration
    return AccuracyEstimator().fit_rows(
        pd.DataFrame(rows), context=context, calibration=calibration
    )


def write_images(root: Path, n_images: int, n_sites: int) -> None:
    """Write a few pictures, and names for them at all sites."""
    rng, root = np.random.default_rng(0), Path(root)
    root.mkdir()
    some = [root.parent / f"{k}.png" for k in range(DIFFERENT)]
    for path in some:
        cv2.imwrite(str(path), rng.integers(0, 255, (HEIGHT, WIDTH, 3), np.uint8))
    for site in range(n_sites):
        (root / f"camera {site:04d}").mkdir()
    for k in range(n_images):
        os.link(some[k % DIFFERENT], root / f"camera {k % n_sites:04d}" / f"{k:06d}.png")


def reading_s(images: Sequence[SiteImage]) -> float:
    """Seconds of CPU to decode one image, from some of them."""
    began = time.process_time()
    for image in images:
        image.file.read()
    return (time.process_time() - began) / len(images)


@contextmanager
def timed(spent: dict[str, float], name: str) -> Iterator[None]:
    """Note seconds of CPU."""
    began = time.process_time()
    yield
    spent[name] = time.process_time() - began


def memory() -> float:
    """Return the largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
