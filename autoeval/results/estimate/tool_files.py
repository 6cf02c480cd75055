"""An estimate and its images as files that other tools read: CSV, and COCO results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.detections import CONFIDENT, SCORE_THR
from autoeval.estimation.estimate import Estimate
from autoeval.io.predictions import FoundBoxes
from autoeval.runtime.files import write_json, write_table


def export(folder: Path, estimate: Estimate) -> list[Path]:
    """Write ``estimate.csv``, ``images.csv``, ``predictions.json`` of an estimate with its site."""
    assert estimate.site is not None
    boxes = estimate.site.boxes.clean
    return [
        write_table(folder / "estimate.csv", estimate.to_pandas()),
        write_table(folder / "images.csv", image_table(boxes)),
        write_json(folder / "predictions.json", coco_results(boxes, estimate), indent=None),
    ]


def image_table(clean: FoundBoxes) -> pd.DataFrame:
    """Lay out the images, one row each, those that the detector is least sure of first.

    ``boxes`` and their ``mean_score`` are over .05, ``confident`` those of them over .3.
    """
    n_images = len(clean.images)
    counted = clean.scores > SCORE_THR
    boxes = np.bincount(clean.image[counted], minlength=n_images)
    sums = np.bincount(clean.image[counted], clean.scores[counted], minlength=n_images)
    sure = np.bincount(clean.image[clean.scores > CONFIDENT], minlength=n_images)
    mean = np.divide(sums, boxes, out=np.full(n_images, np.nan), where=boxes > 0)
    table = pd.DataFrame(
        {
            "image_id": [image.image_id for image in clean.images],
            "file_name": [image.file_name for image in clean.images],
            "boxes": boxes,
            "confident": sure,
            "mean_score": mean,
            "share": sure / np.maximum(boxes, 1),
        }
    )
    return table.sort_values("mean_score", kind="stable", ignore_index=True)


def coco_results(clean: FoundBoxes, estimate: Estimate) -> list[dict[str, Any]]:
    """Return the boxes as COCO results, with what is estimated of their category.

    ``bbox`` is left, top, width, height; the estimate is None where the category was not estimated
    by itself.
    """
    whole = {name: getattr(estimate, name) for name in ("value", "lower", "upper")}
    nothing = dict.fromkeys(whole)
    estimates = [
        estimate.per_category.get(name, nothing if estimate.per_category else whole)
        for name in clean.categories
    ]
    ids = category_ids(clean)
    xywh = np.concatenate([clean.boxes[:, :2], clean.boxes[:, 2:] - clean.boxes[:, :2]], axis=1)
    columns = (clean.image, clean.label, xywh.astype(np.float64).round(3), clean.scores)
    return [
        {
            "image_id": _number(clean.images[image].image_id),
            "file_name": clean.images[image].file_name,
            "category_id": ids[label],
            "category": clean.categories[label],
            "bbox": bbox,
            "score": round(score, 6),
            f"estimated_{estimate.target}": estimates[label]["value"],
            "estimated_lower": estimates[label]["lower"],
            "estimated_upper": estimates[label]["upper"],
        }
        for image, label, bbox, score in zip(*(c.tolist() for c in columns), strict=True)
    ]


def category_ids(clean: FoundBoxes) -> list[int | str]:
    """Return the number of each category: that of the file, and free ones for those without."""
    ids = {word: _number(number) for number, word in reversed(clean.numbers.items())}
    first = 1 + max((n for n in ids.values() if isinstance(n, int)), default=0)
    new = [word for word in clean.categories if word not in ids]
    ids |= {word: first + k for k, word in enumerate(new)}
    return [ids[word] for word in clean.categories]


def _number(name: str) -> int | str:
    """Return an id as the number that it was, where it was one."""
    return int(name) if name.isdecimal() and str(int(name)) == name else name
