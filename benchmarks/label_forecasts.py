"""Half-widths that `label plan` promises over those that labels reach, from prediction files.

    python -m benchmarks.label_forecasts DATA PREDICTIONS [--draws N] [--work-dir DIR]

Pools and draws of `benchmarks/many_categories.py` and `benchmarks/two_categories.py`, and the
sample of the documentation. Objects are expected where boxes are found, and with those that the
box model expects beside them, as a plan does.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import autoeval
from autoeval.io.coco import read_coco
from autoeval.labels.joint_outlook import JointOutlook, expected_holding
from autoeval.report.tables import format_cells, to_markdown
from benchmarks import many_categories, two_categories
from benchmarks.many_categories import Pool, estimates

SAMPLE = Path(__file__).parents[1] / "docs" / "getting-started" / "sample"
SIZES = {"sample": (10, 15, 30), **many_categories.SIZES}
INSIDE = (0.75, 1.25)
FORMATS = {
    **dict.fromkeys(("reached", "objects, boxes", "objects, expected", "objects, true"), "{:.1f}"),
    **dict.fromkeys(("forecast, boxes", "forecast, expected"), "{:.2f}"),
}


def sample_pool() -> Pool:
    """Fit and plan as the page of the sample does."""
    estimator = autoeval.fit(SAMPLE / "val.json", SAMPLE / "val_predictions.json")
    images = SAMPLE / "new_site.json"
    estimate = estimator.predict(SAMPLE / "new_predictions.json", images=images)
    plan = estimator.plan_labels(estimate, n=20)
    labels = read_coco(SAMPLE / "new_labels.json")
    return Pool("of the sample", "sample", plan, labels, {}, plan.priors["mAP"].half_width())


def pools(data: Path, predictions: Path, folder: Path) -> Iterator[Pool]:
    """Yield every pool with its plan."""
    for name in many_categories.DETECTORS:
        yield from many_categories.read_pools(data, predictions, name, folder / name)
    for name in two_categories.DETECTORS:
        yield from two_categories.read_sites(data, predictions, name, folder / name / "two")
    yield sample_pool()


def rows_of(pool: Pool, draws: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each number of labels."""
    plan, categories = pool.plan, set(pool.plan.found.categories)
    expected = plan.outlook()
    assert isinstance(expected, JointOutlook) and plan.probabilities is not None
    boxes = replace(expected, holding=expected_holding(plan.found, plan.probabilities))
    counts = [of.holding.in_pool(plan.n_pool).sum() for of in (boxes, expected)]
    true = sum(box.category in categories for box in pool.labels.boxes)
    for k in SIZES.get(pool.name, two_categories.SIZES):
        if k >= plan.n_pool:
            continue
        found = [of.whole.combined.estimate for _, of in estimates(pool, k, draws)]
        reached = float(np.mean([of.half_width(plan.level) for of in found]))
        yield {
            "detector": pool.detector,
            "pool": pool.name,
            "labels": k,
            "reached": 100 * reached,
            "forecast, boxes": boxes.half_width(k) / reached,
            "forecast, expected": expected.half_width(k) / reached,
            "objects, boxes": counts[0] / plan.n_pool,
            "objects, expected": counts[1] / plan.n_pool,
            "objects, true": true / plan.n_pool,
        }


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Count the forecasts within a quarter of what is reached, and measure how far they are off."""
    known = ("sample", *many_categories.SIZES)
    kind = rows["pool"].where(rows["pool"].isin(known), "two categories")
    parts = []
    for name in ("boxes", "expected"):
        ratio = rows[f"forecast, {name}"]
        off = 100 * np.expm1(np.log(ratio).abs().groupby(kind).mean())
        inside = ratio.between(*INSIDE).groupby(kind).sum()
        parts.append(pd.DataFrame({f"off by, {name}": off, f"inside, {name}": inside}))
    return pd.concat([*parts, kind.groupby(kind).size().rename("of")], axis=1).reset_index()


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/label_forecasts"))
    args = parser.parse_args()
    every = pools(args.data, args.predictions, args.work_dir)
    rows = pd.DataFrame([row for pool in every for row in rows_of(pool, args.draws)])
    print(to_markdown(format_cells(rows, FORMATS)), end="\n\n")
    formats = dict.fromkeys(("off by, boxes", "off by, expected"), "{:.0f} %")
    print(to_markdown(format_cells(summary(rows), formats)))


if __name__ == "__main__":
    main()
