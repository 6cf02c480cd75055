"""Correct the default's estimates on the panel by what is known without labels, and bound widths.

    python -m benchmarks.panel_corrections [DATA NAME=PREDICTIONS ...] [--out FILE]

A correction moves an estimate or scales its interval. It is fitted on estimates of other detectors
at other quarters of the groups, by priors that have seen neither those nor the detector and quarter
that it is applied to. Its strength, and for the row `chosen` its form, has the lowest interval
score where detectors and quarters are left out of these estimates once more. With DATA and
predictions (see `benchmarks/panel.py`) one form reads the number, the sizes and the crowding of
boxes, too. It takes a few minutes.

The second and third table hold, for each cell of pairs, what half-width the shipped estimates need
for 90 %: `bound` with one width for the cell, chosen by its true errors, `shifted` with one shift,
too. No label-free rule that keeps the estimates and has one width a cell can be narrower.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.model.calibrated_features import FEATURES, relative_sides
from autoeval.model.calibration import FOUND
from autoeval.report.tables import to_markdown
from benchmarks.panel import GROUPS, WORDS, Nested, kin, named_folder, read_panel, read_sets
from benchmarks.panel_widths import by_estimate, interval_score
from benchmarks.width_bounds import FEWEST, bounds_of_cells, mean_bounds
from benchmarks.width_forms import (
    Form,
    by_bands,
    moved,
    scaled,
    unchanged,
)

PAIR = ["detector", "source", "category"]
LEAST_ROOM, MIDDLE = 0.02, 0.5
NEAR = 0.3  # added to distances before their logarithm, standard deviations
RIDGES = (1.0, 4.0, 16.0)
STRENGTHS = (0.3, 1.0, 3.0)
COUNTED_AS = (5.0, 20.0)
WIDTHS = {
    "the estimate": ("room",),
    "estimate, kind, images": ("room", "other", "log_images"),
    "estimate, kind, labels, distance, size": (
        "room",
        "other",
        "log_labelled",
        "log_distance",
        "box_size",
    ),
}
OF_BOXES = {
    "estimate, kind, boxes, sizes, crowding": ("room", "other", "log_boxes", "sizes", "crowding")
}


def main() -> None:
    """Estimate, correct and print."""
    args = parse_args()
    rows = read_panel()[0]
    boxes = [of_boxes(name, args.data, folder) for name, folder in args.detectors]
    forms = possible_forms({**WIDTHS, **(OF_BOXES if boxes else {})})
    found = corrected(rows, forms, pd.concat(boxes) if boxes else None)
    if args.out:
        found.to_csv(args.out, index=False)
    print(to_markdown(compared(found).round(1).reset_index()) + "\n")
    shipped = found[found["form"] == "none"]
    kinds = np.where(shipped["category_group"] == "other", "other", "vehicle, person")
    cells = shipped.assign(categories=kinds, points=by_estimate(shipped))
    print(to_markdown(bounds_of_cells(cells).round(1).reset_index()) + "\n")
    print(to_markdown(mean_bounds(cells).round(1).reset_index()))


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("detectors", nargs="*", type=named_folder, metavar="NAME=PREDICTIONS")
    parser.add_argument("--out", type=Path, help="CSV of every estimate by every form")
    return parser.parse_args()


def possible_forms(widths: Mapping[str, Sequence[str]]) -> dict[str, list[Form]]:
    """List the forms of a correction, each with the strengths that are tried."""
    lines = [moved("line", strength) for strength in STRENGTHS]
    ends = [moved("ends", strength) for strength in STRENGTHS]
    forms: dict[str, list[Form]] = {
        "none": [unchanged],
        "one factor": [scaled((), 1.0)],
        "location: a line": lines,
        "location: low and high estimates": ends,
        "width by estimate in bands": [by_bands(n) for n in COUNTED_AS],
    }
    for name, known in widths.items():
        forms[f"width by {name}"] = [scaled(known, ridge) for ridge in RIDGES]
    for name, known in [*widths.items()][:2]:
        forms[f"location and width by {name}"] = [
            scaled(known, RIDGES[1], of[1]) for of in (lines, ends)
        ]
    return forms


def corrected(
    rows: pd.DataFrame, forms: Mapping[str, Sequence[Form]], boxes: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Estimate every pair by the shipped widths, and by each form of a correction."""
    estimates = Nested(rows)
    folds = [(name, k) for name in estimates.names for k in range(GROUPS)]
    parts = [
        corrected_fold(estimates, name, k, forms, boxes)
        for name, k in tqdm(folds, "leaving detectors and groups out")
    ]
    return pd.concat(parts, ignore_index=True)


