"""Measure the difference of two versions of a detector that differ on few images, with few labels.

    python -m benchmarks.versions DATA NAME=PREDICTIONS ... [--draws 2] [--out FILE.csv]

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them. The new version is the
detector without the boxes of some images, which are drawn; as *moved* all its other boxes differ,
too, by as little as after a conversion of the weights. Both are fitted on the `val` images of
coco_mini. k labelled images are drawn by a plan for the comparison or simply; the truth is by all
labels. The site is the unit: coverage of nominal 90 % intervals is the mean over sites of their
own, ± its standard error. *wrong passes*: of versions that lose over `MAX_LOSS`, those that pass a
gate of it; *decided*: of those that lose over twice as much, those that fail it. Points of 100.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

import autoeval
from autoeval.report.page import format_cells, to_markdown
from benchmarks.gate import CATEGORIES, fitted, sites_of
from benchmarks.many_categories import write_boxes
from benchmarks.panel import OF_TASK, add_detectors, write_part

SHARES = (0.03, 0.1)  # of the images, whose boxes are lost
LIKELY = 0.3  # score of a box of such an image
KINDS = ("lost", "moved")
MOVED = (0.3, 0.003)  # standard deviations in pixels and in score
SIZES = (10, 20, 40)
FEWEST_IMAGES = 80
MAX_LOSS = 0.01
BY = ("plan", "simply")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_detectors(parser)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--out", type=Path, help="CSV of every draw")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fits = fitted(args.data, {name: str(path) for name, path in args.detectors}, folder)
        for detector, path in args.detectors:
            for site in tqdm(sites_of(args.data), detector):
                if site.partition("/")[0] in OF_TASK and (path / f"{site}.json").exists():
                    rows += at_site(site, args.data, path, fits[detector], args.draws, folder)
    table = pd.DataFrame(rows)
    if args.out:
        table.to_csv(args.out, index=False)
    print(to_markdown(format_cells(summary(table), dict.fromkeys(["half-width"], "{:.2f}"))))


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


def at_site(
    site: str, data: Path, predictions: Path, fit: Any, draws: int, folder: Path
) -> Iterator[dict]:
    """Yield a row for each version, way to draw, and number of labels."""
    images = data / site / "annotations.json"
    content = json.loads(images.read_bytes())
    n, seed = len(content["images"]), zlib.crc32(site.encode())
    if n < FEWEST_IMAGES:
        return
    old = write_boxes(predictions / f"{site}.json", images, folder / "old.json")
    names = OF_TASK[site.partition("/")[0]]
    given: dict[str, Any] = {
        "images": images,
        "categories": {name: CATEGORIES[name] for name in names},
        "incomplete": True,
    }
    versions: Mapping[str, Any] = {"new": fit, "old": fit}
    for share, kind in itertools.product(SHARES, KINDS):
        new = folder / "new.json"
        new.write_text(json.dumps(new_version(json.loads(old.read_text()), n, share, kind, seed)))
        of = [str(new), str(old)]
        true = autoeval.compare(versions, of, labels=images, **given).gate(0, "new").losses[0].value
        for k, by, draw in itertools.product(SIZES, BY, range(draws)):
            work_dir = folder / f"{site}_{share}_{kind}_{k}_{draw}".replace("/", "_")
            chosen = np.random.default_rng((draw, k, seed)).permutation(n)[:k]
            if by == "plan":
                other = {"compare": fit, "compare_predictions": str(old), "work_dir": work_dir}
                plan = autoeval.plan_labels(fit, str(new), n=k, seed=draw, **other, **given)
                ids = {plan.found.images[i].image_id for i in plan.drawn}
                chosen = [i for i, im in enumerate(content["images"]) if str(im["id"]) in ids]
            file = (work_dir if by == "plan" else folder) / "annotations.json"
            labels = write_part(images, np.isin(np.arange(n), chosen), file)
            result = autoeval.compare(versions, of, labels=labels, **given)
            (loss,) = result.gate(MAX_LOSS, "new").losses
            values = {"true": true, "lower": loss.lower, "upper": loss.upper}
            what = {"site": site, "share": share, "kind": kind, "labels": k, "drawn": by}
            yield {**what, **values, "outcome": loss.outcome}


def summary(rows: pd.DataFrame) -> pd.DataFrame:
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


if __name__ == "__main__":
    main()
