"""A few labels where a detector finds little: coverage by true average precision.

    python -m benchmarks.low_accuracy DATA PREDICTIONS [--fine-tuned OUT] [--draws N]
        [--detectors NAME ...] [--pairs FILE] > table.md

DATA and PREDICTIONS/<detector> are laid out as `benchmarks/panel.py` reads them: what is used is
fitted on the `val` images of coco_mini, and evaluated on the sites of vehicles and persons. OUT is
what `benchmarks/fine_tuned.py` wrote: each of these detectors is fitted on the images of its home
that it was not trained on, and evaluated on the sites of other groups.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.labels.fit_assistance import MOST_IMAGES, fit_assistance
from autoeval.report.tables import format_cells, to_markdown
from autoeval.sites.labelled_set import LabelledSet
from autoeval.stability.reports.few_labels import priors_from
from autoeval.stability.studies.label_backtest import EvaluatedPair, backtest, evaluated_pairs
from benchmarks.fine_tuned import HOMES, home_categories
from benchmarks.fine_tuned_panel import labelled
from benchmarks.fine_tuned_panel import read_sets as read_tuned
from benchmarks.labels_from_files import CATEGORIES
from benchmarks.panel import LABELLED, read_sets

SIZES = (10, 20)
FEWEST_IMAGES = 30  # of a site; those of the fine-tuned detectors have 60 at most
FEWEST_OBJECTS = 20  # of a pair, or its truth is a matter of single objects
CLASSES = (0.0, 0.05, 0.15, 1.01)  # of true average precision
STOCK, TUNED = "of COCO", "fine-tuned"
FORMATS = {
    **dict.fromkeys(("true AP", "sample", "MAE", "bias", "half-width", "label-free"), "{:.1f}"),
    **dict.fromkeys(("coverage", "lowest"), "{:.1%}"),
}


def coco_fits(
    data: Path, folders: Sequence[Path]
) -> Iterator[tuple[str, LabelledSet, list[LabelledSet]]]:
    """Yield the name of each detector, its labelled set, and the sites of vehicles and persons."""
    for folder in folders:
        sets = list(read_sets(data, folder))
        known = next(of for of in sets if of.name == LABELLED)
        yield folder.name, known, [of for of in sets if set(of.truth.categories) <= set(CATEGORIES)]


def fits(args: argparse.Namespace) -> Iterator[tuple[str, str, LabelledSet, list[LabelledSet]]]:
    """Yield the kind and name of each detector, its labelled set, and the sites it is tried on."""
    names = args.detectors or sorted(of.name for of in args.predictions.iterdir() if of.is_dir())
    for found in coco_fits(args.data, [args.predictions / name for name in names]):
        yield STOCK, *found
    for home in HOMES if args.fine_tuned else ():
        categories = home_categories(read_coco(args.data / home / "annotations.json"))
        folder = args.fine_tuned / "predictions" / Path(home).name
        sets = list(read_tuned(args.data, folder, categories))
        known = next(of for of in sets if of.name == Path(home).name)
        yield TUNED, known.name, labelled(known), sets


def pairs_of_detector(known: LabelledSet, sites: list[LabelledSet]) -> list[EvaluatedPair]:
    """Return the pairs of site and category in other groups that hold objects enough."""
    others = [of for of in sites if of.group != known.group and len(of.boxes) >= FEWEST_IMAGES]
    pairs = evaluated_pairs(
        fit_assistance([known]),
        [of.at_most(MOST_IMAGES) for of in others],
        priors_from(known, others),
        fewest=FEWEST_IMAGES,
    )
    return [one for one in pairs if one.ranking.n_true.sum() >= FEWEST_OBJECTS]


def measured(pairs: list[EvaluatedPair], draws: int) -> pd.DataFrame:
    """Return one row a pair and number of labels: of the combined estimate, and true values."""
    table = backtest(pairs, sizes=SIZES, draws=draws)
    keys = ["site", "category", "k"]
    alone = table[table["estimator"] == "sample"].set_index(keys)["error"].rename("sample")
    rows = table[table["estimator"] == "combined"].set_index(keys).join(alone).reset_index()
    known = [
        {
            "site": one.name,
            "category": one.category,
            "true AP": one.truth,
            "label-free": abs(one.prior.value - one.truth),
        }
        for one in pairs
    ]
    return rows.merge(pd.DataFrame(known), on=["site", "category"])


def summary(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Tabulate means over pairs; `lowest` is the coverage of the worst pair."""
    points = ["true AP", "label-free", "sample", "error", "bias", "half_width"]
    scaled = rows.assign(**{name: 100 * rows[name] for name in points})
    groups = scaled.groupby(by, observed=True)
    table = groups[[*points, "coverage"]].mean()
    table = table.join(groups["coverage"].min().rename("lowest")).join(
        groups.size().rename("pairs")
    )
    return table.rename(columns={"error": "MAE", "half_width": "half-width"}).reset_index()


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--fine-tuned", type=Path, metavar="OUT")
    parser.add_argument("--detectors", nargs="*", metavar="NAME", help="of PREDICTIONS")
    parser.add_argument("--draws", type=int, default=15)
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="CSV of every pair")
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    args = parse_args()
    parts = []
    for kind, name, known, sites in fits(args):
        try:
            pairs = pairs_of_detector(known, sites)
        except InputError as error:
            print(f"{name}: {error}\n")
            continue
        if pairs:
            parts.append(measured(pairs, args.draws).assign(detectors=kind, detector=name))
    rows = pd.concat(parts, ignore_index=True)
    if args.pairs:
        rows.to_csv(args.pairs, index=False, float_format="%.5f")
    edges = np.array(CLASSES)
    names = ["under 5", "5 to 15", "15 and more"]
    rows = rows.assign(points=pd.cut(rows["true AP"], edges, right=False, labels=names))
    low = rows[rows["true AP"] < CLASSES[-2]]
    for by, own in (
        (["detectors", "points", "k"], rows),
        (["k"], low),
        (["detectors", "detector", "k"], low),
    ):
        table = summary(own, by)
        print(to_markdown(format_cells(table, FORMATS)), end="\n\n")


if __name__ == "__main__":
    main()
