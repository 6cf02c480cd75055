"""A labelled place as bytes, so that it can stand in a row of a table."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence

import numpy as np

from autoeval.data.labels.content import LabelledImage
from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions
from autoeval.errors import InputError
from autoeval.estimation.labels.places import LabelledPlace
from autoeval.estimation.labels.pool import Pool

COLUMNS = ("image", "label", "boxes", "scores")
TRUE = ("image", "label", "boxes", "crowd")


def pack_place(pool: Pool, truth: Truth) -> bytes:
    """Write a pool and its labels: about 70 bytes a box."""
    found = {f"found_{name}": getattr(pool.found, name) for name in COLUMNS}
    true = {f"true_{name}": getattr(truth, name) for name in TRUE}
    described = {
        "images": [(image.image_id, image.size) for image in pool.found.images],
        "categories": pool.found.categories,
        "names": pool.names,
    }
    text = np.frombuffer(json.dumps(described).encode(), np.uint8)
    buffer = io.BytesIO()
    features = pool.features.astype(np.float32)
    np.savez_compressed(buffer, described=text, features=features, **found, **true)
    return buffer.getvalue()


def unpack_place(content: bytes, name: str, family: str) -> LabelledPlace:
    """Read what `pack_place` wrote.

    Raises
    ------
    InputError
        If it is something else.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = dict(stored)
        described = json.loads(arrays["described"].tobytes())
        images = tuple(
            LabelledImage(image_id, image_id, tuple(size) if size else None)
            for image_id, size in described["images"]
        )
        categories = tuple(described["categories"])
        image, label, boxes, scores = _part(arrays, "found", COLUMNS)
        found = Predictions(images, categories, image, label, boxes, scores, {})
        image, label, boxes, crowd = _part(arrays, "true", TRUE)
        truth = Truth(images, categories, image, label, boxes, crowd)
        pool = Pool(found, arrays["features"].astype(np.float64), tuple(described["names"]))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"The boxes of source '{name}' cannot be read: {error}.") from error
    return LabelledPlace(name, family, pool, truth)


def _part(arrays: dict[str, np.ndarray], kind: str, names: Sequence[str]) -> list[np.ndarray]:
    return [arrays[f"{kind}_{name}"] for name in names]
