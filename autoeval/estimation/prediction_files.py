"""The prediction files of one set of images, and how to read them into `SiteBoxes`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import Predictions, read_predictions
from autoeval.data.predictions.entries import NoBoxError
from autoeval.data.predictions.half_size import check_half_size
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.estimation.site_boxes import SiteBoxes
from autoeval.metrics.coco_matching import MAX_DETECTIONS

PathLike = str | os.PathLike[str]
LOW_FLOOR, HIGH_FLOOR = 0.05, 0.3
FEWEST_FULL, MANY_FULL = 3, 0.1


@dataclass(frozen=True)
class PredictionFiles:
    """The predictions of one set of images.

    Parameters
    ----------
    clean : path-like
        COCO results; see `autoeval.data.predictions.read_predictions`.
    half_size : path-like, optional
        Those of a second pass at half the input size, in pixels of the full size.
    teacher : path-like, optional
        Those of a stronger detector, with the same words.
    names : mapping of str to str
        Word of each category number, where neither the file nor the labels have it.
    truncated : bool
        Whether it is known that boxes with low scores were left out.
    """

    clean: PathLike
    half_size: PathLike | None = None
    teacher: PathLike | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    truncated: bool = False

    def read(
        self,
        images: Sequence[LabelledImage] | None,
        *,
        where: str,
        numbers: Mapping[str, str],
    ) -> SiteBoxes:
        """Read all passes, in the words of the detector.

        Parameters
        ----------
        images : sequence of LabelledImage, optional
            All images that the detector was run on; by default those that the clean predictions
            name.
        where : str
            What lists them, for messages.
        numbers : mapping of str to str
            Word of each category number; `names` go before.

        Raises
        ------
        InputError
            As `read_predictions` and `check_half_size`; if the passes have no word in common.
        """
        numbers = self.names or numbers
        clean = read_predictions(self.clean, images=images, where=where, numbers=numbers)
        half, teacher = (
            None if path is None else _read_beside(clean, path, str(self.clean), numbers, canvas)
            for path, canvas in ((self.half_size, True), (self.teacher, False))
        )
        if half is not None:
            check_half_size(clean, half, Path(str(self.half_size)))
        return SiteBoxes(clean, half, teacher)


def _read_beside(
    clean: Predictions, path: PathLike, where: str, numbers: Mapping[str, str], on_canvas: bool
) -> Predictions:
    """Read another pass over the same images, in the same words; its file may hold no box."""
    try:
        found = read_predictions(
            path, images=clean.images, where=where, numbers=numbers, on_canvas=on_canvas
        )
    except NoBoxError:
        return clean.where(np.zeros(len(clean), bool))
    words = {word: word for word in found.categories if word in clean.categories}
    if not words:
        raise InputError(
            f"{path} has other categories than the predictions: {listed(found.categories, 10)}."
        )
    return found.as_categories(clean.categories, words)


def check_floor(found: Predictions, name: str, *, truncated: bool = False) -> tuple[str, ...]:
    """Warn of predictions whose low scores were left out.

    Raises
    ------
    InputError
        If all scores are over .3 and `truncated` does not say that this is intended.
    """
    if not found.floor > LOW_FLOOR:
        return ()
    warning = (
        f"the lowest score in {name} is {found.floor:.3g}: boxes below it are missing, which "
        "lowers the recall that can be measured and the scores that rest on them; export from .01 "
        "on"
    )
    if found.floor > HIGH_FLOOR and not truncated:
        raise InputError(
            f"{warning[0].upper()}{warning[1:]} (Ultralytics: conf=0.01), or pass --truncated to "
            "go on."
        )
    return (warning,)


def check_limit(found: Predictions, name: str) -> tuple[str, ...]:
    """Warn of lists that were cut to the best few boxes of each image.

    Returns
    -------
    tuple of str
        One warning where a tenth of the images, and three or more, hold as many boxes as any, and
        these are fewer than the 100 that average precision counts.
    """
    n_boxes = np.bincount(found.image, minlength=len(found.images))
    n_full = int(np.count_nonzero(n_boxes == found.most_boxes))
    few = found.most_boxes < MAX_DETECTIONS
    if not len(found) or not few or n_full < max(FEWEST_FULL, MANY_FULL * len(n_boxes)):
        return ()
    return (
        f"{n_full} of {len(n_boxes)} images in {name} have exactly {found.most_boxes} boxes, the "
        f"most of any: were only the best {found.most_boxes} kept? That lowers the accuracy that "
        "is measured and hides low scores; export all boxes from .01 on",
    )
