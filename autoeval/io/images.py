"""Reading images as mmdet does, or their headers alone, and saying which cannot be read and why.

`read_image` decodes, `read_header` and `image_size` look at sizes, `exif_time` at the time of a
photograph. Everything that opens an image goes through here, so that sizes, orientation and pixels
agree.
"""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from PIL import Image, UnidentifiedImageError

from autoeval.errors import InputError
from autoeval.runtime.files import PathLike
from autoeval.words import printable

LIMIT_VARIABLE = "AUTOEVAL_MAX_MEGAPIXELS"
MAX_MEGAPIXELS = 100.0
NO_FILE = "no such file"
# Cameras store 10 to 14 bits in 16; a picture that uses all 16 has something brighter than 1/4.
_MOST_BITS_OF_DARK = 14
_JPEG_START = b"\xff\xd8"
_JPEG_SCAN = 0xDA
_JPEG_END = b"\xff\xd9"
_ORIENTATION = 0x0112
_ON_THEIR_SIDE = (5, 6, 7, 8)
# Formats whose EXIF orientation Pillow leaves to us and OpenCV obeys.
_TURNED = ("JPEG", "MPO", "PNG", "WEBP")
_FOREIGN = {  # that not every build of OpenCV reads
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
_IN_CAMERA = 0x8769
_TAKEN = 0x9003
_CHANGED = 0x0132
_FORM = "%Y:%m:%d %H:%M:%S"


class UnreadableImageError(InputError):
    """One image that cannot be used.

    Parameters
    ----------
    path : path-like
        Its file.
    reason : str
        Ends a sentence that starts with the path.
    """

    def __init__(self, path: PathLike, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = Path(path), reason

    def __str__(self) -> str:
        return f"{printable(self.path)}: {self.reason}"


def read_image(path: PathLike) -> np.ndarray:
    """Decode an image file of any format that OpenCV reads.

    The same call as mmdet's default loader: OpenCV, three channels, the EXIF orientation obeyed, so
    a photograph taken upright comes out upright and its pixels are the ones mmdet would see. Images
    of more megapixels than the environment variable ``AUTOEVAL_MAX_MEGAPIXELS`` has, else 100, are
    refused before they are decoded, which takes three bytes a pixel and more.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    ndarray of shape (H, W, 3), uint8
        BGR.

    Raises
    ------
    UnreadableImageError
        If the file is missing, empty, cut short, no image or too large, or stores 14 bits or fewer
        in 16, which come out nearly black.
    InputError
        If the environment variable is no positive number.
    """
    return _image(path, _content(path, _limit()))


def _content(path: PathLike, limit: float) -> bytes:
    """Read the bytes of a file, or raise `UnreadableImageError`; a limit is in megapixels."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path):
            raise UnreadableImageError(path, "is no ordinary file")
        content = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise UnreadableImageError(path, NO_FILE) from error
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
    """Decode the content of a file to 8 bits, or raise `UnreadableImageError`."""
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
        start = content[4:12]
        name = next((name for mark, name in _FOREIGN.items() if start.startswith(mark)), "")
        raise UnreadableImageError(
            path,
            f"is {name}, which this OpenCV cannot read, or is damaged: convert it to PNG"
            if name
            else "not an image, or one that is cut short or damaged",
        )
    return image


def _decode(content: bytes, flags: int) -> np.ndarray | None:
    """Decode as OpenCV does; None for what is no image."""
    import cv2

    try:
        return cv2.imdecode(np.frombuffer(content, np.uint8), flags)
    except cv2.error:
        return None


def _limit() -> float:
    """Return the most megapixels of an image: of the environment, or else `MAX_MEGAPIXELS`."""
    value = os.environ.get(LIMIT_VARIABLE) or MAX_MEGAPIXELS
    try:
        limit = float(value)
    except ValueError:
        limit = 0.0
    if not limit > 0:
        raise InputError(f"Expected {LIMIT_VARIABLE} to be a positive number but got {value!r}.")
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


@dataclass(frozen=True)
class ImageHeader:
    """Height and width in pixels, turned by the EXIF orientation, as `read_image` gives them.

    Parameters
    ----------
    height, width : int
        As shown.
    turned : bool
        Whether the orientation exchanges both.
    """

    height: int
    width: int
    turned: bool


class TooLargeError(ValueError):
    """More pixels than Pillow agrees to look at, twice `MAX_IMAGE_PIXELS`.

    Parameters
    ----------
    message : str
        Of Pillow, from which ``n_pixels`` is read.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        sizes = [int(number) for number in re.findall(r"(\d+) pixels", message)]
        self.n_pixels = max([2 * (Image.MAX_IMAGE_PIXELS or 0), *sizes])


def read_header(source: PathLike | bytes) -> ImageHeader | None:
    """Read the size of an image, a file or its content, without decoding it.

    Parameters
    ----------
    source : path-like or bytes
        The file, or what is in it.

    Returns
    -------
    ImageHeader or None
        None where there is no file, it is damaged, or neither Pillow nor `_OF_OPENCV` knows the
        format.

    Raises
    ------
    TooLargeError
        If it has more pixels than Pillow agrees to look at.
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
        if header := form.match(start):
            return ImageHeader(int(header["height"]), int(header["width"]), turned=False)
    return None


def image_size(path: PathLike) -> tuple[int, int] | None:
    """Return height and width as `read_image` gives them, from the header alone.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    (int, int) or None
        In pixels; None where they cannot be read, or are more than Pillow agrees to look at.
    """
    try:
        header = read_header(path)
    except TooLargeError:
        return None
    return (header.height, header.width) if header else None


def _open(source: PathLike | BinaryIO) -> Any:
    """Open an image by Pillow itself.

    Ultralytics, once imported, puts a function in the place of `Image.open` that installs a package
    for each file that is no image, and raises `ModuleNotFoundError` where it cannot.
    """
    patches = sys.modules.get("ultralytics.utils.patches")
    return getattr(patches, "_image_open", Image.open)(source)


def _header(stream: BinaryIO) -> ImageHeader:
    """Read the size of an image that Pillow knows."""
    with _open(stream) as image:
        width, height = image.size
        exif = Image.Exif()
        if image.format in _TURNED:
            image.getexif()  # reads on where it may stand behind the pixels, in a PNG
            exif.load(image.info.get("exif"))  # alone: Pillow takes XMP's, too, and OpenCV does not
        turned = exif.get(_ORIENTATION) in _ON_THEIR_SIDE
        return ImageHeader(*((width, height) if turned else (height, width)), turned)


def exif_time(path: PathLike) -> datetime | None:
    """Return the time in the EXIF of an image: when it was taken, else when it was written.

    It is by the camera's own clock, without a time zone; None where there is no EXIF, no time in
    it, or nothing that can be read.

    Parameters
    ----------
    path : path-like
        The file.
    """
    try:
        with _open(path) as image:
            exif = image.getexif()
            taken = exif.get_ifd(_IN_CAMERA).get(_TAKEN) or exif.get(_CHANGED)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None
    try:
        return datetime.strptime(str(taken).strip("\0 "), _FORM)
    except ValueError:
        return None
