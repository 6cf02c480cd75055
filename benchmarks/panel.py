"""The panel of detectors: its tables, and the errors of priors on what is left out of them.

    python -m benchmarks.panel tables DATA NAME=PREDICTIONS ...
    python -m benchmarks.panel accuracy [--out FILE]
    python -m benchmarks.panel operating-points [--out FILE]
    python -m benchmarks.panel floors DATA NAME=PREDICTIONS ... [--out FILE]
    python -m benchmarks.panel thresholds DATA NAME=PREDICTIONS ... [--out FILE]

`tables` scores the labelled sets under DATA (``<task>/<site>/annotations.json``, for the tasks
vehicle, person, two and all) by the predictions of each detector (``<task>/<site>.json``),
calibrated on the `val` images of ``all/coco_mini``, as they are and cut at the scores of `FLOORS`,
and writes the tables that `autoeval.model.train_prior` reads and describes, in
``meta_sets/panel``. Detectors that are there already are kept or replaced.

The others read these tables. `accuracy` fits the prior of average precision for each detector on
the others, without a quarter of the groups in turn, and prints the errors there;
`operating-points` does so for precision, recall and F1 at a threshold. `floors` repeats `accuracy`
for files that are cut at each score of the panel: with labelled files and sites cut alike, and with
labelled files from the lowest score on (*mixed*). `thresholds` compares the score threshold that is
chosen at each site, without labels and with 20, with that of the labelled set.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.accuracy.measures import (
    MEASURES,
    RankedDetections,
    image_counts,
    influence_on,
    points_at,
    value_of,
)
from autoeval.errors import InputError
from autoeval.estimation.calibrating import (
    calibrated_rows,
    cross_fitted,
    fit_calibration,
    fits_above,
)
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.given import Predictions
from autoeval.estimation.labelled_sets import labelled_site
from autoeval.estimation.threshold_choice import choose_threshold, exact_curve
from autoeval.io.coco import read_coco
from autoeval.io.labels.content import LabelSet, labelled_boxes
from autoeval.labels.fit_assistance import MOST_IMAGES, fit_assistance
from autoeval.model import PredictionInterval, Prior
from autoeval.model.calibration import CalibrationPrior, ScoreCalibration, Usual
from autoeval.model.pair_table import CATEGORY, EXPECTED, FEATURES, with_target
from autoeval.model.priors import read_calibration_prior
from autoeval.model.regression import Regression
from autoeval.model.train_prior import (
    COMMON,
    FLOORS,
    QUARTERS,
    TABLES,
    calibration_coefficients,
    enough,
    fit_prior,
    kin,
    operating_point_prior,
    quarters,
    read_calibrations,
    read_operating_points,
    read_scores,
)
from autoeval.model.train_prior import THRESHOLDS as FITTED
from autoeval.report.page import to_markdown
from autoeval.runtime.files import write_text
from autoeval.sites.site import Site

WORDS = {
    "car": "vehicle",
    "bus": "vehicle",
    "truck": "vehicle",
    "vehicle": "vehicle",
    "person": "person",
}
OF_TASK = {"vehicle": ("vehicle",), "person": ("person",), "two": ("vehicle", "person")}
TASKS: dict[str, tuple[str, ...]] = {**OF_TASK, "all": ()}
ORIGINS = ("bdd", "hituav", "dawn", "coco", "trafficcam", "highway_id")
LABELLED = "coco_mini"
SET = f"all/{LABELLED}"
FITTED_ON = "val"  # part of its images
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
LEVEL = 0.9  # of the intervals
PARENT = "yolox"  # of all detectors that were trained on one site: left out with any of them
MOST_LABELLED = 0.8  # share of a site; with more, little is left to estimate
BY_ESTIMATE = (0, 5, 10, 20, 35, 50, 70, 100)  # points; ends of the classes that are tabulated
USED = (0.3, 0.5)  # thresholds that are shown by detector
CURVE = tuple(float(of) for of in np.arange(1, 20) / 20)
CURVE_COLUMNS = ["threshold", "measure", "value", "lower", "upper"]
WANTED_RECALL = 0.5
LABELS = 20
FEWEST_OF_SITE = 30  # images of a site
FEWEST_HOLDING = 10  # images that hold the category


def main() -> None:
    """Make the tables, or measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    add_detectors(commands.add_parser("tables"))
    for name in ("accuracy", "operating-points", "floors", "thresholds"):
        command = commands.add_parser(name)
        command.add_argument("--out", type=Path, help="CSV of every estimate")
        if name in ("floors", "thresholds"):
            add_detectors(command)
    args = parser.parse_args()
    if args.command == "tables":
        for name, folder in tqdm(args.detectors, "detectors"):
            add_detector(name, list(read_sets(args.data, folder)))
        return
    if args.command == "accuracy":
        estimates = left_out_accuracies(read_scores())
        tables = [by_detector(estimates), by_classes(estimates), interval_scores(estimates)]
    elif args.command == "operating-points":
        estimates = left_out_points(read_operating_points())
        every = points_summary(estimates)
        by = ["measure", "threshold", "category_group"]
        used = every[every.index.get_level_values("threshold").isin(USED)]
        tables = [used.loc[["recall"]], every.groupby(by).mean().drop(columns=["n"])]
    elif args.command == "floors":
        if len({kin(name) for name, _ in args.detectors}) < 2:
            parser.error("floors estimates each detector by the others: name two that are not kin")
        estimates = at_floors(args.data, args.detectors)
        by = ["fitted", "floor", "category_group"]
        mean = estimates.groupby(["floor", "category_group", "detector"])["true"].transform("mean")
        tables = [tabulated(estimates, keys, "constant", mean) for keys in (by, by[:2])]
    else:
        detectors = tqdm(args.detectors)
        estimates = pd.concat([chosen(name, args.data, folder) for name, folder in detectors])
        groups = estimates.groupby(["wanted", "category_group", "detector", "by"], sort=False)
        tables = [groups["lost"].mean().unstack("by")]
    if args.out:
        estimates.to_csv(args.out, index=False)
    for table in tables:
        print(to_markdown(table.round(1).reset_index()) + "\n")


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
            site = read_site(path, content, names, WORDS if known else {n: n for n in names})
            if path.stem == LABELLED:
                site = site.on_images(in_part(file, FITTED_ON))
            elif group_of(path.stem) == "coco":
                continue
            everywhere = path.stem != LABELLED
            try:
                site = replace(site, name=path.stem, group=group_of(path.stem))
                yield labelled_site(replace(site, everywhere=everywhere))
            except InputError as error:
                print(f"{path}: {error}")


