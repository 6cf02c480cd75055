"""Images without labels, however they are handed over: files, or arrays in memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from autoeval.data.find_images import find_images
from autoeval.data.image_folder import ImageFile
from autoeval.errors import InputError


class UnlabelledImage(Protocol):
    """An image that is decoded when asked for."""

    @property
    def image_id(self) -> str:
        """Its name within its set, from which dropout masks derive."""
        ...

    def read(self) -> np.ndarray:
        """Return (H, W, 3), uint8, BGR, or raise `UnreadableImageError`."""
        ...


@dataclass(frozen=True, eq=False)
class ImageArray:
    """An image that is decoded already.

    Parameters
    ----------
    image_id : str
        Its name within its set.
    pixels : ndarray of shape (H, W, 3), uint8, BGR
    """

    image_id: str
    pixels: np.ndarray

    def read(self) -> np.ndarray:
        """Return the pixels."""
        return self.pixels


Images = str | os.PathLike[str] | Sequence[str | os.PathLike[str] | np.ndarray | UnlabelledImage]


def list_images(images: Images) -> tuple[UnlabelledImage, ...]:
    """List images that are given in any of several ways.

    Parameters
    ----------
    images : path-like or sequence
        What `find_images` takes, such as a folder; or a sequence of paths of files, of arrays of
        shape (H, W, 3), uint8, BGR, or of images that know their names, such as `ImageFile` and
        the frames of a film (``find_images("film.mp4", every="2s").images``).

    Returns
    -------
    tuple of UnlabelledImage
        Paths are named relative to the deepest folder that holds them all, as those of a folder
        are; arrays are named by their positions.

    Raises
    ------
    InputError
        If there is no image, one is of another kind, or kinds are mixed.

    Warns
    -----
    UserWarning
        Naming what was passed over in a folder.

    Examples
    --------
    >>> [image.image_id for image in list_images(["site/a/1.jpg", "site/b/1.jpg"])]
    ['a/1.jpg', 'b/1.jpg']
    """
    if isinstance(images, str | os.PathLike):
        found = find_images(images)
        for passed_over in found.skipped:
            warnings.warn(passed_over, stacklevel=3)
        return found.images
    items: list[Any] = list(images) if isinstance(images, Iterable) else [images]
    if not items:
        raise InputError("Expected at least one image but got an empty sequence.")
    if all(isinstance(item, str | os.PathLike) for item in items):
        return _named_files(items)
    if all(isinstance(item, np.ndarray) for item in items):
        return tuple(ImageArray(str(k), _checked(item, k)) for k, item in enumerate(items))
    if all(hasattr(item, "image_id") and hasattr(item, "read") for item in items):
        return tuple(items)
    kinds = ", ".join(sorted({type(item).__name__ for item in items}))
    raise InputError(
        "Expected images as a folder, a COCO JSON file, a sequence of paths, or a sequence of "
        f"arrays (H, W, 3) uint8 BGR, but got a sequence of {kinds}."
    )


def _named_files(paths: Sequence[str | os.PathLike[str]]) -> tuple[ImageFile, ...]:
    whole = [Path(os.path.abspath(path)) for path in paths]
    root = os.path.commonpath([path.parent for path in whole])
    return tuple(
        ImageFile(path.relative_to(root).as_posix(), Path(given))
        for path, given in zip(whole, paths, strict=True)
    )


def _checked(image: np.ndarray, position: int) -> np.ndarray:
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        raise InputError(
            f"Expected images as arrays (H, W, 3) uint8 BGR, as `read_image` gives them, but "
            f"image {position} is {image.shape} {image.dtype}."
        )
    return image
