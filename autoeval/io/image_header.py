"""What an image file says about it before its pixels are decoded: size, format, time."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from PIL import Image, UnidentifiedImageError

from autoeval.runtime.files import PathLike

_ORIENTATION, _ON_THEIR_SIDE = 0x0112, (5, 6, 7, 8)
# Formats whose EXIF orientation Pillow leaves to us and OpenCV obeys.
_TURNED = ("JPEG", "PNG", "WEBP")
_FOREIGN = {
    b"ftypavif": "AVIF",
    b"ftypavis": "AVIF",
    b"ftyphei": "HEIC",
    b"ftypmif1": "HEIC",
    b"jP  \r\n\x87\n": "JPEG 2000",
    b"JXL \r\n\x87\n": "JPEG XL",
}
# Formats that OpenCV decodes and Pillow does not know: how their content begins, with the size.
_OF_OPENCV = (
    re.compile(rb"#\?[^\n]*\n(?:[^\n]*\n)*?\n[-+]Y (?P<height>\d+) [-+]X (?P<width>\d+)\n"),  # .hdr
    re.compile(rb"P7\n(?:[^\n]*\n)*?WIDTH (?P<width>\d+)\nHEIGHT (?P<height>\d+)\n"),  # .pam
    re.compile(rb"P[Ff]\n(?P<width>\d+)\s(?P<height>\d+)\n"),  # .pfm
)
_HEADER_BYTES = 4096  # of these formats, in which the size stands
_IN_CAMERA, _TAKEN, _CHANGED = 0x8769, 0x9003, 0x0132
_FORM = "%Y:%m:%d %H:%M:%S"


@dataclass(frozen=True)
class ImageHeader:
    """Height and width in pixels, turned by the EXIF orientation, as `read_image` gives them."""

    height: int
    width: int
    turned: bool


class TooLargeError(ValueError):
    """More pixels, as far as Pillow says, than it agrees to look at (`MAX_IMAGE_PIXELS`, twice)."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        sizes = [int(number) for number in re.findall(r"(\d+) pixels", message)]
        self.n_pixels = max([2 * (Image.MAX_IMAGE_PIXELS or 0), *sizes])


def read_header(source: PathLike | bytes) -> ImageHeader | None:
    """Read the size of an image, a file or its content, without decoding it.

    It is None where there is no file or Pillow does not know the format. Raises `TooLargeError`.
    """
    try:
        if isinstance(source, bytes):
            return _header(io.BytesIO(source))
        with Path(source).open("rb") as stream:
            return _header(stream)
    except Image.DecompressionBombError as error:
        raise TooLargeError(str(error)) from error
    except UnidentifiedImageError:
        return _other_header(source)
    except (OSError, SyntaxError, ValueError):
        return None


def _other_header(source: PathLike | bytes) -> ImageHeader | None:
    """Read the size of a format that Pillow does not know."""
    if isinstance(source, bytes):
        start = source[:_HEADER_BYTES]
    else:
        with Path(source).open("rb") as stream:
            start = stream.read(_HEADER_BYTES)
    for form in _OF_OPENCV:
        if found := form.match(start):
            return ImageHeader(int(found["height"]), int(found["width"]), turned=False)
    return None


def image_size(path: PathLike) -> tuple[int, int] | None:
    """Return height and width as `read_image` gives them; None where they cannot be read."""
    try:
        header = read_header(path)
    except TooLargeError:
        return None
    return (header.height, header.width) if header else None


def foreign_format(content: bytes) -> str:
    """Name a format that not every build of OpenCV reads; empty for any other."""
    start = content[4:12]
    return next((name for mark, name in _FOREIGN.items() if start.startswith(mark)), "")


def _open(source: PathLike | BinaryIO) -> Any:
    """Open an image by Pillow itself.

    Ultralytics, once imported, puts a function in the place of `Image.open` that installs a package
    for each file that is no image, and raises `ModuleNotFoundError` where it cannot.
    """
    patches = sys.modules.get("ultralytics.utils.patches")
    return getattr(patches, "_image_open", Image.open)(source)


def _header(stream: BinaryIO) -> ImageHeader:
    with _open(stream) as image:
        width, height = image.size
        orientation = image.getexif().get(_ORIENTATION) if image.format in _TURNED else 1
        turned = orientation in _ON_THEIR_SIDE
        return ImageHeader(*((width, height) if turned else (height, width)), turned)


def exif_time(path: PathLike) -> datetime | None:
    """Return the time in the EXIF of an image: when it was taken, else when it was written.

    It is by the camera's own clock, without a time zone; None where there is no EXIF, no time in
    it, or nothing that can be read.
    """
    try:
        with _open(path) as image:
            exif = image.getexif()
            taken = exif.get_ifd(_IN_CAMERA).get(_TAKEN) or exif.get(_CHANGED)
    except (OSError, UnidentifiedImageError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None
    try:
        return datetime.strptime(str(taken).strip("\0 "), _FORM)
    except ValueError:
        return None
