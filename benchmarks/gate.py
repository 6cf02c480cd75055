"""Measure the release gate on all pairs of detectors and sites, without and with a few labels.

    python -m benchmarks.gate DATA NAME=PREDICTIONS ... [--new NAME] [--max-loss 2] [--out FILE.csv]

DATA holds labelled sites as ``TASK/SITE/annotations.json``, each PREDICTIONS what one detector
found there as ``TASK/SITE.json``. Detectors are fitted on the `val` images of ``all/coco_mini``;
at every other site each detector is the candidate in place of each other one. The truth is their
difference by all labels. Prints how often a candidate that truly loses more than is allowed passes,
how often one that loses less fails, and how many are left undecided, by the number of labels; with
--new the same of the pairs of one detector; and whether the number of labels that an undecided gate
names decides it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

import autoeval
from autoeval.report.page import format_cells, to_markdown
from benchmarks.panel import FITTED_ON, OF_TASK, SET, in_part, write_part

CATEGORIES: dict[str, list[str]] = {"vehicle": ["car", "bus", "truck"], "person": ["person"]}
SIZES = (0, 20, 50)
FAR = 0.05  # true difference that 50 labels should decide
COCO_SITES = ("coco_",)  # may share images with the labelled set


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("detectors", nargs="+", metavar="NAME=PREDICTIONS")
    parser.add_argument("--max-loss", type=float, default=2.0, metavar="POINTS")
    parser.add_argument("--new", metavar="NAME", help="print the pairs of this detector, too")
    parser.add_argument("--draws", type=int, default=1, help="of the labelled images of a site")
    parser.add_argument("--out", type=Path, metavar="FILE.csv")
    return parser.parse_args()


def main() -> None:
    """Fit, compare, and print the table."""
    args = parse_args()
    warnings.simplefilter("ignore")
    named = dict(text.split("=", 1) for text in args.detectors)
    with tempfile.TemporaryDirectory() as folder:
        fits = fitted(args.data, named, Path(folder))
        rows = [
            row
            for site in tqdm(sites_of(args.data))
            for row in at_site(site, args.data, named, fits, args, Path(folder))
        ]
    table = pd.DataFrame(rows)
    if args.out:
        table.to_csv(args.out, index=False, float_format="%.5g")
    print_summary(table, args.max_loss / 100)
    if args.new:
        with_new = (table["candidate"] == args.new) | (table["current"] == args.new)
        print(f"\nPairs of {args.new}:\n")
        print_summary(table[with_new], args.max_loss / 100)
    print(f"\n{forecast_text(table, SIZES[1])}")


def sites_of(data: Path) -> list[str]:
    """Return the sites, as ``TASK/SITE``, but for those that may share images with the fit."""
    names = sorted(str(path.parent.relative_to(data)) for path in data.glob("*/*/annotations.json"))
    return [name for name in names if not name.partition("/")[2].startswith(COCO_SITES)]


def fitted(data: Path, named: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """Fit every detector on the labelled set."""
    file = data / SET / "annotations.json"
    labels = write_part(file, in_part(file, FITTED_ON), folder / "set.json")
    return {
        name: autoeval.fit(labels, str(Path(path) / f"{SET}.json")) for name, path in named.items()
    }


def at_site(
    site: str,
    data: Path,
    named: Mapping[str, str],
    fits: Mapping[str, Any],
    args: argparse.Namespace,
    folder: Path,
) -> Iterator[dict[str, Any]]:
    """Yield what the gate says of every two detectors, both ways round."""
    images = data / site / "annotations.json"
    content = json.loads(images.read_bytes())
    task = site.partition("/")[0]
    labelled = {box["category_id"] for box in content["annotations"]}
    words = [entry["name"] for entry in content["categories"] if entry["id"] in labelled]
    categories = {name: CATEGORIES.get(name, [name]) for name in OF_TASK.get(task, words)}
    n = len(content["images"])
    samples: list[tuple[int, Path | None]] = [(0, None)]
    for k, draw in itertools.product(SIZES[1:], range(args.draws)):
        if k <= n / 2:
            drawn = np.isin(np.arange(n), np.random.default_rng((draw, k)).permutation(n)[:k])
            samples.append((k, write_part(images, drawn, folder / f"{k}_{draw}.json")))
    there = {name: Path(path) / f"{site}.json" for name, path in named.items()}
    for a, b in itertools.combinations([name for name, path in there.items() if path.exists()], 2):
        pair = {name: fits[name] for name in (a, b)}
        boxes = [str(there[a]), str(there[b])]

        def compared(labels: Path | None, pair: Any = pair, boxes: Any = boxes) -> Any:
            return autoeval.compare(
                pair, boxes, images=images, labels=labels, categories=categories
            )

        try:
            every = compared(images)
            results = [(k, compared(labels)) for k, labels in samples]
        except autoeval.errors.InputError as error:
            print(f"{site}, {a}, {b}: {error}")
            continue
        for candidate in (a, b):
            truth = every.gate(0, candidate).losses[0].value
            for k, result in results:
                (loss,) = result.gate(args.max_loss / 100, candidate).losses
                yield {
                    "site": site,
                    "candidate": candidate,
                    "current": b if candidate == a else a,
                    "labels": k,
                    "true": truth,
                    "loss": loss.value,
                    "lower": loss.lower,
                    "upper": loss.upper,
                    "outcome": loss.outcome,
                    "forecast": loss.labels,
                }


def print_summary(table: pd.DataFrame, max_loss: float) -> None:
    """Print the outcomes as Markdown."""
    shown = summary(table, max_loss)
    print(to_markdown(format_cells(shown, dict.fromkeys(shown.columns[2:], "{:.1f}"))))


def forecast_text(table: pd.DataFrame, k: int) -> str:
    """Say how often k labels decide gates that are undecided without labels, by the forecast."""
    keys = ["site", "candidate", "current"]
    first = table[table["labels"] == 0].set_index(keys)
    later = table[table["labels"] == k].set_index(keys)
    undecided = first[first["outcome"] == "undecided"]
    decided = later["outcome"].reindex(undecided.index) != "undecided"
    few = undecided["forecast"] <= k
    return (
        f"Undecided without labels, decided with {k}: {100 * decided[few].mean():.0f} % of "
        f"{few.sum()} for which the forecast is at most {k}, {100 * decided[~few].mean():.0f} % of "
        f"{(~few).sum()} others"
    )


def summary(table: pd.DataFrame, max_loss: float) -> pd.DataFrame:
    """Return the outcomes in per cent, by the number of labels."""
    rows = []
    for k, own in table.groupby("labels"):
        worse, fine = own[own["true"] > max_loss], own[own["true"] <= max_loss]
        far = own[own["true"].abs() > FAR]
        inside = (own["lower"] <= own["true"]) & (own["true"] <= own["upper"])
        rows.append(
            {
                "labels": k,
                "gates": len(own),
                "wrong passes (%)": 100 * (worse["outcome"] == "passed").mean(),
                "wrong fails (%)": 100 * (fine["outcome"] == "failed").mean(),
                "undecided (%)": 100 * (own["outcome"] == "undecided").mean(),
                "decided over 5 points (%)": 100 * (far["outcome"] != "undecided").mean(),
                "coverage (%)": 100 * inside.mean(),
                "half-width (points)": 50 * (own["upper"] - own["lower"]).mean(),
            }
        )
    return pd.DataFrame(rows)


if __name__ == "__main__":
    main()
