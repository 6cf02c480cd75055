"""Make the tables of the panel of detectors from boxes; the shipped priors are trained on them.

    python -m benchmarks.panel DATA NAME=PREDICTIONS ...

scores the labelled sets under DATA (``<task>/<site>/annotations.json``, for the tasks vehicle,
person, two and all) by the predictions of each detector (``<task>/<site>.json``), calibrated on the
`val` images of ``all/coco_mini``, as they are and cut at the scores of `FLOORS`, and writes the
tables that `autoeval.model.train_prior` reads and describes, in ``meta_sets/panel``. Detectors that
are there already are kept or replaced. `benchmarks/panel_errors.py` measures the priors on
detectors and groups that are left out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.errors import InputError
from autoeval.estimation.calibrating import calibrated_rows, fit_calibration
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.given import Predictions
from autoeval.io.coco import read_coco
from autoeval.io.labels.content import labelled_boxes
from autoeval.model import Prior
from autoeval.model.calibration import CalibrationPrior, ScoreCalibration, Usual
from autoeval.model.features import FEATURES
from autoeval.model.pair_table import features_at, with_target
from autoeval.model.regression import Regression
from autoeval.model.train_prior import COMMON, FLOORS, TABLES
from autoeval.model.train_prior import THRESHOLDS as FITTED
from autoeval.runtime.files import write_text
from autoeval.sites.site import Site, labelled_site
from autoeval.targets import points_at

WORDS = {name: "vehicle" for name in ("car", "bus", "truck", "vehicle")} | {"person": "person"}
TASKS = {"vehicle": ("vehicle",), "person": ("person",), "two": ("vehicle", "person"), "all": ()}
ORIGINS = ("bdd", "hituav", "dawn", "coco", "trafficcam", "highway_id")
LABELLED = "coco_mini"
THRESHOLDS = (0.1, *FITTED, 0.7)
COLUMNS = ["detector", "kind", "group", "source", "category", "n_images", "n_held", "n_boxes"]
ACCURACIES = ["mAP", "mAP50", "mAP75"]

# A prior so wide that the table of the panel does not depend on the panel.
WIDE = CalibrationPrior(
    (Usual(np.array([0.0, 1.0, 1.0]), 9 * np.eye(3), 1e-9 * np.eye(3)),) * 10,
    Usual(np.array([-1.0, 0.0, 0.0]), 9 * np.eye(3), 1e-9 * np.eye(3)),
)
# For the calibrations of single sites, which have few boxes.
WEAK = CalibrationPrior(
    (Usual(np.array([0.0, 1.5, 1.5]), np.diag([4.0, 1.0, 1.0]), 1e-9 * np.eye(3)),) * 10,
    Usual(np.array([-1.0, -2.0, 3.0]), np.eye(3), 1e-9 * np.eye(3)),
)
FEWEST_LABELS = 100  # of a site whose calibration is fitted alone


def main() -> None:
    """Add detectors to the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_detectors(parser)
    args = parser.parse_args()
    for name, folder in tqdm(args.detectors, "detectors"):
        add_detector(name, list(read_sets(args.data, folder)))


def add_detectors(parser: argparse.ArgumentParser) -> None:
    """Add DATA and NAME=PREDICTIONS ..., read as pairs of a name and a folder."""
    parser.add_argument("data", type=Path)
    parser.add_argument("detectors", nargs="+", type=named_folder, metavar="NAME=PREDICTIONS")


def named_folder(text: str) -> tuple[str, Path]:
    """Read NAME=PREDICTIONS."""
    name, _, folder = text.partition("=")
    return name, Path(folder)


def group_of(site: str) -> str:
    """Name the origin that a site shares with others."""
    return next((origin for origin in ORIGINS if site.startswith(origin)), site)


def read_sets(data: Path, predictions: Path) -> Iterator[Site]:
    """Read the labelled sets with the boxes of one detector; of coco_mini the `val` images."""
    for task, categories in TASKS.items():
        for path in sorted((predictions / task).glob("*.json")):
            file = data / task / path.stem / "annotations.json"
            if not file.exists():
                continue
            content = read_coco(file)
            names = categories or content.categories
            known = categories or set(names) <= set(WORDS.values())
            words = WORDS if known else {name: name for name in names}
            numbers = dict(zip(content.numbers, content.categories, strict=True))
            boxes = Predictions(path).read(content.images, where=str(path), numbers=numbers)
            boxes, truth = boxes.as_categories(names, words), labelled_boxes(content, names)
            if path.stem == LABELLED:
                entries = json.loads(file.read_bytes())["images"]
                kept = np.flatnonzero([entry["coco_split"] == "val" for entry in entries])
                boxes, truth = boxes.on_images(kept), truth.on_images(kept)
            elif group_of(path.stem) == "coco":
                continue
            site = path.stem != LABELLED
            try:
                yield labelled_site(
                    boxes, truth, name=path.stem, group=group_of(path.stem), everywhere=site
                )
            except InputError as error:
                print(f"{path}: {error}")


def add_detector(name: str, sets: Sequence[Site]) -> None:
    """Score all sites by one detector, and put its rows and calibrations into the tables."""
    rows, calibrations = scored(sets)
    replace_rows("scores.csv", name, rows, [*COLUMNS, *FEATURES, *ACCURACIES])
    replace_rows("operating_points.csv", name, operating_points(rows), digits=4)
    replace_calibrations("calibrations.json", name, [shortened(of) for of in calibrations])
    cut, points, missed = [], [], {}
    for floor in FLOORS[1:]:
        rows, calibrations = scored([site.above(floor) for site in sets])
        cut.append(rows.assign(floor=floor))
        points.append(operating_points(rows, FITTED).assign(floor=floor))
        missed[f"{floor:g}"] = [of.missed.round(4).tolist() for of in calibrations]
    columns = [*COLUMNS, "floor", *FEATURES, *ACCURACIES]
    replace_rows("floors.csv", name, pd.concat(cut), columns)
    replace_rows("operating_points_floors.csv", name, pd.concat(points), digits=4)
    replace_calibrations("missed.json", name, missed)


