"""Measure the release gate, without and with a few labels.

pairs: of every two detectors, at every site.

    python -m benchmarks.gate pairs DATA NAME=PREDICTIONS ... [--new NAME] [--max-loss 2]
        [--draws N] [--out FILE.csv]

Each detector is the candidate in place of each other one. Prints how often a candidate that truly
loses more than is allowed passes, how often one that loses less fails, and how many are left
undecided, by the number of labels; with --new the same of the pairs of one detector; and whether
the number of labels that an undecided gate names decides it.

versions: of two versions of a detector that differ on few images.

    python -m benchmarks.gate versions DATA NAME=PREDICTIONS ... [--draws N] [--out FILE.csv]

The new version is the detector without the boxes of some images, which are drawn; as *moved* all
its other boxes differ, too, by as little as after a conversion of the weights. k labelled images
are drawn by a plan for the comparison or simply. The site is the unit: coverage of nominal 90 %
intervals is the mean over sites of their own, ± its standard error. *wrong passes*: of versions
that lose over `MAX_LOSS`, those that pass a gate of it; *decided*: of those that lose over twice as
much, those that fail it. Points of 100.

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them. Detectors are fitted on the
`val` images of ``all/coco_mini``; the truth is their difference by all labels of a site.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

import autoeval
from autoeval.report.page import format_cells, to_markdown
from benchmarks.commands import run_part
from benchmarks.many_categories import write_boxes
from benchmarks.panel import FITTED_ON, OF_TASK, SET, add_detectors, in_part, write_part

CATEGORIES: dict[str, list[str]] = {"vehicle": ["car", "bus", "truck"], "person": ["person"]}
COCO_SITES = ("coco_",)  # may share images with the labelled set
SIZES = (0, 20, 50)
FAR = 0.05  # true difference that 50 labels should decide

SHARES = (0.03, 0.1)  # of the images, whose boxes are lost
LIKELY = 0.3  # score of a box of such an image
KINDS = ("lost", "moved")
MOVED = (0.3, 0.003)  # standard deviations in pixels and in score
VERSION_SIZES = (10, 20, 40)
FEWEST_IMAGES = 80
MAX_LOSS = 0.01
BY = ("plan", "simply")


def pairs(words: list[str]) -> None:
    """Print the outcomes of all pairs, and those of one detector."""
    parser = part_parser("pairs")
    parser.add_argument("--max-loss", type=float, default=2.0, metavar="POINTS")
    parser.add_argument("--new", metavar="NAME", help="print the pairs of this detector, too")
    args = parser.parse_args(words)
    table = measured(pairs_at_site, args)
    print_summary(table, args.max_loss / 100)
    if args.new:
        with_new = (table["candidate"] == args.new) | (table["current"] == args.new)
        print(f"\nPairs of {args.new}:\n")
        print_summary(table[with_new], args.max_loss / 100)
    print(f"\n{forecast_text(table, SIZES[1])}")


def versions(words: list[str]) -> None:
    """Print the outcomes by the kind of version and the draw."""
    table = measured(versions_at_site, part_parser("versions").parse_args(words))
    print(to_markdown(format_cells(version_summary(table), {"half-width": "{:.2f}"})))


def part_parser(part: str) -> argparse.ArgumentParser:
    """Make the parser of a part, with the options of both."""
    parser = argparse.ArgumentParser(prog=f"gate {part}")
    add_detectors(parser)
    parser.add_argument("--draws", type=int, default=1, help="of the labelled images of a site")
    parser.add_argument("--out", type=Path, metavar="FILE.csv")
    return parser


def measured(at_site: Callable[..., Iterator[dict]], args: argparse.Namespace) -> pd.DataFrame:
    """Fit the detectors, and collect the rows of all sites."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fits = fitted(args, folder)
        sites = tqdm(sites_of(args.data))
        table = pd.DataFrame([row for site in sites for row in at_site(site, args, fits, folder)])
    if args.out:
        table.to_csv(args.out, index=False, float_format="%.5g")
    return table


def sites_of(data: Path) -> list[str]:
    """Return the sites, as ``TASK/SITE``, but for those that may share images with the fit."""
    names = sorted(str(path.parent.relative_to(data)) for path in data.glob("*/*/annotations.json"))
    return [name for name in names if not name.partition("/")[2].startswith(COCO_SITES)]


