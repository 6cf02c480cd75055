"""A split on disk: a folder with ``original/``, ``occluded/``, ``metadata.json``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from autoeval.counting.capture.records import METADATA, CaptureItem, read_items
from autoeval.counting.capture.render import contact_sheet
from autoeval.counting.capture.synthetic import SyntheticSpec, make_records, render_pair
from autoeval.data.images import read_image
from autoeval.errors import InputError
from autoeval.runtime.files import atomic_path, write_text
from autoeval.runtime.progress import progress_bar

ORIGINAL, OCCLUDED, INPAINTED = "original", "occluded", "inpainted"


@dataclass(frozen=True, eq=False)
class CaptureSplit:
    """The items of a split and where their images are."""

    folder: Path
    items: tuple[CaptureItem, ...]

    def first(self, n: int | None) -> CaptureSplit:
        """Return the split of the first `n` items, all where it is None."""
        return CaptureSplit(self.folder, self.items[:n])

    def image_path(self, item: CaptureItem, variant: str) -> Path:
        """Return where the ``original`` or ``occluded`` image of an item lies."""
        return self.folder / variant / item.image_file

    def read_image(self, item: CaptureItem, variant: str) -> np.ndarray:
        """Read an image (H, W, 3), uint8, BGR.

        Raises
        ------
        UnreadableImageError
            If the file is missing or is no image.
        """
        return read_image(self.image_path(item, variant))


def open_split(folder: str | os.PathLike[str]) -> CaptureSplit:
    """Open a folder that `write_synthetic` or `real.build_real` made.

    Raises
    ------
    InputError
        If the folder lacks its metadata, or the metadata is broken.
    """
    return CaptureSplit(Path(folder), tuple(read_items(Path(folder))))


def write_synthetic(spec: SyntheticSpec, folder: str | os.PathLike[str]) -> CaptureSplit:
    """Write both images of every configuration, then the metadata."""
    records = list(make_records(spec))
    if not records:
        raise InputError("None of these patterns can be made of any of these numbers of objects.")
    with progress_bar(len(records), "Drawing", unit="pair") as bar:
        for record in records:
            _write_pair(folder, record["image_file"], *render_pair(record))
            bar.update()
    write_metadata(folder, records)
    return open_split(folder)


def _write_pair(
    folder: str | os.PathLike[str], name: str, original: np.ndarray, occluded: np.ndarray
) -> None:
    """Write both images of an item."""
    for variant, image in ((ORIGINAL, original), (OCCLUDED, occluded)):
        write_image(Path(folder) / variant / name, image)


def write_metadata(folder: str | os.PathLike[str], records: Iterable[Mapping[str, Any]]) -> None:
    """Write the metadata of a split, one record a line."""
    lines = ",\n".join(json.dumps(record) for record in records)
    write_text(Path(folder) / METADATA, f"[\n{lines}\n]\n")


def write_contact_sheet(
    split: CaptureSplit, path: str | os.PathLike[str], *, pairs: int = 40
) -> None:
    """Draw ``pairs`` items, spread evenly over the split, into one image."""
    chosen = np.unique(np.linspace(0, len(split.items) - 1, pairs).round().astype(int))
    items = [split.items[k] for k in chosen]
    tiles = [
        (item.image_file, split.read_image(item, ORIGINAL), split.read_image(item, OCCLUDED))
        for item in items
    ]
    write_image(path, contact_sheet(tiles))


def write_image(path: str | os.PathLike[str], image: np.ndarray) -> None:
    """Write an image in the format of the suffix of ``path``, whole or not at all."""
    with atomic_path(path) as temporary:
        if not cv2.imwrite(str(temporary), image):
            raise OSError(f"{path} could not be written")