def scored(sets: Sequence[Site]) -> tuple[pd.DataFrame, list[ScoreCalibration]]:
    """Return a row for each set and category, and calibrations: of the labelled set, of sites."""
    labelled = [of for of in sets if of.name == LABELLED]
    sites = [of for of in sets if of.name != LABELLED]
    rows, calibration = calibrated_rows(labelled, prior=WIDE)
    parts = [evaluable(labelled[0], rows)]
    parts += [evaluable(site, labelled_rows(site, calibration)) for site in sites]
    of_sites = [
        fit_calibration([site], [np.ones(len(site.boxes), bool)], WEAK)
        for site in sites
        if len(site.boxes)
        and sum(ranking.n_true.sum() for ranking in site.evaluation.rankings) >= FEWEST_LABELS
    ]
    return pd.concat(parts, ignore_index=True), [calibration, *of_sites]


def operating_points(rows: pd.DataFrame, thresholds: Sequence[float] = THRESHOLDS) -> pd.DataFrame:
    """Return true and expected values at thresholds of every pair of set and category."""
    columns = [*COLUMNS[1:], *FEATURES[1:]]
    for target in (name for threshold in thresholds for name in points_at(threshold)):
        rows = with_target(rows, target)
        columns += [target, features_at(target)[0]]
    return rows[columns]


def replace_rows(
    name: str,
    detector: str,
    rows: pd.DataFrame,
    columns: Sequence[str] | None = None,
    digits: int = 5,
) -> None:
    """Put the rows of a detector into a table."""
    path = TABLES / name
    rows = rows.assign(detector=detector)
    rows = rows[["detector", *(column for column in rows if column != "detector")]]
    if path.exists():
        known = pd.read_csv(path)
        rows = pd.concat([known[known["detector"] != detector], rows], ignore_index=True)
    rows = rows if columns is None else rows.reindex(columns=list(columns))
    rows.to_csv(path, index=False, float_format=f"%.{digits}f")


def replace_calibrations(name: str, detector: str, coefficients: Any) -> None:
    """Put coefficients of a detector into a file, one line a detector."""
    path = TABLES / name
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    lines = [f'"{k}": {json.dumps(of)}' for k, of in (known | {detector: coefficients}).items()]
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def shortened(calibration: ScoreCalibration) -> dict[str, Any]:
    """Return plain values with four digits after the point."""
    values = calibration.to_dict().items()
    return {name: np.round(value, 4).tolist() for name, value in values}


def evaluable(of: Site, rows: pd.DataFrame) -> pd.DataFrame:
    """Add ``n_held``, see `with_held`, and leave out what is too rare."""
    rows = with_held(of, rows)
    return rows[common(rows)]


def common(rows: pd.DataFrame) -> pd.Series:
    """Return which pairs have labels enough."""
    return (rows["n_boxes"] >= 8) & (rows["n_held"] >= 5)


def with_held(of: Site, rows: pd.DataFrame) -> pd.DataFrame:
    """Add ``n_held``, the number of images with a category."""
    held = {
        category: int(np.sum(ranking.n_true > 0))
        for category, ranking in zip(of.boxes.categories, of.evaluation.rankings, strict=True)
    }
    return rows.assign(n_held=rows["category"].map(held))


def evaluated(
    known: pd.DataFrame,
    new: pd.DataFrame,
    prior: Prior,
    *,
    target: str = "mAP",
    features: Sequence[str] = FEATURES,
) -> pd.DataFrame:
    """Fit on some pairs and estimate others, each as a site of its own."""
    regression = Regression(target=target, features=features, prior=prior)
    fitted = regression.fit(known)
    predicted = fitted.predict(new)  # each on its own
    group = np.where(new["category"].isin(COMMON), new["category"], "other")
    return pd.DataFrame(
        {
            "category_group": group,
            "source": new["source"].to_numpy(),
            "category": new["category"].to_numpy(),
            "true": new[target].to_numpy(),
            "estimate": [of.value for of in predicted],
            "lower": [of.lower for of in predicted],
            "upper": [of.upper for of in predicted],
            "raw": [of.raw for of in predicted],
            "reach": [of.reach for of in predicted],
        }
    )


def tabulated(
    estimates: pd.DataFrame, by: list[str], name: str, reference: pd.Series
) -> pd.DataFrame:
    """Tabulate errors, that of a reference by its name, coverage and half-widths, in points."""
    rows = estimates.assign(
        mae=100 * (estimates["estimate"] - estimates["true"]).abs(),
        bias=100 * (estimates["estimate"] - estimates["true"]),
        reference=100 * (reference - estimates["true"]).abs(),
        coverage=100.0 * estimates["true"].between(estimates["lower"], estimates["upper"]),
        half_width=50 * (estimates["upper"] - estimates["lower"]),
        n=1,
    )
    names = ["mae", "bias", "reference", "coverage", "half_width"]
    table = rows.groupby(by, observed=True)[names].mean().rename(columns={"reference": name})
    return table.join(rows.groupby(by, observed=True)["n"].sum())


if __name__ == "__main__":
    main()