def fitted(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Fit every detector on the labelled set."""
    file = args.data / SET / "annotations.json"
    labels = write_part(file, in_part(file, FITTED_ON), folder / "set.json")
    return {name: autoeval.fit(labels, str(path / f"{SET}.json")) for name, path in args.detectors}


def pairs_at_site(
    site: str, args: argparse.Namespace, fits: Mapping[str, Any], folder: Path
) -> Iterator[dict[str, Any]]:
    """Yield what the gate says of every two detectors, both ways round."""
    images = args.data / site / "annotations.json"
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
    there = {name: path / f"{site}.json" for name, path in args.detectors}
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


def new_version(
    boxes: Sequence[dict], images: int, share: float, kind: str, seed: int
) -> list[dict]:
    """Lose the boxes of a share of so many images, and move the others if `kind` says so."""
    rng = np.random.default_rng([int(1000 * share), seed])
    with_box = sorted({box["image_id"] for box in boxes if box["score"] > LIKELY}, key=str)
    n = min(round(share * images), len(with_box))
    lost = {with_box[k] for k in rng.choice(len(with_box), n, replace=False)}
    kept = [box for box in boxes if box["image_id"] not in lost]
    if kind == "moved":
        pixels, of_score = MOVED
        for k, box in enumerate(kept):
            x, y, w, h = np.add(box["bbox"], rng.normal(0, pixels, 4)).tolist()
            score = float(np.clip(box["score"] + rng.normal(0, of_score), 0.01, 0.999))
            kept[k] = {**box, "bbox": [x, y, max(w, 1), max(h, 1)], "score": score}
    return kept


def versions_at_site(
    site: str, args: argparse.Namespace, fits: Mapping[str, Any], folder: Path
) -> Iterator[dict]:
    """Yield a row for each detector, version, number of labels, way to draw, and draw."""
    images = args.data / site / "annotations.json"
    ids = [str(image["id"]) for image in json.loads(images.read_bytes())["images"]]
    n, seed, names = len(ids), zlib.crc32(site.encode()), OF_TASK.get(site.partition("/")[0])
    there = [(name, path / f"{site}.json") for name, path in args.detectors]
    there = [(name, file) for name, file in there if file.exists()]
    if n < FEWEST_IMAGES or not names:
        return
    given: dict[str, Any] = {
        "images": images,
        "categories": {name: CATEGORIES[name] for name in names},
        "incomplete": True,
    }
    for (detector, file), share, kind in itertools.product(there, SHARES, KINDS):
        fit, new = fits[detector], folder / "new.json"
        old = write_boxes(file, images, folder / "old.json")
        new.write_text(json.dumps(new_version(json.loads(old.read_text()), n, share, kind, seed)))
        compared = functools.partial(
            autoeval.compare, {"new": fit, "old": fit}, [str(new), str(old)], **given
        )
        true = compared(labels=images).gate(0, "new").losses[0].value
        for k, by, draw in itertools.product(VERSION_SIZES, BY, range(args.draws)):
            work_dir = Path(tempfile.mkdtemp(dir=folder))
            chosen = np.random.default_rng((draw, k, seed)).permutation(n)[:k]
            if by == "plan":
                other = {"compare": fit, "compare_predictions": str(old), "work_dir": work_dir}
                plan = autoeval.plan_labels(fit, str(new), n=k, seed=draw, **other, **given)
                drawn = {plan.found.images[i].image_id for i in plan.drawn}
                chosen = np.flatnonzero([image_id in drawn for image_id in ids])
            part = write_part(images, np.isin(np.arange(n), chosen), work_dir / "annotations.json")
            (loss,) = compared(labels=part).gate(MAX_LOSS, "new").losses
            yield {
                "site": site,
                "detector": detector,
                "share": share,
                "kind": kind,
                "labels": k,
                "drawn": by,
                "true": true,
                "lower": loss.lower,
                "upper": loss.upper,
                "outcome": loss.outcome,
            }


def version_summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Average over sites, in points of 100."""
    inside = (rows["lower"] <= rows["true"]) & (rows["true"] <= rows["upper"])
    passed, failed = rows["outcome"] == "passed", rows["outcome"] == "failed"
    rows = rows.assign(
        coverage=100.0 * inside,
        half=50 * (rows["upper"] - rows["lower"]),
        passes=(100.0 * passed).where(rows["true"] > MAX_LOSS),
        decided=(100.0 * failed).where(rows["true"] > 2 * MAX_LOSS),
    )
    by = ["kind", "labels", "drawn"]
    columns = ["coverage", "half", "passes", "decided"]
    of_sites = rows.groupby([*by, "site"], sort=False)[columns].mean()
    groups = of_sites.groupby(by, sort=False)
    means = groups.mean().round(2)
    means.insert(0, "sites", groups.size())
    means.insert(2, "±", (groups["coverage"].std() / np.sqrt(groups.size())).round(1))
    names = {
        "coverage": "coverage (%)",
        "half": "half-width",
        "passes": "wrong passes (%)",
        "decided": "decided (%)",
    }
    return (
        means.round({"coverage": 1, "passes": 1, "decided": 1}).rename(columns=names).reset_index()
    )


PARTS = {"pairs": pairs, "versions": versions}


if __name__ == "__main__":
    run_part(__doc__, PARTS)
