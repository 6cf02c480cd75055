"""The expected number of objects at a site, by the box model: what it is worth as a count.

    python -m benchmarks.object_counts DATA NAME=PREDICTIONS ...

DATA and PREDICTIONS as in ``benchmarks/panel.py``; all is fitted on the `val` images of coco_mini.
The intervals are of the logarithm of the true number over the estimated one, whose mean and spread
are those of the other detectors at the other groups, a quarter left out in turn. `count_mae` is
the mean absolute error of the number of boxes over .3 as a count; its estimate is the mean of
the expected distance of a normal number of objects, by the same model.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm, t
from tqdm import tqdm

from autoeval.accuracy.average_precision import RankedDetections
from autoeval.labels.fit_assistance import MOST_IMAGES, fit_assistance
from autoeval.report.tables import to_markdown
from benchmarks.panel import LABELLED, add_detectors, enough, left_out, read_sets

COUNTED_OVER = 0.3
FEWEST_BOXES, FEWEST_IMAGES = 8, 5
COUNTS = ("expected", "balanced", "ratio")
EARLIER = [
    "highway_id",
    "trafficcam_day",
    "trafficcam_night",
    "drone_madison",
    "aerial_kit_ais",
    "aerial_minsk",
    "dawn_fog",
    "nepal_road",
    "highway_top",
    "carla_drive",
]
"""Sources of docs/results/label_free_counting.md, but for coco_vehicle."""
LEVEL = 0.9


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_detectors(parser)
    args = parser.parse_args()
    parts = [pairs_of(name, args.data, folder) for name, folder in tqdm(args.detectors)]
    rows = pd.concat(parts, ignore_index=True)
    for table in (counts_table(rows), errors_table(rows)):
        print(to_markdown(table.round(1).reset_index()) + "\n")
    same = rows[rows["source"].isin(EARLIER) & (rows["category"] == "vehicle")]
    off = (same["expected_mae"] - same["count_mae"]).abs().groupby(same["detector"]).mean()
    print(
        f"error of the expected count_mae, {len(EARLIER)} earlier sources: {off.round(1).to_dict()}"
    )


def pairs_of(name: str, data: Path, predictions: Path) -> pd.DataFrame:
    """Count the objects of every pair of site and category, truly and by each estimate."""
    sets = list(read_sets(data, predictions))
    own = next(of for of in sets if of.name == LABELLED)
    model = fit_assistance([own]).box_model
    known = [of for of in own.rankings if of.n_true.any()]
    n_objects = int(sum(of.n_true.sum() for of in known))
    scores = np.sort(np.concatenate([of.scores for of in known]))[::-1]
    threshold = float(scores[min(n_objects, len(scores)) - 1])
    ratio = n_objects / max(int(np.sum(scores > COUNTED_OVER)), 1)
    rows = []
    for of in (of for of in sets if of.name != LABELLED):
        expected = model.rankings(of.at_most(MOST_IMAGES).pool)
        for category, true, other in zip(of.truth.categories, of.rankings, expected, strict=True):
            about = {"detector": name, "group": of.group, "source": of.name, "kind": "seed"}
            numbers = numbers_of(true, other, threshold, ratio)
            rows.append(about | {"category": category} | numbers | errors_of(true, other))
    table = pd.DataFrame(rows)
    held = (table["n_boxes"] >= FEWEST_BOXES) & (table["n_held"] >= FEWEST_IMAGES)
    return table[held & enough(table)]


def numbers_of(
    true: RankedDetections, expected: RankedDetections, threshold: float, ratio: float
) -> dict[str, Any]:
    """Return the number of objects: true, expected, of boxes over a threshold, and corrected."""
    assert true.scores is not None
    return {
        "true": float(true.n_true.sum()),
        "n_boxes": float(true.n_true.sum()),
        "n_held": int(np.sum(true.n_true > 0)),
        "expected": float(expected.n_true.sum()),
        "balanced": float(np.sum(true.scores >= threshold)),
        "ratio": ratio * float(np.sum(true.scores > COUNTED_OVER)),
    }


def errors_of(true: RankedDetections, expected: RankedDetections) -> dict[str, float]:
    """Return the mean absolute error of the counts of images over `COUNTED_OVER`, and expected."""
    assert true.scores is not None
    over, p, n = true.scores > COUNTED_OVER, expected.hits[0], len(true)
    counted = np.bincount(true.image[over], minlength=n)
    objects = expected.n_true
    variance = np.bincount(expected.image, p * (1 - p), minlength=n)
    variance += objects - np.bincount(expected.image, p, minlength=n)  # Poisson: those not found
    std, off = np.sqrt(np.maximum(variance, 1e-9)), objects - counted
    distance = 2 * std * norm.pdf(off / std) + off * (2 * norm.cdf(off / std) - 1)
    return {
        "count_mae": float(np.abs(true.n_true - counted).mean()),
        "expected_mae": float(distance.mean()),
    }


def intervals(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Correct each count and give it an interval, from other detectors at other groups."""
    for name, kin, held_out in left_out(rows):
        requested = rows[(rows["detector"] == name) & held_out]
        for count in COUNTS:
            known = rows[~kin & ~held_out & (rows[count] > 0)]
            logs = np.log(known["true"] / known[count])
            reach = t.ppf((1 + LEVEL) / 2, len(logs) - 1) * logs.std() * np.sqrt(1 + 1 / len(logs))
            near, far = np.exp(logs.mean()), np.exp(reach)
            value = near * requested[count]
            ends = {"corrected": value, "lower": value / far, "upper": value * far, "factor": far}
            yield requested.assign(count=count, raw=requested[count], **ends)


def counts_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate errors relative to the true number, in per cent, and coverage of the intervals."""
    every = pd.concat(intervals(rows))
    group = every["category"].where(every["category"].isin(["person", "vehicle"]), "other")
    found = every.assign(
        category_group=group,
        error=100 * (every["raw"] / every["true"] - 1).abs(),
        corrected=100 * (every["corrected"] / every["true"] - 1).abs(),
        coverage=100.0 * every["true"].between(every["lower"], every["upper"]),
        n=1,
    )
    groups = found.groupby(["count", "category_group"], sort=False)
    means = groups[["error", "corrected", "coverage", "factor"]].mean()
    medians = groups["error"].median().rename("median_error")
    return means.join(medians).join(groups["n"].sum())


def errors_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate how the counting error is estimated, in objects an image, and by constants."""
    parts = []
    for name, _, held_out in left_out(rows):
        own = rows["detector"] == name
        known, requested = rows.loc[own & ~held_out, "count_mae"], rows[own & held_out]
        off = {
            "expected": requested["expected_mae"] - requested["count_mae"],
            "mean": known.mean() - requested["count_mae"],
            "median": known.median() - requested["count_mae"],
        }
        parts.append(requested.assign(**{of: values.abs() for of, values in off.items()}))
    return pd.concat(parts).groupby("detector")[["count_mae", "expected", "mean", "median"]].mean()


if __name__ == "__main__":
    main()
