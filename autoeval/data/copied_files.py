"""Unlabelled images that are given more than once."""

from __future__ import annotations

from collections.abc import Sequence

from autoeval.data.image_folder import ImageFile
from autoeval.data.same_files import later_copies
from autoeval.data.unlabelled import UnlabelledImage
from autoeval.data.wording import listed


def without_copies(
    images: Sequence[UnlabelledImage],
) -> tuple[tuple[UnlabelledImage, ...], tuple[str, ...]]:
    """Leave out files that are byte by byte an earlier one: a copy tells nothing of a place.

    Parameters
    ----------
    images : sequence of UnlabelledImage
        Frames of films and arrays are all kept.

    Returns
    -------
    kept : tuple of UnlabelledImage
    doubts : tuple of str
        Which files were left out, in one sentence, if any.
    """
    copies = _copies(images)
    kept = tuple(image for k, image in enumerate(images) if k not in copies)
    return kept, tuple(f"{told}, and were left out" for told in _told(images, copies))


def copies_taken(images: Sequence[UnlabelledImage]) -> tuple[str, ...]:
    """Doubt an estimate that counts files which are byte by byte an earlier one; see above."""
    told = _told(images, _copies(images))
    return tuple(f"{t}, and count as images of their own: leave them out" for t in told)


def _copies(images: Sequence[UnlabelledImage]) -> list[int]:
    files = [(k, image.path) for k, image in enumerate(images) if isinstance(image, ImageFile)]
    return [files[n][0] for n in later_copies([path for _, path in files])]


def _told(images: Sequence[UnlabelledImage], copies: Sequence[int]) -> list[str]:
    names = listed([images[k].image_id for k in copies])
    told = f"{len(copies)} of {len(images)} images are copies of another, byte by byte ({names})"
    return [told] if copies else []
