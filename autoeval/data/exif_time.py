"""When a photograph was taken, by what the camera wrote into it."""

from __future__ import annotations

import os
from datetime import datetime

from PIL import Image, UnidentifiedImageError

_IN_CAMERA, _TAKEN, _CHANGED = 0x8769, 0x9003, 0x0132
_FORM = "%Y:%m:%d %H:%M:%S"


def exif_time(path: str | os.PathLike[str]) -> datetime | None:
    """Return the time in the EXIF of an image: when it was taken, else when it was written.

    Returns
    -------
    datetime or None
        By the camera's own clock, without a time zone. None where there is no EXIF, no time in it,
        or nothing that can be read.
    """
    try:
        with Image.open(path) as image:
            exif = image.getexif()
            told = exif.get_ifd(_IN_CAMERA).get(_TAKEN) or exif.get(_CHANGED)
    except (OSError, UnidentifiedImageError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None
    try:
        return datetime.strptime(str(told).strip("\0 "), _FORM)
    except ValueError:
        return None
