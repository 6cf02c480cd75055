"""Which images are neighbours in time: frames of films, and files that are numbered as frames."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from autoeval.data.time_blocks import time_blocks
from autoeval.data.unlabelled import UnlabelledImage

_NUMBER = re.compile(r"(\d+)(?=\D*$)")


def blocks_of(images: Sequence[UnlabelledImage], *, frames: int | None = None) -> np.ndarray:
    """Return the number of the block of time of each image, (M,), int.

    Parameters
    ----------
    images : sequence of UnlabelledImage
        Frames of films go by `autoeval.data.time_blocks.time_blocks`.
    frames : int, optional
        Says that files whose names differ in their last number alone are frames in that order, and
        that so many neighbours make a block. By default files are not taken as frames: unrelated
        photographs are numbered, too.
    """
    numbers = time_blocks(images)
    if frames is None:
        return numbers
    series: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for place, image in enumerate(images):
        found = _NUMBER.search(image.image_id)
        if found and getattr(image, "time_s", None) is None:
            name = image.image_id[: found.start()] + "\0" + image.image_id[found.end() :]
            series[name].append((int(found[1]), place))
    for members in series.values():
        first = int(numbers.max()) + 1
        for rank, (_, place) in enumerate(sorted(members)):
            numbers[place] = first + rank // frames
    return np.unique(numbers, return_inverse=True)[1]
