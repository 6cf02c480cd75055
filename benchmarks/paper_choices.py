"""How far box stability moves by what the paper leaves open: a table of docs.

    python -m benchmarks.paper_choices [--n-images 20] [--detector roadworld_nano] > table.md

Renders the environments of the road world, runs the detector once clean and twice under dropout,
and scores the same boxes by every choice: largest difference to the default over the environments,
and the squared correlation with mAP over them.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
import pandas as pd

from autoeval.accuracy.mean_ap import MeanAP
from autoeval.detections import Evidence
from autoeval.detectors import load_detector
from autoeval.report.text import format_cells, to_markdown
from autoeval.roadworld import CATEGORY, DETECTOR, ENVIRONMENTS, make_picture
from autoeval.stability.network.as_perturbable import as_perturbable
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.scores.box_stability import box_stability
from autoeval.stability.scores.box_stability_settings import BoxStabilitySettings

DROPOUT = DropoutSpec()
DEFAULT = BoxStabilitySettings()
CHOICES = {
    "as shipped: GIoU, empty images count 0, boxes from .05": DEFAULT,
    "IoU in place of GIoU": replace(DEFAULT, cost="iou"),
    "images without a box are left out": replace(DEFAULT, empty="skip"),
    "boxes from a score of .01": replace(DEFAULT, score_thr=0.01),
    "boxes from a score of .10": replace(DEFAULT, score_thr=0.1),
    "boxes from a score of .30": replace(DEFAULT, score_thr=0.3),
    "divided by the larger number of boxes": replace(DEFAULT, normalise="max"),
    "boxes matched within a category only": replace(DEFAULT, class_aware=True),
}


def observed(detector: object, environment: str, n_images: int) -> tuple[list[Evidence], float]:
    """Return the boxes of an environment's images, clean and under dropout, and mAP."""
    metric, evidence = MeanAP([CATEGORY]), []
    for index in range(n_images):
        picture = make_picture(environment, index)
        seen = as_perturbable(detector).observe(
            [picture.image], [str(index)], dropout=DROPOUT, repeats=2
        )
        evidence += seen
        blank = np.zeros(len(picture.boxes), np.int64)
        metric.update(seen[0].clean, picture.boxes, blank, blank > 0)
    return evidence, metric.compute()["mAP"]


def stability(evidence: list[Evidence], settings: BoxStabilitySettings) -> float:
    """Return the mean box stability over images and repeats."""
    each = [box_stability(e.clean, boxes, settings) for e in evidence for boxes in e.perturbed]
    return float(np.nanmean(each))


def table(detector: object, n_images: int) -> pd.DataFrame:
    """Return one row a choice."""
    seen = [observed(detector, name, n_images) for name in ENVIRONMENTS]
    accuracy = np.array([value for _, value in seen])
    usual = np.array([stability(evidence, DEFAULT) for evidence, _ in seen])
    rows = []
    for name, settings in CHOICES.items():
        scores = np.array([stability(evidence, settings) for evidence, _ in seen])
        rows.append(
            {
                "choice": name,
                "mean": scores.mean(),
                "largest difference": abs(scores - usual).max(),
                "R²": float(np.corrcoef(scores, accuracy)[0, 1] ** 2),
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--detector", default=DETECTOR)
    parser.add_argument("--checkpoint")
    parser.add_argument("--n-images", type=int, default=20, help="of each environment (20)")
    args = parser.parse_args()
    detector = load_detector(args.detector, checkpoint=args.checkpoint, device="cpu")
    numbers = dict.fromkeys(("mean", "largest difference"), "{:.3f}") | {"R²": "{:.2f}"}
    print(to_markdown(format_cells(table(detector, args.n_images), numbers)))


if __name__ == "__main__":
    main()
