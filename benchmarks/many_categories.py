"""Prediction files of several categories: a few labels, and which categories count.

labels: estimates from a few labels where there are many categories, 80 and 15.

    python -m benchmarks.many_categories labels DATA PREDICTIONS [--out FILE]
        [--draws N] [--detectors NAME ...] [--work-dir DIR] [--swapped]

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them. Each detector is fitted on
the 164 `val` images of ``all/coco_mini``; its pools are the other 190 images of that set, and
``all/robot_home``. Of a pool k images are drawn by a plan, again and again, and taken as labelled.
`--swapped` fits on the 190 images, and its pool are the 164: images on which constants may be
chosen.

presence: which categories count in the first number, and how its interval is moved to their mean.

    python -m benchmarks.many_categories presence DATA PREDICTIONS [--detectors NAME ...]
        [--work-dir DIR]

Each detector is fitted on every set in ``two``, with its words for vehicles and persons, and
estimated at the sets of other origins there, in which both are labelled: on all images, on those
without a labelled person and on those without a labelled vehicle (20 or more). And on one half of
``all/coco_mini`` with all its categories, for the other half and for draws of 30 images of it. The
true value is COCO's: the mean over the categories with a label. Prints the errors in points by rule
and form of the interval, and the share that each detector would have by the others.
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
from autoeval.accuracy.coco_evaluation import coco_summary
from autoeval.estimation.category_scores import site_scores
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fitting import fit_sets
from autoeval.estimation.given import Predictions
from autoeval.estimation.labelled_sets import labels_with_files
from autoeval.io.coco import read_coco
from autoeval.io.labels.content import LabelSet, of_images
from autoeval.labels.joint import JointOutlook
from autoeval.labels.labelled_estimate import (
    TargetEstimates,
    estimate_rankings,
    estimate_with_labels,
    labelled_part,
)
from autoeval.labels.plan import LabelPlan, balanced_order
from autoeval.labels.values import NOTHING
from autoeval.report.page import format_cells, to_markdown
from autoeval.sites.site import Site
from benchmarks.commands import run_part
from benchmarks.panel import LEVEL, group_of, in_part, interval_score, write_part

SET = "coco_mini"
HOME = "robot_home"
SIZES = {SET: (10, 20, 40, 50, 100), HOME: (10, 20, 40)}
DETECTORS = ("nanodet_plus", "yolo26n", "yolov8n", "fastestdet")
LOWEST_SCORE = 0.05
"""Of the boxes that are read: some files reach further down, others do not."""
WORDS = {"car": "vehicle", "bus": "vehicle", "truck": "vehicle", "person": "person"}
FEWEST_IMAGES = 20
DRAWN = 30
DRAWS = 10
SHARES = (0.0, 0.03, 0.05, 0.1, 0.2, 0.3)
EVERY = "every category"  # of those named at the fit, or with a likely box
FORMS = ("raw", "moved", "widened")


@dataclass(frozen=True)
class Pool:
    """A pool with a plan for it, all its labels, and what is true of it."""

    detector: str
    name: str
    plan: LabelPlan
    labels: LabelSet
    each: dict[str, float]  # average precision of each category that has an object
    free: float  # half-width without labels, NaN where there is no such estimate

    @property
    def true(self) -> float:
        """Mean over the categories."""
        return float(np.mean(list(self.each.values())))


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
        own = data / "all" / site / "annotations.json"
        if split is not None:
            own = write_part(own, in_part(own, split), folder / f"{name}.json")
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
    return Pool(detector, name, plan, labels, each, plan.priors.get("mAP", NOTHING).half_width())


def labelled(labels: LabelSet, names: set[str]) -> LabelSet:
    """Keep the labels of some images."""
    return of_images(labels, [image for image in labels.images if image.file_name in names])


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
        part = labelled_part(drawn, labels)
        found = estimate_rankings(part.plan, part.images, part.rankings, [target])
        yield drawn, found[target]


CLASSES = {"none": (0, 0), "1-2": (1, 2), "3-4": (3, 4), "5-9": (5, 9), "10+": (10, 10**9)}


def measure(pool: Pool, k: int, draws: int) -> tuple[dict, list[dict]]:
    """Return the row of the mean over categories for k labels, and one row a category and draw."""
    whole, each = [], []
    for plan, found in estimates(pool, k, draws):
        outlook, recommended = plan.outlook, found.whole.combined.estimate
        assert isinstance(outlook, JointOutlook)
        whole.append(
            {
                "error": recommended.value - pool.true,
                "half_width": recommended.half_width(),
                "covered": abs(recommended.value - pool.true) <= recommended.half_width(),
                "forecast": outlook.half_width(k),
                "measured": sum(of.measured for of in found.by_category.values()),
                "forecast_measured": outlook.measured(k),
            }
        )
        for name, of in found.by_category.items():
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


COVERAGE = (0.87, 0.96)
OF_CATEGORIES = (0.86, 0.95)


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
        cover = own["covered"].mean()
        low, high = OF_CATEGORIES
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


def add_subject(parser: argparse.ArgumentParser) -> None:
    """Add DATA, PREDICTIONS and the detectors."""
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--detectors", nargs="+", default=DETECTORS, metavar="NAME")


def few_labels(words: list[str]) -> None:
    """Fit, plan, draw, and print the tables."""
    parser = argparse.ArgumentParser(prog="many_categories labels")
    add_subject(parser)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--swapped", action="store_true", help="fit on the part that is the pool")
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/many_categories"))
    parser.add_argument("--out", type=Path, help="for the tables; printed by default")
    args = parser.parse_args(words)
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


def read_sets(data: Path, predictions: Path, folder: Path) -> Iterator[tuple[Site, str]]:
    """Read the sets of two categories, and the halves of the set of 80, each with its kind."""
    for path in sorted((predictions / "two").glob("*.json")):
        labels = data / "two" / path.stem / "annotations.json"
        made = labels_with_files(labels, Predictions(path, complete=False), words=WORDS)
        yield replace(made, name=path.stem, group=group_of(path.stem)), "two categories"
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("val", "train"):
        file = data / "all" / SET / "annotations.json"
        labels = write_part(file, in_part(file, part), folder / f"{part}.json")
        boxes = write_boxes(predictions / "all" / f"{SET}.json", labels, folder / f"{part}_b.json")
        made = labels_with_files(labels, Predictions(boxes, complete=False))
        yield replace(made, name=part, group=part), "80 categories"


def parts_of(site: Site, kind: str) -> Iterator[tuple[str, Site]]:
    """Yield the images of a site that are estimated, by a name."""
    yield "all", site
    if kind == "80 categories":
        rng = np.random.default_rng(0)
        for k in range(DRAWS):
            drawn = np.sort(rng.choice(len(site), DRAWN, replace=False))
            yield f"draw {k}", site.on_images(drawn)
        return
    for name, ranking in zip(site.boxes.categories, site.evaluation.rankings, strict=True):
        without = np.flatnonzero(ranking.n_true == 0)
        if len(without) >= FEWEST_IMAGES:
            yield f"without {name}", site.on_images(without)


def true_map(site: Site) -> float:
    """Return COCO's mAP: the mean over the categories with a label."""
    labelled = [ranking for ranking in site.evaluation.rankings if ranking.n_true.any()]
    return float(
        np.mean([coco_summary(ranking.average_precision())["mAP"] for ranking in labelled])
    )


