"""Pictures as data URIs, and sheets of pictures."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

MEDIA_TYPES = {"svg": "image/svg+xml", "png": "image/png"}
COLUMNS = 4


def figure_uri(figure: Figure, image_format: str = "svg") -> str:
    """Draw a matplotlib figure into a data URI of an SVG or PNG picture.

    Equal figures give equal text: no date is stored, and the ids within an SVG are fixed. Raises
    `KeyError` if the format is neither.
    """
    media_type = MEDIA_TYPES[image_format]
    buffer = io.BytesIO()
    metadata = {"Date": None} if image_format == "svg" else None
    with mpl.rc_context({"svg.hashsalt": "autoeval"}):
        figure.savefig(buffer, format=image_format, dpi=150, metadata=metadata, bbox_inches="tight")
    return _data_uri(media_type, buffer.getvalue())


def thumbnail_uri(image: np.ndarray, side: int = 320) -> str:
    """Shrink an image (H, W, 3) uint8 BGR to at most ``side`` pixels and encode it as a JPEG."""
    import cv2

    if max(image.shape[:2]) > side:
        image = cv2.resize(image, thumbnail_size(image, side), interpolation=cv2.INTER_AREA)
    encoded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 85])[1]
    return _data_uri("image/jpeg", encoded.tobytes())


def thumbnail_size(image: np.ndarray, side: int = 320) -> tuple[int, int]:
    """Return width and height of an image that is shrunk to at most ``side`` pixels."""
    scale = min(1.0, side / max(image.shape[:2]))
    height, width = (max(1, round(length * scale)) for length in image.shape[:2])
    return width, height


def _data_uri(media_type: str, content: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode('ascii')}"


def picture_rows(pictures: Sequence[tuple[np.ndarray, str]], title: str) -> Figure:
    """Lay pictures (H, W, 3), uint8, BGR with captions out in rows of four."""
    rows = math.ceil(len(pictures) / COLUMNS)
    figure = Figure(figsize=(3.2 * COLUMNS, 2.7 * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for ax in axes:
        ax.axis("off")
    for ax, (picture, caption) in zip(axes, pictures, strict=False):
        ax.imshow(picture[..., ::-1])
        ax.set_title(caption, fontsize=7, parse_math=False, wrap=True)
    figure.suptitle(title, fontsize=9, parse_math=False)
    return figure
