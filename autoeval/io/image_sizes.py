"""Sizes of images by the headers of their files, where nothing else has them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from autoeval.io.labels.content import LabelledImage


def image_folders(path: Path) -> list[Path]:
    """Return where the images of a COCO file may lie, the likeliest first.

    ``images`` beside the file, its own folder, ``data`` in it (FiftyOne), ``images`` one folder up,
    and for ``instances_SUBSET.json`` the folder ``SUBSET`` in these ``images`` (datumaro and CVAT)
    or beside them (COCO).
    """
    folder, root = path.parent, path.parent.parent
    subset = path.name.partition(".")[0].rpartition("_")[2]
    places = [folder / "images", folder, folder / "data", root / "images"]
    return [*places, root / "images" / subset, root / subset]


def with_sizes(
    images: Iterable[LabelledImage], folders: Sequence[Path]
) -> tuple[LabelledImage, ...]:
    """Add the sizes that are unknown, by the file of an image in the first folder that has it.

    Only headers are read. An image without a file, or with one that cannot be read, stays as it is.
    """
    return tuple(image if image.size else _sized(image, folders) for image in images)


def _sized(image: LabelledImage, folders: Sequence[Path]) -> LabelledImage:
    for folder in folders:
        file = folder / image.file_name
        if os.path.isfile(file):
            from autoeval.io.image_header import (
                image_size,  # readers of sized images need no Pillow
            )

            return replace(image, size=image_size(file))
    return image
