"""Labelled sets as bytes."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np

from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.sites.file_looks import Looks
from autoeval.sites.site import Site

FOUND = ("image", "label", "boxes", "scores")
LABELLED = ("image", "label", "boxes", "crowd")


def pack_set(found: Boxes, truth: Boxes) -> bytes:
    """Write boxes and their labels as bytes, so that they fit a row of a table."""
    boxes = {f"found_{name}": getattr(found, name) for name in FOUND}
    true = {f"true_{name}": getattr(truth, name) for name in LABELLED}
    described = {
        "images": [(image.image_id, image.size) for image in found.images],
        "categories": found.categories,
    }
    text = np.frombuffer(json.dumps(described).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, described=text, **boxes, **true)
    return buffer.getvalue()


def unpack_set(content: bytes, name: str, group: str) -> Site:
    """Read what `pack_set` wrote; InputError if it is something else."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = dict(stored)
        described = json.loads(arrays["described"].tobytes())
        images = tuple(
            LabelledImage(image_id, image_id, tuple(size) if size else None)
            for image_id, size in described["images"]
        )
        categories = tuple(described["categories"])
        image, label, boxes, scores = (arrays[f"found_{column}"] for column in FOUND)
        detected = Boxes(images, categories, image, label, boxes, scores)
        image, label, boxes, crowd = (arrays[f"true_{column}"] for column in LABELLED)
        truth = Boxes(images, categories, image, label, boxes, crowd=crowd)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"The boxes of source '{name}' cannot be read: {error}.") from error
    return Site(
        detected,
        truth=truth,
        statistics=Looks.of(detected),
        name=name,
        group=group,
        everywhere=True,
    )
