"""Estimates with a few labels from one labelled set and prediction files: tables of docs/results.

    python benchmarks/labels_from_files.py DATA PREDICTIONS [--draws N] [--target recall@0.3]
        [--work-dir DIR] > tables.md

DATA holds ``<task>/<seed>/annotations.json`` and PREDICTIONS ``<task>/<seed>.json`` of one
detector, for the tasks vehicle, person and two, and ``all/coco_mini`` with all categories. What is
used is fitted on the `val` images of coco_mini; and on single sites of one category in turn, the
three largest of different families for each category.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from autoeval.data.coco import read_coco
from autoeval.data.labels.truth import Truth
from autoeval.estimation.site_boxes import PredictionFiles, SiteBoxes
from autoeval.estimation.training_set import TrainingSet, training_set
from autoeval.labels.prior import OF_ONE_SET
from autoeval.research.reports.few_labels import labels_from_files_report

WORDS = {"car": "vehicle", "bus": "vehicle", "truck": "vehicle", "person": "person"}
TASKS = {"vehicle": ("vehicle",), "person": ("person",), "two": ("vehicle", "person")}
ORIGINS = ("bdd", "hituav", "dawn", "coco", "trafficcam", "highway_id")
FIRST = 3  # sites of each category that are fitted on


def family(source: str) -> str:
    """Name the origin that a source shares with others."""
    return next((origin for origin in ORIGINS if source.startswith(origin)), source)


def read(path: Path, images: Sequence, categories: Sequence[str], words: dict) -> SiteBoxes:
    """Read predictions in the categories that are evaluated."""
    boxes = PredictionFiles(path).read(images, where=str(path), numbers={})
    return boxes.as_categories(categories, words)


def all_sites(data: Path, predictions: Path) -> list[TrainingSet]:
    """Read the sites with vehicles and persons, without those of COCO."""
    sites = []
    for task, categories in TASKS.items():
        for path in sorted((predictions / task).glob("*.json")):
            if family(path.stem) != "coco":
                content = read_coco(data / task / path.stem / "annotations.json")
                boxes = read(path, content.images, categories, WORDS)
                truth = Truth.of(content, categories)
                named = {"name": path.stem, "family": family(path.stem)}
                sites.append(training_set(boxes, truth, everywhere=True, **named))
    return sites


def coco_val(data: Path, predictions: Path) -> TrainingSet:
    """Read the images of coco_mini that COCO-trained detectors have not seen."""
    path = data / "all/coco_mini/annotations.json"
    content, entries = read_coco(path), json.loads(path.read_bytes())["images"]
    kept = np.flatnonzero([entry["coco_split"] == "val" for entry in entries])
    truth = Truth.of(content)
    words = {word: word for word in truth.categories}
    boxes = read(predictions / "all/coco_mini.json", content.images, truth.categories, words)
    named = {"name": "coco_mini", "family": "coco"}
    return training_set(boxes.on_images(kept), truth.on_images(kept), **named)


def single_sites(sites: Sequence[TrainingSet]) -> list[TrainingSet]:
    """Choose the largest sites of each category, one of a family."""
    chosen: list[TrainingSet] = []
    for category in ("vehicle", "person"):
        own = [site for site in sites if site.truth.categories == (category,)]
        own.sort(key=lambda site: (-len(site.boxes), site.name))
        first = {site.family: site for site in reversed(own)}
        chosen += [site for site in own if first[site.family] is site][:FIRST]
    return chosen


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--target", default="mAP", help="such as recall@0.3 (%(default)s)")
    parser.add_argument("--fit-on", choices=("set", "site"), help="one of the two; both by default")
    parser.add_argument("--work-dir", type=Path, help="folder for the tables as CSV")
    args = parser.parse_args()
    sites = all_sites(args.data, args.predictions)
    for kind in (args.fit_on,) if args.fit_on else ("set", "site"):
        one_set = kind == "set"
        labelled = [coco_val(args.data, args.predictions)] if one_set else single_sites(sites)
        name = f"labels_from_one_{kind}"
        report = labels_from_files_report(
            labelled, sites, name=name, target=args.target, draws=args.draws
        )
        print(report.markdown())
        pairs = next(part.table for part in report.parts if "correlation" in part.name)
        error = pairs["label_free"] - pairs[args.target]
        ratio = error * OF_ONE_SET.scale / pairs["prior_error"]
        print(f"error over stated error, root mean square: {np.sqrt((ratio**2).mean()):.2f}\n")
        if args.work_dir:
            report.write(args.work_dir)


if __name__ == "__main__":
    main()
