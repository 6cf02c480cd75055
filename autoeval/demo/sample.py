"""A small sample of what users bring: labels of one site, and predictions on it and on another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.demo.detector_page import Pictures
from autoeval.demo.roadworld import CATEGORY, DETECTOR
from autoeval.detections import Detections
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.runtime.files import write_json

SITES = {"val": "night_highway", "new": "rain"}  # environments that the detector was not trained on
N_IMAGES, SEED, FLOOR = 30, 7, 0.03


def write_sample(folder: Path, *, n_images: int = N_IMAGES) -> list[Path]:
    """Write what the road world's detector finds in rendered pictures of two sites, and the labels.

    Parameters
    ----------
    folder : Path
    n_images : int
        Of each site.

    Returns
    -------
    list of Path
        ``val.json`` and ``val_predictions.json``; ``new_predictions.json``, ``new_site.json`` (its
        images without labels), and ``new_labels.json`` (what an estimate should come near to).
    """
    detector, written = DetectorSpec(DETECTOR)(), []
    for name, environment in SITES.items():
        pictures = Pictures(environment, n_images, SEED)
        images: list[dict[str, Any]] = []
        labels: list[dict[str, Any]] = []
        found: list[dict[str, Any]] = []
        for number in range(1, n_images + 1):
            sample = pictures[number - 1]
            height, width = sample.image.shape[:2]
            file = f"{number:04}.jpg"
            images.append({"id": number, "file_name": file, "height": height, "width": width})
            labels += [
                {"image_id": number, "category_id": 1, "bbox": b} for b in _xywh(sample.boxes)
            ]
            (seen,) = detector.observe([sample.image], [file])
            found += _results(seen.clean, number, (width, height))
        for k, label in enumerate(labels, 1):
            label["id"] = k
        document = {"images": images, "categories": [{"id": 1, "name": CATEGORY}]}
        truth = "val.json" if name == "val" else f"{name}_labels.json"
        contents = {truth: {**document, "annotations": labels}, f"{name}_predictions.json": found}
        if name != "val":
            contents[f"{name}_site.json"] = document
        written += [write_json(folder / f, c, indent=None) for f, c in contents.items()]
    return written


def _results(found: Detections, number: int, size: tuple[int, int]) -> Iterator[dict[str, Any]]:
    boxes = found.boxes.clip(0, np.array(size * 2))
    for box, score in zip(_xywh(boxes), found.scores.tolist(), strict=True):
        if score >= FLOOR and min(box[2:]) > 0:
            yield {"image_id": number, "category_id": 1, "bbox": box, "score": round(score, 3)}


def _xywh(boxes: np.ndarray) -> list[list[float]]:
    xywh = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)
    return [[round(side, 1) for side in box] for box in xywh.tolist()]
