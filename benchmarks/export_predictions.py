"""Write what a detector finds on all sites as COCO results.

    python benchmarks/export_predictions.py yolox_nano --checkpoint yolox_nano_coco.pth DATA OUT

reads ``DATA/<task>/<seed>`` and writes ``OUT/<task>/<seed>.json``,
scores from .01 on, at most 300 boxes an image: what `benchmarks/predictions.py` takes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.detections import Detections
from autoeval.detectors import load_detector
from autoeval.detectors.building.configs import read_config
from autoeval.io.coco import read_coco
from autoeval.io.images import read_image
from autoeval.runtime.files import write_json
from autoeval.runtime.progress import progress_bar

TASKS = ("vehicle", "person", "two", "all")
FLOOR, MOST = 0.01, 300


def entries(
    found: Detections, image_id: str, file_name: str, categories: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the boxes of one image as COCO results, the best first."""
    kept = found[np.argsort(-found.scores, kind="stable")][:MOST]
    kept = kept[kept.scores >= FLOOR]
    xywh = np.concatenate([kept.boxes[:, :2], kept.boxes[:, 2:] - kept.boxes[:, :2]], axis=1)
    return [
        {
            "image_id": int(image_id),
            "file_name": file_name,
            "category": categories[label],
            "bbox": [round(float(value), 3) for value in box],
            "score": round(float(score), 5),
        }
        for box, score, label in zip(xywh, kept.scores, kept.labels, strict=True)
    ]


def _sized(name: str, size: int) -> dict[str, tuple[int, int]]:
    """Return the changes of a config that resize to another size."""
    steps = read_config(name, None).test_dataloader.dataset.pipeline
    key = "test_dataloader.dataset.pipeline"
    return {f"{key}.{k}.scale": (size, size) for k, step in enumerate(steps) if "scale" in step}


def main() -> None:
    """Run the detector over every image."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("detector")
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--checkpoint")
    parser.add_argument("--size", type=int, help="longer side of its input, in place of its own")
    args = parser.parse_args()
    options = _sized(args.detector, args.size) if args.size else None
    detector = load_detector(args.detector, checkpoint=args.checkpoint, cfg_options=options)
    for folder in [seed for task in TASKS for seed in sorted((args.data / task).glob("*"))]:
        content = read_coco(folder / "annotations.json")
        rows: list[dict[str, Any]] = []
        with progress_bar(len(content.images), folder.name) as bar:
            for image in content.images:
                pixels = read_image(folder / "images" / image.file_name)
                (seen,) = detector.observe([pixels], [image.image_id])
                rows += entries(seen.clean, image.image_id, image.file_name, detector.categories)
                bar.update()
        write_json(args.out / folder.parent.name / f"{folder.name}.json", rows, indent=None)


if __name__ == "__main__":
    main()
