"""Pictures and seed sets for tests."""

from pathlib import Path

import cv2
import numpy as np

from autoeval.metasets.seed_set import ImageRecord, SeedSet


def picture(height: int = 40, width: int = 60, seed: int = 0) -> np.ndarray:
    """Smooth colours, so that JPEG keeps them well."""
    rough = np.random.default_rng(seed).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    return cv2.resize(rough, (width, height), interpolation=cv2.INTER_CUBIC)


def textured(height: int = 40, width: int = 60, seed: int = 0) -> np.ndarray:
    """Colours that vary at every scale, from the picture's size down to a pixel."""
    rng = np.random.default_rng(seed)
    rough = [rng.normal(0, 25, (2**level + 1, 2**level + 1, 3)) for level in range(1, 8)]
    layers = [cv2.resize(r, (width, height), interpolation=cv2.INTER_CUBIC) for r in rough]
    return np.clip(120 + sum(layers), 0, 255).astype(np.uint8)


def seed_set(n_images: int = 300, name: str = "street", every: int | None = None) -> SeedSet:
    """Images that nobody reads, of which each `every`-th holds a box."""
    records = []
    for k in range(n_images):
        n = int(every is not None and k % every == 0)
        arrays = np.zeros((n, 4)), np.zeros(n, np.int64), np.zeros(n, bool)
        records.append(ImageRecord(str(k), Path(f"{k}.jpg"), 10, 10, *arrays))
    return SeedSet(name, ("vehicle",), tuple(records))