def presence_estimates(fitted: AccuracyEstimator, site: Site, named: bool) -> pd.DataFrame:
    """Estimate a site by every rule and every form of the interval."""
    regression, names = fitted.regression_, site.boxes.categories
    site = replace(site, calibration=fitted.calibration_, present=names if named else ())
    if not site.presence.likely.any():
        return pd.DataFrame()
    rows = regression.site_rows(site_scores(site, regression.features_)[1])
    likely, expected = rows["likely_boxes"] > 0, rows["expected_objects"]
    chosen = {EVERY: np.ones(len(expected), bool)}
    for share in SHARES:
        chosen[f"{share:g}"] = likely & (expected >= share * expected[likely].mean())
    each, found = regression.distribution(rows).mean, []
    for rule, counted in chosen.items():
        weights = counted / counted.sum()
        whole = regression.distribution(rows, weights[None])
        low = float(whole.quantile((1 - LEVEL) / 2)[0])
        high = float(whole.quantile((1 + LEVEL) / 2)[0])
        raw, value = float(whole.mean[0]), float(weights @ np.clip(each, 0, 1))
        nearest = float(np.clip(raw, 0, 1))
        for form in FORMS:
            shown = nearest if form == "raw" else value
            more = 0.0 if form == "moved" else abs(shown - raw)
            ends = np.clip([shown - (raw - low) - more, shown + (high - raw) + more], 0, 1)
            found.append((rule, form, int(counted.sum()), shown, *ends))
    columns = ["rule", "form", "categories", "estimate", "lower", "upper"]
    return pd.DataFrame(found, columns=columns)


