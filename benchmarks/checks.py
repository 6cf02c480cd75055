"""How often checks of labels and of confident boxes are right, and how often they are wrong.

    python -m benchmarks.checks labels DATA PREDICTIONS [PREDICTIONS ...] > tables.md
    python -m benchmarks.checks boxes DATA PREDICTIONS [PREDICTIONS ...] > tables.md
    python -m benchmarks.checks detectors DATA PREDICTIONS PREDICTIONS [PREDICTIONS ...] > table.md

DATA holds ``<task>/<site>/annotations.json``, and each PREDICTIONS ``<task>/<site>.json`` of one
detector, for the tasks of `benchmarks/panel.py` and for ``all``, which uses the words of its
labels. `labels` counts the warnings that sound labels get, and damaged ones; a set is counted once
for each detector. For `boxes` each labelled set is the fit of every other set of its task, the
site, by the same detector. To the boxes of the site 2 or 5 are added in each image, anywhere, with
sides of 5 to 30 % of those of the image and scores of .6 to .95. Density, overlap, companions and
place of confident boxes are compared with those of the fit; each check warns from where 2 % of the
sound sites are warned of, and as shipped. For `detectors` each file is the fit of every other one,
of the same detector and of the others, and pairs are counted in which boxes overlap up to another
IoU; files that are cut at a score of .1 are compared, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.boxes import Boxes
from autoeval.io.coco import read_coco
from autoeval.io.predictions.reading import read_predictions
from autoeval.report.page import to_markdown
from autoeval.sites.file_looks import (
    FEWEST_PAIRS,
    FEWEST_SURE,
    SURE,
    ConfidentBoxes,
    another_suppression,
    overlaps_of,
    unlike_fit,
)
from autoeval.sites.label_warnings import (
    exchanged_words,
    labels_elsewhere,
    of_other_images,
    resized_labels,
    shifted_labels,
    unlabelled_objects,
)
from benchmarks.panel import OF_TASK, WORDS, read_site

Change = Callable[[Boxes, np.random.Generator], Boxes]
DRAWN = 20  # labelled images
DRAWS = 3  # times that they are drawn
WARNINGS = {
    "other images": of_other_images,
    "boxes without a label": unlabelled_objects,
    "labels elsewhere": labels_elsewhere,
    "shifted labels": shifted_labels,
    "resized labels": resized_labels,
    "words exchanged": exchanged_words,
}
ADDED = (0, 2, 5)
FALSE_ALARMS = 0.02
# Cells of the place of a box.
ROWS = 4  # quarters of the height
SIZES = 6  # halvings of the side
CHECKS = ("density", "place", "overlapping", "alone")
CUTS = (0.0, 0.1)


def moved(pixels: float) -> Change:
    """Shift all labels to the left."""
    offset = np.array([pixels, 0, pixels, 0])
    return lambda truth, rng: replace(truth, boxes=truth.boxes - offset)


def resized(factor: float) -> Change:
    """Draw the labels on images of another size."""
    return lambda truth, rng: replace(truth, boxes=truth.boxes * factor)


def scaled(factor: float) -> Change:
    """Draw the labels tighter or looser, around their centres."""

    def change(truth: Boxes, rng: np.random.Generator) -> Boxes:
        centre = (truth.boxes[:, [0, 1, 0, 1]] + truth.boxes[:, [2, 3, 2, 3]]) / 2
        return replace(truth, boxes=centre + factor * (truth.boxes - centre))

    return change


def without(share: float) -> Change:
    """Leave out labels at random."""
    return lambda truth, rng: truth.where(rng.random(len(truth)) >= share)


def renumbered(step: int) -> Change:
    """Shift category numbers; the last one becomes the first."""
    return lambda truth, rng: replace(truth, label=(truth.label + step) % len(truth.categories))


def two_exchanged(truth: Boxes, rng: np.random.Generator) -> Boxes:
    """Exchange the numbers of the two categories that are labelled most often behind the first."""
    _, second, third = np.argsort(-np.bincount(truth.label, minlength=3), kind="stable")[:3]
    number = np.arange(max(len(truth.categories), 3))
    number[[second, third]] = third, second
    return replace(truth, label=number[truth.label])


def exchanged(share: float) -> Change:
    """Give some images, drawn at random, the labels of another one of them."""

    def change(truth: Boxes, rng: np.random.Generator) -> Boxes:
        n = len(truth.images)
        drawn = rng.permutation(n)[: max(round(share * n), 2)]
        instead = np.arange(n)
        instead[drawn] = np.roll(drawn, 1)
        return replace(truth, image=instead[truth.image])

    return change


CHANGES: dict[str, Change] = {
    "sound": lambda truth, rng: truth,
    "on images twice as large": resized(2),
    "on images half as large": resized(1 / 2),
    "shifted by 4 pixels": moved(4),
    "shifted by 10 pixels": moved(10),
    "sides a fifth shorter": scaled(4 / 5),
    "sides a fifth longer": scaled(6 / 5),
    "a fifth missing": without(1 / 5),
    "a third missing": without(1 / 3),
    "a tenth of the images exchanged": exchanged(0.1),
    "a third of the images exchanged": exchanged(1 / 3),
    "all images exchanged": exchanged(1),
    "category numbers one too high": renumbered(1),
    "category numbers one too low": renumbered(-1),
    "two category numbers exchanged": two_exchanged,
}
FEWEST_CATEGORIES = {
    "category numbers one too high": 2,
    "category numbers one too low": 2,
    "two category numbers exchanged": 3,
}
"""Changes of sets with several categories; other sets are left out of their rows."""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=("labels", "boxes", "detectors"))
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path, nargs="+")
    args = parser.parse_args()
    if args.command == "labels":
        print(to_markdown(pd.concat([table(args.data, of) for of in args.predictions])))
        print(to_markdown(pd.concat([refused_of_few(args.data, of) for of in args.predictions])))
        return
    if args.command == "detectors":
        print(to_markdown(other_detectors(args.data, args.predictions)))
        return
    rows = pd.concat([compared(args.data, of) for of in args.predictions], ignore_index=True)
    print(to_markdown(found(rows)))
    print(to_markdown(found(rows.assign(detector="all"))))
    sound = rows[rows["added"] == 0]
    limits = {name: round(float(sound[name].quantile(1 - FALSE_ALARMS)), 3) for name in CHECKS}
    print(to_markdown(pd.DataFrame([limits])))


def sets(data: Path, predictions: Path) -> Iterator[tuple[str, Boxes, Boxes]]:
    """Read all labelled sets that there are predictions of."""
    for path in sorted(predictions.glob("*/*.json")):
        task = path.parent.name
        content = read_coco(data / task / path.stem / "annotations.json")
        categories = OF_TASK.get(task, content.categories)
        words = WORDS if task in OF_TASK else {word: word for word in categories}
        site = read_site(path, content, categories, words)
        yield f"{task}/{path.stem}", site.boxes, site.evaluation.truth


def warned_of(found: Boxes, truth: Boxes) -> list[str]:
    """Return the warnings that labels get."""
    return [name for name, warning in WARNINGS.items() if warning(found, truth)]


def refused_of_few(data: Path, predictions: Path) -> pd.DataFrame:
    """Count the draws of 20 images whose labels are refused as those of other images."""
    rng = np.random.default_rng(0)
    changes = [name for name in CHANGES if "images" in name or name == "sound"]
    refused = dict.fromkeys(changes, 0)
    n_draws = 0
    for _, found, truth in sets(data, predictions):
        for _ in range(DRAWS):
            n = len(truth.images)
            drawn = np.sort(rng.choice(n, min(DRAWN, n), replace=False))
            some, of_some = found.on_images(drawn), truth.on_images(drawn)
            n_draws += 1
            for name in changes:
                refused[name] += bool(of_other_images(some, CHANGES[name](of_some, rng)))
    row = {"detector": predictions.name, **refused, "draws": n_draws}
    return pd.DataFrame([row])


def table(data: Path, predictions: Path) -> pd.DataFrame:
    """Count the sets with each warning after each change."""
    rng = np.random.default_rng(0)
    counts = {name: dict.fromkeys((*WARNINGS, "any", "sets"), 0) for name in CHANGES}
    for _, found, truth in sets(data, predictions):
        for name, change in CHANGES.items():
            if len(truth.categories) < FEWEST_CATEGORIES.get(name, 1):
                continue
            counts[name]["sets"] += 1
            changed = change(truth, rng)
            warned = warned_of(found, changed)
            for what in [*warned, *(["any"] if warned else [])]:
                counts[name][what] += 1
    rows = [{"detector": predictions.name, "labels": name, **of} for name, of in counts.items()]
    return pd.DataFrame(rows)


def with_false_boxes(boxes: Boxes, n: int, rng: np.random.Generator) -> Boxes:
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
        crowd=np.concatenate([boxes.crowd, np.zeros(len(image), bool)]),
    )


def _sizes(boxes: Boxes) -> np.ndarray:
    """Return width and height of each image, (M, 2)."""
    return np.array([image.size for image in boxes.images], float)[:, ::-1]


def place(boxes: Boxes) -> np.ndarray:
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
            if none or fit == site or not same_task or min(of_fit.n, of_site.n) < FEWEST_SURE:
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


def other_detectors(data: Path, predictions: Sequence[Path]) -> pd.DataFrame:
    """Count the pairs of files, in per cent, of which one is taken for another detector's."""
    counts: dict[tuple[str, float], list[tuple[int, ...]]] = {}
    for of in predictions:
        for path in sorted(of.glob("*/*.json")):
            images = read_coco(data / path.parent.name / path.stem / "annotations.json").images
            boxes = read_predictions(path, images=images)
            for floor in CUTS:
                cut = overlaps_of(boxes.where(boxes.scores >= floor))
                counts.setdefault((of.name, floor), []).append(cut)
    rows = []
    for fit in predictions:
        for site in predictions:
            row: dict[str, object] = {"fit": fit.name, "site": site.name}
            for floor in CUTS:
                pairs = [
                    bool(another_suppression(a, b))
                    for a in counts[fit.name, 0.0]
                    for b in counts[site.name, floor]
                    if min(sum(a), sum(b)) >= FEWEST_PAIRS
                ]
                name = f"cut at {floor:g}" if floor else "whole"
                row |= {f"{name}, pairs": len(pairs), f"{name}, %": f"{100 * np.mean(pairs):.1f}"}
            rows.append(row)
    return pd.DataFrame(rows)


if __name__ == "__main__":
    main()
