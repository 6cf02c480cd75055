"""Measure detectors that were trained on one site, at other sites.

    python -m benchmarks.fine_tuned_panel table DATA OUT [--reference PREDICTIONS]
    python -m benchmarks.fine_tuned_panel evaluate [--out FILE]

`table` reads what `benchmarks/fine_tuned.py` wrote into OUT. Each detector is calibrated on the
images of its home that it was not trained on, as its user would, by the usual calibration of the
panel without YOLOX; home and the sites of other groups are scored and written into
``meta_sets/panel/fine_tuned.csv``, in place of the rows of the same detectors, with the agreement
with a reference detector where its boxes are given, laid out as those of `benchmarks/panel.py`, and
calibrated at home as well. `evaluate` fits on each home and estimates the other sites, by
priors fitted without YOLOX, without the group of the home, and without a quarter of the groups in
turn, and prints the errors beside those of the labelled value carried over.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.errors import InputError
from autoeval.estimation.calibrating import calibrated_rows, cross_fitted, fit_calibration
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.given_boxes import Predictions
from autoeval.io.coco import read_coco
from autoeval.io.labels.truth import Truth
from autoeval.model import Prior, Scaling
from autoeval.model.calibrated_features import FEATURES
from autoeval.model.calibration import CalibrationPrior
from autoeval.model.pair_table import CATEGORY, REFERENCE_TRUE, features_at, with_target
from autoeval.model.priors import read_calibration_prior
from autoeval.model.reference_features import REFERENCE_FEATURES
from autoeval.model.train_prior import (
    QUARTERS,
    TABLES,
    calibration_coefficients,
    enough,
    fit_prior,
    kin,
    operating_point_prior,
    read_calibrations,
    read_operating_points,
    read_scores,
)
from autoeval.report.tables import to_markdown
from autoeval.sites.labelled_set import LabelledSet, labelled_set
from autoeval.targets import AP_TARGETS, MEASURES, OperatingPoint, points_at
from benchmarks.fine_tuned import HOMES, MORE_HOMES, home_categories, site_images
from benchmarks.fine_tuned import sites as read_sites
from benchmarks.panel import WORDS, common, evaluated, group_of, tabulated, with_held

TABLE = TABLES / "fine_tuned.csv"
PARENT = "yolox"  # of all these detectors, and so left out of the priors
THRESHOLDS = (0.3, 0.5)
TARGETS = ("mAP", *(f"{of}@{at:g}" for of in ("precision", "recall") for at in THRESHOLDS))


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    table = commands.add_parser("table")
    table.add_argument("data", type=Path)
    table.add_argument("boxes", type=Path, metavar="OUT", help="of benchmarks/fine_tuned.py")
    table.add_argument("--reference", type=Path, help="boxes of a reference detector")
    evaluate = commands.add_parser("evaluate")
    evaluate.add_argument("--out", type=Path, help="CSV of every estimate")
    return parser.parse_args()


def main() -> None:
    """Run one of the steps."""
    args = parse_args()
    if args.command == "table":
        homes = [home for home in (*HOMES, *MORE_HOMES) if folder_of(args.boxes, home).exists()]
        scored_homes = [
            scored(args.data, args.boxes, home, args.reference)
            for home in tqdm(homes, "detectors", disable=None)
        ]
        table = pd.concat(scored_homes)
        if TABLE.exists():
            known = pd.read_csv(TABLE)
            table = pd.concat([known[~known["detector"].isin(set(table["detector"]))], table])
        table.to_csv(TABLE, index=False, float_format="%.5f")
        return
    estimates = nested(pd.read_csv(TABLE))
    if args.out:
        estimates.to_csv(args.out, index=False)
    for by in (["target"], ["target", "detector"]):
        print(to_markdown(summary(estimates, by).round(1).reset_index()) + "\n")


def folder_of(boxes: Path, home: str) -> Path:
    """Return where `benchmarks/fine_tuned.py` wrote the boxes of a detector."""
    return boxes / "predictions" / Path(home).name


def read_sets(
    data: Path, folder: Path, categories: Sequence[str], home: str = ""
) -> Iterator[LabelledSet]:
    """Read the sites with the boxes of a detector, ``<task>/<site>.json``, in some categories.

    Images are those of `site_images`, for the detector of a home.
    """
    for site, content in read_sites(data):
        names = tuple(name for name in content.categories if name in categories)
        file = folder / f"{site}.json"
        if not names or not file.exists():
            continue
        words = {word: name for word, name in WORDS.items() if name in names}
        words |= {name: name for name in names}
        numbers = dict(zip(content.numbers, content.categories, strict=True))
        found = Predictions(file).read(content.images, where=str(file), numbers=numbers)
        found, truth = found.as_categories(names, words), Truth.of(content, names)
        kept = np.array(site_images(data, site, content, home))
        found, truth = found.on_images(kept), truth.on_images(kept)
        name = Path(site).name
        try:
            yield labelled_set(found, truth, name=name, group=group_of(name), everywhere=True)
        except InputError as error:
            print(f"{file}: {error}")


@cache
def calibration_without_parent() -> CalibrationPrior:
    """Return the usual calibration of the panel's detectors but YOLOX."""
    known = {k: of for k, of in read_calibrations().items() if kin(k) != PARENT}
    return read_calibration_prior(calibration_coefficients(known))


