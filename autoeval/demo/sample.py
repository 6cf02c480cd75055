"""A small sample of labels and predictions of two sites, to try commands on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.boxes import as_xywh
from autoeval.demo.kinds import KindClassifier, categories_of
from autoeval.detections import Detections
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.roadworld import DETECTOR, make_picture
from autoeval.roadworld.traffic import KINDS
from autoeval.runtime.files import write_json
from autoeval.runtime.progress import progress_bar

SITES = {"val": "dusk_country", "new": "street_above"}  # environments that nothing was trained on
N_IMAGES = 60
SAMPLE_SEED = 7
FLOOR = 0.06
CLASSIFIER_IMAGES = 150
CLASSIFIER_SEED = 1001

Entry = dict[str, Any]


def write_sample(
    folder: Path, *, n_images: int = N_IMAGES, classifier_images: int = CLASSIFIER_IMAGES
) -> list[Path]:
    """Write what a detector finds in rendered pictures of two sites, and their labels.

    The detector is that of the road world, which finds vehicles; a `KindClassifier` shares out
    the score of each box among `KINDS`.

    Parameters
    ----------
    folder : Path
        Where the files go.
    n_images : int
        Pictures of each site.
    classifier_images : int
        Pictures of each clear environment that the classifier is fitted on.

    Returns
    -------
    list of Path
        ``val.json`` and ``new_labels.json`` (COCO labels), ``val_predictions.json`` and
        ``new_predictions.json`` (COCO results), and ``new_site.json``, the images of the second
        site without labels.
    """
    detector = DetectorSpec(DETECTOR)()
    classifier = KindClassifier(n_images=classifier_images, seed=CLASSIFIER_SEED).fit()
    written = []
    for name, environment in SITES.items():
        images: list[Entry] = []
        labels: list[Entry] = []
        results: list[Entry] = []
        with progress_bar(n_images, f"detecting in {name}") as bar:
            for number in range(1, n_images + 1):
                picture = make_picture(environment, number - 1, seed=SAMPLE_SEED)
                height, width = picture.image.shape[:2]
                file = f"{number:04}.jpg"
                images.append({"id": number, "file_name": file, "height": height, "width": width})
                labels += _labels(picture.boxes, categories_of(picture.kinds), number)
                (seen,) = detector.observe([picture.image], [file])
                shares = classifier.predict_proba(picture.image, seen.clean.boxes)
                results += _results(seen.clean, shares, number, (width, height))
                bar.update()
        for k, label in enumerate(labels, 1):  # what pycocotools wants of each
            label |= {"id": k, "area": _area(label["bbox"]), "iscrowd": 0}
        categories = [{"id": k, "name": word} for k, word in enumerate(KINDS, 1)]
        document = {"images": images, "categories": categories}
        truth = "val.json" if name == "val" else f"{name}_labels.json"
        contents = {truth: {**document, "annotations": labels}, f"{name}_predictions.json": results}
        if name != "val":
            contents[f"{name}_site.json"] = document
        written += [write_json(folder / f, c, indent=None) for f, c in contents.items()]
    return written


def _labels(boxes: np.ndarray, categories: list[int], number: int) -> list[Entry]:
    return [
        {"image_id": number, "category_id": 1 + category, "bbox": box}
        for box, category in zip(_xywh(boxes), categories, strict=True)
    ]


def _area(xywh: list[float]) -> float:
    return round(xywh[2] * xywh[3], 1)


def _results(
    detections: Detections, shares: np.ndarray, number: int, size: tuple[int, int]
) -> Iterator[Entry]:
    """Yield COCO results: each box once for every category with a share of its score.

    detections: N boxes of one picture
    shares (N, len(KINDS)): probability of each kind, by which the score is multiplied; a product
        under `FLOOR` is left out
    number: Id of the picture
    size: its width and height, to which boxes are clipped
    """
    boxes = detections.boxes.clip(0, np.array(size * 2))
    scores = detections.scores[:, None] * shares  # (N, categories)
    for box, row in zip(_xywh(boxes), scores.tolist(), strict=True):
        for k, score in enumerate(row, 1):
            if score >= FLOOR and min(box[2:]) > 0:
                yield {"image_id": number, "category_id": k, "bbox": box, "score": round(score, 3)}


def _xywh(boxes: np.ndarray) -> list[list[float]]:
    return [[round(side, 1) for side in box] for box in as_xywh(boxes).tolist()]
