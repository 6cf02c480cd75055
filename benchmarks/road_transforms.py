"""Which transforms the road world's detector is meant for: its labelled mAP under each, for docs.

    python -m benchmarks.road_transforms [--n-images 10] > table.md

On images like those of its training, of another seed: the four clear environments. Each transform
is applied at a tenth, half and nine tenths of its range, alone. No score of the detector is read.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from autoeval.accuracy.mean_ap import MeanAP
from autoeval.detectors import load_detector
from autoeval.report.text import format_cells, to_markdown
from autoeval.roadworld import CATEGORY, DETECTOR, make_picture
from autoeval.stability.metasets.transforms import MILD, TransformStep, apply_step, get_transform

CLEAR = ("day_street", "overpass", "highway_day", "dusk_city")
SEED = 1001  # of no training and of no evaluation
AT = (0.1, 0.5, 0.9)


def accuracy(detector: object, pictures: list, step: TransformStep | None) -> float:
    """Return mAP on pictures under one transform."""
    metric = MeanAP([CATEGORY])
    for index, picture in enumerate(pictures):
        image, boxes = picture.image, picture.boxes
        if step is not None:
            rng = np.random.default_rng([index])
            image, boxes, _ = apply_step(step, image, boxes, rng=rng)
        (seen,) = detector.observe([image], [str(index)])  # type: ignore[attr-defined]
        blank = np.zeros(len(boxes), np.int64)
        metric.update(seen.clean, boxes, blank, blank > 0)
    return metric.compute()["mAP"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-images", type=int, default=10, help="of each environment (10)")
    args = parser.parse_args()
    detector = load_detector(DETECTOR, device="cpu")
    pictures = [make_picture(name, k, seed=SEED) for name in CLEAR for k in range(args.n_images)]
    plain = accuracy(detector, pictures, None)
    rows = []
    for name in MILD:
        transform = get_transform(name)
        last = transform.n_magnitudes - 1
        steps = [TransformStep(name, transform.magnitude(round(at * last))) for at in AT]
        each = [accuracy(detector, pictures, step) for step in steps]
        shown = {f"at {at:g}": value for at, value in zip(AT, each, strict=True)}
        rows.append(
            {"transform": name, **shown, "mean": np.mean(each), "kept": np.mean(each) / plain}
        )
    table = pd.DataFrame(rows)
    numbers = dict.fromkeys([name for name in table if name != "transform"], "{:.2f}")
    print(f"Without a transform: {plain:.2f}\n")
    print(to_markdown(format_cells(table, numbers)))


if __name__ == "__main__":
    main()