def measure_presence(data: Path, predictions: Path, detector: str, folder: Path) -> pd.DataFrame:
    """Fit one detector on each set, and estimate the others."""
    sets, tables = list(read_sets(data, predictions / detector, folder)), []
    for home, kind in sets:
        fitted = fit_sets([home], context={})
        for site, other in sets:
            if other != kind or site.group == home.group:
                continue
            for part, images in parts_of(site, kind):
                rows = presence_estimates(fitted, images, kind == "two categories")
                rows = rows.assign(kind=kind, part=part.partition(" ")[0], site=site.name)
                rows = rows.assign(home=home.name, detector=detector, true=true_map(images))
                tables.append(rows)
    return pd.concat(tables, ignore_index=True)


def presence_errors(table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return errors in points; each site of each detector counts once."""
    table = table.assign(
        error=table["estimate"] - table["true"],
        inside=(table["lower"] <= table["true"]) & (table["true"] <= table["upper"]),
        width=table["upper"] - table["lower"],
        score=interval_score(table),
    )
    table["MAE"] = table["error"].abs()
    columns = ["MAE", "error", "inside", "width", "score", "categories"]
    unit = list(dict.fromkeys([*by, "detector", "site", "part"]))
    cells = table.groupby(unit, sort=False)[columns].mean()
    means = cells.groupby(by, sort=False).mean().reset_index()
    points = ["MAE", "error", "width", "score"]
    return means.assign(**{name: 100 * means[name] for name in points}).rename(
        columns={"error": "bias", "inside": "coverage"}
    )


def chosen_by_others(table: pd.DataFrame) -> pd.DataFrame:
    """Choose the share by the MAE of the other detectors, and measure it on the one left out."""
    moved, rows = table[(table["form"] == "moved") & (table["rule"] != EVERY)], []
    for detector in table["detector"].unique():
        others = presence_errors(moved[moved["detector"] != detector], ["kind", "rule"])
        best = others.groupby("rule")["MAE"].mean().idxmin()
        own = presence_errors(moved[moved["detector"] == detector], ["kind", "rule"])
        errors = own.groupby("rule")["MAE"].mean()
        rows.append((detector, best, errors[best], errors["0.1"]))
    return pd.DataFrame(rows, columns=["left out", "share", "MAE", "MAE of a tenth"])


def presence(words: list[str]) -> None:
    """Print errors by rule and form, by part of the sites, and the choice of the share."""
    parser = argparse.ArgumentParser(prog="many_categories presence")
    add_subject(parser)
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/presence"))
    args = parser.parse_args(words)
    table = pd.concat(
        [
            measure_presence(args.data, args.predictions, detector, args.work_dir / detector)
            for detector in args.detectors
        ],
        ignore_index=True,
    )
    formats = dict.fromkeys(["MAE", "bias", "width", "score", "categories"], "{:.1f}")
    formats |= {"coverage": "{:.0%}", "MAE of a tenth": "{:.1f}"}
    table.to_parquet(args.work_dir / "estimates.parquet")
    shown = [
        presence_errors(table, ["kind", "rule", "form"]),
        presence_errors(table[table["form"] == "moved"], ["kind", "part", "rule"]),
    ]
    if len(args.detectors) > 1:
        shown.append(chosen_by_others(table))
    for rows in shown:
        print(to_markdown(format_cells(rows, formats)) + "\n")


PARTS = {"labels": few_labels, "presence": presence}


if __name__ == "__main__":
    run_part(__doc__, PARTS)
