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
    files = [(k, image.path) for k, image in enumerate(images) if isinstance(image, ImageFile)]
    copies = {files[n][0] for n in later_copies([path for _, path in files])}
    if not copies:
        return tuple(images), ()
    kept = tuple(image for k, image in enumerate(images) if k not in copies)
    lost = [images[k].image_id for k in sorted(copies)]
    told = f"{len(lost)} of {len(images)} images are copies of another, byte by byte, and were left"
    return kept, (f"{told} out: {listed(lost)}",)
