"""Pictures for tests."""

import cv2
import numpy as np


def picture(height: int = 40, width: int = 60, seed: int = 0) -> np.ndarray:
    """Smooth colours, so that JPEG keeps them well."""
    rough = np.random.default_rng(seed).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    return cv2.resize(rough, (width, height), interpolation=cv2.INTER_CUBIC)
