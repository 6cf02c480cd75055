"""What a pass over a meta-set left behind, image by image."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.scores.box_stability_settings import BoxStabilitySettings


@dataclass(frozen=True, eq=False)
class ObservedImage:
    """What a pass left of one labelled image.

    Parameters
    ----------
    evidence : Evidence
        Clean and perturbed boxes.
    boxes : ndarray of shape (M, 4), float64
        True boxes as xyxy, pixels.
    labels : ndarray of shape (M,), int64
    iscrowd : ndarray of shape (M,), bool
    """

    evidence: Evidence
    boxes: np.ndarray
    labels: np.ndarray
    iscrowd: np.ndarray


@dataclass(frozen=True, eq=False)
class ObservedSet:
    """The images of one sample set.

    Parameters
    ----------
    source, sample_set, kind : str
        As in the score table.
    images : tuple of ObservedImage
    """

    source: str
    sample_set: str
    kind: str
    images: tuple[ObservedImage, ...]


@dataclass(frozen=True, eq=False)
class Observations:
    """What a pass over a meta-set left behind.

    Parameters
    ----------
    sets : tuple of ObservedSet
    categories : tuple of str
        Categories of the task, which labels index into.
    stability : BoxStabilitySettings
        How clean and perturbed boxes are to be compared.
    warnings : tuple of str
        What could not be observed, and why.
    """

    sets: tuple[ObservedSet, ...]
    categories: tuple[str, ...]
    stability: BoxStabilitySettings = field(default_factory=BoxStabilitySettings)
    warnings: tuple[str, ...] = ()

    def of_kind(self, kind: str) -> Observations:
        """Keep the sets of a kind, `SEED` or `SAMPLE`.

        Raises
        ------
        InputError
            If there are none.
        """
        sets = tuple(observed for observed in self.sets if observed.kind == kind)
        if not sets:
            raise InputError(f"Expected observed images of kind '{kind}' but there are none.")
        return replace(self, sets=sets)

    @property
    def largest(self) -> int:
        """Number of images of the largest set."""
        return max(len(observed.images) for observed in self.sets)