def corrected_fold(
    estimates: Nested,
    name: str,
    k: int,
    forms: Mapping[str, Sequence[Form]],
    boxes: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Correct the estimates of a quarter of the groups for one detector by each form."""
    new = estimates.estimate(name, k)
    if new.empty:
        return new
    others = [of for of in estimates.names if kin(of) != kin(name)]
    train = pd.concat(
        estimates.estimate(other, of, [(kin(name), k)]).assign(quarter=of)
        for other in others
        for of in range(GROUPS)
        if of != k
    )
    new, train = (with_known(of, estimates.rows, boxes) for of in (new, train))
    best = {}
    for form, strengths in forms.items():
        scores = [held_out_score(of, train) for of in strengths]
        first = int(np.argmin(scores))
        best[form] = (scores[first], strengths[first])
    best["chosen"] = min(best.values(), key=lambda of: of[0])
    parts = [new.assign(**of(train)(new).intervals(), form=form) for form, (_, of) in best.items()]
    return pd.concat(parts)


def held_out_score(form: Form, train: pd.DataFrame) -> float:
    """Return the mean score of a form on kinds of detectors and quarters left out of its fit.

    Each group of a detector counts alike, as in the choice of the widths of the default.
    """
    parts = []
    for kind in train["kin"].unique():
        for k in train["quarter"].unique():
            own, of = train["kin"] == kind, train["quarter"] == k
            held = train[own & of]
            if len(held):
                intervals = form(train[~own & ~of])(held).intervals()
                parts.append(held.assign(**intervals))
    found = pd.concat(parts)
    return float(
        interval_score(found).groupby([found["category_group"], found["detector"]]).mean().mean()
    )


def with_known(
    estimates: pd.DataFrame, rows: pd.DataFrame, boxes: pd.DataFrame | None
) -> pd.DataFrame:
    """Add what is known of each pair without labels there; NaN where its boxes are not given."""
    features = list(FEATURES)
    of_sites = rows[rows["kind"] == "seed"].set_index(PAIR)
    found = estimates.join(of_sites[["group", "n_images", *features]], on=PAIR)
    distance, labelled = np.zeros(len(found)), np.zeros(len(found))
    for name, own in rows[rows["kind"] == "category"].groupby("detector"):
        of = (found["detector"] == name).to_numpy()
        x = (found.loc[of, features] - own[features].mean()) / own[features].std()
        distance[of] = np.sqrt((x**2).sum(axis=1))
        words = own["category"].map(lambda word: WORDS.get(word, word))
        counts = own["n_boxes"].groupby(words).sum()
        labelled[of] = found.loc[of, "category"].map(counts).fillna(0)
    room = found["raw"].clip(LEAST_ROOM, MIDDLE)
    found = found.assign(
        kin=found["detector"].map(kin),
        room=np.log(4 * room * (1 - room)),  # room of an accuracy, as of a share
        other=(found["category_group"] == "other").astype(float),
        log_images=np.log(found["n_images"]),
        log_labelled=np.log1p(labelled),
        log_distance=np.log(distance + NEAR),
    )
    return found if boxes is None else found.join(boxes.set_index(PAIR), on=PAIR)


def of_boxes(name: str, data: Path, predictions: Path) -> pd.DataFrame:
    """Describe the boxes of each pair of a detector on the images where the category is found.

    ``log_boxes``: expected true positives; ``crowding``: the same in an image; ``sizes``: range of
        the logarithm of their sides, without a tenth of the boxes at each end.
    """
    calibration, found = read_panel()[1][name][0], []
    for of in read_sets(data, predictions):
        boxes = replace(of.boxes, calibration=calibration)
        clean, p = boxes.clean, boxes.right_at_half
        sides = relative_sides(clean.boxes, boxes.areas[clean.image])
        for k, category in enumerate(of.truth.categories):
            own = clean.rows_of(k)
            own = own[p[own] > FOUND]
            if not len(own):
                continue
            low, high = np.quantile(sides[own], [0.1, 0.9])
            total, images = p[own].sum(), len(np.unique(clean.image[own]))
            measures = (np.log(total), np.log(total / images), high - low)
            found.append((name, of.name, category, *measures))
    return pd.DataFrame(found, columns=[*PAIR, "log_boxes", "crowding", "sizes"])


def compared(found: pd.DataFrame) -> pd.DataFrame:
    """Tabulate each form: its score, how that differs from none, and what it consists of."""
    table = {}
    before = interval_score(found[found["form"] == "none"]).to_numpy()
    for form, own in found.groupby("form", sort=False):
        inside = 100.0 * own["true"].between(own["lower"], own["upper"])
        kinds = [own["category_group"] == "other", by_estimate(own)]
        cells = inside.groupby(kinds, observed=True).agg(["mean", "size"])
        score = interval_score(own).to_numpy()
        table[form] = {
            "score": 100 * score.mean(),
            "difference": 100 * (score - before).mean(),
            "error": 100 * clustered_error(score - before, own["kin"], own["group"]),
            "coverage": inside.mean(),
            "lowest": cells.loc[cells["size"] > FEWEST, "mean"].min(),
            "half_width": 50 * (own["upper"] - own["lower"]).mean(),
            "mae": 100 * (own["estimate"] - own["true"]).abs().mean(),
        }
    return pd.DataFrame(table).T.rename_axis("correction")


def clustered_error(values: np.ndarray, *clusters: pd.Series) -> float:
    """Return the standard error of a mean of values that two kinds of clusters share.

    The sum of both variances less that of their crossing (Cameron, Gelbach & Miller 2011, equation
    2.13), each with G / (G - 1) for G clusters; the greater of both where that is less.
    """
    off = values - values.mean()

    def variance(names: pd.Series) -> float:
        sums = pd.Series(off).groupby(names.to_numpy()).sum()
        return float((sums**2).sum() * len(sums) / max(len(sums) - 1, 1))

    first, second = clusters
    both = first.astype(str) + "\0" + second.astype(str)
    each = variance(first), variance(second)
    return float(np.sqrt(max(sum(each) - variance(both), *each)) / len(values))


if __name__ == "__main__":
    main()
