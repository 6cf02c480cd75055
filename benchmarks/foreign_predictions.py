"""How well the predictions of an external detector estimate its accuracy: tables of docs/results.

    python benchmarks/foreign_predictions.py DATA PREDICTIONS > tables.md

DATA holds ``<task>/<seed>/annotations.json`` and PREDICTIONS ``<task>/<seed>.json`` of one
detector, for the tasks vehicle, person and two, and ``all/coco_mini`` with all categories.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.accuracy.coco_matching import rank_categories
from autoeval.estimation.calibrating import calibrated_rows
from autoeval.estimation.category_scores import labelled_rows, site_rows, site_scores
from autoeval.io.coco import read_coco
from autoeval.io.labels.content import LabelSet
from autoeval.io.labels.truth import Truth
from autoeval.io.predictions import FoundBoxes, read_predictions
from autoeval.model.calibrated_features import FEATURES
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.pair_table import COUNTED, rows_where
from autoeval.model.regression import Regression
from autoeval.report.tables import format_cells, to_markdown
from autoeval.sites.labelled_set import LabelledSet, labelled_set
from autoeval.sites.site_boxes import SiteBoxes
from benchmarks.panel import group_of

WORDS = {"car": "vehicle", "bus": "vehicle", "truck": "vehicle", "person": "person"}
EVALUATED = {"car", "bus", "truck", "person"}
TASKS = {"vehicle": ("vehicle",), "person": ("person",), "two": ("vehicle", "person")}


def read(
    path: Path, content: LabelSet, categories: Sequence[str], words: dict[str, str]
) -> FoundBoxes:
    """Read predictions in the categories that are evaluated."""
    return read_predictions(path, images=content.images).as_categories(categories, words)


def sites(data: Path, predictions: Path) -> list[LabelledSet]:
    """Read every site."""
    sets = []
    for task, categories in TASKS.items():
        for path in sorted((predictions / task).glob("*.json")):
            content = read_coco(data / task / path.stem / "annotations.json")
            boxes = SiteBoxes(read(path, content, categories, WORDS))
            group, truth = group_of(path.stem), Truth.of(content, categories)
            sets.append(labelled_set(boxes, truth, name=path.stem, group=group, everywhere=True))
    return sets


def rows_of(sets: Sequence[LabelledSet], calibration: ScoreCalibration) -> pd.DataFrame:
    """Return a pair for every category of every set, by the calibration of another."""
    return pd.concat([labelled_rows(of, calibration) for of in sets], ignore_index=True)


def split(data: Path, predictions: Path, name: str) -> tuple[FoundBoxes, Truth]:
    """Return the images of coco_mini that a COCO split holds: boxes and labels."""
    path = data / "all/coco_mini/annotations.json"
    content, entries = read_coco(path), json.loads(path.read_bytes())["images"]
    kept = np.flatnonzero([entry["coco_split"] == name for entry in entries])
    truth = Truth.of(content)
    words = {word: word for word in truth.categories}
    file, asked = "all/coco_mini.json", truth.categories
    found = read(predictions / file, content, asked, words)
    return found.on_images(kept), truth.on_images(kept)


def estimated(training: pd.DataFrame, requested: pd.DataFrame) -> pd.DataFrame:
    """Estimate pairs, each as of a new site."""
    estimator = Regression().fit(training)
    found = [estimator.predict(requested.iloc[[k]])[0] for k in range(len(requested))]
    return requested.assign(
        estimate=[t.value for t in found],
        lower=[t.lower for t in found],
        upper=[t.upper for t in found],
    )


def without_groups(
    sets: Sequence[LabelledSet], further: Sequence[LabelledSet] = ()
) -> pd.DataFrame:
    """Estimate every pair without its group, by the others and further sets."""
    parts = []
    for name in dict.fromkeys(of.group for of in sets):
        known, calibration = calibrated_rows([of for of in (*sets, *further) if of.group != name])
        own = rows_of([of for of in sets if of.group == name], calibration)
        parts.append(estimated(known, own))
    return pd.concat(parts)


def constant(table: pd.DataFrame) -> pd.DataFrame:
    """Estimate every pair by the mean of its category in other groups."""
    means = [
        table.loc[(table["group"] != row.group) & (table["category"] == row.category), "mAP"].mean()
        for row in table.itertuples()
    ]
    return table.assign(estimate=means, lower=np.nan, upper=np.nan)


def figures(what: str, evaluated: pd.DataFrame) -> dict[str, object]:
    """Return one line of the table, in points."""
    row: dict[str, object] = {"fitted on": what}
    for category, part in evaluated.groupby("category", sort=False):
        known = part["lower"].notna()
        inside = (part["lower"] <= part["mAP"]) & (part["mAP"] <= part["upper"])
        name = f"{category} ({len(part)})"
        row[f"{name} error"] = 100 * (part["estimate"] - part["mAP"]).abs().mean()
        row[f"{name} coverage %"] = 100 * inside[known].mean() if known.any() else np.nan
        row[f"{name} half-width"] = 50 * (part["upper"] - part["lower"]).median()
    return row


def many_categories(data: Path, predictions: Path) -> list[dict[str, object]]:
    """Fit on one half of coco_mini and estimate the mean over all categories of the other."""
    rows = []
    for known, new in (("val", "train"), ("train", "val")):
        pairs, calibration = calibrated_rows([coco(data, predictions, known)])
        estimator = Regression().fit(pairs)
        found, truth = split(data, predictions, new)
        boxes = SiteBoxes(found, calibration=calibration)
        presence = boxes.presence()
        pairs = site_rows(site_scores(boxes, FEATURES, presence), presence)
        pairs = rows_where(pairs, pairs[COUNTED])
        mean, each = estimator.predict_mean(pairs), estimator.predict(pairs)
        precision = [ranked.average_precision().mean() for ranked in rank_categories(found, truth)]
        by_name = dict(zip(truth.categories, precision, strict=True))
        true = np.array([by_name[name] for name in pairs["category"]])
        error = np.abs([t.value for t in each] - true)
        inside = [t.lower <= y <= t.upper for t, y in zip(each, true, strict=True)]
        rows.append(
            {
                "fitted on": known,
                "new images": new,
                "categories": len(pairs),
                "true mAP": 100 * np.nanmean(precision),
                "estimate": 100 * mean.value,
                "interval": f"{100 * mean.lower:.1f} to {100 * mean.upper:.1f}",
                "error of one": 100 * np.nanmean(error),
                "coverage % of one": 100 * np.mean(inside),
            }
        )
    return rows


def coco(data: Path, predictions: Path, name: str) -> LabelledSet:
    """Read a split of coco_mini."""
    found, truth = split(data, predictions, name)
    return labelled_set(SiteBoxes(found), truth, name="coco_mini", group="coco")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    args = parser.parse_args()
    folders = args.data, args.predictions
    sets, labelled = sites(*folders), coco(*folders, "val")
    known, calibration = calibrated_rows([labelled])
    table = rows_of(sets, calibration)
    others = known[~known["category"].isin(EVALUATED)]
    rows = [
        figures(f"{len(known)} categories of coco_mini `val` alone", estimated(known, table)),
        figures("the same without car, bus, truck, person", estimated(others, table)),
        figures("the other sites, groups left out", without_groups(sets)),
        figures("both, groups left out", without_groups(sets, [labelled])),
        figures("constant: mean of the other sites of the category", constant(table)),
    ]
    shown = pd.DataFrame(rows)
    formats = {name: "{:.0f}" if "%" in name else "{:.1f}" for name in shown if name != "fitted on"}
    print(to_markdown(format_cells(shown, formats)))
    many = pd.DataFrame(many_categories(*folders))
    formats = dict.fromkeys(("true mAP", "estimate", "error of one"), "{:.1f}")
    formats["coverage % of one"] = "{:.0f}"
    print("\n" + to_markdown(format_cells(many, formats)))


if __name__ == "__main__":
    main()
