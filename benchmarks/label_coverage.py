"""Coverage of intervals from a few labels at every site, by number of labels, with its error.

    python -m benchmarks.label_coverage DATA NAME=PREDICTIONS ... [--draws N] [--work-dir DIR]
        [--out FILE]

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them. Each site of `FEWEST_IMAGES`
or more, but those of COCO, is estimated by fits on one other labelled site alone: in turn the three
largest sites of different groups of its task, without its own group; those of ``all`` by a fit on
the `val` images of coco_mini. Of each site k images are drawn by a plan again and again, and taken
as labelled, as in `benchmarks/many_categories.py`; the truth is the mAP by all labels.

Draws of a site share its truth and its boxes, so that the site is the unit: coverage is the mean
over sites of their own (over detectors, fits and draws), ± its standard error from the spread over
sites. *forecast*: the half-width that the plan promises; *wider*: the share of draws whose
half-width is over 1.25 times that. Points of 100, nominal 90 %.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import autoeval
from autoeval.errors import InputError
from autoeval.report.page import format_cells, to_markdown
from benchmarks.many_categories import SET, WORDS, Pool, estimates, planned_pool, write_boxes
from benchmarks.many_categories import write_part as write_split
from benchmarks.panel import TASKS, add_detectors, group_of

SIZES = (10, 20, 40, 80)
MOST_LABELLED = 0.8  # share of a site; with more, little is left to estimate
FEWEST_IMAGES, FIRST = 40, 3
WIDER = 1.25
FORMATS = {
    **dict.fromkeys(("MAE", "half-width", "forecast", "±"), "{:.1f}"),
    **dict.fromkeys(("coverage", "lowest site"), "{:.1f}%"),
    "wider": "{:.0f}%",
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_detectors(parser)
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/label_coverage"))
    parser.add_argument("--out", type=Path, help="CSV of every draw")
    args = parser.parse_args()
    rows: list[dict] = []
    for name, folder in args.detectors:
        for pool, fit in read_pools(args.data, name, folder, args.work_dir / name):
            own = drawn(pool, args.draws)
            rows += [{"detector": name, "site": pool.name, "fit": fit, **row} for row in own]
            print(f"{name} {pool.name} by {fit}: {len(own)} draws", flush=True)
    table = pd.DataFrame(rows)
    if args.out:
        table.to_csv(args.out, index=False)
    for by in (["labels"], ["detector", "labels"]):
        print("\n" + to_markdown(format_cells(summary(table, by), FORMATS)))


def read_pools(
    data: Path, detector: str, predictions: Path, folder: Path
) -> Iterator[tuple[Pool, str]]:
    """Yield each site with a plan for it, and what the fit behind it was fitted on."""
    folder.mkdir(parents=True, exist_ok=True)
    for task, names in TASKS.items():
        words = {name: [w for w, of in WORDS.items() if of == name] for name in names} or None
        size_of = {}
        for boxes in sorted((predictions / task).glob("*.json")):
            labels = data / task / boxes.stem / "annotations.json"
            if labels.exists() and group_of(boxes.stem) != "coco":
                size_of[boxes.stem] = len(json.loads(labels.read_bytes())["images"])
        fits = {}
        for name in fitted_on(size_of) if names else [SET]:
            labels = data / task / name / "annotations.json"
            if name == SET:
                labels = write_split(labels, "val", folder / "val.json")
            boxes = write_boxes(predictions / task / f"{name}.json", labels, folder / "boxes.json")
            try:
                fits[name] = autoeval.fit(labels, boxes, categories=words)
            except InputError as error:
                print(f"{detector} {name}: {error}")
        for name in (name for name, n in size_of.items() if n >= FEWEST_IMAGES):
            labels = data / task / name / "annotations.json"
            boxes = write_boxes(predictions / task / f"{name}.json", labels, folder / "boxes.json")
            for other in (other for other in fits if group_of(other) != group_of(name)):
                try:
                    pool = planned_pool(fits[other], detector, name, labels, boxes, words)
                except InputError as error:
                    print(f"{detector} {name} by {other}: {error}")
                else:
                    yield pool, other


def fitted_on(size_of: dict[str, int]) -> list[str]:
    """Return the largest sites of a task, one a group."""
    largest = sorted(size_of, key=lambda name: (-size_of[name], name))
    first = {group_of(name): name for name in reversed(largest)}
    return [name for name in largest if first[group_of(name)] == name][:FIRST]


def drawn(pool: Pool, draws: int) -> list[dict]:
    """Return a row for each number of labels and draw."""
    rows = []
    for k in (k for k in SIZES if k <= MOST_LABELLED * pool.plan.n_pool):
        forecast = pool.plan.forecast(k)
        for _, found in estimates(pool, k, draws):
            value = found.whole.combined.estimate
            error, half = abs(value.value - pool.true), value.half_width()
            covered = error <= half + 1e-9
            row = {"labels": k, "error": error, "half_width": half, "forecast": forecast}
            rows.append({**row, "covered": covered})
    return rows


def summary(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Average over sites, in points of 100."""
    wider = rows["half_width"] > WIDER * rows["forecast"]
    of_sites = rows.assign(wider=wider).groupby([*by, "site"])
    columns = ["covered", "error", "half_width", "forecast", "wider"]
    groups = (100 * of_sites[columns].mean()).groupby(list(by))
    covered = groups["covered"]
    table = pd.DataFrame({"sites": groups.size(), "coverage": covered.mean()})
    table["±"] = covered.std(ddof=1) / np.sqrt(table["sites"])
    table["lowest site"] = covered.min()
    means = groups[["error", "half_width", "forecast", "wider"]].mean()
    names = {"error": "MAE", "half_width": "half-width"}
    return table.join(means.rename(columns=names)).reset_index()


if __name__ == "__main__":
    main()
