"""Whether a pass on a GPU gives the numbers of a pass on the processor, and how long each takes.

The same images are observed on both, clean and under dropout: how many boxes are the same, by
how much scores of boxes differ, and what is left of that in every score of the set and in its mAP.
Torch lets GPUs round products of convolutions to TensorFloat-32; the first rows are in single
precision (``--precision single``), the last two as torch has it.

    python -m benchmarks.device_agreement --checkpoint yolox_nano_coco.pth --images photographs/
    python -m benchmarks.device_agreement --detector retinanet_r50 --n-images 16
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from autoeval.boxes import match_boxes
from autoeval.detections import FRAMEWORK, Detections
from autoeval.detectors.detector import MMDetector
from autoeval.estimation.observation.observing import Observer
from autoeval.io.image_folder import ImageFile
from autoeval.io.tasks.task import Task
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.passes.presets import ScoredSettings, preset
from autoeval.stability.passes.tally import scored_rows
from benchmarks.subjects import (
    LabelledFiles,
    add_subject_options,
    image_files,
    label_by,
    make_detector,
)
from benchmarks.timing import report

LOW = 0.05  # scores from here on are compared
SAME_PLACE = 0.99  # IoU
REPEATS = 2
NOT_SCORES = ("n_images", "repeat")


@dataclass(frozen=True)
class Way:
    """A device, the images of a batch, and whether TensorFloat-32 is allowed."""

    device: str
    batch_size: int
    tf32: bool = False

    @property
    def name(self) -> str:
        """What a table calls it."""
        rounded = ", with TensorFloat-32" if self.tf32 else ""
        return f"{self.device}, batches of {self.batch_size}{rounded}"


@dataclass(frozen=True)
class Outcome:
    """What a way gave: clean boxes of each image, the score table, and seconds of the pass."""

    boxes: list[Detections]
    rows: pd.DataFrame
    seconds: float


def outcome_of(args: argparse.Namespace, way: Way, samples: LabelledFiles) -> Outcome:
    """Observe the images in one way; the pass is timed when it runs for the second time."""
    args.device = way.device
    detector = make_detector(args)
    settings = replace(preset("paper"), dropout=DropoutSpec("after", (1, 2), 0.15), repeats=REPEATS)
    detector.precision = FRAMEWORK if way.tf32 else "single"
    run_pass(detector, samples, settings, way.batch_size)
    start = time.perf_counter()
    rows = run_pass(detector, samples, settings, way.batch_size)
    spent = time.perf_counter() - start
    return Outcome(clean_boxes(detector, samples.files), rows, spent)


def run_pass(
    detector: MMDetector, samples: LabelledFiles, settings: ScoredSettings, batch_size: int
) -> pd.DataFrame:
    """Return the score table of the images, all categories as one."""
    task = Task("object", ("object",), (), dict.fromkeys(detector.categories, "object"))
    observer = Observer(detector, task, settings, batch_size=batch_size)
    rows = pd.DataFrame(scored_rows(observer, samples))
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return rows


def clean_boxes(detector: MMDetector, files: tuple[ImageFile, ...]) -> list[Detections]:
    """Return the clean boxes of each image."""
    evidence = (detector.observe([file.read()], [file.image_id])[0] for file in files)
    return [image.clean for image in evidence]


def compared(outcome: Outcome, reference: Outcome) -> dict[str, Any]:
    """Return how far an outcome is from the reference's."""
    n_boxes, n_same, furthest = 0, 0, 0.0
    for ours, theirs in zip(outcome.boxes, reference.boxes, strict=True):
        a, b = ours.above(LOW), theirs.above(LOW)
        n_boxes += max(len(a), len(b))
        if not len(a) or not len(b):
            continue
        rows, columns, overlaps = match_boxes(a.boxes, b.boxes, cost="iou")
        same = (overlaps > SAME_PLACE) & (a.labels[rows] == b.labels[columns])
        n_same += int(same.sum())
        differences = np.abs(a.scores[rows] - b.scores[columns])[same]
        furthest = max(furthest, float(differences.max(initial=0.0)))
    numbers = reference.rows.select_dtypes("number").columns.difference(NOT_SCORES)
    numbers = [name for name in numbers if not name.endswith("_s")]  # seconds
    apart = (outcome.rows[numbers] - reference.rows[numbers]).abs()
    relative = apart / reference.rows[numbers].abs().clip(lower=1e-3)
    largest = relative.max().dropna().sort_values()  # a score may not be defined
    return {
        "boxes": n_boxes,
        "same": f"{100 * n_same / max(n_boxes, 1):.2f} %",
        "score of a box, most": f"{furthest:.1e}",
        "mAP": f"{float(apart['mAP'].max()):.1e}",
        "median score": f"{float(largest.median()):.1e}",
        "furthest score": f"{largest.index[-1]} {float(largest.iloc[-1]):.1e}",
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_subject_options(parser, n_images=16)
    args = parser.parse_args()
    gpu = "cuda" if args.device == "cpu" else args.device
    ways = [Way("cpu", 4), Way(gpu, 1), Way(gpu, 16), Way(gpu, 1, True), Way(gpu, 16, True)]
    with image_files(args.images, args.n_images) as files:
        args.device = "cpu"
        samples = label_by(make_detector(args), files)
        outcomes = [outcome_of(args, way, samples) for way in ways]
    table = [
        {
            "way": way.name,
            "ms an image": round(1000 * outcome.seconds / len(samples), 1),
            "faster": round(outcomes[0].seconds / outcome.seconds, 1),
            **compared(outcome, outcomes[0]),
        }
        for way, outcome in zip(ways, outcomes, strict=True)
    ]
    report(args, [pd.DataFrame(table).to_string(index=False)], table=table)


if __name__ == "__main__":
    main()
