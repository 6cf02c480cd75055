"""Which categories count in the first number, and how its interval is moved to their mean.

    python -m benchmarks.presence DATA PREDICTIONS [--detectors NAME ...] [--work-dir DIR]

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them. Each detector is fitted on
every set in ``two``, with its words for vehicles and persons, and estimated at the sets of other
origins there, in which both are labelled: on all images, on those without a labelled person and on
those without a labelled vehicle (20 or more). And on one half of ``all/coco_mini`` with all its
categories, for the other half and for draws of 30 images of it. The true value is COCO's: the mean
over the categories with a label. Prints the errors in points by rule and form of the interval, and
the share that each detector would have by the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.accuracy.coco_evaluation import coco_summary
from autoeval.estimation.category_scores import site_rows, site_scores
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fitting import fit_sets
from autoeval.estimation.given import Predictions
from autoeval.estimation.labelled_sets import labels_with_files
from autoeval.report.text import format_cells, to_markdown
from autoeval.sites.site import Site
from benchmarks.many_categories import SET, write_boxes, write_part
from benchmarks.panel import group_of
from benchmarks.panel_errors import LEVEL, interval_score

WORDS = {"car": "vehicle", "bus": "vehicle", "truck": "vehicle", "person": "person"}
DETECTORS = ("fastestdet", "nanodet_plus", "yolo26n", "yolov8n")
FEWEST_IMAGES, DRAWN, DRAWS = 20, 30, 10
SHARES = (0.0, 0.03, 0.05, 0.1, 0.2, 0.3)
EVERY = "every category"  # of those named at the fit, or with a likely box
FORMS = ("raw", "moved", "widened")


def read_sets(data: Path, predictions: Path, folder: Path) -> Iterator[tuple[Site, str]]:
    """Read the sets of two categories, and the halves of the set of 80, each with its kind."""
    for path in sorted((predictions / "two").glob("*.json")):
        labels = data / "two" / path.stem / "annotations.json"
        made = labels_with_files(labels, Predictions(path, complete=False), words=WORDS)
        yield replace(made, name=path.stem, group=group_of(path.stem)), "two categories"
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("val", "train"):
        labels = write_part(data / "all" / SET / "annotations.json", part, folder / f"{part}.json")
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


def estimates(fitted: AccuracyEstimator, site: Site, named: bool) -> pd.DataFrame:
    """Estimate a site by every rule and every form of the interval."""
    regression, names = fitted.regression_, site.boxes.categories
    site = replace(site, calibration=fitted.calibration_, present=names if named else ())
    presence, scores = site.presence, site_scores(site, regression.features_)
    if not scores or not presence.likely.any():
        return pd.DataFrame()
    rows = regression.site_rows(site_rows(scores, presence))
    likely, expected = rows["likely_boxes"] > 0, rows["expected_objects"]
    chosen = {EVERY: np.ones(len(rows), bool)}
    for share in SHARES:
        chosen[f"{share:g}"] = (likely & (expected >= share * expected[likely].mean())).to_numpy()
    each, found = regression.distribution(rows).mean, []
    for rule, counted in chosen.items():
        weights = counted / counted.sum()
        whole = regression.distribution(rows, weights[None])
        low, high = (float(whole.quantile(q)[0]) for q in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
        raw, value = float(whole.mean[0]), float(weights @ np.clip(each, 0, 1))
        nearest = float(np.clip(raw, 0, 1))
        for form in FORMS:
            shown = nearest if form == "raw" else value
            more = 0.0 if form == "moved" else abs(shown - raw)
            ends = np.clip([shown - (raw - low) - more, shown + (high - raw) + more], 0, 1)
            found.append((rule, form, int(counted.sum()), shown, *ends))
    columns = ["rule", "form", "categories", "estimate", "lower", "upper"]
    return pd.DataFrame(found, columns=columns)


def measure(data: Path, predictions: Path, detector: str, folder: Path) -> pd.DataFrame:
    """Fit one detector on each set, and estimate the others."""
    sets, tables = list(read_sets(data, predictions / detector, folder)), []
    for home, kind in sets:
        fitted = fit_sets([home], context={})
        for site, other in sets:
            if other != kind or site.group == home.group:
                continue
            for part, images in parts_of(site, kind):
                rows = estimates(fitted, images, kind == "two categories")
                rows = rows.assign(kind=kind, part=part.partition(" ")[0], site=site.name)
                rows = rows.assign(home=home.name, detector=detector, true=true_map(images))
                tables.append(rows)
    return pd.concat(tables, ignore_index=True)


def summary(table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
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
        others = summary(moved[moved["detector"] != detector], ["kind", "rule"])
        best = others.groupby("rule")["MAE"].mean().idxmin()
        own = summary(moved[moved["detector"] == detector], ["kind", "rule"])
        errors = own.groupby("rule")["MAE"].mean()
        rows.append((detector, best, errors[best], errors["0.1"]))
    return pd.DataFrame(rows, columns=["left out", "share", "MAE", "MAE of a tenth"])


def main() -> None:
    """Print errors by rule and form, by part of the sites, and the choice of the share."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--detectors", nargs="+", default=DETECTORS, metavar="NAME")
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/presence"))
    args = parser.parse_args()
    table = pd.concat(
        [
            measure(args.data, args.predictions, detector, args.work_dir / detector)
            for detector in args.detectors
        ],
        ignore_index=True,
    )
    formats = dict.fromkeys(["MAE", "bias", "width", "score", "categories"], "{:.1f}")
    formats |= {"coverage": "{:.0%}", "MAE of a tenth": "{:.1f}"}
    table.to_parquet(args.work_dir / "estimates.parquet")
    shown = [
        summary(table, ["kind", "rule", "form"]),
        summary(table[table["form"] == "moved"], ["kind", "part", "rule"]),
    ]
    if len(args.detectors) > 1:
        shown.append(chosen_by_others(table))
    for rows in shown:
        print(to_markdown(format_cells(rows, formats)) + "\n")


if __name__ == "__main__":
    main()
