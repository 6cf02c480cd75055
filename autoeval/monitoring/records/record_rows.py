"""Records as rows of a table: arrays of boxes become bytes, signals columns of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from autoeval.detections import Detections
from autoeval.monitoring.records.record import CameraImage

SIGNAL = "signal/"
PASSES = ("clean", "half_size")
TYPES = {"boxes": "<f4", "scores": "<f4", "labels": "<i4"}


def row_of(record: CameraImage) -> dict[str, Any]:
    """Return a record as plain values; see `record_of`."""
    boxes = {
        f"{name}/{part}": _packed(getattr(record, name), part) for name in PASSES for part in TYPES
    }
    return {
        "file_name": record.file_name,
        "group": record.group,
        "taken": np.datetime64(record.taken or "NaT", "us"),
        "height": record.size[0],
        "width": record.size[1],
        **boxes,
        **{f"{SIGNAL}{name}": float(value) for name, value in record.signals.items()},
    }


def record_of(row: Mapping[str, Any]) -> CameraImage:
    """Read what `row_of` wrote.

    Examples
    --------
    >>> one = Detections(np.array([[0., 1., 2., 3.]]), np.array([.5]), np.array([0]))
    >>> record = record_of(row_of(CameraImage("a/1.jpg", (4, 6), None, "a", one)))
    >>> record.clean.boxes, record.half_size, record.size
    (array([[0., 1., 2., 3.]], dtype=float32), None, (4, 6))
    """
    clean, half_size = (_unpacked(row, name) for name in PASSES)
    assert clean is not None
    return CameraImage(
        row["file_name"],
        (int(row["height"]), int(row["width"])),
        None if pd.isna(row["taken"]) else pd.Timestamp(row["taken"]).to_pydatetime(),
        row["group"],
        clean,
        half_size,
        {
            name.removeprefix(SIGNAL): float(value)
            for name, value in row.items()
            if name.startswith(SIGNAL) and not pd.isna(value)
        },
    )


def _packed(found: Detections | None, part: str) -> bytes | None:
    return None if found is None else getattr(found, part).astype(TYPES[part]).tobytes()


def _unpacked(row: Mapping[str, Any], name: str) -> Detections | None:
    packed = {part: row[f"{name}/{part}"] for part in TYPES}
    if packed["scores"] is None:
        return None
    arrays = {part: np.frombuffer(packed[part], kind) for part, kind in TYPES.items()}
    return Detections(arrays["boxes"].reshape(-1, 4), arrays["scores"], arrays["labels"])
