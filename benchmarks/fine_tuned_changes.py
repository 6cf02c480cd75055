"""Measure what `monitor --changes` makes of a detector that leaves the site that it was trained on.

    python -m benchmarks.fine_tuned_changes DATA OUT FILE

The detectors are those of `benchmarks/fine_tuned.py` in OUT, and FILE has their predictions
(`python -m benchmarks.fine_tuned_prior predict FILE`). The baseline is the images of the home
that a detector was not trained on, with their labelled average precision; later images are those of
a site of another group. The change is estimated by the shipped slopes from boxes alone, and as the
estimate of the new site less the labelled value, with ``trained_here=yes`` and without, each by
what was fitted on other detectors (`benchmarks/fine_tuned_prior.py`). Prints the errors, in
points of average precision.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.detections import Detections
from autoeval.estimation.calibrating import calibrated_rows
from autoeval.estimation.pair_table import CATEGORY
from autoeval.io.coco import read_coco
from autoeval.model.calibration import ScoreCalibration
from autoeval.monitoring.changes.change_model import read_change_model
from autoeval.monitoring.changes.image_numbers import UNKNOWN_SIZE, image_numbers
from autoeval.monitoring.changes.site_watch import change_of_numbers
from autoeval.monitoring.site_records import CameraImage
from autoeval.report.tables import to_markdown
from autoeval.sites.labelled_set import LabelledSet
from benchmarks.fine_tuned import HOMES, MORE_HOMES, home_categories
from benchmarks.fine_tuned_panel import (
    TABLE,
    calibration_without_parent,
    folder_of,
    labelled,
    read_sets,
)
from benchmarks.fine_tuned_prior import left_out, with_intervals

FALLS = {"under 10": -100, "10 to 30": 10, "over 30": 30}  # points, from which on
KEY = ["detector", "source", "category"]


def main() -> None:
    """Print the errors by the size of the true fall."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("boxes", type=Path, metavar="OUT", help="of benchmarks/fine_tuned.py")
    parser.add_argument("file", type=Path, help="of benchmarks/fine_tuned_prior.py")
    args = parser.parse_args()
    table = pd.read_csv(TABLE)
    homes = [home for home in (*HOMES, *MORE_HOMES) if folder_of(args.boxes, home).exists()]
    found = pd.DataFrame([row for home in tqdm(homes) for row in changes(args, home, table)])
    rows = pd.read_csv(args.file).query("target == 'mAP'")
    for name, own in (("declared", left_out(rows)), ("undeclared", with_intervals(rows, None))):
        found = found.merge(own[[*KEY, "estimate", "lower", "upper"]], on=KEY)
        for column in ("estimate", "lower", "upper"):
            found[f"{name}_{column}"] = found.pop(column) - found["before"]
    print(to_markdown(summary(found).reset_index()))


def changes(args: argparse.Namespace, home: str, table: pd.DataFrame) -> Iterator[dict]:
    """Yield the true and the estimated change from a home to each site of other groups."""
    known = home_categories(read_coco(args.data / home / "annotations.json"))
    folder = folder_of(args.boxes, home)
    sets = {of.name: of for of in read_sets(args.data, folder, known, home)}
    own = labelled(sets.pop(Path(home).name))
    _, calibration = calibrated_rows([own], prior=calibration_without_parent())
    model = read_change_model(half_size=False)
    of_detector = table[table["detector"] == f"tuned_{own.name}"]
    before = of_detector[of_detector["kind"] == CATEGORY].set_index("category")["mAP"]
    for row in of_detector[of_detector["kind"] != CATEGORY].to_dict("records"):
        category = row["category"]
        if category in before and row["source"] in sets:
            numbers = [numbers_of(of, category, calibration) for of in (own, sets[row["source"]])]
            change = change_of_numbers(model, *numbers, map_before=before[category])
            yield {
                **{name: row[name] for name in KEY},
                "before": before[category],
                "true": row["mAP"] - before[category],
                "slopes_estimate": change.value,
                "slopes_lower": change.lower,
                "slopes_upper": change.upper,
            }


def numbers_of(of: LabelledSet, category: str, calibration: ScoreCalibration) -> np.ndarray:
    """Return what is watched of the boxes of a category, image by image."""
    boxes = of.boxes.clean
    rows = boxes.rows_of(boxes.categories.index(category))
    records = []
    for k, image in enumerate(boxes.images):
        at = rows[boxes.image[rows] == k]
        found = Detections(boxes.boxes[at], boxes.scores[at], np.zeros(len(at), int))
        size = image.size or UNKNOWN_SIZE
        records.append(CameraImage(image.file_name, size, None, of.name, found))
    return image_numbers(records, calibration=calibration)


def summary(found: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the errors by the size of the fall."""
    bins = [*FALLS.values(), 100]
    fall = pd.cut(-100 * found["true"], bins, right=False, labels=list(FALLS)).astype(str)
    parts = []
    for name in ("slopes", "undeclared", "declared"):
        value, lower, upper = (found[f"{name}_{of}"] for of in ("estimate", "lower", "upper"))
        inside = (lower <= found["true"]) & (found["true"] <= upper)
        columns = {
            "true": 100 * found["true"],
            "estimate": 100 * value,
            "mae": 100 * (value - found["true"]).abs(),
            "coverage": 100.0 * inside,
            "half_width": 50 * (upper - lower),
        }
        for label in (fall, pd.Series("all", found.index)):
            groups = found.assign(by=name, fall=label, **columns).groupby(["by", "fall"])
            parts.append(groups[list(columns)].mean().round(1).assign(n=groups.size()))
    return pd.concat(parts)


if __name__ == "__main__":
    main()
