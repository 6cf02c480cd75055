"""The images of sites as they lie on disk, each with the site it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autoeval.data.file_stamp import file_stamp
from autoeval.data.image_folder import ImageFile

ROOT = "."


@dataclass(frozen=True)
class SiteImage:
    """An image file of a site.

    Parameters
    ----------
    file : ImageFile
    group : str
        The site; see `site_of`.
    stamp : str
        See `file_stamp`: another one means another image.
    """

    file: ImageFile
    group: str
    stamp: str


def site_of(name: str, depth: int | None = None) -> str:
    """Return the folder of a file, or its first ``depth`` folders; ``"."`` for the root.

    Examples
    --------
    >>> site_of("gate/2026/03/1.jpg"), site_of("gate/2026/03/1.jpg", 1), site_of("1.jpg")
    ('gate/2026/03', 'gate', '.')
    """
    folders = name.split("/")[:-1]
    return "/".join(folders[:depth]) or ROOT


def site_images(
    files: Iterable[ImageFile], *, depth: int | None = None
) -> tuple[list[SiteImage], list[str]]:
    """Look at the files of all sites; none is opened.

    Returns
    -------
    images : list of SiteImage
    vanished : list of str
        Names of the files that are no longer there.
    """
    images, vanished = [], []
    for file in files:
        try:
            stamp = file_stamp(file.path)
        except OSError:
            vanished.append(file.image_id)
            continue
        images.append(SiteImage(file, site_of(file.image_id, depth), stamp))
    return images, vanished


def unseen(images: Sequence[SiteImage], seen: Iterable[tuple[str, str]]) -> list[SiteImage]:
    """Return the images whose name and stamp are not among those ``seen``."""
    known = set(seen)
    return [image for image in images if (image.file.image_id, image.stamp) not in known]
