"""The hook for inpainting: anything that fills in a box of an image."""

from __future__ import annotations

import cv2
import numpy as np

from autoeval.counting.capture.queries import Inpainter
from autoeval.errors import InputError

_OPENCV = {"telea": cv2.INPAINT_TELEA, "navier-stokes": cv2.INPAINT_NS}
_REACH = 5  # pixels around the box that OpenCV looks at


def load_inpainter(name: str) -> Inpainter:
    """Return an inpainter.

    Parameters
    ----------
    name : str
        ``telea`` or ``navier-stokes`` for OpenCV's, which continue colours but no pattern and so
        show what the hook does; or ``package.module.function`` of one's own, called with the image
        (H, W, 3) uint8 BGR and the box (4,) xyxy, that returns the image without the box.

    Raises
    ------
    InputError
        If there is no such function.
    """
    if name in _OPENCV:
        return lambda image, box: _opencv(image, box, _OPENCV[name])
    from mmengine.utils import get_object_from_string

    try:
        found = get_object_from_string(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"No inpainter '{name}' ({error}): expected {', '.join(_OPENCV)} or "
            "package.module.function."
        ) from None
    if not callable(found):
        raise InputError(f"'{name}' cannot be called: expected a function of image and box.")
    return found


def _opencv(image: np.ndarray, box: np.ndarray, method: int) -> np.ndarray:
    x0, y0, x1, y1 = box
    mask = np.zeros(image.shape[:2], np.uint8)
    mask[y0:y1, x0:x1] = 1
    return cv2.inpaint(image, mask, _REACH, method)
