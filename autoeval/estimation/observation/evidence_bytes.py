"""The evidence of some images as bytes, so that it can stand in a row of a table."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autoeval.detections import Candidates, Detections, Evidence

SEVERAL = ("perturbed", "views")  # as many sets of boxes as there were passes
BOXES = ("clean", "half_size", "teacher", "candidates", *SEVERAL)
ARRAYS = ("logits", "features")
COLUMNS = ("boxes", "scores", "labels")
Stored = Mapping[str, np.ndarray]


def pack_evidence(evidence: Sequence[Evidence]) -> bytes:
    """Write evidence, in the order of images; `unpack_evidence` gives it back to the last bit."""
    described = json.dumps([(e.image_id, e.image_size, dict(e.missing)) for e in evidence])
    arrays: dict[str, Any] = {"described": np.frombuffer(described.encode(), np.uint8)}
    for name in (*BOXES, *ARRAYS):
        values = [getattr(e, name) for e in evidence]
        each = [v if name in SEVERAL else () if v is None else (v,) for v in values]
        arrays[f"{name}_count"] = np.array([len(of_image) for of_image in each])
        flat = [one for of_image in each for one in of_image]
        for column in _columns(name):
            arrays |= _joined(f"{name}_{column}", [getattr(one, column) for one in flat])
        if name in ARRAYS:
            arrays |= _joined(name, flat)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def unpack_evidence(content: bytes) -> list[Evidence]:
    """Read what `pack_evidence` wrote."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        stored = dict(file)
    fields = {name: _of_images(stored, name, _sets(stored, name)) for name in BOXES}
    fields |= {name: _of_images(stored, name, _split(stored, name)) for name in ARRAYS}
    return [
        Evidence(image_id, tuple(size), missing=missing, **{n: next(f) for n, f in fields.items()})
        for image_id, size, missing in json.loads(stored["described"].tobytes())
    ]


def _columns(name: str) -> tuple[str, ...]:
    if name in ARRAYS:
        return ()
    return (*COLUMNS, "kept") if name == "candidates" else COLUMNS


def _joined(name: str, parts: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    joined = np.concatenate([part.ravel() for part in parts]) if parts else np.zeros(0)
    return {name: joined, f"{name}_shape": np.array([part.shape for part in parts], int)}


def _split(stored: Stored, name: str) -> Iterator[np.ndarray]:
    start = 0
    for shape in stored[f"{name}_shape"]:
        end = start + int(np.prod(shape))
        yield stored[name][start:end].reshape(shape)
        start = end


def _sets(stored: Stored, name: str) -> Iterator[Detections]:
    columns = _columns(name)
    kind = Candidates if name == "candidates" else Detections
    for parts in zip(*(_split(stored, f"{name}_{c}") for c in columns), strict=True):
        yield kind(**dict(zip(columns, parts, strict=True)))


def _of_images(stored: Stored, name: str, flat: Iterator[Any]) -> Iterator[Any]:
    for count in stored[f"{name}_count"]:
        of_image = tuple(next(flat) for _ in range(count))
        yield of_image if name in SEVERAL else next(iter(of_image), None)
