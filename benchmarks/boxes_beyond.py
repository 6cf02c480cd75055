"""How many boxes reach beyond their images, and are centred there: as they are, and misread.

    python -m benchmarks.boxes_beyond DATA PREDICTIONS ...

DATA as in `benchmarks.foreign_predictions`; each of PREDICTIONS holds ``<task>/<site>.json`` in any
folder below it. Files of twenty boxes or more are read as they are, and as if corners stood where
sizes are expected, or pixels of a larger copy of the images. Prints, of each reading, in how many
files more than half of the boxes reach 2 % beyond, in how many the centres of more than
`MANY_CENTRES` lie beyond, in how many both, and the least and the largest share of centres.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.io.coco import read_coco
from autoeval.io.predictions.prediction_checks import (
    ENOUGH_BOXES,
    MANY_CENTRES,
    OUTSIDE,
    centred_beyond,
    reach_beyond,
)
from autoeval.report.tables import to_markdown
from benchmarks.export_predictions import TASKS

READINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "as they are": lambda xywh: xywh,
    "corners as sizes": lambda xywh: xywh + np.pad(xywh[:, :2], ((0, 0), (2, 0))),
    "1.25 times": lambda xywh: 1.25 * xywh,
    "1.5 times": lambda xywh: 1.5 * xywh,
    "twice": lambda xywh: 2 * xywh,
}


def read_boxes(path: Path, sizes: dict[str, tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return boxes xywh (N, 4) and (width, height) of the image of each (N, 2), in pixels."""
    entries = [of for of in json.loads(path.read_bytes()) if str(of["image_id"]) in sizes]
    boxes = np.array([of["bbox"] for of in entries], float).reshape(-1, 4)
    limits = np.array([sizes[str(of["image_id"])][::-1] for of in entries], float)
    return boxes, limits.reshape(-1, 2)


def shares(xywh: np.ndarray, sizes: np.ndarray) -> dict[str, float]:
    """Return the shares of boxes that reach beyond, and of centres that lie beyond."""
    boxes = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], axis=1)
    return {
        "reach": float(reach_beyond(boxes, sizes).mean()),
        "centres": float(centred_beyond(boxes, sizes).mean()),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path, nargs="+")
    args = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    files = [path for folder in args.predictions for path in sorted(folder.rglob("*.json"))]
    for path in tqdm([path for path in files if path.parent.name in TASKS], "files"):
        content = read_coco(args.data / path.parent.name / path.stem / "annotations.json")
        sizes = {image.image_id: image.size for image in content.images if image.size}
        boxes, limits = read_boxes(path, sizes)
        if len(boxes) >= ENOUGH_BOXES:
            for name, reading in READINGS.items():
                found[name].append(shares(reading(boxes), limits))
    rows = []
    for name, each in found.items():
        table = pd.DataFrame(each)
        reach, centres = table["reach"] > OUTSIDE, table["centres"] > MANY_CENTRES
        rows.append(
            {
                "boxes": name,
                "files": len(table),
                "half reach beyond": int(reach.sum()),
                "many centres beyond": int(centres.sum()),
                "refused": int((reach & centres).sum()),
                "least share of centres, %": f"{100 * table['centres'].min():.1f}",
                "largest, %": f"{100 * table['centres'].max():.1f}",
            }
        )
    print(to_markdown(pd.DataFrame(rows)))


if __name__ == "__main__":
    main()
