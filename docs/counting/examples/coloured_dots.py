"""A data set of coloured dots in FSC-147's layout, and two counters for it.

    python docs/counting/examples/coloured_dots.py FOLDER

writes FOLDER with 60 images of red, green or blue dots, and beside it reads.py and ignores.py, the
config files of a counter that reads its prompt and of one that counts every dot. Both count
connected components, so that dots that touch are one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from autoeval.counting.counters import CountResult

CLASSES = {"red dots": (60, 60, 220), "green dots": (70, 170, 60), "blue dots": (210, 120, 50)}
IMAGES = 60
SIDE = 256  # of an image, pixels
RADIUS = 5  # of a dot, pixels
COUNTER = """import sys
from pathlib import Path

sys.path.insert(0, {here!r})
counter = dict(type="coloured_dots.DotCounter", name={name!r}, reads={reads})
"""


class DotCounter:
    """Counts the dots of the colour that the prompt names, or all dots."""

    capabilities = frozenset({"count", "points"})

    def __init__(self, name: str, reads: bool) -> None:
        self.name = name
        self.reads = reads

    def count(
        self, image: np.ndarray, prompt: str, context: Mapping[str, Any] | None = None
    ) -> CountResult:
        """Count in ``image`` (H, W, 3) uint8 BGR."""
        colours = [CLASSES[prompt]] if self.reads else CLASSES.values()
        distance = [np.abs(image.astype(int) - colour).sum(2) for colour in colours]
        dots = (np.min(distance, axis=0) < 120).astype(np.uint8)
        middles = cv2.connectedComponentsWithStats(dots)[3][1:]
        return CountResult(float(len(middles)), points=middles, context=context or {})


def write(root: Path) -> None:
    """Write the images, their annotation files, and the two config files."""
    rng = np.random.default_rng(0)
    (root / "images_384_VarV2").mkdir(parents=True, exist_ok=True)
    points, lines = {}, []
    for k in range(IMAGES):
        name, kind = f"{k}.png", list(CLASSES)[k % len(CLASSES)]
        middles = rng.uniform(RADIUS, SIDE - RADIUS, (int(rng.lognormal(3, 0.8)) + 1, 2))
        image = np.full((SIDE, SIDE, 3), 245, np.uint8)
        for x, y in middles:
            cv2.circle(image, (round(x), round(y)), RADIUS, CLASSES[kind], -1, cv2.LINE_AA)
        cv2.imwrite(str(root / "images_384_VarV2" / name), image)
        points[name] = {"points": middles.round(2).tolist()}
        lines.append(f"{name}\t{kind}\n")
    (root / "annotation_FSC147_384.json").write_text(json.dumps(points))
    (root / "Train_Test_Val_FSC_147.json").write_text(json.dumps({"test": list(points)}))
    (root / "ImageClasses_FSC147.txt").write_text("".join(lines))
    here = str(Path(__file__).resolve().parent)
    for reads, name in ((True, "reads"), (False, "ignores")):
        config = COUNTER.format(here=here, name=f"{name} its prompt", reads=reads)
        (root / f"{name}.py").write_text(config)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
