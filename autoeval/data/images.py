"""Reading images as mmdet does, and saying clearly which file cannot be read and why."""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np

from autoeval.errors import InputError

_JPEG_START, _JPEG_SCAN, _JPEG_END = b"\xff\xd8", 0xDA, b"\xff\xd9"


class UnreadableImageError(InputError):
    """One image that cannot be used.

    Parameters
    ----------
    path : path-like
        The file.
    reason : str
        What is wrong with it, as the end of a sentence that starts with the path.
    """

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = Path(path), reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def read_image(path: str | os.PathLike[str]) -> np.ndarray:
    """Decode an image file.

    The same call as mmdet's default loader: OpenCV, three channels, the EXIF orientation obeyed, so
    a photograph taken upright comes out upright and its pixels are the ones mmdet would see.

    Parameters
    ----------
    path : path-like
        Any format OpenCV reads.

    Returns
    -------
    ndarray of shape (H, W, 3), uint8
        Channels in the order blue, green, red.

    Raises
    ------
    UnreadableImageError
        If the file is missing, empty, cut short or no image.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UnreadableImageError(path, _why(error)) from error
    if not content:
        raise UnreadableImageError(path, "the file is empty (0 bytes)")
    # Some decoders fill the missing part of a JPEG with grey and report success.
    if content.startswith(_JPEG_START) and not _jpeg_is_whole(content):
        raise UnreadableImageError(path, "the JPEG is cut short: its end marker is missing")
    image = _decode(content)
    if image is None:
        raise UnreadableImageError(path, "not an image, or one that is cut short or damaged")
    return image


def _decode(content: bytes) -> np.ndarray | None:
    try:
        return cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        return None


def _jpeg_is_whole(content: bytes) -> bool:
    """Look for the end marker behind the start of the scan (an EXIF thumbnail has its own)."""
    position = 2
    while position + 4 <= len(content) and content[position] == 0xFF:
        marker = content[position + 1]
        if marker == _JPEG_SCAN:
            return content.find(_JPEG_END, position) >= 0
        if marker == 0xFF:  # fill byte before a marker
            position += 1
            continue
        position += 2 + int.from_bytes(content[position + 2 : position + 4], "big")
    return False


def _why(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, IsADirectoryError):
        return "is a folder, not a file"
    return f"cannot be opened ({error.strerror})"
