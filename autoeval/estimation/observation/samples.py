"""The images of a pass: read, observed, and what became of them.

`read_batches` reads samples ahead in other threads, `observe_batches` runs a detector over them,
and `PassLog` has what failed on the way. `Observer.stream` puts the two together.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, TypeVar

import numpy as np

from autoeval.errors import FailedOnImagesError, InputError
from autoeval.io.find_images import ImageArray, UnlabelledImage, path_stamp
from autoeval.io.image_lists import ImageFile
from autoeval.io.images import NO_FILE, UnreadableImageError
from autoeval.io.labels.content import NO_BOXES
from autoeval.io.tasks.seed_set import NO_PIXELS, Sample, Samples
from autoeval.io.video import time_blocks
from autoeval.runtime.jobs import Ahead

Item = TypeVar("Item")
Seen = TypeVar("Seen")
Observe = Callable[[Sequence[np.ndarray], Sequence[str]], list[Seen]]
# Begins to observe images; what it returns waits, and gives what was seen.
Launch = Callable[[Sequence[np.ndarray], Sequence[str]], Callable[[], list[Seen]]]
Numbered = tuple[int, Sample]
MOST_AT_FIRST = 8
LONGEST_REASON = 300  # characters: what was expected, what came, what to do
MOST_WORKERS = 8  # by default; more images than these decode are seldom used up by one network


@dataclass(frozen=True)
class ImageLoading:
    """How images are loaded for a detector; no number of a result depends on it.

    Parameters
    ----------
    batch_size : int, optional
        Images that are read ahead together; by default as many as the detector takes at once.
    num_workers : int, optional
        Threads that decode images, and prepare them for a network of mmdet, while the network runs;
        by default as many as there are cores, `MOST_WORKERS` at most. With 0 each image is read
        when the network needs it.

    Raises
    ------
    InputError
        If the batch size is under 1, or the number of workers under 0.
    """

    batch_size: int | None = None
    num_workers: int | None = None

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"Expected --batch-size of 1 or more but got {self.batch_size}.")
        if self.num_workers is not None and self.num_workers < 0:
            raise InputError(f"Expected --num-workers of 0 or more but got {self.num_workers}.")

    def workers(self, samples: Samples) -> int:
        """Return the number of threads for some images: one at most where they have an order.

        Parameters
        ----------
        samples : Samples
            The images.
        """
        if self.num_workers is not None:
            workers = self.num_workers
        else:
            has_affinity = hasattr(os, "sched_getaffinity")  # not on macOS and Windows
            cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
            workers = min(cores, MOST_WORKERS)
        return min(workers, 1) if getattr(samples, "in_order", False) else workers


class UnlabelledSamples:
    """Images as samples without boxes.

    Parameters
    ----------
    images : sequence of UnlabelledImage
        Files, arrays in memory or frames of videos.
    """

    def __init__(self, images: Sequence[UnlabelledImage]) -> None:
        self.images = images

    @property
    def blocks(self) -> np.ndarray:
        """Number of the block of time of each image, (M,) int64; see `time_blocks`."""
        return time_blocks(self.images)

    @property
    def in_order(self) -> bool:
        """Whether they are read one after another: only files and arrays are known to need not.

        To read an earlier frame, a video is decoded again from its beginning.
        """
        return not all(isinstance(image, ImageFile | ImageArray) for image in self.images)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Sample:
        """Read one image."""
        image = self.images[index]
        return Sample(image.image_id, image.read(), *NO_BOXES)

    def stamp(self, index: int) -> str:
        """Return what changes with the file of an image; of one in memory, with its pixels.

        Parameters
        ----------
        index : int
            Position of the image.
        """
        image = self.images[index]
        if path := getattr(image, "path", None):
            return path_stamp(path)
        pixels = image.read()
        return hashlib.sha256(repr(pixels.shape).encode() + pixels.tobytes()).hexdigest()

    def unread(self, index: int) -> Sample:
        """Return the name of an image, and no pixels.

        Parameters
        ----------
        index : int
            Position of the image.
        """
        return Sample(self.images[index].image_id, NO_PIXELS, *NO_BOXES)


class PassLog:
    """Names the images that cannot be read, and adds up seconds.

    Attributes
    ----------
    n_observed : int
        Images that were observed.
    unreadable : dict of int to str
        Why an image could not be, by its number in the set.
    failure : str
        The first error of a detector that was nobody's input; empty without one.
    seconds : dict of str to float
        By what they were spent on: ``read_s``, ``network_s``.
    """

    def __init__(self) -> None:
        self.n_observed = 0
        self.failure = ""
        self.unreadable: dict[int, str] = {}
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the time of the body to the seconds; not where the body raises.

        Parameters
        ----------
        name : str
            What they are spent on, as in `seconds`.
        """
        start = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - start

    def lose(self, number: int, reason: str) -> None:
        """Note an image that could not be observed.

        Parameters
        ----------
        number : int
            Of the image in the set.
        reason : str
            Why. Tables join reasons by semicolons, of which none is kept.
        """
        self.unreadable[number] = reason.replace("; ", ", ")

    def check(self, n_images: int) -> None:
        """Raise an error if no image was observed.

        Parameters
        ----------
        n_images : int
            How many were observed.

        Raises
        ------
        RuntimeError
            If the detector failed on all.
        InputError
            If none could be read.
        """
        if not n_images and self.failure:
            raise RuntimeError(f"The detector fails on all images: {self.failure}")
        if not n_images:
            lost = list(self.unreadable.values())
            hint = ""
            if all(reason.endswith(NO_FILE) for reason in lost):
                hint = (
                    ". Expected the files of a COCO JSON beside it or in --img-dir, and those of a "
                    "list of paths below its folder or the current one"
                )
            raise InputError(
                f"None of the {len(lost)} images can be read: {'; '.join(lost[:3])}{hint}"
            )


