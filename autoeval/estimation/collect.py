"""The pass: each image is read and observed once, and what that leaves behind feeds every score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from autoeval.data.images import UnreadableImageError
from autoeval.data.unlabelled import UnlabelledImage
from autoeval.detections import Evidence
from autoeval.detectors.detector import Detector
from autoeval.estimation.presets import PassSettings
from autoeval.estimation.sampling import RESAMPLED
from autoeval.estimation.tally import Tally, merged
from autoeval.metasets.sample_set import Sample
from autoeval.runtime.ahead import Ahead
from autoeval.runtime.shards import Shards, Undivided

NO_BOXES = np.zeros((0, 4)), np.zeros(0, np.int64), np.zeros(0, bool)


class Samples(Protocol):
    """Images that are made when asked for; raises `UnreadableImageError` for one that cannot be.

    They are asked for in another thread, one after the other.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Sample: ...


class UnlabelledSamples:
    """Images as samples without boxes.

    Parameters
    ----------
    images : sequence of UnlabelledImage
    """

    def __init__(self, images: Sequence[UnlabelledImage]) -> None:
        self.images = images

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Sample:
        """Read one image."""
        image = self.images[index]
        return Sample(image.image_id, image.read(), *NO_BOXES)


def collect(
    detector: Detector,
    samples: Samples,
    *,
    categories: tuple[str, ...],
    lookup: np.ndarray,
    settings: PassSettings,
    batch_size: int = 4,
    advance: Callable[[int], object] = lambda n: None,
    watch: Callable[[Evidence], object] = lambda evidence: None,
    shards: Shards | None = None,
    resamples: int = 0,
) -> list[dict[str, Any]]:
    """Run a detector over a set of images and compute all scores, and mAP where there are labels.

    Parameters
    ----------
    detector : Detector
    samples : sequence of Sample
    categories : tuple of str
        Categories of the task.
    lookup : ndarray of shape (K,), int
        Task category of each detector category, -1 for none.
    settings : PassSettings
    batch_size : int
        Images observed together; changes no number.
    advance : callable
        Called with the number of images done, for a progress bar.
    watch : callable
        Called with the evidence of each image, labelled by the categories of the task.
    shards : Shards, optional
        Which processes share the images; all return the rows of the whole, with the seconds of all
        processes added up. ``advance`` and ``watch`` hear of the images of this process alone.
    resamples : int
        Draw the images again as often, with replacement, by the seed of the settings.

    Returns
    -------
    list of dict
        One row a repeat: ``repeat``, ``n_images``, ``n_boxes``, ``n_unreadable``, ``unreadable``
        (names and reasons), ``absent`` (JSON: why a score is not there), seconds spent, the
        features, and ``mAP``, ``mAP50``, ``mAP75`` (NaN without labels), and what else the settings
        measure. With `resamples` also ``resampled``: the features of the sets drawn again, a dict
        of feature to ndarray of shape (resamples,), the same draws in all repeats.

    Raises
    ------
    InputError
        If no image can be read.
    """
    tally = Tally(categories, settings)
    shards = shards or Undivided()
    for batch in _batches(samples, shards.part(len(samples)), batch_size, tally):
        with tally.timed("network_s"):
            observed = detector.observe(
                [sample.image for sample in batch],
                [sample.image_id for sample in batch],
                dropout=settings.dropout,
                repeats=settings.repeats,
                seed=settings.seed,
                wants=settings.wants,
            )
        with tally.timed("scores_s"):
            for sample, evidence in zip(batch, observed, strict=True):
                known = evidence.relabel(lookup)
                tally.update(sample, known)
                watch(known)
        advance(len(batch))
    whole = merged(shards.gather(tally))
    rows = whole.rows()
    if not resamples:
        return rows
    drawn = whole.scores.resample(resamples=resamples, seed=settings.seed)
    return [{**row, RESAMPLED: features} for row, features in zip(rows, drawn, strict=True)]


def _batches(
    samples: Samples, part: range, batch_size: int, tally: Tally
) -> Iterator[list[Sample]]:
    """Yield batches, whose images another thread makes while the detector runs."""
    batch: list[Sample] = []
    with Ahead(samples.__getitem__, part, depth=2 * batch_size) as made:
        for sample in made:
            try:
                with tally.timed("read_s"):
                    batch.append(sample())
            except UnreadableImageError as error:
                tally.unreadable.append(str(error))
            if len(batch) == batch_size:
                yield batch
                batch = []
    if batch:
        yield batch
