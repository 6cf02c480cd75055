"""Whether a nonlinear model predicts the influence of images better, and what a reference adds.

    python -m benchmarks.influence_predictors DATA NAME=PREDICTIONS ... > table.md

The standard error of an estimate with labels is that of labels alone times sqrt(1 - r^2), with r
the correlation of the predicted with the true influence of images. The product predicts influence
by a box model that is fitted on the `val` images of coco_mini. Here randomised trees and a ridge
regression learn the true influence from sums over the boxes of an image, on the labelled sites of
other detectors, without a quarter of the groups. Last, the control variate of another detector's
confident boxes is added with the same weight.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from autoeval.detections import CONFIDENT
from autoeval.io.predictions import FoundBoxes
from autoeval.labels.box_model import BoxModel
from autoeval.labels.control_variates import (
    MODEL,
    REFERENCE,
    ProbableLabels,
    control_variates,
    true_influence,
)
from autoeval.labels.fit_assistance import MOST_IMAGES, fit_assistance
from autoeval.report.tables import format_cells, to_markdown
from autoeval.sites.labelled_set import LabelledSet
from benchmarks.panel import LABELLED, read_sets

CATEGORIES = ("vehicle", "person")
FEWEST_IMAGES, FEWEST_BOXES = 60, 10
COUNTS = ("right", "right_75", "missed", "boxes", "over_30", "over_50", "variance", "wrong")
MEANS = ("size", "overlap", "at_edge", "score")  # over the boxes of an image, by probability
CLIP = 4.0  # standard deviations of true influence, beyond which one image would lead a fit
GROUPS = 4
PAIR = ["detector", "site", "category"]
"""Columns that name one category of one site as one detector sees it."""


def image_table(
    site: LabelledSet, model: BoxModel, others: Mapping[str, LabelledSet]
) -> Iterator[pd.DataFrame]:
    """Yield the images of each category of a site: true influence, predictions, sums over boxes.

    `others` has the same site with the boxes of other detectors, by their names.
    """
    probabilities = model.probabilities(site.pool)
    missed = model.n_missed(site.pool.found, probabilities)
    expected = model.rankings(site.pool, probabilities)
    by_others = {
        name: confident_labels(other.pool.found).rankings(site.pool.found)
        for name, other in others.items()
    }
    found = site.pool.found
    for k, category in enumerate(site.truth.categories):
        if site.rankings[k].n_true.sum() < FEWEST_BOXES:
            continue
        mine = found.label == k
        p, scores = probabilities[:, mine], found.scores[mine].astype(np.float64)
        boxes = site.pool.columns(("size", "overlap_above", "at_edge"))[mine]
        columns = {
            "right": p[0],
            "right_75": p[5],
            "boxes": np.ones(len(scores)),
            "over_30": scores > 0.3,
            "over_50": scores > 0.5,
            "variance": p[0] * (1 - p[0]),
            "wrong": 1 - p[0],
            "size": p[0] * boxes[:, 0],
            "overlap": p[0] * boxes[:, 1],
            "at_edge": p[0] * boxes[:, 2],
            "score": p[0] * scores,
        }
        image, n = found.image[mine], len(site.pool)
        table = pd.DataFrame({name: np.bincount(image, x, n) for name, x in columns.items()})
        table[list(MEANS)] = table[list(MEANS)].div(table["right"].clip(lower=1e-6), axis=0)
        table["missed"] = missed[k]
        table["true"] = true_influence(site.rankings[k])
        table["box model"] = control_variates(expected[k])[MODEL].mean(axis=0)
        for name, rankings in by_others.items():
            variates = control_variates(expected[k], rankings[k])
            table[name] = variates[REFERENCE].mean(axis=0)
        yield table.assign(site=site.name, group=site.group, category=category)


def confident_labels(boxes: FoundBoxes) -> ProbableLabels:
    """Take boxes with a score over `CONFIDENT` for certain."""
    sure = boxes.where(boxes.scores > CONFIDENT)
    return ProbableLabels(sure, np.ones(len(sure)))


def tables_of(data: Path, predictions: Mapping[str, Path]) -> pd.DataFrame:
    """Return the images of all sites with vehicles or persons, by all detectors."""
    every = {
        name: {made.name: made.at_most(MOST_IMAGES) for made in read_sets(data, folder)}
        for name, folder in predictions.items()
    }
    parts = []
    for name, sites in every.items():
        model = fit_assistance([sites[LABELLED]]).box_model
        for site in sites.values():
            usual = set(site.truth.categories) <= set(CATEGORIES)
            if not usual or len(site.pool) < FEWEST_IMAGES:
                continue
            others = {of: every[of][site.name] for of in every if of != name}
            parts += [t.assign(detector=name) for t in image_table(site, model, others)]
    return pd.concat(parts, ignore_index=True)


def described(table: pd.DataFrame) -> pd.DataFrame:
    """Return the features of images, each relative to the others of its pair."""
    pairs = table.groupby(PAIR)
    features = {"box model": table["box model"] / pairs["box model"].transform("std")}
    for name in COUNTS:
        features[f"{name}, relative"] = table[name] / (pairs[name].transform("mean") + 1e-6)
        features[f"{name}, logarithm"] = np.log1p(table[name])
    for name in MEANS:
        features[name] = table[name]
        features[f"{name}, relative"] = table[name] - pairs[name].transform("mean")
    expected = pairs["right"].transform("sum")
    features["expected recall"] = expected / (expected + pairs["missed"].transform("sum"))
    features["expected precision"] = expected / pairs["boxes"].transform("sum")
    return pd.DataFrame(features).replace([np.inf, -np.inf], 0.0).fillna(0.0)


def learned(table: pd.DataFrame) -> pd.DataFrame:
    """Predict the influence by models fitted on other detectors and groups."""
    features = described(table)
    pairs = table.groupby(PAIR)
    target = (table["true"] / pairs["true"].transform("std")).clip(-CLIP, CLIP)
    weights = 1 / np.sqrt(pairs["true"].transform("size"))
    groups = np.random.default_rng(0).permutation(sorted(table["group"].unique()))
    fold = table["group"].map({name: k % GROUPS for k, name in enumerate(groups)})
    predicted = pd.DataFrame(0.0, table.index, ["trees", "ridge"])
    for name in table["detector"].unique():
        for k in range(GROUPS):
            held_out = (table["detector"] == name) & (fold == k)
            kept = (table["detector"] != name) & (fold != k)
            trees = ExtraTreesRegressor(
                200, min_samples_leaf=15, max_features=0.4, random_state=0
            ).fit(features[kept], target[kept], weights[kept])
            ridge = make_pipeline(StandardScaler(), Ridge(300.0)).fit(
                features[kept], target[kept], ridge__sample_weight=weights[kept]
            )
            for column, fit in (("trees", trees), ("ridge", ridge)):
                predicted.loc[held_out, column] = fit.predict(features[held_out])
    return predicted


def correlations(table: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Correlate predictions with the true influence, the mean over pairs of each detector."""
    rows = []
    for key, images in table.groupby(PAIR):
        row = dict(zip(PAIR, key, strict=True))
        for name in ("box model", "trees", "ridge"):
            row[name] = images[name].corr(images["true"])
        model = images["box model"] / images["box model"].std()
        for name in names:
            if images[name].std() > 0:
                both = model + images[name] / images[name].std()
                row[f"with {name}"] = both.corr(images["true"])
        rows.append(row)
    columns = ["box model", "trees", "ridge", *(f"with {name}" for name in names)]
    pairs = pd.DataFrame(rows).groupby(["category", "detector"])
    return pairs[columns].mean().assign(pairs=pairs.size()).reset_index()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", nargs="+", metavar="NAME=PREDICTIONS")
    args = parser.parse_args()
    folders = dict(entry.split("=", 1) for entry in args.predictions)
    table = tables_of(args.data, {name: Path(folder) for name, folder in folders.items()})
    table = pd.concat([table, learned(table)], axis=1)
    result = correlations(table, list(folders))
    numbers = result.columns[2:-1]
    print(to_markdown(format_cells(result, dict.fromkeys(numbers, "{:.2f}"))))


if __name__ == "__main__":
    main()