def blocks_of_read(samples: Samples, unreadable: Collection[int]) -> np.ndarray:
    """Return the number of the block of each sample that could be read, from 0 without gaps.

    Parameters
    ----------
    samples : Samples
        Where they have no ``blocks``, each is its own.
    unreadable : collection of int
        Numbers of the others.

    Returns
    -------
    ndarray of shape (n_read,), int64
    """
    blocks = getattr(samples, "blocks", np.arange(len(samples)))
    read = [number for number in range(len(samples)) if number not in unreadable]
    return np.unique(blocks[read], return_inverse=True)[1]


def read_batches(
    samples: Samples,
    numbers: Iterable[int],
    batch_size: int,
    log: PassLog,
    *,
    workers: int,
    prepare: Callable[[np.ndarray], object],
) -> Iterator[list[tuple[int, Sample]]]:
    """Yield batches of samples with their numbers, made in other threads meanwhile.

    Parameters
    ----------
    samples : Samples
        The images.
    numbers : iterable of int
        Which of them, and in which order.
    batch_size : int
        Most of a batch; those that cannot be read are in none.
    log : PassLog
        Receives what cannot be read, and the time spent waiting.
    workers : int
        Number of these threads; see `ImageLoading`.
    prepare : callable
        Called in such a thread with each image, as soon as it is read.
    """
    batch: list[tuple[int, Sample]] = []
    numbers = list(numbers)

    def make(number: int) -> Sample:
        sample = samples[number]
        prepare(sample.image)
        return sample

    with Ahead(make, numbers, depth=max(2 * batch_size, workers), workers=workers) as made_samples:
        for number, sample in zip(numbers, made_samples, strict=True):
            try:
                with log.timed("read_s"):
                    batch.append((number, sample()))
            except UnreadableImageError as error:
                log.lose(number, str(error))
            if len(batch) == batch_size:
                yield batch
                batch = []
    if batch:
        yield batch


def at_once(observe: Observe[Seen]) -> Launch[Seen]:
    """Return a launch of a detector that has none: it observes, and leaves nothing to wait for.

    Parameters
    ----------
    observe : callable
        From images and their names to what was seen of each.
    """

    def launch(images: Sequence[np.ndarray], names: Sequence[str]) -> Callable[[], list[Seen]]:
        seen = observe(images, names)
        return lambda: seen

    return launch


def observe_batches(
    batches: Iterable[Sequence[Numbered]], launch: Launch[Seen], log: PassLog
) -> Iterator[tuple[int, Sample, Seen]]:
    """Run a detector over batches; an image on which it fails is logged and does not end the run.

    A batch is waited for when the next one is launched. Where it fails, its images are tried one by
    one. An error that is no image's fault still ends the run: bad input of any kind, and files that
    cannot be written or read. So does a failure on eight images before any was observed.

    Parameters
    ----------
    batches : iterable of sequence of tuple of int and Sample
        From `read_batches`.
    launch : callable
        Begins to observe images by their names, and returns what waits for them.
    log : PassLog
        Receives failures, and the time of the network.

    Yields
    ------
    tuple of int, Sample and object
        Number of the image, the image, and what was seen of it.
    """

    def begin(batch: Sequence[Numbered]) -> Callable[[], list[Seen]]:
        images, names = [s.image for _, s in batch], [s.image_id for _, s in batch]
        with log.timed("network_s"):
            try:
                return launch(images, names)
            except Exception as error:  # it is the turn of the batch before: raised by `finish`
                return partial(_fail, error)

    def finish(
        batch: Sequence[Numbered], launched: Callable[[], list[Seen]]
    ) -> list[tuple[int, Sample, Seen]]:
        with log.timed("network_s"):
            seen = launched()
        observed = [(*numbered, one) for numbered, one in zip(batch, seen, strict=True)]
        log.n_observed += len(batch)
        return observed

    n_failed = 0
    for batch, launched in _one_behind((batch, begin(batch)) for batch in batches):
        try:
            yield from finish(batch, launched)
            continue
        except Exception as error:
            if not _of_an_image(error):
                raise
        for number, sample in batch:
            try:
                alone = [(number, sample)]
                yield from finish(alone, begin(alone))
            except Exception as error:
                n_failed += 1
                if not _of_an_image(error) or (not log.n_observed and n_failed >= MOST_AT_FIRST):
                    raise
                # Of a function as detector: before the reason it names what is named here anyway.
                cause = error.__cause__ if isinstance(error, FailedOnImagesError) else None
                text = _reason(error if cause is None else cause)
                if not isinstance(error, InputError):
                    log.failure = log.failure or text
                log.lose(number, f"{sample.image_id}: the detector fails on it ({text})")


def _one_behind(items: Iterable[Item]) -> Iterator[Item]:
    """Yield each item when the next one has been made."""
    last: list[Item] = []
    for item in items:
        yield from last
        last = [item]
    yield from last


def _fail(error: Exception) -> NoReturn:
    """Raise an error that was kept for later."""
    raise error


def _reason(error: BaseException) -> str:
    """Return the type and the beginning of the text of an error."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:LONGEST_REASON]}"


def _of_an_image(error: Exception) -> bool:
    """Whether an error may be the fault of single images."""
    return isinstance(error, FailedOnImagesError) or not isinstance(error, InputError | OSError)
