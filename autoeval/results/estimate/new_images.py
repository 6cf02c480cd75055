"""Unlabelled images under the estimator: the estimate, and the images to look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.data.images import UnreadableImageError
from autoeval.data.unlabelled import UnlabelledImage
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.observation.least_stable import LeastStableImages, UnstableImage
from autoeval.estimation.observation.observing import Observer
from autoeval.report.numerals import counted
from autoeval.results.thumbnails import draw_boxes
from autoeval.runtime.shards import Shards, Undivided

GRAY = np.full((270, 360, 3), 128, np.uint8)


@dataclass(frozen=True)
class Observed:
    """What a pass over unlabelled images leaves behind.

    Parameters
    ----------
    estimate : Estimate
    row : mapping
        Scores, seconds spent and counts; see `MapEstimator.estimate`.
    unstable : sequence of UnstableImage
        The least stable images, the least stable first.
    files : sequence of UnlabelledImage
        All images of the pass.
    repeats : int
        Perturbed passes an image.
    """

    estimate: Estimate
    row: Mapping[str, Any]
    unstable: Sequence[UnstableImage]
    files: Sequence[UnlabelledImage]
    repeats: int

    def cautioned(self, reasons: Iterable[str]) -> Self:
        """Return the same with more reasons to doubt the estimate."""
        guards = (*self.estimate.guards, *reasons)
        return replace(self, estimate=replace(self.estimate, guards=guards))

    def table(self) -> pd.DataFrame:
        """Describe the least stable images, one row each."""
        columns = {
            "image": [image.image_id for image in self.unstable],
            "stability": [image.stability for image in self.unstable],
            "boxes": [len(image.clean) for image in self.unstable],
            "boxes with dropout": [_counts(image) for image in self.unstable],
        }
        return pd.DataFrame(columns)

    def thumbnails(self) -> list[tuple[np.ndarray, str]]:
        """Read the least stable images again and draw their boxes, each with a caption."""
        files = {file.image_id: (k, file) for k, file in enumerate(self.files)}
        # In the order of the files: a film is decoded forward.
        order = sorted(self.unstable, key=lambda image: files[image.image_id][0])
        drawn = {image.image_id: _thumbnail(image, files[image.image_id][1]) for image in order}
        return [drawn[image.image_id] for image in self.unstable]


def observe_unlabelled(
    observer: Observer,
    estimator: MapEstimator,
    files: Sequence[UnlabelledImage],
    *,
    shards: Shards | None = None,
) -> Observed:
    """Estimate the mAP of a detector on images without labels, and keep the least stable ones.

    The parameters and errors are those of `MapEstimator.estimate`.
    """
    shards = shards or Undivided()
    least_stable = LeastStableImages()
    estimate, row = estimator.estimate(observer, files, watch=least_stable.update, shards=shards)
    least_stable, *others = shards.gather(least_stable)
    for other in others:
        least_stable.merge(other)
    return Observed(estimate, row, least_stable.images, files, observer.settings.repeats)


def _thumbnail(image: UnstableImage, file: UnlabelledImage) -> tuple[np.ndarray, str]:
    caption = (
        f"{image.image_id}: stability {image.stability:.2f}, "
        f"{counted(len(image.clean), 'box', 'boxes')}, {_counts(image)} with dropout"
    )
    try:
        return draw_boxes(file.read(), image.clean, image.perturbed), caption
    except UnreadableImageError as error:
        return GRAY, f"{caption}; no longer readable: {error}"


def _counts(image: UnstableImage) -> str:
    counts = [len(boxes) for boxes in image.perturbed]
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"
