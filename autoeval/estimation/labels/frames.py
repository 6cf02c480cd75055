"""Which images are neighbours in time: frames of films, and files that are numbered as frames."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from autoeval.data.blocks import time_blocks
from autoeval.data.unlabelled import UnlabelledImage

FRAMES = 30  # of numbered files in a block
FEWEST_FRAMES = 20  # with equal names but for the number, for files to count as frames
_NUMBER = re.compile(r"(\d+)(?=\D*$)")


def blocks_of(images: Sequence[UnlabelledImage], *, frames: int = FRAMES) -> np.ndarray:
    """Return the number of the block of time of each image, (M,), int.

    Frames of films go by `autoeval.data.blocks.time_blocks`. Files whose names differ in their last
    number alone, and which follow one another without gaps in most places, are taken as frames:
    `frames` of them make a block. Every other image is a block of its own.
    """
    numbers = time_blocks(images)
    series: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for place, image in enumerate(images):
        found = _NUMBER.search(image.image_id)
        if found and getattr(image, "time_s", None) is None:
            name = image.image_id[: found.start()] + "\0" + image.image_id[found.end() :]
            series[name].append((int(found[1]), place))
    for members in series.values():
        if len(members) >= FEWEST_FRAMES and _follow(members):
            first = int(numbers.max()) + 1
            for rank, (_, place) in enumerate(sorted(members)):
                numbers[place] = first + rank // frames
    return np.unique(numbers, return_inverse=True)[1]


def _follow(members: Sequence[tuple[int, int]]) -> bool:
    steps = np.diff(sorted(number for number, _ in members))
    return float(np.mean(steps == np.median(steps))) > 0.5
