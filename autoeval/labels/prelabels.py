"""Boxes of the detector that are offered to those who label, for CVAT and Label Studio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

import numpy as np

from autoeval.boxes import box_iou
from autoeval.data.labels.content import LabelledBox, LabelledImage
from autoeval.labels.plan import LabelPlan

SURE = 0.3  # boxes of the detector over it are offered
SAME = 0.6  # of boxes of one category that overlap by more (IoU), the most confident is offered
LOCAL_FILES = "/data/local-files/?d="


@dataclass(frozen=True, eq=False)
class Prelabels:
    """The boxes that are offered in one image.

    Parameters
    ----------
    image : LabelledImage
    boxes : ndarray of shape (N, 4), float64
        Boxes as xyxy, pixels, inside the image where its size is known.
    scores : ndarray of shape (N,), float32
    categories : list of str
    """

    image: LabelledImage
    boxes: np.ndarray
    scores: np.ndarray
    categories: list[str]

    @property
    def xywh(self) -> np.ndarray:
        """Left, top, width and height, (N, 4)."""
        return np.concatenate([self.boxes[:, :2], self.boxes[:, 2:] - self.boxes[:, :2]], axis=1)

    def labelled(self) -> list[LabelledBox]:
        """Return them as boxes of a label file."""
        named = zip(self.categories, self.xywh.tolist(), strict=True)
        return [LabelledBox(self.image.image_id, name, tuple(xywh)) for name, xywh in named]

    def label_studio_task(self, folder: str, model: str) -> dict[str, Any]:
        """Return them as a task with a prediction for Label Studio, coordinates in per cent.

        The labelling interface is that of `label_config`. Source: Label Studio's documentation,
        "Import pre-annotated data".

        Parameters
        ----------
        folder : str
            Of the images, below the document root of Label Studio's local files.
        model : str
            Version of the model.
        """
        assert self.image.size is not None
        height, width = self.image.size
        shares = (self.xywh * (100 / np.array([width, height, width, height]))).round(4)
        results = [
            {
                "id": f"box{k}",
                "type": "rectanglelabels",
                "from_name": "label",
                "to_name": "image",
                "original_width": width,
                "original_height": height,
                "score": float(score),
                "value": {
                    **dict(zip(("x", "y", "width", "height"), share, strict=True)),
                    "rotation": 0,
                    "rectanglelabels": [name],
                },
            }
            for k, (share, score, name) in enumerate(
                zip(shares.tolist(), self.scores, self.categories, strict=True), 1
            )
        ]
        url = f"{LOCAL_FILES}{quote(f'{folder}/{self.image.file_name}')}"
        predictions = [{"model_version": model, "result": results}]
        return {"data": {"image": url}, "predictions": predictions}


def prelabels(plan: LabelPlan, images: Sequence[LabelledImage]) -> list[Prelabels]:
    """Choose the boxes to offer in the images that a plan drew.

    Where several words of the detector are one category of the plan, it may find an object once as
    each; the most confident box of it is offered.

    Parameters
    ----------
    plan : LabelPlan
    images : sequence of LabelledImage
        The drawn ones in their order, as they are in the folder.
    """
    return [_of_image(plan, int(k), image) for k, image in zip(plan.drawn, images, strict=True)]


def label_config(categories: Sequence[str]) -> str:
    """Return Label Studio's labelling interface for boxes of some categories."""
    labels = "\n".join(f"    <Label value={quoteattr(name)}/>" for name in categories)
    return (
        '<View>\n  <Image name="image" value="$image"/>\n'
        '  <RectangleLabels name="label" toName="image">\n'
        f"{labels}\n  </RectangleLabels>\n</View>\n"
    )


def _of_image(plan: LabelPlan, k: int, image: LabelledImage) -> Prelabels:
    found = plan.found
    rows = np.flatnonzero((found.image == k) & (found.scores > SURE))
    rows = rows[np.argsort(-found.scores[rows], kind="stable")]
    boxes = found.boxes[rows].astype(np.float64)
    if image.size is not None:
        boxes = boxes.clip(0, np.array(image.size[::-1] * 2))
    kept = _distinct(boxes, found.label[rows]) & (boxes[:, 2:] > boxes[:, :2]).all(axis=1)
    names = [found.categories[label] for label in found.label[rows[kept]]]
    return Prelabels(image, boxes[kept], found.scores[rows[kept]], names)


def _distinct(boxes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Say which boxes, the most confident first, are of an object that has none yet, (N,)."""
    same = (box_iou(boxes, boxes) > SAME) & (labels[:, None] == labels)
    kept = np.ones(len(boxes), bool)
    for k in range(len(boxes)):
        if kept[k]:
            kept[k + 1 :] &= ~same[k, k + 1 :]
    return kept
