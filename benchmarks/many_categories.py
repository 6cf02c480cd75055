"""A few labels where there are many categories: prediction files of 80 and of 15 categories.

    python -m benchmarks.many_categories DATA PREDICTIONS [--out FILE]
        [--draws N] [--detectors NAME ...] [--work-dir DIR] [--swapped]

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them. Each detector is fitted on
the 164 `val` images of ``all/coco_mini``; its pools are the other 190 images of that set, and
``all/robot_home``. Of a pool k images are drawn by a plan, again and again, and taken as labelled.
`--swapped` fits on the 190 images, and its pool are the 164: images on which constants may be
chosen.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

import autoeval
from autoeval.accuracy.coco_evaluation import rank_categories
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.io.coco import read_coco
from autoeval.io.labels.content import LabelSet
from autoeval.labels.labelled_estimate import TargetEstimates, estimate_target, estimate_with_labels
from autoeval.labels.matching import match_labels, on_labelled_categories
from autoeval.labels.outlook import JointOutlook
from autoeval.labels.plan import LabelPlan, balanced_order
from autoeval.report.text import format_cells, to_markdown

SET, HOME = "coco_mini", "robot_home"
SIZES = {SET: (10, 20, 40, 50, 100), HOME: (10, 20, 40)}
DETECTORS = ("nanodet_plus", "yolo26n", "yolov8n", "fastestdet")
LOWEST_SCORE = 0.05
"""Of the boxes that are read: some files reach further down, others do not."""


@dataclass(frozen=True)
class Pool:
    """A pool with a plan for it, all its labels, and what is true of it."""

    detector: str
    name: str
    plan: LabelPlan
    labels: LabelSet
    each: dict[str, float]  # average precision of each category that has an object
    free: float  # half-width without labels

    @property
    def true(self) -> float:
        """Mean over the categories."""
        return float(np.mean(list(self.each.values())))


def write_part(file: Path, split: str | None, target: Path) -> Path:
    """Write the images of one split of an annotation file, all without one, into a file."""
    content = json.loads(file.read_bytes())
    images = [of for of in content["images"] if split is None or of["coco_split"] == split]
    kept = {image["id"] for image in images}
    boxes = [box for box in content["annotations"] if box["image_id"] in kept]
    target.write_text(json.dumps(content | {"images": images, "annotations": boxes}))
    return target


def write_boxes(file: Path, annotations: Path, target: Path) -> Path:
    """Write the boxes of some images over `LOWEST_SCORE` into a file."""
    kept = {image["id"] for image in json.loads(annotations.read_bytes())["images"]}
    boxes = [
        box
        for box in json.loads(file.read_bytes())
        if box["image_id"] in kept and box["score"] >= LOWEST_SCORE
    ]
    target.write_text(json.dumps(boxes))
    return target


def read_pools(
    data: Path, predictions: Path, detector: str, folder: Path, *, swapped: bool = False
) -> Iterator[Pool]:
    """Fit on one part of the labelled set, and plan for the other one and the second site."""
    folder.mkdir(parents=True, exist_ok=True)
    fitted, new = ("train", "val") if swapped else ("val", "train")
    parts = {"fit": (SET, fitted), SET: (SET, new), HOME: (HOME, None)}
    files = {}
    for name, (site, split) in parts.items():
        boxes = predictions / detector / "all" / f"{site}.json"
        if not boxes.exists():
            continue
        own = write_part(data / "all" / site / "annotations.json", split, folder / f"{name}.json")
        files[name] = own, write_boxes(boxes, own, folder / f"{name}_boxes.json")
    labelled, boxes = files.pop("fit")
    estimator = autoeval.fit(labelled, boxes)
    for name, (own, boxes) in files.items():
        yield planned_pool(estimator, detector, name, own, boxes)


def planned_pool(
    estimator: AccuracyEstimator,
    detector: str,
    name: str,
    annotations: Path,
    boxes: Path,
    categories: Mapping[str, Sequence[str]] | None = None,
) -> Pool:
    """Plan for a pool, and measure it by all its labels; for `categories` see `predict`."""
    estimate = estimator.predict(boxes, images=annotations, categories=categories)
    labels = read_coco(annotations)
    plan = estimator.plan_labels(estimate, n=20)
    whole = estimate_with_labels(replace(plan, n=plan.n_pool), labels)
    each = {k: of.combined.estimate.value for k, of in whole.by_category.items()}
    return Pool(detector, name, plan, labels, each, plan.priors["mAP"].half_width())


def labelled(labels: LabelSet, names: set[str]) -> LabelSet:
    """Keep the labels of some images."""
    images = tuple(image for image in labels.images if image.file_name in names)
    kept = {image.image_id for image in images}
    boxes = tuple(box for box in labels.boxes if box.image_id in kept)
    return replace(labels, images=images, boxes=boxes)


def estimates(
    pool: Pool, k: int, draws: int, target: str = "mAP"
) -> Iterator[tuple[LabelPlan, TargetEstimates]]:
    """Draw k images again and again, and estimate a target with their labels.

    As the program does, but without the history and other targets, which take twenty times as long.
    """
    plan = pool.plan
    across = np.argsort(plan.predicted("mAP")[-1], kind="stable")
    for seed in range(draws):
        drawn = replace(plan, sequence=balanced_order(across, seed=seed), n=k)
        names = {plan.found.images[i].file_name for i in drawn.drawn}
        labels = labelled(pool.labels, names)
        counted, _ = on_labelled_categories(drawn, labels)
        subset = match_labels(labels, counted.found)
        rankings = rank_categories(counted.found.on_images(subset.images), subset.truth)
        yield drawn, estimate_target(counted, subset.images, rankings, target)


CLASSES = {"none": (0, 0), "1-2": (1, 2), "3-4": (3, 4), "5-9": (5, 9), "10+": (10, 10**9)}


def measure(pool: Pool, k: int, draws: int) -> tuple[dict, list[dict]]:
    """Return the row of the mean over categories for k labels, and one row a category and draw."""
    whole, each = [], []
    for plan, found in estimates(pool, k, draws):
        outlook, recommended = plan.outlook(), found.whole.combined.estimate
        assert isinstance(outlook, JointOutlook)
        whole.append(
            {
                "error": recommended.value - pool.true,
                "half_width": recommended.half_width(),
                "covered": abs(recommended.value - pool.true) <= recommended.half_width(),
                "forecast": outlook.half_width(k),
                "measured": sum(of.measured for of in found.each.values()),
                "forecast_measured": outlook.measured(k),
            }
        )
        for name, of in found.each.items():
            if name in pool.each and of.combined.estimate.known:
                error = abs(of.combined.estimate.value - pool.each[name])
                half = of.combined.estimate.half_width()
                held = next(c for c, (a, b) in CLASSES.items() if a <= of.n_holding <= b)
                each.append({"held": held, "covered": error <= half + 1e-9, "half_width": half})
    rows = pd.DataFrame(whole)
    row = {
        "detector": pool.detector,
        "pool": pool.name,
        "labels": k,
        "MAE": 100 * rows["error"].abs().mean(),
        "bias": 100 * rows["error"].mean(),
        "label-free ±": 100 * pool.free,
        "half-width": 100 * rows["half_width"].mean(),
        "widest": 100 * rows["half_width"].max(),
        "forecast": 100 * rows["forecast"].mean(),
        "coverage": rows["covered"].mean(),
        "measured": rows["measured"].mean(),
        "expected": rows["forecast_measured"].mean(),
    }
    return row, [{"detector": pool.detector, "pool": pool.name, **of} for of in each]


BARS = {SET: {20: 10.0, 50: 6.0, 100: 4.5}, HOME: {10: 11.0, 20: 8.0, 40: 4.5}}
COVERAGE, OF_CATEGORIES = (0.87, 0.96), (0.86, 0.95)
FORMATS = {
    **dict.fromkeys(("MAE", "bias", "label-free ±", "half-width", "widest", "forecast"), "{:.1f}"),
    **dict.fromkeys(("measured", "expected"), "{:.0f}"),
    **dict.fromkeys(("coverage", *CLASSES), "{:.0%}"),
}


def of_categories(each: pd.DataFrame) -> pd.DataFrame:
    """Return the coverage of single categories by how many labelled images hold them."""
    table = each.pivot_table(index=["detector", "pool"], columns="held", values="covered")
    return table.reindex(columns=list(CLASSES)).reset_index()


def missed_bars(rows: pd.DataFrame, each: pd.DataFrame) -> list[str]:
    """Say which of the wanted figures are not reached, all detectors together."""
    missed = []
    for (pool, k), own in rows.groupby(["pool", "labels"]):
        half, bar = own["half-width"].mean(), BARS[pool].get(k, np.inf)
        cover = own["coverage"].mean()
        if half > bar:
            missed.append(f"{pool}, {k} labels: half-width {half:.1f}, wanted at most {bar:g}")
        if not COVERAGE[0] <= cover <= COVERAGE[1]:
            low, high = COVERAGE
            missed.append(
                f"{pool}, {k} labels: coverage of the mean {cover:.1%}, wanted {low:.0%} to "
                f"{high:.0%}"
            )
        if (own["widest"] > own["label-free ±"]).any():
            missed.append(f"{pool}, {k} labels: a draw is wider than the label-free interval")
    for (pool, held), own in each.groupby(["pool", "held"]):
        cover, (low, high) = own["covered"].mean(), OF_CATEGORIES
        if held != "none" and not low <= cover <= high:
            missed.append(
                f"{pool}, categories in {held} labelled images: coverage {cover:.1%}, wanted "
                f"{low:.0%} to {high:.0%}"
            )
    return missed


def report(rows: pd.DataFrame, each: pd.DataFrame) -> str:
    """Compose the tables."""
    columns = ["MAE", "half-width", "forecast", "coverage", "measured", "expected"]
    together = rows.groupby(["pool", "labels"])[columns].mean().reset_index()
    classes = each.groupby(["pool", "held"])["covered"].mean().unstack().reindex(columns=CLASSES)
    tables = {
        "The mean over categories": rows,
        "Single categories: coverage by the labelled images that hold them": of_categories(each),
        "All detectors together": together,
        "All detectors together, single categories": classes.reset_index(),
    }
    parts = [f"## {k}\n\n{to_markdown(format_cells(of, FORMATS))}" for k, of in tables.items()]
    missed = [f"- {line}." for line in missed_bars(rows, each)]
    return "\n\n".join([*parts, "## What is not reached", "\n".join(missed) or "Nothing."])


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--detectors", nargs="+", default=DETECTORS, metavar="NAME")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--swapped", action="store_true", help="fit on the part that is the pool")
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/many_categories"))
    parser.add_argument("--out", type=Path, help="for the tables; printed by default")
    return parser.parse_args()


def main() -> None:
    """Fit, plan, draw, and print the tables."""
    args = parse_args()
    rows, each = [], []
    for detector in args.detectors:
        folder = args.work_dir / detector
        for pool in read_pools(args.data, args.predictions, detector, folder, swapped=args.swapped):
            for k in SIZES[pool.name]:
                row, categories = measure(pool, k, args.draws)
                rows.append(row)
                each += categories
                print({k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()})
    page = report(pd.DataFrame(rows), pd.DataFrame(each))
    if args.out:
        args.out.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
