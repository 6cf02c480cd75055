"""Reading images as mmdet does, and saying clearly which file cannot be read and why."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np

from autoeval.errors import InputError
from autoeval.io.image_header import TooLargeError, foreign_format, read_header
from autoeval.io.wording import printable
from autoeval.runtime.files import PathLike

LIMIT_VARIABLE = "AUTOEVAL_MAX_MEGAPIXELS"
MAX_MEGAPIXELS = 100.0
# Cameras store 10 to 14 bits in 16; a picture that uses all 16 has something brighter than 1/4.
_MOST_BITS_OF_DARK = 14
_JPEG_START, _JPEG_SCAN, _JPEG_END = b"\xff\xd8", 0xDA, b"\xff\xd9"


class UnreadableImageError(InputError):
    """One image that cannot be used; `reason` ends a sentence that starts with the path."""

    def __init__(self, path: PathLike, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = Path(path), reason

    def __str__(self) -> str:
        return f"{printable(self.path)}: {self.reason}"


def read_image(path: PathLike, *, max_megapixels: float | None = None) -> np.ndarray:
    """Decode an image file of any format that OpenCV reads, to (H, W, 3), uint8, BGR.

    The same call as mmdet's default loader: OpenCV, three channels, the EXIF orientation obeyed, so
    a photograph taken upright comes out upright and its pixels are the ones mmdet would see. Images
    larger than `max_megapixels` are refused before they are decoded, which takes three bytes a
    pixel and more; by default it is the environment variable ``AUTOEVAL_MAX_MEGAPIXELS``, else 100.
    Raises `UnreadableImageError` if the file is missing, empty, cut short, no image or too large,
    or stores 14 bits or fewer in 16, which come out nearly black, and `InputError` if the
    environment variable is no positive number.
    """
    return _image(path, _content(path, _limit(max_megapixels)))


def _content(path: PathLike, limit: float) -> bytes:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path):
            raise UnreadableImageError(path, "is no ordinary file")
        content = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise UnreadableImageError(path, "no such file") from error
    except IsADirectoryError as error:
        raise UnreadableImageError(path, "is a folder, not a file") from error
    except OSError as error:
        raise UnreadableImageError(path, f"cannot be opened ({error.strerror})") from error
    if not content:
        raise UnreadableImageError(path, "the file is empty (0 bytes)")
    # Some decoders fill the missing part of a JPEG with grey and report success.
    if content.startswith(_JPEG_START) and not _jpeg_is_whole(content):
        raise UnreadableImageError(path, "the JPEG is cut short: its end marker is missing")
    try:
        header = read_header(content)
        megapixels = 1e-6 * header.height * header.width if header else 0.0
    except TooLargeError as error:
        megapixels = 1e-6 * error.n_pixels
    if megapixels > limit:
        raise UnreadableImageError(
            path,
            f"{megapixels:.3g} megapixels, more than the limit of {limit:g}; {LIMIT_VARIABLE}=N "
            "sets another, at 3 MB of memory for each megapixel",
        )
    return content


def _image(path: PathLike, content: bytes) -> np.ndarray:
    import cv2

    image = _decode(content, cv2.IMREAD_COLOR | cv2.IMREAD_ANYDEPTH)
    if image is not None and image.dtype == np.uint16:
        bits = int(image.max()).bit_length()
        if 0 < bits <= _MOST_BITS_OF_DARK:
            reason = f"stores {bits} bits in 16 and would be read nearly black: convert it to 8"
            raise UnreadableImageError(path, reason)
    if image is not None and image.dtype != np.uint8:
        image = _decode(content, cv2.IMREAD_COLOR)
    if image is None:
        name = foreign_format(content)
        raise UnreadableImageError(
            path,
            f"is {name}, which this OpenCV cannot read, or is damaged: convert it to PNG"
            if name
            else "not an image, or one that is cut short or damaged",
        )
    return image


def _decode(content: bytes, flags: int) -> np.ndarray | None:
    import cv2

    try:
        return cv2.imdecode(np.frombuffer(content, np.uint8), flags)
    except cv2.error:
        return None


def _limit(given: float | None) -> float:
    text = os.environ.get(LIMIT_VARIABLE) or MAX_MEGAPIXELS
    try:
        limit = float(text if given is None else given)
    except ValueError:
        limit = 0.0
    if not limit > 0:
        raise InputError(f"Expected {LIMIT_VARIABLE} to be a positive number but got {text!r}.")
    return limit


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
