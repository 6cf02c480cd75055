"""Density maps on disk, as the authors' multi-class benchmark leaves them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from autoeval.counting.counters.base import CountResult
from autoeval.counting.praco.data import CountingSet
from autoeval.counting.praco.tiles import tile_counts
from autoeval.data.wording import listed
from autoeval.errors import InputError


def tiles_on_file(
    folder: Path, counting_set: CountingSet, divisions: int
) -> tuple[dict[tuple[str, str], list[float]], list[str]]:
    """Count the tiles of the maps of the classes that an image holds.

    Parameters
    ----------
    folder : Path
        With ``IMAGE_CLASS.npy`` files, the image without its suffix: maps (H, W) of any size, whose
        negative values are taken as 0. The authors resize them to that of the true map; here a
        tile is the same share of either.
    counting_set : CountingSet
    divisions : int
        d; there are 2^d x 2^d tiles.

    Returns
    -------
    tuple of dict and list of str
        4^d counts by image id and class, and a sentence on maps that are not there; both empty
        where there is no such folder.

    Raises
    ------
    InputError
        If a file is no map.
    """
    if not folder.is_dir():
        return {}, []
    found, missing = {}, []
    for image in counting_set.kept:
        for name in image.points:
            path = folder / f"{Path(image.image_id).stem}_{name}.npy"
            if path.is_file():
                result = CountResult(float("nan"), density=_read(path))
                found[image.image_id, name] = tile_counts(result, 0, 0, divisions=divisions)
            else:
                missing.append(path.name)
    text = f"{folder.name}: no map for {len(missing)} classes of images ({listed(missing)})"
    return found, [text] if missing and found else []


def _read(path: Path) -> np.ndarray:
    try:
        density = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"Cannot read the density map {path}: {error}.") from None
    if density.ndim != 2 or not np.issubdtype(density.dtype, np.number):
        raise InputError(
            f"{path}: expected a map (H, W) of numbers, got {density.shape} {density.dtype}."
        )
    return density.astype(np.float64)
