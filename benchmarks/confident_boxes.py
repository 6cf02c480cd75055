"""How often checks of confident boxes find boxes where nothing is, and how often they are wrong.

    python -m benchmarks.confident_boxes DATA PREDICTIONS [PREDICTIONS ...] > tables.md

DATA and PREDICTIONS are as for `benchmarks.label_warnings`. Each labelled set is the fit of every
other set of its task, the site, by the same detector. To the boxes of the site 2 or 5 are added in
each image, anywhere, with sides of 5 to 30 % of those of the image and scores of .6 to .95.
Density, overlap, companions and place of confident boxes are compared with those of the fit; each
check warns from where 2 % of the sound sites are warned of, and as shipped.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.io.predictions import FoundBoxes
from autoeval.report.tables import to_markdown
from autoeval.sites.confident_boxes import FEWEST, SURE, ConfidentBoxes, unlike_fit
from benchmarks.label_warnings import sets

ADDED = (0, 2, 5)
FALSE_ALARMS = 0.02
ROWS, SIZES = 4, 6  # cells of the place of a box: quarters of the height, halvings of the side
CHECKS = ("density", "place", "overlapping", "alone")


def with_false_boxes(boxes: FoundBoxes, n: int, rng: np.random.Generator) -> FoundBoxes:
    """Add n confident boxes to each image, anywhere."""
    image = np.repeat(np.arange(len(boxes.images)), n)
    limits = _sizes(boxes)[image]
    side = rng.uniform(0.05, 0.3, (len(image), 2)) * limits
    corner = rng.uniform(0, 1, (len(image), 2)) * (limits - side)
    added = np.concatenate([corner, corner + side], axis=1)
    return replace(
        boxes,
        image=np.concatenate([boxes.image, image]),
        label=np.concatenate([boxes.label, rng.choice(np.unique(boxes.label), len(image))]),
        boxes=np.concatenate([boxes.boxes, added]),
        scores=np.concatenate([boxes.scores, rng.uniform(0.6, 0.95, len(image))]),
    )


def _sizes(boxes: FoundBoxes) -> np.ndarray:
    """Return width and height of each image, (M, 2)."""
    return np.array([image.size for image in boxes.images], float)[:, ::-1]


def place(boxes: FoundBoxes) -> np.ndarray:
    """Return the share of confident boxes in each cell of height in the image and size, (24,)."""
    sure = boxes.where(boxes.scores > SURE)
    limits = _sizes(boxes)[sure.image]
    centre = (sure.boxes[:, 1] + sure.boxes[:, 3]) / 2 / limits[:, 1]
    area = (sure.boxes[:, 2:] - sure.boxes[:, :2]).prod(axis=1) / limits.prod(axis=1)
    rows = np.clip((centre * ROWS).astype(int), 0, ROWS - 1)
    sizes = np.clip((-np.log2(np.clip(area, 1e-6, 1)) / 2).astype(int), 0, SIZES - 1)
    return np.bincount(rows * SIZES + sizes, minlength=ROWS * SIZES) / max(len(sure), 1)


def compared(data: Path, predictions: Path) -> pd.DataFrame:
    """Compare every site with every fit of its task: a row each for 0, 2 and 5 added boxes."""
    rng, looks = np.random.default_rng(0), {}
    for name, boxes, _ in sets(data, predictions):
        for n in ADDED if len(boxes) else ():
            changed = with_false_boxes(boxes, n, rng)
            one = ConfidentBoxes.of(changed)
            looks[name, n] = one, one.n / len(boxes.images), place(changed)
    rows = []
    for (fit, none), (of_fit, density, where) in looks.items():
        for (site, n), (of_site, at_site, there) in looks.items():
            same_task = fit.partition("/")[0] == site.partition("/")[0]
            if none or fit == site or not same_task or min(of_fit.n, of_site.n) < FEWEST:
                continue
            rows.append(
                {
                    "detector": predictions.name,
                    "added": n,
                    "density": np.log(at_site / density),
                    "place": np.abs(where - there).sum() / 2,
                    "overlapping": of_site.overlapping - of_fit.overlapping,
                    "alone": of_site.alone - of_fit.alone,
                    "as shipped": bool(unlike_fit([of_fit], of_site)),
                }
            )
    return pd.DataFrame(rows)


def found(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the share of sites, in per cent, that each check warns of, by the boxes added."""
    sound = rows[rows["added"] == 0]
    limits = {name: sound[name].quantile(1 - FALSE_ALARMS) for name in CHECKS}
    table = []
    for (detector, n), part in rows.groupby(["detector", "added"], sort=False):
        shares = {name: 100 * (part[name] > limits[name]).mean() for name in CHECKS}
        shipped = 100 * part["as shipped"].mean()
        values = {name: f"{share:.0f}" for name, share in {**shares, "as shipped": shipped}.items()}
        table.append({"detector": detector, "added": n, **values, "pairs": len(part)})
    return pd.DataFrame(table)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path, nargs="+")
    args = parser.parse_args()
    rows = pd.concat([compared(args.data, of) for of in args.predictions], ignore_index=True)
    print(to_markdown(found(rows)))
    print(to_markdown(found(rows.assign(detector="all"))))
    sound = rows[rows["added"] == 0]
    limits = {name: round(float(sound[name].quantile(1 - FALSE_ALARMS)), 3) for name in CHECKS}
    print(to_markdown(pd.DataFrame([limits])))


if __name__ == "__main__":
    main()
