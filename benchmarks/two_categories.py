"""A few labels for the mean over vehicles and persons: sites where both are labelled.

    python -m benchmarks.two_categories DATA PREDICTIONS [--detectors NAME ...] [--draws N]
        [--work-dir DIR]

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them. Each detector is fitted on
the 164 `val` images of ``all/coco_mini``; pools are the sites in ``two`` but that of COCO.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

import autoeval
from autoeval.report.tables import format_cells, to_markdown
from benchmarks.many_categories import SET, Pool, measure, planned_pool, write_boxes, write_part

CATEGORIES = {"vehicle": ["car", "bus", "truck"], "person": ["person"]}
OF_COCO = "coco_two"
SIZES = (10, 20, 50)
DETECTORS = ("nanodet_plus", "yolov8n")
FIGURES = ("MAE", "bias", "half-width", "forecast", "coverage")


def read_sites(data: Path, predictions: Path, detector: str, folder: Path) -> Iterator[Pool]:
    """Fit on the labelled set, and plan for each site."""
    folder.mkdir(parents=True, exist_ok=True)
    labelled = write_part(data / "all" / SET / "annotations.json", "val", folder / "fit.json")
    boxes = predictions / detector
    found = write_boxes(boxes / "all" / f"{SET}.json", labelled, folder / "fit_boxes.json")
    estimator = autoeval.fit(labelled, found)
    for site in sorted((data / "two").iterdir()):
        own = site / "annotations.json"
        if site.name != OF_COCO and own.is_file():
            found = write_boxes(boxes / "two" / f"{site.name}.json", own, folder / "boxes.json")
            yield planned_pool(estimator, detector, site.name, own, found, CATEGORIES)


def main() -> None:
    """Print the means over sites and detectors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--detectors", nargs="+", default=DETECTORS, metavar="NAME")
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/two_categories"))
    args = parser.parse_args()
    rows = []
    for detector in args.detectors:
        folder = args.work_dir / detector
        for pool in read_sites(args.data, args.predictions, detector, folder):
            sizes = [k for k in SIZES if k < pool.plan.n_pool]
            rows += [measure(pool, k, args.draws)[0] for k in sizes]
    table = pd.DataFrame(rows).groupby("labels")[list(FIGURES)].mean().reset_index()
    formats = {**dict.fromkeys(FIGURES, "{:.1f}"), "coverage": "{:.0%}"}
    print(to_markdown(format_cells(table, formats)))


if __name__ == "__main__":
    main()