def read_site(
    predictions: Path, content: LabelSet, names: Sequence[str], words: Mapping[str, str]
) -> Site:
    """Read the boxes and labels of a site in some categories; words: category of each."""
    numbers = dict(zip(content.numbers, content.categories, strict=True))
    site = Predictions(predictions).read(content.images, where=str(predictions), numbers=numbers)
    return replace(site.as_categories(names, words), truth=labelled_boxes(content, names))


def in_part(annotations: Path, part: str) -> np.ndarray:
    """Return which images of a file are of a part of COCO's data, (M,) bool."""
    images = json.loads(annotations.read_bytes())["images"]
    return np.array([image["coco_split"] == part for image in images])


def write_part(annotations: Path, chosen: np.ndarray, target: Path) -> Path:
    """Write the labels of some images, (M,) bool, into another file."""
    content = json.loads(annotations.read_bytes())
    images = [image for image, kept in zip(content["images"], chosen, strict=True) if kept]
    ids = {image["id"] for image in images}
    boxes = [box for box in content["annotations"] if box["image_id"] in ids]
    target.write_text(json.dumps({**content, "images": images, "annotations": boxes}))
    return target


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
        fit_calibration([site], None, WEAK)
        for site in sites
        if len(site.boxes)
        and sum(ranking.n_true.sum() for ranking in site.evaluation.rankings) >= FEWEST_LABELS
    ]
    return pd.concat(parts, ignore_index=True), [calibration, *of_sites]


def operating_points(rows: pd.DataFrame, thresholds: Sequence[float] = THRESHOLDS) -> pd.DataFrame:
    """Return true and expected values at thresholds of every pair of set and category."""
    columns = [*COLUMNS[1:], *FEATURES[1:]]
    for target in (name for threshold in thresholds for name in points_at(threshold)):
        rows = pd.DataFrame(with_target(rows, target))
        columns += [target, f"{EXPECTED}{target}"]
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
) -> pd.DataFrame:
    """Fit on some pairs and estimate others, each as a site of its own."""
    predicted = Regression(target=target, prior=prior).fit(known).predict(new)  # each on its own
    group = np.where(new["category"].isin(COMMON), new["category"], "other")
    return pd.DataFrame(
        {
            "category_group": group,
            "source": new["source"].to_numpy(),
            "category": new["category"].to_numpy(),
            "true": new[target].to_numpy(),
            **ends(predicted),
        }
    )


