"""Reading every image once without a detector: sizes, copies, damage and overlap.

The command `check` looks at the sites of a task by `load_each` and `look_at_each`, and compares
them and new images by `copies_across` and `shared_with_sources`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import cv2
import numpy as np

from autoeval.errors import InputError
from autoeval.io.find_images import same_content
from autoeval.io.images import UnreadableImageError
from autoeval.io.tasks.seed_set import Samples, SeedSet, SeedSetSamples
from autoeval.io.tasks.task import Task
from autoeval.words import Notice, listed, printable

_SIDE = 32
_KEPT = 8
# Below this spread of grey values a picture is flat, and its fingerprint is noise.
_FLAT = 2.0
MAX_DISTANCE = 4
DARK = 20.0
# COCO's bound between small objects and others, in square pixels.
SMALL_AREA = 32**2


def perceptual_hash(image: np.ndarray) -> int | None:
    """Return the DCT hash of an image: 64 bits, of which few differ between copies.

    Which of the 8 x 8 lowest frequencies, the constant rows left out, of the image at 32 x 32
    pixels lie above their median. Source: Zauner 2010, Implementation and
    Benchmarking of Perceptual Image Hash Functions, section 3.2.1.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
        BGR.

    Returns
    -------
    int or None
        None for a flat image.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    small = cv2.resize(grey, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
    if small.std() < _FLAT:
        return None
    low = cv2.dct(small)[1 : _KEPT + 1, 1 : _KEPT + 1]
    return int.from_bytes(np.packbits(low > np.median(low)).tobytes(), "big")


def near_copies(
    hashes: np.ndarray, others: np.ndarray | None = None, *, max_distance: int = MAX_DISTANCE
) -> np.ndarray:
    """Find the images that have a near copy.

    Parameters
    ----------
    hashes : ndarray of shape (N,), uint64
        Of the images, by `perceptual_hash`.
    others : ndarray of shape (M,), uint64, optional
        Of images among which copies are looked for; by default the other images.
    max_distance : int
        Bits that copies may differ in.

    Returns
    -------
    ndarray of shape (N,), int64
        Position of the first near copy, -1 where there is none.

    Examples
    --------
    >>> near_copies(np.array([0b0111, 0b1000, 0b0110], np.uint64), max_distance=1)
    array([ 2, -1,  0])
    """
    among = hashes if others is None else others
    copy_of = np.full(len(hashes), -1)
    for k, image_hash in enumerate(hashes):
        near = np.bitwise_count(among ^ image_hash) <= max_distance
        if others is None:
            near[k] = False
        if near.any():
            copy_of[k] = near.argmax()
    return copy_of


@dataclass(frozen=True)
class Look:
    """What was seen of one set of images.

    Parameters
    ----------
    name : str
        Of the set.
    image_ids : tuple of str
        The N that can be read.
    brightness : ndarray of shape (N,)
        Mean of the pixels of each, 0 to 255.
    hashed : tuple of str
        The M images that are not flat.
    hashes : ndarray of shape (M,), uint64
        Their hashes.
    unreadable : tuple of str
        Names and reasons of the images that cannot be read.
    """

    name: str
    image_ids: tuple[str, ...]
    brightness: np.ndarray
    hashed: tuple[str, ...]
    hashes: np.ndarray
    unreadable: tuple[str, ...]

    @property
    def dark(self) -> tuple[str, ...]:
        """Images whose mean is under 20 of 255."""
        return tuple(np.array(self.image_ids, object)[self.brightness < DARK])


def look_at(
    name: str, samples: Samples, *, advance: Callable[[int], object] = lambda n: None
) -> Look:
    """Read every image of a set once.

    Parameters
    ----------
    name : str
        Of the set.
    samples : Samples
        Its images.
    advance : callable
        Called with 1 after each.
    """
    brightness, hashes, unreadable = list[tuple[str, float]](), list[tuple[str, int]](), list[str]()
    for k in range(len(samples)):
        try:
            sample = samples[k]
        except UnreadableImageError as error:
            unreadable.append(str(error))
        else:
            brightness.append((sample.image_id, float(sample.image.mean())))
            if (bits := perceptual_hash(sample.image)) is not None:
                hashes.append((sample.image_id, bits))
        advance(1)
    return Look(
        name,
        tuple(image_id for image_id, _ in brightness),
        np.array([mean for _, mean in brightness]),
        tuple(image_id for image_id, _ in hashes),
        np.array([bits for _, bits in hashes], np.uint64),
        tuple(unreadable),
    )


def n_near_copies(look: Look) -> int:
    """Count the images of a set that have a near copy in it.

    Parameters
    ----------
    look : Look
        At the set.
    """
    return int((near_copies(look.hashes) >= 0).sum())


def copies_across(looks: Sequence[Look]) -> Iterator[str]:
    """Say which sets share images, one sentence for each pair, with examples.

    Parameters
    ----------
    looks : sequence of Look
        Of each set.
    """
    for one, other in combinations(looks, 2):
        copy_of = near_copies(one.hashes, other.hashes)
        pairs = [f"{one.hashed[k]} ~ {other.hashed[m]}" for k, m in enumerate(copy_of) if m >= 0]
        if pairs:
            yield (
                f"{len(pairs)} of {len(one.hashed)} images of {one.name} look like images of "
                f"{other.name}: {listed(pairs, 3)}"
            )


@dataclass(frozen=True, eq=False)
class Examined:
    """A source as it was found.

    Parameters
    ----------
    name : str
        Of the source.
    seed_set : SeedSet, optional
        None where its labels cannot be used.
    look : Look, optional
        None where its images were not read.
    why_not : str
        Why its labels cannot be used.
    """

    name: str
    seed_set: SeedSet | None = None
    look: Look | None = None
    why_not: str = ""

    def areas(self) -> np.ndarray:
        """Return the areas of its boxes, in square pixels; empty without usable labels."""
        if self.seed_set is None:
            return np.zeros(0)
        sides = [image.boxes[:, 2:] - image.boxes[:, :2] for image in self.seed_set.images]
        return np.concatenate(sides).prod(axis=1)


def load_each(task: Task) -> list[Examined]:
    """Read the labels of each source; one that cannot be used has the reason.

    Parameters
    ----------
    task : Task
        With these sources.
    """
    examined = []
    for files in task.seed_sets:
        try:
            examined.append(Examined(files.name, task.load_seed_set(files)))
        except InputError as error:
            examined.append(Examined(files.name, why_not=str(error)))
    return examined


def look_at_each(sources: list[Examined], *, advance: Callable[[int], object]) -> list[Examined]:
    """Read the images of each source whose labels can be used.

    Parameters
    ----------
    sources : list of Examined
        From `load_each`.
    advance : callable
        Called with 1 after each image.
    """
    examined = []
    for source in sources:
        if source.seed_set is not None:
            samples = SeedSetSamples(source.seed_set)
            source = replace(source, look=look_at(source.name, samples, advance=advance))
        examined.append(source)
    return examined


def shared_with_sources(seed_sets: Iterable[SeedSet], files: Sequence[Path]) -> Iterator[Notice]:
    """Count the new image files that a source holds too, byte by byte, one sentence a source.

    Parameters
    ----------
    seed_sets : iterable of SeedSet
        The sources.
    files : sequence of Path
        New images.
    """
    for seed_set in seed_sets:
        same = same_content(files, [record.path for record in seed_set.images])
        if same:
            names = printable(listed([path.name for path in same]))
            text = (
                f"{len(same)} of {len(files)} new images are images of source {seed_set.name} "
                f"({names}), on which the estimator was fitted: how well it does there says "
                "nothing about a new site"
            )
            yield Notice("images-of-the-fit", text)
