"""Images that are made when asked for: those of a pass."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from autoeval.data.find_images import UnlabelledImage
from autoeval.data.images import UnreadableImageError
from autoeval.data.same_files import path_stamp
from autoeval.data.video import time_blocks
from autoeval.estimation.observation.pass_log import PassLog
from autoeval.metasets.sample_set import NO_PIXELS, Sample, Samples
from autoeval.runtime.threads import Ahead

NO_BOXES = np.zeros((0, 4)), np.zeros(0, np.int64), np.zeros(0, bool)


class UnlabelledSamples:
    """Images as samples without boxes."""

    def __init__(self, images: Sequence[UnlabelledImage]) -> None:
        self.images = images

    @property
    def blocks(self) -> np.ndarray:
        """Number of the block of time of each image; see `time_blocks`."""
        return time_blocks(self.images)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Sample:
        """Read one image."""
        image = self.images[index]
        return Sample(image.image_id, image.read(), *NO_BOXES)

    def stamp(self, index: int) -> str:
        """Return what changes with the file of an image; of one in memory, with its pixels."""
        image = self.images[index]
        path = getattr(image, "path", None)
        return path_stamp(path) if path else hashlib.sha256(image.read().tobytes()).hexdigest()

    def unread(self, index: int) -> Sample:
        """Return the name of an image, and no pixels."""
        return Sample(self.images[index].image_id, NO_PIXELS, *NO_BOXES)


def blocks_of_read(samples: Samples, unreadable: Collection[int]) -> np.ndarray:
    """Return the number of the block of each sample that could be read, from 0 without gaps.

    samples: where they have no ``blocks``, each is its own.
    Returned: (n_read,), int64.
    """
    blocks = getattr(samples, "blocks", np.arange(len(samples)))
    read = [number for number in range(len(samples)) if number not in unreadable]
    return np.unique(blocks[read], return_inverse=True)[1]


def read_batches(
    samples: Samples, numbers: Iterable[int], batch_size: int, log: PassLog
) -> Iterator[list[tuple[int, Sample]]]:
    """Yield batches of samples with their numbers, made in another thread meanwhile.

    log: receives what cannot be read, and the time spent waiting.
    """
    batch: list[tuple[int, Sample]] = []
    numbers = list(numbers)
    with Ahead(samples.__getitem__, numbers, depth=2 * batch_size) as made:
        for number, sample in zip(numbers, made, strict=True):
            try:
                with log.timed("read_s"):
                    batch.append((number, sample()))
            except UnreadableImageError as error:
                log.unreadable[number] = str(error)
            if len(batch) == batch_size:
                yield batch
                batch = []
    if batch:
        yield batch