def ends(intervals: Sequence[PredictionInterval]) -> dict[str, list[float]]:
    """Return the estimates and the ends of their intervals as columns."""
    return {
        "estimate": [of.value for of in intervals],
        "lower": [of.lower for of in intervals],
        "upper": [of.upper for of in intervals],
    }


@cache
def calibration_without(kind: str) -> CalibrationPrior:
    """Return the usual calibration of the panel's detectors of other kinds."""
    known = {name: of for name, of in read_calibrations().items() if kin(name) != kind}
    return read_calibration_prior(calibration_coefficients(known))


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


def folds(rows: pd.DataFrame) -> Iterator[tuple[str, int]]:
    """Yield each detector with each quarter of the groups."""
    every = [(name, k) for name in dict.fromkeys(rows["detector"]) for k in range(QUARTERS)]
    yield from tqdm(every, "leaving detectors and groups out")


def left_out_accuracies(rows: pd.DataFrame, panel: pd.DataFrame | None = None) -> pd.DataFrame:
    """Estimate every site by priors that have seen neither the detector nor the site's group.

    rows: table of the panel. panel: rows of the same pairs that the priors are fitted on, where
        they are others.
    """
    panel = rows if panel is None else panel
    of_groups = quarters(rows)
    quarter, kins = panel["group"].map(of_groups), panel["detector"].map(kin)
    counts = enough(rows) & (rows["kind"] != CATEGORY)
    priors: dict[tuple[str, int], Prior] = {}
    parts = []
    for name, k in folds(rows):
        own = rows["detector"] == name
        requested = rows[own & counts & (rows["group"].map(of_groups) == k)]
        if requested.empty:
            continue
        if (kin(name), k) not in priors:
            priors[kin(name), k] = fit_prior(panel[(kins != kin(name)) & (quarter != k)])
        labelled = rows[own & (rows["kind"] == CATEGORY)]
        found = evaluated(labelled, requested, priors[kin(name), k])
        parts.append(found.assign(detector=name))
    return pd.concat(parts, ignore_index=True)


def by_detector(estimates: pd.DataFrame) -> pd.DataFrame:
    """Tabulate errors, that of a constant, coverage and half-widths, in points."""
    by = ["category_group", "detector"]
    mean = estimates.groupby(by)["true"].transform("mean")
    return tabulated(estimates, by, "constant", mean)