def labelled(home: LabelledSet) -> LabelledSet:
    """Return a home as a user's labelled set: each category on the images that hold it."""
    return replace(home, everywhere=False)


def with_reference(
    sets: dict[str, LabelledSet], others: dict[str, LabelledSet], home: str
) -> dict[str, LabelledSet]:
    """Add the boxes of a reference detector, calibrated at home by the usual calibration."""
    own, prior = [labelled(others[home])], calibration_without_parent()
    calibration = fit_calibration(own, [np.ones(len(own[0].boxes), bool)], prior)
    found = dict(sets)
    for name, of in sets.items():
        if name in others:
            boxes = others[name].boxes.clean
            p = (
                cross_fitted(own, prior)[0]
                if name == home
                else calibration.probabilities(boxes.scores)
            )
            found[name] = of.changed(
                boxes=replace(
                    of.boxes,
                    reference=boxes,
                    reference_calibration=calibration,
                    reference_probabilities=p[0],
                )
            )
    return found


def scored(data: Path, boxes: Path, home: str, reference: Path | None) -> pd.DataFrame:
    """Score a detector's home and the sites of other groups, calibrated at home."""
    known = home_categories(read_coco(data / home / "annotations.json"))
    sets = {of.name: of for of in read_sets(data, folder_of(boxes, home), known, home)}
    if reference:
        of_reference = {of.name: of for of in read_sets(data, reference, known, home)}
        sets = with_reference(sets, of_reference, Path(home).name)
    own = labelled(sets.pop(Path(home).name))
    rows, calibration = calibrated_rows([own], prior=calibration_without_parent())
    others = [of for of in sets.values() if of.group != own.group]
    parts = [with_held(own, rows).assign(kind=CATEGORY)]
    for of in others:
        found = with_held(of, labelled_rows(of, calibration))
        parts.append(found[common(found)])
    table = pd.concat(parts, ignore_index=True).assign(detector=f"tuned_{own.name}")
    columns = ["detector", "kind", "group", "source", "category", "n_images", "n_held", "n_boxes"]
    columns += [*FEATURES, "mAP", "mAP50", "mAP75"]
    for target in (name for at in THRESHOLDS for name in points_at(at)):
        table = with_target(table, target)
        columns += [target, features_at(target)[0]]
    return table.reindex(columns=[*columns, *REFERENCE_FEATURES, REFERENCE_TRUE])


@cache
def priors(home_group: str, fold: int) -> dict[str, tuple[Sequence[str], Scaling, Prior]]:
    """Fit the priors of all targets without YOLOX, a home's group and a quarter of the groups."""
    panel, points = read_scores(), read_operating_points()
    found = {}
    left_out = {home_group, *folds()[fold]}
    panel, points = (
        of[(of["detector"].map(kin) != PARENT) & ~of["group"].isin(left_out)]
        for of in (panel, points)
    )
    for target in AP_TARGETS:
        found[target] = fit_prior(panel, target=target)
    for measure in MEASURES:
        fitted = operating_point_prior(measure, points)
        found |= {f"{measure}@{threshold:g}": fitted for threshold in THRESHOLDS}
    return found


@cache
def folds() -> list[list[str]]:
    """Divide the groups of the panel as `benchmarks/panel.py` does."""
    groups = sorted(set(read_scores()["group"]) - {"coco"})
    np.random.default_rng(0).shuffle(groups)
    return [groups[k::QUARTERS] for k in range(QUARTERS)]


def nested(rows: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Estimate every site of each detector by priors that have seen neither; see the module."""
    parts = []
    for name, own in tqdm(rows.groupby("detector", sort=False), "detectors"):
        home, others = own[own["kind"] == CATEGORY], own[own["kind"] != CATEGORY]
        others = others[enough(others)]
        for fold, groups in enumerate(folds()):
            requested = others[others["group"].isin(groups)]
            if fold == 0:
                requested = others[others["group"].isin(groups) | (others["group"] == "coco")]
            if requested.empty:
                continue
            for target, (_, scaling, prior) in priors(home["group"].iloc[0], fold).items():
                if target not in TARGETS:
                    continue
                known = requested.dropna(subset=[target])
                if known.empty:
                    continue
                features = features_at(target) if OperatingPoint.of(target) else FEATURES
                found = evaluated(home, known, scaling, prior, target=target, features=features)
                at_home = home.set_index("category")[target]
                carried = at_home.reindex(known["category"]).fillna(at_home.mean())
                parts.append(found.assign(detector=name, target=target, carried=carried.to_numpy()))
    return pd.concat(parts, ignore_index=True)


def summary(estimates: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Tabulate errors, that of the value carried over, coverage and half-widths, in points."""
    known = estimates.dropna(subset=["estimate"])
    return tabulated(known, by, "carried over", known["carried"])


if __name__ == "__main__":
    main()
