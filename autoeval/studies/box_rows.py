"""Observed images as rows of a table, one a box, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from autoeval.detections import Detections, Evidence
from autoeval.studies.observed import ObservedImage, ObservedSet

IMAGE, TRUE, CLEAN, PERTURBED = "image", "true", "clean", "perturbed"
_CORNERS = ["x1", "y1", "x2", "y2"]


def rows_of(image: ObservedImage) -> list[dict[str, Any]]:
    """Turn an image into rows: itself, its true boxes, its clean and its perturbed boxes.

    Returns
    -------
    list of dict
        ``image_id``, ``what`` (`IMAGE`, `TRUE`, `CLEAN` or `PERTURBED`), ``repeat`` (0 where there
        is none), ``x1``, ``y1``, ``x2``, ``y2`` (pixels; of the whole image for `IMAGE`),
        ``score`` (1 where there is none), ``label``, ``iscrowd``.
    """
    evidence = image.evidence
    height, width = evidence.image_size
    rows = [_row(evidence.image_id, IMAGE, len(evidence.perturbed), (0, 0, width, height))]
    for box, label, crowd in zip(image.boxes, image.labels, image.iscrowd, strict=True):
        rows.append(_row(evidence.image_id, TRUE, 0, box, 1.0, label, crowd))
    passes = [(CLEAN, 0, evidence.clean)]
    passes += [(PERTURBED, k, boxes) for k, boxes in enumerate(evidence.perturbed)]
    for what, repeat, found in passes:
        for box, score, label in zip(found.boxes, found.scores, found.labels, strict=True):
            rows.append(_row(evidence.image_id, what, repeat, box, score, label))
    return rows


def observed_set(rows: pd.DataFrame) -> ObservedSet:
    """Put the images of one sample set together again from their rows."""
    first = rows.iloc[0]
    images = tuple(_image(part) for _, part in rows.groupby("image_id", sort=False))
    return ObservedSet(first["source"], first["sample_set"], first["kind"], images)


def _row(
    image_id: str,
    what: str,
    repeat: int,
    box: Iterable[float],
    score: float = 1.0,
    label: int = 0,
    crowd: bool = False,
) -> dict[str, Any]:
    corners = dict(zip(_CORNERS, map(float, box), strict=True))
    rest = {"score": float(score), "label": int(label), "iscrowd": bool(crowd)}
    return {"image_id": image_id, "what": what, "repeat": repeat, **corners, **rest}


def _image(rows: pd.DataFrame) -> ObservedImage:
    parts = dict(iter(rows.groupby("what")))
    whole = parts[IMAGE].iloc[0]
    none = rows.iloc[:0]
    true, perturbed = parts.get(TRUE, none), parts.get(PERTURBED, none)
    evidence = Evidence(
        whole["image_id"],
        (int(whole["y2"]), int(whole["x2"])),
        _detections(parts.get(CLEAN, none)),
        tuple(_detections(perturbed[perturbed["repeat"] == k]) for k in range(whole["repeat"])),
    )
    return ObservedImage(
        evidence,
        true[_CORNERS].to_numpy(np.float64),
        true["label"].to_numpy(np.int64),
        true["iscrowd"].to_numpy(bool),
    )


def _detections(rows: pd.DataFrame) -> Detections:
    return Detections(rows[_CORNERS].to_numpy(), rows["score"], rows["label"])
