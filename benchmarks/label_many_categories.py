"""A few labels where there are many categories: 80 of COCO, most of them rare.

    python -m benchmarks.label_many_categories --data-root DATA --checkpoint yolox_nano_coco.pth

Every third image of ``all/coco_mini`` is of a new place, the others are two sources. Of the new
place k images are drawn and taken as labelled, again and again; printed are the error
of the mean over categories, and how many are measured.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.data.coco import read_coco
from autoeval.data.labels.content import LabelSet
from autoeval.data.labels.truth import Truth
from autoeval.detectors import load_detector
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.presets import light
from autoeval.labels.label_sampling import balanced_order
from autoeval.labels.plan import LabelPlan
from autoeval.labels.with_labels import LabelledEstimate, estimate_with_labels
from autoeval.metasets.task import SeedSetFiles, Task
from autoeval.metrics.coco_matching import rank_categories
from autoeval.published.fitting.fit_task import fit_task
from autoeval.report.tables import format_cells, to_markdown

PARTS = ("a", "b", "new")
FORMATS = {
    **dict.fromkeys(("labels", "measured categories"), "{:.0f}"),
    **dict.fromkeys(("label-free", "sample estimate", "combined", "half-width"), "{:.1f}"),
    "coverage": "{:.0%}",
}


def divide(annotations: Path, folder: Path) -> list[Path]:
    """Write every third image of an annotation file into a file of its own."""
    content = json.loads(annotations.read_bytes())
    files = []
    for k, name in enumerate(PARTS):
        images = content["images"][k :: len(PARTS)]
        kept = {image["id"] for image in images}
        boxes = [box for box in content["annotations"] if box["image_id"] in kept]
        files.append(folder / f"{name}.json")
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        files[-1].write_text(json.dumps(content | {"images": images, "annotations": boxes}))
    return files


def labelled(labels: LabelSet, names: set[str]) -> LabelSet:
    """Keep the labels of some images."""
    images = tuple(image for image in labels.images if image.file_name in names)
    kept = {image.image_id for image in images}
    boxes = tuple(box for box in labels.boxes if box.image_id in kept)
    return replace(labels, images=images, boxes=boxes)


def draws(plan: LabelPlan, labels: LabelSet, k: int, n_draws: int) -> Iterator[LabelledEstimate]:
    """Draw k images again and again, and estimate with their labels."""
    across = np.argsort(plan.influence.mean(axis=(0, 1)), kind="stable")
    for seed in range(n_draws):
        drawn = replace(plan, sequence=balanced_order(across, seed=seed), n=k)
        names = {plan.found.images[i].file_name for i in drawn.drawn}
        yield estimate_with_labels(drawn, labelled(labels, names))


def table(plan: LabelPlan, labels: LabelSet, sizes: list[int], n_draws: int) -> pd.DataFrame:
    """Return one row a number of labels: errors in points of mAP, and how many categories count."""
    truth = Truth.of(labels, plan.found.categories)
    each = [ranking.average_precision().mean() for ranking in rank_categories(plan.found, truth)]
    true, rows = float(np.nanmean(each)), []
    for k in sizes:
        estimates = list(draws(plan, labels, k, n_draws))
        whole = [estimate.whole["mAP"] for estimate in estimates]
        combined = [of.combined.estimate for of in whole]
        halves = np.array([value.half_width() for value in combined])
        errors = np.array([value.value - true for value in combined])
        rows.append(
            {
                "labels": k,
                "measured categories": np.mean([estimate.n_behind for estimate in estimates]),
                "label-free": 100 * np.mean([abs(of.prior.value - true) for of in whole]),
                "sample estimate": 100 * np.mean([abs(of.sample.value - true) for of in whole]),
                "combined": 100 * np.abs(errors).mean(),
                "half-width": 100 * halves.mean(),
                "coverage": np.mean(np.abs(errors) <= halves),
            }
        )
    print(
        f"true mAP of {plan.n_pool} images: {100 * true:.1f}, {np.isfinite(each).sum()} categories"
    )
    return pd.DataFrame(rows)


def main() -> None:
    """Divide, fit, plan, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--detector", default="yolox_nano")
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20, 50])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/many_categories"))
    args = parser.parse_args()
    home = args.data_root / "all" / "coco_mini"
    *sources, new = divide(home / "annotations.json", args.work_dir)
    labels = read_coco(new)
    words = {name: name for name in labels.categories}
    parts = zip(PARTS, sources, strict=False)
    seed_sets = tuple(SeedSetFiles(name, file, home / "images", words) for name, file in parts)
    task = Task("coco_parts", labels.categories, seed_sets)
    detector = load_detector(args.detector, checkpoint=args.checkpoint)
    observer = Observer(detector, task, light())
    estimator = fit_task(
        observer, task.load_seed_sets(), meta_set=None, work_dir=args.work_dir / "fit"
    )
    images = [home / "images" / image.file_name for image in labels.images]
    plan = estimator.plan_labels(estimator.predict(images=images), n=max(args.sizes))
    rows = table(plan, labels, args.sizes, args.draws)
    print(to_markdown(format_cells(rows, FORMATS)))


if __name__ == "__main__":
    main()
