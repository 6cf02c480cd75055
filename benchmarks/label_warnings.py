"""How often warnings of labels come up on sound labels, and on damaged ones: a table of docs.

    python -m benchmarks.label_warnings DATA PREDICTIONS [PREDICTIONS ...] > tables.md

DATA holds ``<task>/<seed>/annotations.json``, and each PREDICTIONS ``<task>/<seed>.json`` of one
detector, for the tasks of `benchmarks.foreign_predictions` and for ``all``, which uses the words of
its labels. A set is counted once for each detector.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.io.coco import read_coco
from autoeval.io.labels.truth import Truth
from autoeval.io.predictions import FoundBoxes
from autoeval.report.tables import to_markdown
from autoeval.sites.label_check import of_other_images
from autoeval.sites.label_warnings import (
    exchanged_words,
    labels_elsewhere,
    shifted_labels,
    unlabelled_objects,
)
from benchmarks.foreign_predictions import TASKS, WORDS, read

Change = Callable[[Truth, np.random.Generator], Truth]
DRAWN, DRAWS = 20, 3  # labelled images, and times that they are drawn
WARNINGS = {
    "other images": of_other_images,
    "boxes without a label": unlabelled_objects,
    "labels elsewhere": labels_elsewhere,
    "shifted labels": shifted_labels,
    "words exchanged": exchanged_words,
}


def moved(pixels: float) -> Change:
    """Shift all labels to the left."""
    offset = np.array([pixels, 0, pixels, 0])
    return lambda truth, rng: replace(truth, boxes=truth.boxes - offset)


def resized(factor: float) -> Change:
    """Draw the labels on images of another size."""
    return lambda truth, rng: replace(truth, boxes=truth.boxes * factor)


def without(share: float) -> Change:
    """Leave out labels at random."""
    return lambda truth, rng: truth.where(rng.random(len(truth)) >= share)


def renumbered(step: int) -> Change:
    """Shift category numbers; the last one becomes the first."""
    return lambda truth, rng: replace(truth, label=(truth.label + step) % len(truth.categories))


def exchanged(share: float) -> Change:
    """Give some images, drawn at random, the labels of another one of them."""

    def change(truth: Truth, rng: np.random.Generator) -> Truth:
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
    "a fifth missing": without(1 / 5),
    "a third missing": without(1 / 3),
    "a tenth of the images exchanged": exchanged(0.1),
    "a third of the images exchanged": exchanged(1 / 3),
    "all images exchanged": exchanged(1),
    "category numbers one too high": renumbered(1),
    "category numbers one too low": renumbered(-1),
}
OF_SEVERAL = ("category numbers one too high", "category numbers one too low")
"""Changes of sets with several categories; other sets are left out of their rows."""


def sets(data: Path, predictions: Path) -> Iterator[tuple[str, FoundBoxes, Truth]]:
    """Read all labelled sets that there are predictions of."""
    for path in sorted(predictions.glob("*/*.json")):
        task = path.parent.name
        content = read_coco(data / task / path.stem / "annotations.json")
        categories = TASKS.get(task, content.categories)
        words = WORDS if task in TASKS else {word: word for word in categories}
        found = read(path, content, categories, words)
        yield f"{task}/{path.stem}", found, Truth.of(content, categories)


def warned_of(found: FoundBoxes, truth: Truth) -> list[str]:
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
            if name in OF_SEVERAL and len(truth.categories) < 2:
                continue
            counts[name]["sets"] += 1
            changed = change(truth, rng)
            warned = warned_of(found, changed)
            for what in [*warned, *(["any"] if warned else [])]:
                counts[name][what] += 1
    rows = [{"detector": predictions.name, "labels": name, **of} for name, of in counts.items()]
    return pd.DataFrame(rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path, nargs="+")
    args = parser.parse_args()
    print(to_markdown(pd.concat([table(args.data, of) for of in args.predictions])))
    print(to_markdown(pd.concat([refused_of_few(args.data, of) for of in args.predictions])))


if __name__ == "__main__":
    main()
