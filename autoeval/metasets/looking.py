"""Reading every image once, without a detector, to see what a run would meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from autoeval.data.images import UnreadableImageError
from autoeval.data.perceptual_hash import perceptual_hash
from autoeval.metasets.sample_set import Samples

DARK = 20.0


@dataclass(frozen=True)
class Look:
    """What was seen of one set of images.

    Parameters
    ----------
    name : str
        Of the set.
    image_ids : tuple of str
        Images that can be read.
    hashes : ndarray of shape (N,), uint64
        Perceptual hash of each; 0 where `hashed` is not set.
    hashed : ndarray of shape (N,), bool
        Whether it has one: flat images do not.
    brightness : ndarray of shape (N,), float64
        Mean of its pixels, 0 to 255.
    unreadable : tuple of str
        Names and reasons of the others.
    """

    name: str
    image_ids: tuple[str, ...]
    hashes: np.ndarray
    hashed: np.ndarray
    brightness: np.ndarray
    unreadable: tuple[str, ...]

    @property
    def dark(self) -> tuple[str, ...]:
        """Images whose mean is under 20 of 255."""
        return tuple(np.array(self.image_ids, object)[self.brightness < DARK])


def look_at(
    name: str,
    samples: Samples,
    *,
    advance: Callable[[int], object] = lambda n: None,
) -> Look:
    """Read every image of a set once.

    Parameters
    ----------
    name : str
    samples : Samples
        Such as a `SampleSet`.
    advance : callable
        Called with 1 after each image.
    """
    names, hashes, brightness, unreadable = [], [], [], []
    for k in range(len(samples)):
        try:
            sample = samples[k]
        except UnreadableImageError as error:
            unreadable.append(str(error))
        else:
            names.append(sample.image_id)
            hashes.append(perceptual_hash(sample.image))
            brightness.append(float(sample.image.mean()))
        advance(1)
    return Look(
        name,
        tuple(names),
        np.array([value or 0 for value in hashes], np.uint64),
        np.array([value is not None for value in hashes], bool),
        np.array(brightness),
        tuple(unreadable),
    )
