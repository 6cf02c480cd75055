"""Plain containers for what a detector says about an image.

Coordinates are xyxy in pixels of the image as it was decoded (before any resize).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Detections:
    """The boxes of one image.

    Parameters
    ----------
    boxes : ndarray of shape (N, 4), float32
        Boxes as xyxy, pixels.
    scores : ndarray of shape (N,), float32
        Confidence in [0, 1].
    labels : ndarray of shape (N,), int64
        Index into the category tuple of whoever made the detections.

    Raises
    ------
    ValueError
        If the three arrays do not describe the same N boxes.

    Examples
    --------
    >>> boxes = np.array([[0, 0, 4, 4], [1, 1, 2, 2]])
    >>> found = Detections(boxes, np.array([.9, .2]), np.array([0, 2]))
    >>> len(found), len(found.above(.5)), found.relabel(np.array([-1, -1, 0])).labels
    (2, 1, array([0]))
    """

    boxes: np.ndarray
    scores: np.ndarray
    labels: np.ndarray

    def __post_init__(self) -> None:
        boxes = np.asarray(self.boxes, np.float32)
        scores = np.asarray(self.scores, np.float32)
        labels = np.asarray(self.labels, np.int64)
        n = len(scores)
        if boxes.shape != (n, 4) or scores.shape != (n,) or labels.shape != (n,):
            raise ValueError(
                f"Expected `boxes` (N, 4), `scores` (N,) and `labels` (N,) with one N "
                f"but got {boxes.shape}, {scores.shape} and {labels.shape}."
            )
        object.__setattr__(self, "boxes", boxes)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "labels", labels)

    def __len__(self) -> int:
        return len(self.scores)

    @classmethod
    def empty(cls) -> Detections:
        """Make the detections of an image on which nothing was found."""
        return cls(np.zeros((0, 4)), np.zeros(0), np.zeros(0))

    def __getitem__(self, index: np.ndarray | slice) -> Detections:
        """Return the boxes that a mask, an index array or a slice selects."""
        return Detections(self.boxes[index], self.scores[index], self.labels[index])

    def above(self, score_thr: float) -> Detections:
        """Keep the boxes whose score exceeds ``score_thr``."""
        return self[self.scores > score_thr]

    def relabel(self, lookup: np.ndarray) -> Detections:
        """Translate labels through ``lookup`` (K,) int; boxes that map to -1 are dropped."""
        labels = np.asarray(lookup, np.int64)[self.labels]
        return Detections(self.boxes, self.scores, labels)[labels >= 0]


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that one pass of a detector leaves behind about one image.

    Parameters
    ----------
    image_id : str
        Name of the image within its set.
    image_size : tuple of int
        Height and width in pixels.
    clean : Detections
        Boxes of the unperturbed network.
    perturbed : tuple of Detections
        Boxes of each repeat with feature dropout; empty where none was asked for.
    """

    image_id: str
    image_size: tuple[int, int]
    clean: Detections
    perturbed: tuple[Detections, ...] = ()

    def relabel(self, lookup: np.ndarray) -> Evidence:
        """Translate the labels of every set of boxes; see `Detections.relabel`."""
        return Evidence(
            self.image_id,
            self.image_size,
            self.clean.relabel(lookup),
            tuple(boxes.relabel(lookup) for boxes in self.perturbed),
        )