def by_classes(estimates: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the same by kind of category and by estimate."""
    kinds = np.where(estimates["category_group"] == "other", "other", "vehicle, person")
    rows = estimates.assign(categories=kinds, points=by_estimate(estimates))
    by = ["categories", "points"]
    mean = rows.groupby("category_group")["true"].transform("mean")
    return tabulated(rows, by, "constant", mean)


def interval_scores(estimates: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the interval score, in points, and what it weighs by group and of all pairs."""
    mean = estimates.groupby(["category_group", "detector"])["true"].transform("mean")
    rows = pd.concat([estimates, estimates.assign(category_group="all")], ignore_index=True)
    rows = rows.assign(score=100 * interval_score(rows))
    table = tabulated(
        rows, ["category_group"], "constant", pd.concat([mean, mean], ignore_index=True)
    )
    return table.join(rows.groupby("category_group")["score"].mean())


def interval_score(estimates: pd.DataFrame) -> pd.Series:
    """Return the interval score of each estimate: its width, and a penalty for a miss.

    The score is proper: its mean is smallest for the true quantiles (Gneiting & Raftery 2007,
    equation 43), so neither wide nor narrow intervals gain by it.

    Examples
    --------
    >>> rows = pd.DataFrame({"lower": [.1, .1], "upper": [.3, .3], "true": [.2, .35]})
    >>> interval_score(rows).round(3).tolist()
    [0.2, 1.2]
    """
    below = (estimates["lower"] - estimates["true"]).clip(lower=0)
    above = (estimates["true"] - estimates["upper"]).clip(lower=0)
    return estimates["upper"] - estimates["lower"] + 2 / (1 - LEVEL) * (below + above)


def by_estimate(estimates: pd.DataFrame) -> pd.Series:
    """Name the class of each estimate, in points; see `BY_ESTIMATE`."""
    names = [f"{a} to {b}" for a, b in pairwise(BY_ESTIMATE)]
    points = (100 * estimates["estimate"]).clip(upper=BY_ESTIMATE[-1] - 1e-9)
    return pd.cut(points, BY_ESTIMATE, labels=names, right=False)


def left_out_points(rows: pd.DataFrame) -> pd.DataFrame:
    """Estimate precision, recall and F1 by priors that have seen neither detector nor group."""
    quarter, kins = rows["group"].map(quarters(rows)), rows["detector"].map(kin)
    counts = enough(rows)
    parts = []
    for name, k in folds(rows):
        own = rows["detector"] == name
        labelled = rows[own & (rows["kind"] == CATEGORY)]
        requested = rows[own & (quarter == k) & counts]
        for measure in MEASURES:
            seen = rows[(kins != kin(name)) & (quarter != k)]
            prior = operating_point_prior(measure, seen)
            for threshold in THRESHOLDS:
                target = f"{measure}@{threshold:g}"
                known = requested.dropna(subset=[target])
                if len(known):
                    found = evaluated(labelled, known, prior, target=target)
                    carried = float(labelled[target].mean())
                    parts.append(
                        found.assign(
                            carried=carried, measure=measure, threshold=threshold, detector=name
                        )
                    )
    return pd.concat(parts, ignore_index=True)


def points_summary(estimates: pd.DataFrame) -> pd.DataFrame:
    """Tabulate errors of what was estimated, in points, with those of two constants.

    ``constant`` is the mean of the group, ``carried`` the mean of the labelled set. ``none`` counts
    the pairs that got no estimate because the interval would be too wide.
    """
    by = ["measure", "threshold", "category_group", "detector"]
    mean = estimates.groupby(by)["true"].transform("mean")
    given = estimates["estimate"].notna()
    rows = estimates.assign(
        carried=100 * (estimates["carried"] - estimates["true"]).abs().where(given),
        n=1,
        none=~given,
    )
    carried, numbers = rows.groupby(by)["carried"].mean(), rows.groupby(by)[["n", "none"]].sum()
    table = tabulated(estimates[given], by, "constant", mean[given]).drop(columns="n")
    names = ["mae", "bias", "constant", "carried", "coverage", "half_width"]
    return numbers.join(table).join(carried)[[*names, "n", "none"]]


def at_floors(data: Path, detectors: Sequence[tuple[str, Path]]) -> pd.DataFrame:
    """Estimate every site of these detectors by priors that saw neither, at each floor."""
    names = [name for name, _ in detectors]
    parts = []
    for floor in FLOORS:
        rows = read_scores(floor)
        rows = rows[rows["detector"].isin(names)]
        parts.append(left_out_accuracies(rows).assign(floor=floor, fitted="cut alike"))
    sets = {name: list(read_sets(data, folder)) for name, folder in detectors}
    for floor in FLOORS[1:]:
        panel = read_scores(floor)
        panel = panel[panel["detector"].isin(names)]
        mixed = [mixed_rows(name, of, floor) for name, of in tqdm(sets.items(), "mixed")]
        rows = pd.concat(mixed, ignore_index=True)
        parts.append(left_out_accuracies(rows, panel).assign(floor=floor, fitted="mixed"))
    return pd.concat(parts, ignore_index=True)


def mixed_rows(name: str, sets: Sequence[Site], floor: float) -> pd.DataFrame:
    """Score sites cut at a floor by a calibration on a labelled set that is not."""
    own = [of for of in sets if of.name == LABELLED]
    whole = fit_calibration(own, None, WIDE)
    above = fits_above(own, whole, cross_fitted(own, WIDE), floors=[floor], prior=WIDE)
    fitted = above[floor]
    parts = [evaluable(own[0], pd.DataFrame(dict(fitted.rows)))]
    for of in (of.above(floor) for of in sets if of.name != LABELLED):
        parts.append(evaluable(of, labelled_rows(of, fitted.calibration)))
    return pd.concat(parts, ignore_index=True).assign(detector=name, floor=floor)


def chosen(name: str, data: Path, predictions: Path) -> pd.DataFrame:
    """Choose thresholds at every site by several curves, and measure what they lose there.

    ``lost`` is, in points, the best F1 that a threshold has there less that of the chosen one; for
    a wanted recall the distance of the true one to it, at sites where some threshold reaches it.
    """
    panel = read_operating_points()
    panel = panel[panel["detector"].map(kin) != kin(name)]
    sets = list(read_sets(data, predictions))
    own = [of for of in sets if of.name == LABELLED]
    known, calibration = calibrated_rows(own, prior=WIDE)
    regressions = {}
    for measure in ("recall", "f1"):
        prior = operating_point_prior(measure, panel)
        for threshold in CURVE:
            target = f"{measure}@{threshold:g}"
            regressions[target] = Regression(target=target, prior=prior).fit(known)
    box_model = fit_assistance([own[0]]).box_model
    curves = {
        "labelled set": exact_curve([of for of in own[0].evaluation.rankings if of.n_true.any()])
    }
    rows = []
    for of in (of for of in sets if of.name != LABELLED and len(of) >= FEWEST_OF_SITE):
        table, site = labelled_rows(of, calibration), of.at_most(MOST_IMAGES)
        for row in table.index:
            category = str(table.loc[row, "category"])
            k = of.boxes.categories.index(category)
            if np.sum(site.evaluation.rankings[k].n_true > 0) < FEWEST_HOLDING:
                continue
            curves["no labels"] = without_labels(table.loc[[row]], regressions)
            curves["20 labels"] = with_labels(
                site.evaluation.rankings[k], box_model.rankings(site.pool)[k]
            )
            truth = exact_curve([of.evaluation.rankings[k]])
            group = category if category in COMMON else "other"
            rows += [
                {"detector": name, "category_group": group, "by": by, **lost}
                for by, curve in curves.items()
                for lost in losses(curve, truth)
            ]
    return pd.DataFrame(rows)


def without_labels(row: pd.DataFrame, regressions: dict[str, Regression]) -> pd.DataFrame:
    """Estimate the curve of one pair."""
    found = []
    for target, regression in regressions.items():
        measure, _, threshold = target.partition("@")
        (of,) = regression.predict(row)
        found.append((float(threshold), measure, of.value, of.lower, of.upper))
    return pd.DataFrame(found, columns=CURVE_COLUMNS)


def with_labels(true: RankedDetections, expected: RankedDetections) -> pd.DataFrame:
    """Estimate the curve of one pair from simply drawn labels, by the difference estimator."""
    n = len(true.n_true)
    images = np.random.default_rng(0).choice(n, min(LABELS, n // 2), replace=False)
    found = []
    for threshold in CURVE:
        counts, predicted = image_counts(true, threshold), image_counts(expected, threshold)
        for measure in ("recall", "f1"):
            own, every = counts[:, images], influence_on(measure, predicted)
            value = value_of(measure, own) - np.nan_to_num(every)[images].mean()
            found.append((threshold, measure, value, value, value))
    return pd.DataFrame(found, columns=CURVE_COLUMNS)


def losses(curve: pd.DataFrame, truth: pd.DataFrame) -> list[dict[str, Any]]:
    """Measure what the thresholds that a curve chooses lose by the true one."""
    at = truth.pivot(index="threshold", columns="measure", values="value")
    best = choose_threshold(curve).threshold
    lost = at["f1"].max() - at["f1"].iloc[_nearest(at, best)]
    found = [{"wanted": "best F1", "lost": 100 * lost}]
    if at["recall"].max() >= WANTED_RECALL:
        chosen = choose_threshold(curve, recall=WANTED_RECALL).threshold
        chosen = at.index[0] if math.isnan(chosen) else chosen
        reached = at["recall"].iloc[_nearest(at, chosen)]
        wanted = f"recall {100 * WANTED_RECALL:g}"
        found.append({"wanted": wanted, "lost": 100 * abs(reached - WANTED_RECALL)})
    return found


def _nearest(table: pd.DataFrame, threshold: float) -> int:
    return int(np.abs(table.index.to_numpy() - threshold).argmin())


if __name__ == "__main__":
    main()
