"""Images with boxes drawn on them, small enough for a page; needs OpenCV."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence

import numpy as np

from autoeval.boxes import Boxes
from autoeval.detections import Detections
from autoeval.io.find_images import UnlabelledImage
from autoeval.io.images import UnreadableImageError

CLEAN = (255, 140, 30)  # BGR: blue
PERTURBED = (0, 140, 255)  # BGR: orange
SIDE = 360  # pixels of the longer side
STRONG = 0.3  # boxes with a lower score are drawn fainter
SHOWN = 6  # images of each kind, so that a page has at most twelve
GRAY = np.full((270, 360, 3), 128, np.uint8)
Pictures = list[tuple[np.ndarray, str]]
"""Images (H, W, 3) uint8 BGR with captions."""


def draw_boxes(
    image: np.ndarray, clean: Detections, perturbed: Sequence[Detections], *, side: int = SIDE
) -> np.ndarray:
    """Shrink an image and draw both sets of boxes; those under a score of .3 are drawn fainter.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8, BGR
        Not changed.
    clean : Detections
        Blue; xyxy, in pixels of the image.
    perturbed : sequence of Detections
        Orange.
    side : int
        Pixels of the longer side of the result, at most.
    """
    import cv2

    scale = min(1.0, side / max(image.shape[:2]))
    size = [max(1, round(length * scale)) for length in image.shape[1::-1]]
    canvas = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    drawn = [(clean, CLEAN, 2), *((boxes, PERTURBED, 1) for boxes in perturbed)]
    for faint in (True, False):
        layer = canvas.copy()
        for boxes, color, width in drawn:
            chosen = boxes[(boxes.scores < STRONG) == faint]
            for x1, y1, x2, y2 in np.rint(chosen.boxes * scale).astype(int).tolist():
                cv2.rectangle(layer, (x1, y1), (x2, y2), color, width)
        canvas = cv2.addWeighted(layer, 0.4, canvas, 0.6, 0) if faint else layer
    return canvas


def pictures_of(boxes: Boxes, images: Sequence[UnlabelledImage], names: Iterable[str]) -> Pictures:
    """Return images with their boxes.

    Parameters
    ----------
    boxes : Boxes
        Detected boxes.
    images : sequence of UnlabelledImage
        Images that are at hand.
    names : iterable of str
        Ids of those to draw; others than `images` are left out.

    Returns
    -------
    list of (ndarray, str)
        In the order of `names`, with the name as caption; empty without OpenCV.
    """
    if not images or not has_opencv():
        return []
    files = {image.image_id: image for image in images}
    at = {image.image_id: k for k, image in enumerate(boxes.images)}
    available = [name for name in names if name in files]
    return [picture_of(files[name], boxes.detections(at[name]), (), name) for name in available]


def has_opencv() -> bool:
    """Return whether images can be decoded: estimates from prediction files need no OpenCV."""
    try:
        import cv2  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def picture_of(
    file: UnlabelledImage, clean: Detections, perturbed: tuple[Detections, ...], caption: str
) -> tuple[np.ndarray, str]:
    """Draw an image with its boxes; grey, with the reason, where it can no longer be read.

    Parameters
    ----------
    file : UnlabelledImage
        The image.
    clean : Detections
        See `draw_boxes`.
    perturbed : tuple of Detections
        See `draw_boxes`.
    caption : str
        Below the picture.
    """
    try:
        return draw_boxes(file.read(), clean, perturbed), caption
    except UnreadableImageError as error:
        return GRAY, f"{caption}; no longer readable: {error}"


def thumbnail_uri(image: np.ndarray, side: int = 320) -> str:
    """Shrink an image and encode it as a data URI of a JPEG.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8, BGR
        Not changed.
    side : int
        Pixels of the longer side, at most.
    """
    import cv2

    if max(image.shape[:2]) > side:
        image = cv2.resize(image, thumbnail_size(image, side), interpolation=cv2.INTER_AREA)
    encoded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 85])[1]
    return f"data:image/jpeg;base64,{base64.b64encode(encoded.tobytes()).decode('ascii')}"


def thumbnail_size(image: np.ndarray, side: int) -> tuple[int, int]:
    """Return width and height, in pixels, of an image that is shrunk.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3)
        Of which the shape is read.
    side : int
        Pixels of the longer side, at most.
    """
    height, width = image.shape[:2]
    scale = min(1.0, side / max(height, width))
    return max(1, round(width * scale)), max(1, round(height * scale))
